"""What a graph was built on, read in roundabout ways: by builtins, texts, iteration, libraries, and code that stays Python.

Each entry makes an object, a function that reads it, and a change of it; the compiled function must see the change.
"""

from __future__ import annotations

import abc
import collections
import functools
import json
import math
import operator
import types
from typing import Any

import pytest

import adjoint as ad


class Thing:
    def __init__(self, a: float = 2.0, b: float = 1.0) -> None:
        self.a, self.b = a, b

    def times(self, k: float = 1.0, extra: float = 0.0) -> float:
        return self.a * k + extra

    __str__ = lambda self: "a" * int(self.a)
    __repr__ = lambda self: "b" * int(self.a)
    __format__ = lambda self, spec: "c" * int(self.a)
    __len__ = lambda self: int(self.a)
    __iter__ = lambda self: iter([self.a, self.a + 1])
    __contains__ = lambda self, x: x == self.a
    __hash__ = lambda self: int(self.a)
    __eq__ = lambda self, other: self.a == other.a
    __lt__ = lambda self, other: self.a < other.a
    __float__ = lambda self: float(self.a)
    __index__ = lambda self: int(self.a)
    __bool__ = lambda self: self.a > 2
    __radd__ = lambda self, other: other + self.a
    __reversed__ = lambda self: iter([self.a])


class Counted:
    """An iterator of the user's."""

    def __init__(self) -> None:
        self.items = [1.0, 2.0]

    def __iter__(self) -> Any:
        self.at = 0
        return self

    def __next__(self) -> float:
        self.at += 1
        if self.at > len(self.items):
            raise StopIteration
        return self.items[self.at - 1]


def through(make: Any) -> Any:
    """A reader of one Thing, which is changed from 2 to 5."""

    def made() -> Any:
        thing = Thing()
        return make(thing), lambda patch: setattr(thing, "a", 5.0)

    return made


#: what x is multiplied by, from a Thing t
READ = {
    "methodcaller": lambda t: lambda x: x * operator.methodcaller("times", 3.0)(t),
    "methodcaller with keywords": lambda t: lambda x: x * operator.methodcaller("times", 3.0, extra=1.0)(t),
    "methodcaller in map": lambda t: lambda x: x * sum(map(operator.methodcaller("times"), [t])),
    "attrgetter in map": lambda t: lambda x: x * sum(map(operator.attrgetter("a"), [t])),
    "attrgetter as key": lambda t: lambda x: x * max([t, Thing(3.0)], key=operator.attrgetter("a")).a,
    "key of sorted": lambda t: lambda x: x * sorted([t, Thing(3.0, 7.0)], key=operator.attrgetter("a"))[0].b,
    "str": lambda t: lambda x: x * len(str(t)),
    "repr": lambda t: lambda x: x * len(repr(t)),
    "format": lambda t: lambda x: x * len(format(t)),
    "str.format": lambda t: lambda x: x * len(f"{t}"),
    "%": lambda t: lambda x: x * len("%s %s" % (t, 1)),  # noqa: UP031
    "f-string": lambda t: lambda x: x * len(f"{t}{t!r}"),
    "join": lambda t: lambda x: x * len("".join(map(str, [t]))),
    "len": lambda t: lambda x: x * len(t),
    "float": lambda t: lambda x: x * float(t),
    "hash": lambda t: lambda x: x * hash(t),
    "in": lambda t: lambda x: x if 2.0 in t else -x,
    "bool": lambda t: lambda x: x if t else -x,
    "index": lambda t: lambda x: x * list(range(9))[t],
    "sum": lambda t: lambda x: x * sum(t),
    "unpacked": lambda t: lambda x: x * max(*t),
    "reversed": lambda t: lambda x: x * sum(reversed(t)),
    "enumerate": lambda t: lambda x: x * sum(i * v for i, v in enumerate(t)),
    "reduce": lambda t: lambda x: x * functools.reduce(lambda p, q: p + q.a, [t], 0.0),
}
#: the same from a list of one Thing
LISTED = {
    "str of a list": lambda o: lambda x: x * len(str(o)),
    "f-string of a list": lambda o: lambda x: x * len(f"{o}"),
    "equal lists": lambda o: lambda x: x if o == [Thing()] else -x,
    "in a list": lambda o: lambda x: x if Thing() in o else -x,
    "count": lambda o: lambda x: x * o.count(Thing()),
    "max": lambda o: lambda x: x * max([*o, Thing(3.0)]).a,
    "sum of a list": lambda o: lambda x: x * sum(o),
    "nested": lambda o: lambda x: x * len(str({"k": o})),
}


def listed(make: Any) -> Any:
    def made() -> Any:
        things = [Thing()]
        return make(things), lambda patch: setattr(things[0], "a", 5.0)

    return made


