"""Orders of dicts, texts of objects, methods added to a class, builtins and functions of libraries that are replaced: each change is seen."""

from __future__ import annotations

import builtins
import collections
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.special

import adjoint as ad
import adjoint.numpy as anp

Patch = pytest.MonkeyPatch


class Plain:
    def __add__(self, other: Any) -> Any:
        return other + 1.0

    def __str__(self) -> str:
        return "ab"

    def __repr__(self) -> str:
        return "ab"


class Called:
    def __call__(self, x: Any) -> Any:
        return x * 2.0

    def __getitem__(self, k: int) -> int:
        return k


class Derived(Called):
    pass


class Array(np.ndarray):
    def __mul__(self, other: Any) -> Any:
        return np.asarray(self).sum() * 2.0 * other


PLAIN, DERIVED, ARRAY = Plain(), Derived(), np.ones(3).view(Array)
ORDERED = collections.OrderedDict(a=2.0, b=3.0)
HELD = SimpleNamespace(table={"inner": collections.OrderedDict(a=2.0, b=3.0)})
TEMPLATE = "%s"
RELU = ad.nn.ReLU()


def chained(table: Any, x: Any) -> Any:
    for v in table.values():
        x = x * v + 1.0
    return x


def new_name(x: Any) -> Any:
    try:
        return x * added_to_builtins  # type: ignore[name-defined]
    except NameError:
        return x


def put(owner: Any, name: str, value: Any) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(owner, name, value, raising=False)


#: A function, and what changes what it reads.
CHANGED: dict[str, tuple[Callable[[Any], Any], Callable[[Patch], Any]]] = {
    "order": (lambda x: chained(ORDERED, x), lambda _: ORDERED.move_to_end("a")),
    "first key": (lambda x: x * (2.0 if next(iter(ORDERED)) == "a" else 5.0), lambda _: ORDERED.move_to_end("a")),
    "order inside": (lambda x: chained(HELD.table["inner"], x), lambda _: HELD.table["inner"].move_to_end("a")),
    "operator": (lambda x: PLAIN + x, put(Plain, "__add__", lambda s, x: x + 7.0)),
    "truth added": (lambda x: x * 2.0 if PLAIN else x, put(Plain, "__bool__", lambda s: False)),
    "truth added inside": (lambda x: x * 2.0 if Plain() else x, put(Plain, "__bool__", lambda s: False)),
    "equality added": (lambda x: x * 2.0 if PLAIN == HELD else x, put(Plain, "__eq__", lambda s, other: True)),
    "call added": (lambda x: DERIVED(x), put(Derived, "__call__", lambda s, x: x * 5.0)),
    "item added": (lambda x: x * DERIVED[3], put(Derived, "__getitem__", lambda s, k: 7)),
    "of an array": (lambda x: ARRAY * x, put(Array, "__mul__", lambda s, x: 7.0 * x)),
    "text": (lambda x: x * len(str(PLAIN)), put(Plain, "__str__", lambda s: "abcde")),
    "text by a template": (lambda x: x * len(TEMPLATE % PLAIN), put(Plain, "__str__", lambda s: "abcde")),
    "text in a list": (lambda x: x * len(str([PLAIN])), put(Plain, "__repr__", lambda s: "abcde")),
    "builtin": (lambda x: abs(x), put(builtins, "abs", lambda x: x * 7.0)),
    "number among builtins": (new_name, put(builtins, "added_to_builtins", 7.0)),
    "NumPy": (lambda x: np.sin(x), put(np, "sin", lambda x: x * 7.0)),
    "NumPy's packages": (lambda x: x * np.linalg.norm([3.0, 4.0]), put(np.linalg, "norm", lambda x: 7.0)),
    "SciPy": (lambda x: x * scipy.special.gamma(4.0), put(scipy.special, "gamma", lambda x: 7.0)),
    "ops": (lambda x: ad.ops.sin(x), put(ad.ops, "sin", lambda x: x * 7.0)),
    "our NumPy": (lambda x: anp.sin(x), put(anp, "sin", lambda x: x * 7.0)),
    "a layer": (lambda x: RELU(ad.Tensor(3.0)) * x, put(ad.nn.ReLU, "construct", lambda s, x: x * 7.0)),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, change = CHANGED[name]
    ORDERED.move_to_end("b")
    compiled, before = ad.jit(function), float(function(2.0))
    assert np.allclose([float(compiled(2.0)) for _ in range(3)], before)
    with monkeypatch.context() as patch:
        change(patch)
        after = float(function(2.0))
        found = [float(compiled(2.0)) for _ in range(2)]
    assert after != before and np.allclose(found, after)
    if name.split()[0] not in ("order", "first"):
        assert np.isclose(float(compiled(2.0)), before)
