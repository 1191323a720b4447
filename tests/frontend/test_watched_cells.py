"""What a compiled Cell has of its classes (constants, properties, methods) is watched, as what it holds itself: each change is seen."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import adjoint as ad
from adjoint import nn

HELD = SimpleNamespace(k=2.0, n=2, names={"k"}, items=[1.0, 2.0], on=True)
X = ad.Tensor([1.5])


class Times:
    """A descriptor that reads what is around it."""

    def __get__(self, instance: Any, kind: Any = None) -> float:
        return float(HELD.k)


def network() -> Any:
    """The class of a Cell, whose attributes come from all that a class may have."""

    class Row(nn.CellList):
        factor = 2.0

    class Base(nn.Cell):
        inherited = 2.0
        table = {"k": 2.0}

        def __init__(self) -> None:
            super().__init__()
            self.w = ad.Parameter(ad.Tensor([1.0]), name="w")
            self.row = Row([nn.ReLU()])
            self.own = 2.0

    class Net(Base):
        constant = 2.0
        descriptor = Times()
        by_two = functools.partialmethod(lambda s, k, x: x * k, 2.0)
        which, inherited_too = "constant", 7.0

        @property
        def of_global(self) -> float:
            return float(HELD.k)

        @property
        def of_class(self) -> float:
            return self.constant

        @property
        def fixed(self) -> float:
            return 2.0

        @staticmethod
        def static(x: Any) -> Any:
            return x * 2.0

        @classmethod
        def of_kind(cls, x: Any) -> Any:
            return x * cls.constant

        def method(self, x: Any) -> Any:
            return x * 2.0

        def __getattr__(self, name: str) -> Any:
            return HELD.k if name == "asked" else super().__getattr__(name)

        def __len__(self) -> int:
            return HELD.n

        def __getitem__(self, i: int) -> Any:
            return HELD.n * i

        def __contains__(self, x: Any) -> bool:
            return x in HELD.names

        def __iter__(self) -> Any:
            return iter(HELD.items)

        def __bool__(self) -> bool:
            return bool(HELD.on)

        def __matmul__(self, x: Any) -> Any:
            return x * HELD.k

    return Net


def product(self: Any, x: Any) -> Any:
    for k in self:
        x = x * k
    return x


def put(owner: Any, name: str, value: Any) -> Callable[[Any], Any]:
    """Set an attribute of the class, of its base, or of what is held."""
    found: dict[Any, Callable[[Any], Any]] = {
        "class": type,
        "base": lambda n: type(n).__mro__[1],
        "row": lambda n: type(n.row),
    }
    return lambda n: setattr(found[owner](n) if owner in found else HELD, name, value)


#: What `construct` computes, and what is changed between two calls.
CHANGED: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "constant": (lambda s, x: x * s.constant, put("class", "constant", 5.0)),
    "inherited": (lambda s, x: x * s.inherited, put("base", "inherited", 5.0)),
    "hidden": (lambda s, x: x * s.inherited, put("class", "inherited", 5.0)),
    "by its class": (lambda s, x: x * type(s).constant, put("class", "constant", 5.0)),
    "table": (lambda s, x: x * s.table["k"], lambda n: n.table.update(k=5.0)),
    "property of a global": (lambda s, x: x * s.of_global, put("", "k", 5.0)),
    "property of the class": (lambda s, x: x * s.of_class, put("class", "constant", 5.0)),
    "another property": (lambda s, x: x * s.fixed, put("class", "fixed", property(lambda s: 5.0))),
    "property in place of a number": (lambda s, x: x * s.own, put("class", "own", property(lambda s: 5.0))),
    "static": (lambda s, x: s.static(x), put("class", "static", staticmethod(lambda x: x * 5.0))),
    "class method": (lambda s, x: s.of_kind(x), put("class", "constant", 5.0)),
    "another class method": (lambda s, x: s.of_kind(x), put("class", "of_kind", classmethod(lambda c, x: x * 5.0))),
    "method": (lambda s, x: s.method(x), put("class", "method", lambda s, x: x * 5.0)),
    "method of one": (lambda s, x: s.method(x), lambda n: setattr(n, "method", lambda x: x * 5.0)),
    "descriptor": (lambda s, x: x * s.descriptor, put("", "k", 5.0)),
    "asked": (lambda s, x: x * s.asked, put("", "k", 5.0)),
    "len": (lambda s, x: x * len(s), put("", "n", 5)),
    "another len": (lambda s, x: x * len(s), put("class", "__len__", lambda s: 5)),
    "item": (lambda s, x: x * s[3], put("", "n", 5)),
    "contains": (lambda s, x: x * (2.0 if "k" in s else 3.0), put("", "names", set())),
    "iteration": (product, put("", "items", [7.0])),
    "truth": (lambda s, x: x * (2.0 if s else 3.0), put("", "on", False)),
    "operator": (lambda s, x: s @ x, put("", "k", 5.0)),
    "operator added": (lambda s, x: x * (2.0 if s.row else 3.0), put("row", "__bool__", lambda s: False)),
    "of a Cell inside": (lambda s, x: x * s.row.factor, put("row", "factor", 5.0)),
    "a method of functools": (
        lambda s, x: s.by_two(x), put("class", "by_two", functools.partialmethod(lambda s, k, x: x * k, 5.0)),
    ),
    "by name": (lambda s, x: x * getattr(s, s.which), put("class", "which", "inherited_too")),
    "in its dict": (lambda s, x: x * vars(s)["own"], lambda n: n.__dict__.update(own=5.0)),
    "past the Cell": (lambda s, x: x * s.own, lambda n: n.__dict__.update(own=5.0)),
    "construct": (lambda s, x: x * 2.0, put("class", "construct", lambda s, x: s.w * x * 5.0)),
}  # fmt: skip


def jitted(net: Any) -> Callable[[], Any]:
    compiled = ad.jit(lambda x: net(x).sum())
    return lambda: compiled(X)


def in_graph_mode(net: Any) -> Callable[[], Any]:
    def run() -> Any:
        ad.set_context(mode=ad.GRAPH_MODE)
        try:
            return net(X).sum()
        finally:
            ad.set_context(mode=ad.PYNATIVE_MODE)

    return run


def without_source(net: Any) -> Callable[[], Any]:
    """The function that calls the Cell is Python's: what it may read is found by the names in it."""
    space: dict[str, Any] = {"net": net}
    exec("def function(x): return net(x).sum()", space)
    compiled = ad.jit(space["function"])
    return lambda: compiled(X)


def stepping(net: Any) -> Callable[[], Any]:
    weights = net.trainable_params()
    step = ad.optim.compiled_step(lambda x: net(x).sum(), weights, ad.optim.SGD(weights, learning_rate=0.0))
    return lambda: step(X)


@pytest.mark.parametrize("way", [jitted, in_graph_mode, stepping, without_source])
@pytest.mark.parametrize("name", CHANGED)
def test_a_change_of_what_a_cell_has_of_its_classes_is_seen(
    name: str, way: Callable[[Any], Callable[[], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in vars(HELD).copy().items():
        monkeypatch.setattr(HELD, key, value)
    compute, change = CHANGED[name]
    cls = network()
    cls.construct = lambda self, x: self.w * compute(self, x)
    net = cls()
    run = way(net)
    before = float(net(X).sum())
    assert [float(run()), float(run()), float(run())] == [before] * 3
    change(net)
    after = float(net(X).sum())
    assert after != before and [float(run()), float(run())] == [after] * 2