PROGRAMS: dict[str, Any] = {name: through(make) for name, make in READ.items()}
PROGRAMS |= {name: listed(make) for name, make in LISTED.items()}


def program(make: Any) -> Any:
    PROGRAMS[make.__name__] = make
    return make


@program
def users_iterator() -> Any:
    o = Counted()

    def f(x: Any) -> Any:
        for v in o:
            x = x * v
        return x

    return f, lambda patch: o.items.append(5.0)


@program
def users_iterator_replaced() -> Any:
    o = Counted()
    return lambda x: x * sum(o), lambda patch: setattr(o, "items", [7.0])


@program
def constant_of_a_library() -> Any:
    return lambda x: x * math.tau, lambda patch: patch.setattr(math, "tau", 1.0)


@program
def function_of_a_library() -> Any:
    return lambda x: x * math.sqrt(4.0), lambda patch: patch.setattr(math, "sqrt", lambda v: 7.0)


@program
def added_to_a_library() -> Any:
    return lambda x: x * getattr(json, "extra", 1.0), lambda patch: patch.setattr(json, "extra", 5.0, raising=False)


def generating(read: Any) -> Any:
    """A function whose reads are in a generator, which stays Python."""

    def f(x: Any) -> Any:
        return x * sum(read())

    return f


@program
def absent_key() -> Any:
    d: dict = {}

    def read() -> Any:
        yield d.get("k", 1.0)

    return generating(read), lambda patch: d.update(k=5.0)


@program
def absent_attribute() -> Any:
    o = types.SimpleNamespace()

    def read() -> Any:
        yield getattr(o, "k", 1.0)

    return generating(read), lambda patch: setattr(o, "k", 5.0)


@program
def attribute_that_raises() -> Any:
    o: Any = Thing()

    def read() -> Any:
        try:
            yield o.k
        except AttributeError:
            yield 1.0

    return generating(read), lambda patch: setattr(o, "k", 5.0)


@program
def absent_in_the_class() -> Any:
    class Empty:
        pass

    o = Empty()

    def read() -> Any:
        yield getattr(o, "k", 1.0)

    return generating(read), lambda patch: setattr(Empty, "k", 5.0)


@program
def absent_global() -> Any:
    def read() -> Any:
        try:
            yield not_there
        except NameError:
            yield 1.0

    return generating(read), lambda patch: patch.setitem(globals(), "not_there", 5.0)


@program
def absent_in_a_property() -> Any:
    class Lazy:
        @property
        def v(self) -> float:
            return getattr(self, "k", 1.0)

    o = Lazy()
    return lambda x: x * o.v, lambda patch: setattr(o, "k", 5.0)


@program
def property_of_an_object_made_here() -> Any:
    class Lazy:
        a = 2.0
        v = property(lambda self: self.a)

    return lambda x: x * Lazy().v, lambda patch: setattr(Lazy, "a", 5.0)


@program
def cached_property_of_an_object_made_here() -> Any:
    class Lazy:
        a = 2.0

        @functools.cached_property
        def v(self) -> float:
            return self.a

    return lambda x: x * Lazy().v, lambda patch: setattr(Lazy, "a", 5.0)


@program
def registered_class() -> Any:
    class Base(abc.ABC):  # noqa: B024
        pass

    class Other:
        pass

    o = Other()
    return lambda x: x if isinstance(o, Base) else -x, lambda patch: Base.register(Other)


@program
def items_in_map() -> Any:
    rows = [[2.0, 1.0]]
    return lambda x: x * sum(map(operator.itemgetter(0), rows)), lambda patch: rows[0].__setitem__(0, 5.0)


@program
def text_of_containers() -> Any:
    o = {"a": [1, 2]}
    return lambda x: x * len(json.dumps(o)), lambda patch: o["a"].append(300)


@program
def first_of_a_chain() -> Any:
    first: dict = {}
    chain = collections.ChainMap(first, {"k": 2.0})
    return lambda x: x * chain["k"], lambda patch: first.update(k=5.0)


@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_a_change_is_seen(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f, change = make()
    compiled = ad.jit(f, backend="interpreter")
    before = [float(compiled(1.5)) for _ in range(3)]
    assert before == [float(f(1.5))] * 3
    change(monkeypatch)
    assert float(f(1.5)) != before[0]
    assert [float(compiled(1.5)) for _ in range(2)] == [float(f(1.5))] * 2


def test_a_graph_that_nothing_has_changed_is_used_again() -> None:
    for name, make in PROGRAMS.items():
        compiled = ad.jit(make()[0], backend="interpreter")
        for _ in range(4):
            compiled(1.5)
        assert len(compiled.compilations) == (2 if name.startswith("users_iterator") else 1), (
            name
        )  # it changes itself, once
