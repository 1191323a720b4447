"""A graph value stored in an object that outlives the trace is reported where it was stored; objects made inside are free."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.spec import Spec
from adjoint.frontend import LeakError, convert, leaks
from adjoint.graph.trace import Tracer

HISTORY: list[Any] = []
TABLE: dict[str, Any] = {}
SEEN: set[Any] = set()
QUEUE: deque[Any] = deque()
ROWS: dict[str, list[Any]] = {"a": []}


class Model:
    def __init__(self) -> None:
        self.last: Any = None
        self.steps: list[Any] = []


MODEL = Model()


def traced(f: Any, *args: Any) -> list[Any]:
    """Trace a function on one number, and arguments that are not numbers."""
    tracer = Tracer("jit")
    try:
        return leaks.run(convert(f), (tracer.param(Spec((), np.dtype(np.float64))), *args), {})[0]
    finally:
        tracer.ended = True


@pytest.fixture(autouse=True)
def clean() -> Any:
    yield
    for held in (HISTORY, TABLE, SEEN, QUEUE, ROWS["a"], MODEL.steps):
        held.clear()  # type: ignore[attr-defined]
    MODEL.last = None


def appended(x):
    y = x * 2
    HISTORY.append(y)
    return y


def item(x):
    TABLE["y"] = [x, 1]
    return x


def updated(x):
    TABLE.update(y=x)
    return x


def in_setdefault(x):
    TABLE.setdefault("k", x)
    return x


def added(x):
    SEEN.add(x)
    return x


def queued(x):
    QUEUE.appendleft(x)
    return x


def attribute(x):
    MODEL.last = x + 1
    return x


def by_setattr(x):
    setattr(MODEL, "last", x)  # noqa: B010
    return x


def attribute_of_an_attribute(x):
    MODEL.steps.append(x)
    return x


def inner_list(x):
    ROWS["a"].extend([x])
    return x


def unpacked(x):
    y, MODEL.last = x, x
    return y


def in_a_branch(x):
    if x > 0:
        TABLE["positive"] = x
    return x


def in_a_loop(x):
    for i in range(3):
        TABLE[i] = x * i
    return x


def helper(x):
    HISTORY.append(x)


def through_a_function(x):
    helper(x)
    return x


def through_a_closure(x):
    def note(v):
        HISTORY.append(v)

    note(x)
    return x


LEAKS = {
    appended: (2, 5, "HISTORY.append(y)"), item: (1, 5, "TABLE['y']"), updated: (1, 5, "TABLE.update(y=x)"),
    in_setdefault: (1, 5, "TABLE.setdefault('k', x)"), added: (1, 5, "SEEN.add(x)"), queued: (1, 5, "QUEUE.appendleft(x)"),
    attribute: (1, 5, "MODEL.last"), by_setattr: (1, 5, "setattr(MODEL, 'last', x)"),
    attribute_of_an_attribute: (1, 5, "MODEL.steps.append(x)"), inner_list: (1, 5, "ROWS['a'].extend([x])"),
    unpacked: (1, 8, "MODEL.last"), in_a_branch: (2, 9, "TABLE['positive']"), in_a_loop: (2, 9, "TABLE[i]"),
    through_a_function: (-3, 5, "HISTORY.append(x)"), through_a_closure: (2, 9, "HISTORY.append(v)"),
}  # fmt: skip


@pytest.mark.parametrize("f", LEAKS, ids=lambda f: f.__name__)
def test_reported_where_it_was_stored(f: Any) -> None:
    line, column, text = LEAKS[f]
    with pytest.raises(LeakError) as caught:
        traced(f)
    error = caught.value
    where = (__file__, f.__code__.co_firstlineno + line, column)
    assert (error.filename, error.lineno, error.offset) == where
    assert str(error).startswith(
        f"`{text}` at test_leaks.py:{where[1]}:{column} keeps float64[] in an object that outlives"
    )
    assert str(error).endswith("Return it from the function instead")


@dataclass
class Point:
    x: Any
    trail: list[Any] = field(default_factory=list)


def local_objects(x):
    p, seen, table = Point(x), [], {}
    model = Model()
    model.last = x
    model.steps.append(x)
    for i in range(3):
        p.x = p.x * 2
        p.trail.append(p.x)
        seen.append([x])
        table[i] = seen
        table.setdefault("rows", []).append(p)
    return p.x, len(seen)


def objects_that_refer_to_one_another(x):
    a, b = Model(), Model()
    a.last, b.last = b, a
    a.steps.append(x)
    b.value = x
    return a.steps[0]


def taken_out_again(x):
    HISTORY.append(x)
    MODEL.last = x
    MODEL.last = None
    return HISTORY.pop()


def plain_values(x):
    HISTORY.append(x.shape)
    TABLE["n"] = 3
    MODEL.last = "done"
    return x


def returned_containers(x):
    out = {"rows": []}
    out["rows"].append(x)
    out["p"] = Point(x)
    out["p"].trail.append(x)
    return out


@pytest.mark.parametrize(
    "f", [local_objects, objects_that_refer_to_one_another, taken_out_again, plain_values, returned_containers]
)
def test_no_leak(f: Any) -> None:
    assert traced(f)


def test_containers_among_the_arguments_are_copies() -> None:
    def f(x, state):
        state["x"] = x
        state["rows"].append(x)
        return state["x"]

    assert traced(f, {"rows": []})


def test_an_object_among_the_arguments_is_not_a_copy() -> None:
    def f(x, model):
        model.last = x
        return x

    with pytest.raises(LeakError, match=r"`model.last` at test_leaks.py:\d+:9 keeps float64\[\]"):
        traced(f, Model())


def test_values_of_an_outer_trace_are_its_own_business() -> None:
    def inner(y, kept, outer_value):
        kept.append(outer_value)
        return y

    def f(x):
        kept = []
        traced(lambda y: inner(y, kept, x))
        return kept[0]

    assert traced(f)


def test_nothing_is_watched_outside_of_a_trace() -> None:
    convert(appended)(2.0)
    assert HISTORY == [4.0]


class Slotted:
    __slots__ = ("a", "b", "c")

    def __init__(self, x: Any) -> None:
        self.a, self.b, self.c = x, x * 2, [x]


@dataclass(slots=True)
class Pair:
    x: Any
    y: Any = 0.0


class Mixed(Slotted):
    def __init__(self, x: Any) -> None:
        super().__init__(x)
        self.d = x * 3


SLOTTED, PAIR = Slotted(1.0), Pair(1.0)


@pytest.mark.parametrize("cls", [Slotted, Mixed])
@pytest.mark.parametrize("iterations", [3, 9, 17])
def test_objects_with_slots(cls: Any, iterations: int) -> None:
    def f(x):
        o, p = cls(x), Pair(x)
        for k in range(iterations):
            o.a = o.a + o.b * k
            if o.a < 40:
                o.b, p.y = o.b + x, p.y + o.c[0]
            p.x, o.c[0] = p.y * 2, p.x
        return o.a + o.b * p.x + p.y + o.c[0]

    compiled = ad.jit(f)
    for x in (1.3, -0.7):
        assert np.isclose(compiled(x), f(x)) and np.isclose(ad.grad(compiled)(x), ad.grad(f)(x))


@pytest.mark.parametrize("holder", [SLOTTED, PAIR], ids=["slots", "dataclass"])
def test_an_object_with_slots_from_outside(holder: Any) -> None:
    def f(x):
        holder.x, holder.y = x, x * 2
        return x

    def g(x):
        holder.a, holder.b = x, x * 2
        return x

    def kept(x):
        HISTORY.append(Slotted(x))
        return x

    for function in (g if holder is SLOTTED else f, kept):
        with pytest.raises(LeakError, match=r"test_leaks.py:\d+"):
            ad.jit(function)(2.0)
    assert (SLOTTED.a, SLOTTED.b, PAIR.x, PAIR.y, HISTORY) == (1.0, 2.0, 1.0, 0.0, [])


def test_a_class_that_the_function_makes() -> None:
    def f(x):
        class Made:
            scale = x * 2
            calls: Any = []

            def __init__(self, y: Any) -> None:
                self.y = y

            def scaled(self):
                self.calls.append(1)
                return self.y * self.scale

        first = Made(x).scaled()
        Made.scale = x * 3
        if x > 0:
            Made.scale = x * 5
        return first + Made(x).scaled() * len(Made.calls)

    compiled = ad.jit(f)
    for x in (1.3, -0.7):
        assert np.isclose(compiled(x), f(x)) and np.isclose(ad.grad(compiled)(x), ad.grad(f)(x))


def test_a_tensor_from_outside_that_is_written_to_by_another_name() -> None:
    """The write would happen only when the graph is built: it is refused, and the Tensor is as it was."""
    outer = ad.Tensor([1.0, 2.0])

    def f(x):
        y = outer
        y += x
        return y * x

    with pytest.raises(ad.AdjointError, match="outer"):
        ad.jit(f)(ad.Tensor([3.0, 5.0]))
    assert np.array_equal(outer, [1.0, 2.0])
