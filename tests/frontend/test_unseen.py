"""What Python reads or calls by itself is watched too: a compiled function sees each change, as Python does."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adjoint as ad

SCALE = 2.0
NAMES: dict[str, float] = {"factor": 2.0}
CHOSEN: ContextVar[float] = ContextVar("CHOSEN", default=2.0)
OPEN: ContextVar[SimpleNamespace] = ContextVar("OPEN")
LATE = ModuleType("late")


class Scaled:
    """Its operators read a global variable; converted code does not see them."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __add__(self, other: Any) -> Any:
        return self.x * SCALE + other

    def __getitem__(self, k: int) -> Any:
        return self.x * NAMES["factor"] * k

    def __len__(self) -> int:
        return int(SCALE)

    def __iter__(self) -> Any:
        return iter([self.x, self.x * SCALE])

    def __enter__(self) -> Any:
        return self.x * SCALE

    def __exit__(self, *error: object) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return other == SCALE

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name == "doubled":
            return self.x * SCALE
        raise AttributeError(name)


class Times:
    """A descriptor that reads a global variable."""

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        return SCALE if instance is None else instance.x * SCALE


class Described:
    times = Times()

    def __init__(self, x: Any) -> None:
        self.x = x


class Holding:
    """Its operator reads an attribute of what it was given."""

    def __init__(self, x: Any, by: Any) -> None:
        self.x, self.by = x, by

    def __neg__(self) -> Any:
        return self.x * self.by.factor


class Meta(type):
    def __call__(cls, *args: Any) -> Any:
        made = super().__call__(*args)
        made.scale = SCALE
        return made


class Made(metaclass=Meta):
    def __init__(self, x: Any) -> None:
        self.x = x


class First:
    weight = 2.0


class Second:
    weight = 7.0

    def __call__(self) -> float:
        return 1.0


HELD = SimpleNamespace(factor=2.0)
ITEM: Any = First()
DESCRIBED = Described(3.0)


def _scaled_by(k: Any, x: Any) -> Any:
    return x * k.factor


PARTIAL = functools.partial(_scaled_by, HELD)


def context_manager(x: Any) -> Any:
    with Scaled(x) as y:
        return y * 2


def set_default(x: Any) -> Any:
    return x * NAMES.setdefault("factor", 9.0)


def put(name: str, value: Any) -> Callable[[], None]:
    """Set a variable of this module."""
    return lambda: globals().__setitem__(name, value)


def become() -> None:
    ITEM.__class__ = Second


#: A function, and what changes what it reads.
CHANGED: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "operator": (lambda x: Scaled(x) + 1.0, put("SCALE", 5.0)),
    "item": (lambda x: Scaled(x)[3], lambda: NAMES.update(factor=5.0)),
    "length": (lambda x: x * len(Scaled(x)), put("SCALE", 5.0)),
    "unpacked": (lambda x: (lambda a, b: a + b)(*Scaled(x)), put("SCALE", 5.0)),
    "context manager": (context_manager, put("SCALE", 5.0)),
    "equality": (lambda x: x * 3 if Scaled(x) == 5.0 else x, put("SCALE", 5.0)),
    "attribute that is not there": (lambda x: Scaled(x).doubled, put("SCALE", 5.0)),
    "descriptor of an object made here": (lambda x: Described(x).times, put("SCALE", 5.0)),
    "descriptor of an object from outside": (lambda x: x * DESCRIBED.times, put("SCALE", 5.0)),
    "what an object holds": (lambda x: -Holding(x, HELD), lambda: setattr(HELD, "factor", 5.0)),
    "metaclass": (lambda x: x * Made(x).scale, put("SCALE", 5.0)),
    "partial": (lambda x: functools.reduce(lambda y, f: f(y), [PARTIAL], x), lambda: setattr(HELD, "factor", 5.0)),
    "context variable": (lambda x: x * CHOSEN.get(), lambda: CHOSEN.set(5.0)),
    "in a context variable": (lambda x: x * OPEN.get().factor, lambda: setattr(OPEN.get(), "factor", 5.0)),
    "environment": (lambda x: x * float(os.environ["ADJOINT_TEST"]), lambda: os.environ.update(ADJOINT_TEST="5")),
    "getenv": (lambda x: x * float(os.getenv("ADJOINT_TEST", "1")), lambda: os.environ.pop("ADJOINT_TEST")),
    "environment, asked": (lambda x: x * ("ADJOINT_TEST" in os.environ), lambda: os.environ.pop("ADJOINT_TEST")),
    "class": (lambda x: x * 3 if isinstance(ITEM, Second) else x, become),
    "type": (lambda x: x * 3 if type(ITEM) is Second else x, become),
    "callable": (lambda x: x * 3 if callable(ITEM) else x, become),
    "attribute of the class": (lambda x: x * ITEM.weight, become),
    "dir": (lambda x: x * len([n for n in dir(HELD) if n[0] != "_"]), lambda: setattr(HELD, "more", 1.0)),
    "vars": (lambda x: x * len(vars(HELD)), lambda: setattr(HELD, "more", 1.0)),
    "setdefault": (set_default, lambda: NAMES.update(factor=5.0)),
    "module attribute": (lambda x: x * LATE.value, put("SCALE", 5.0)),
    "variables of a module": (lambda x: x * len(vars(LATE)), lambda: setattr(LATE, "more", 1.0)),
}


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("ADJOINT_TEST", "2")
    here = sys.modules[__name__].__dict__ if __name__ in sys.modules else globals()
    for name, value in (("SCALE", 2.0), ("NAMES", {"factor": 2.0}), ("ITEM", First())):
        monkeypatch.setitem(here, name, value)
    monkeypatch.setattr(HELD, "factor", 2.0)
    monkeypatch.setattr(LATE, "__getattr__", lambda name: SCALE if name == "value" else _missing(name), raising=False)
    tokens = CHOSEN.set(2.0), OPEN.set(SimpleNamespace(factor=2.0))
    yield
    CHOSEN.reset(tokens[0])
    OPEN.reset(tokens[1])
    for holder in (HELD, LATE):
        vars(holder).pop("more", None)


def _missing(name: str) -> Any:
    raise AttributeError(name)


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_is_seen_by_the_next_call(name: str) -> None:
    f, change = CHANGED[name]
    compiled, slope = ad.jit(f), ad.jit(ad.grad(lambda x: f(x) * x))
    before = f(1.5)
    assert float(compiled(1.5)) == float(compiled(1.5)) == float(before)
    assert np.isclose(float(slope(1.5)), float(ad.grad(lambda x: f(x) * x)(1.5)))
    change()
    after = f(1.5)
    assert float(after) != float(before), "the program must depend on what has changed"
    assert float(compiled(1.5)) == float(after)
    assert np.isclose(float(slope(1.5)), float(ad.grad(lambda x: f(x) * x)(1.5)))


@pytest.mark.filterwarnings("ignore:jit")
def test_what_a_text_reads_is_read_in_each_call() -> None:
    def by_eval(x: Any) -> Any:
        return x * eval("SCALE", globals())

    def behind_a_call(x: Any) -> Any:
        return x * sorted([1.0], key=lambda k: eval("k"))[0] * by_eval(1.0)

    for f in (by_eval, behind_a_call):
        globals()["SCALE"] = 2.0
        compiled = ad.jit(f)
        assert float(compiled(1.5)) == 3.0
        globals()["SCALE"] = 5.0
        assert float(compiled(1.5)) == 7.5
