"""Containers of every kind are made anew without their constructors, and keep what they hold."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint.core import tree

made: list[str] = []


@dataclass
class Checked:
    w: object
    calls: int = field(default=0, init=False)

    def __post_init__(self):
        made.append("Checked")
        assert isinstance(self.w, (float, np.ndarray))
        self.calls += 1


@dataclass
class Derived:
    w: object
    area: object = field(init=False)

    def __post_init__(self):
        made.append("Derived")
        self.area = self.w * 2.0


@dataclass(frozen=True)
class Frozen:
    w: object

    def __post_init__(self):
        made.append("Frozen")
        object.__setattr__(self, "label", "frozen")


@dataclass(slots=True)
class Slotted:
    w: object
    seen: list = field(default_factory=list, init=False)

    def __post_init__(self):
        made.append("Slotted")
        self.seen.append("x")


@dataclass(kw_only=True)
class Keywords:
    w: object
    start: InitVar[float] = 1.0

    def __post_init__(self, start):
        made.append("Keywords")
        self.begun = f"at {start}"


@dataclass(eq=False)
class Lazy:
    w: object

    @cached_property
    def twice(self):
        return self.w * 2


class Names(list):
    def __init__(self, *items, label):
        made.append("Names")
        super().__init__(items)
        self.label = label

    def __iter__(self):
        raise AssertionError("the user's methods are not asked")


class Upper(dict):
    def __init__(self, **items):
        made.append("Upper")
        super().__init__()
        for k, v in items.items():
            self[k] = v
        self.label = "upper"

    def __setitem__(self, key, value):
        super().__setitem__(key.upper(), value)


class Table(defaultdict):
    def __init__(self, size):
        made.append("Table")
        super().__init__(list)
        self.size = size


class Ordered(OrderedDict):
    def __init__(self, first, second):
        made.append("Ordered")
        super().__init__(a=first, b=second)


class Sized(tuple):
    def __new__(cls, *items):
        made.append("Sized")
        found = super().__new__(cls, items)
        found.label = "sized"
        return found


class Point(namedtuple("Point", "x y")):
    def __new__(cls, x):
        made.append("Point")
        return super().__new__(cls, x, 2.0 * x)


class Pair(NamedTuple):
    a: object
    b: object = 5.0


def table():
    found = Table(3)
    found["k"] = 2.0
    return found


def ordered():
    found = Ordered(1.0, 2.0)
    found.move_to_end("a")
    return found


KINDS = {
    "list": lambda: [1.0, 2.0],
    "tuple": lambda: (1.0, [2.0]),
    "dict": lambda: {"a": 1.0},
    "checked": lambda: Checked(2.0),
    "derived": lambda: Derived(2.0),
    "frozen": lambda: Frozen(2.0),
    "slots": lambda: Slotted(2.0),
    "keywords": lambda: Keywords(w=2.0, start=3.0),
    "list subclass": lambda: Names(1.0, 2.0, label="ab"),
    "dict subclass": lambda: Upper(a=1.0, b=2.0),
    "defaultdict": lambda: defaultdict(list, {"a": 1.0}),
    "defaultdict subclass": table,
    "OrderedDict subclass": ordered,
    "Counter": lambda: Counter({"a": 1.5}),
    "tuple subclass": lambda: Sized(1.0, 2.0),
    "named tuple": lambda: Pair(1.0),
    "named tuple with __new__": lambda: Point(3.0),
}


def state(x):
    """All that an object holds, in order."""
    if isinstance(x, dict):
        items = list(OrderedDict.items(x) if isinstance(x, OrderedDict) else dict.items(x))
    elif isinstance(x, (list, tuple)):
        items = list((list if isinstance(x, list) else tuple).__iter__(x))
    else:
        items = []
    slots = {n: getattr(x, n) for n in getattr(type(x), "__slots__", ())}
    return type(x), items, getattr(x, "__dict__", {}), slots, getattr(x, "default_factory", None)


@pytest.mark.parametrize("kind", KINDS)
def test_rebuilt_as_it_was(kind):
    node = KINDS[kind]()
    made.clear()
    xs, rebuild = tree.flatten(node)
    again = rebuild(xs)
    assert again is not node
    assert state(again) == state(node)
    assert made == []
    assert [x for _, x in tree.paths(node)] == xs
    assert tree.shape(again) == tree.shape(node)
    hash(tree.shape(node))


@pytest.mark.parametrize("kind", KINDS)
def test_transforms_take_and_give_them(kind):
    """`grad`, `jit` and `vmap` hand the function an object like the caller's, and give one back."""

    def total(given):
        assert type(given) is type(node)
        assert given.__dict__.keys() == node.__dict__.keys() if hasattr(node, "__dict__") else True
        return sum(x * x for x in tree.leaves(given))

    node = KINDS[kind]()
    made.clear()
    for transform in (ad.grad, lambda f: ad.jit(ad.grad(f)), lambda f: ad.grad(ad.jit(f))):
        g = transform(total)(node)
        assert type(g) is type(node)
        assert [float(x) for x in tree.leaves(g)] == pytest.approx([2 * x for x in tree.leaves(node)])
    same = ad.jit(lambda node: node)(node)
    assert type(same) is type(node)
    assert tree.leaves(same) == tree.leaves(node)
    rows = tree.map(lambda x: np.array([x, 2 * x]), node)
    assert np.asarray(ad.vmap(total)(rows)) == pytest.approx([total(node), 4 * total(node)])
    assert made == []


def test_attributes_with_numbers_are_inputs():
    """What a constructor computed is part of the value: a compiled function takes it from each call's argument."""
    f = ad.jit(lambda p: p.area * 10)
    assert [f(Derived(1.0)), f(Derived(2.0))] == [20.0, 40.0]
    assert ad.grad(lambda p: p.area * 10)(Derived(1.0)).area == 10
    label = ad.jit(lambda p: {"a": 1.0, "b": 2.0}[p.label])
    first, second = Names(1.0, label="a"), Names(1.0, label="b")
    assert [label(first), label(second)] == [1.0, 2.0]


def test_what_is_computed_on_demand_is_computed_again():
    p = Lazy(2.0)
    assert p.twice == 4
    assert ad.grad(lambda p: p.twice)(p).w == 2


def test_structures_of_the_library_stay_what_they_are():
    now = time.gmtime(0)
    xs, rebuild = tree.flatten(now)
    assert rebuild(xs) == now
