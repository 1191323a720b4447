"""Objects that a graph cannot look into, or that are not what they seem: right, or refused in words that help."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import ArgumentError
from adjoint.frontend import ControlFlowError
from adjoint.graph.trace import NeedsNumberError


class Positive:
    """Its truth is a comparison."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __bool__(self) -> bool:
        return self.x > 0


def in_while(x: Any) -> Any:
    while Positive(x):
        x = x - 1.0
    return x


TRUTHS = {
    "if": lambda x: x * 2 if Positive(x) else x * 3,
    "not": lambda x: x * 2 if not Positive(x) else x * 3,
    "bool": lambda x: x * 2 if bool(Positive(x)) else x * 3,
    "and": lambda x: x * 2 if x < 2 and bool(Positive(x)) else x * 3,
    "while": in_while,
    "all": lambda x: x * 2 if all([bool(Positive(x)), True]) else x * 3,
    "known": lambda x: x * 2 if Positive(1.0) else x * 3,
}


@pytest.mark.parametrize("f", TRUTHS.values(), ids=TRUTHS)
def test_the_truth_of_an_object_may_be_a_value_of_the_graph(f: Any) -> None:
    for x in (1.5, -1.5):
        assert float(ad.jit(f)(x)) == f(x)
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6  # dynamic mode has no such objects: Python wants a bool
        assert float(ad.grad(ad.jit(f))(x)) == pytest.approx(slope)


def test_an_object_and_a_number_are_not_one_value() -> None:
    with pytest.raises(ControlFlowError, match=r"the `and` gives .* a Positive if not \(test_objects.py"):
        ad.jit(lambda x: x * 2 if Positive(x) and x < 2 else x * 3)(1.5)


def test_containers_that_contain_themselves_are_refused() -> None:
    ring: list = [1.0]
    ring.append(ring)
    keys: dict = {"a": 1.0}
    keys["self"] = keys
    for argument, read in ((ring, lambda a: a[0] * 2.0), (keys, lambda a: a["a"] * 2.0)):
        with pytest.raises(ArgumentError, match=r"argument of <lambda> contains itself.*\n.*test_objects.py"):
            ad.jit(read)(argument)
    assert float(ad.jit(lambda x: x * ring[0])(2.0)) == 2.0

    def chosen(x: Any) -> Any:
        held = [x]
        held.append(held)
        if x > 0:
            held[0] = x * 2
        return held[0]

    def returned(x: Any) -> Any:
        held = [x]
        held.append(held)
        return held

    for f in (chosen, returned):
        with pytest.raises(ControlFlowError, match="contains itself"):
            ad.jit(f)(1.0)


def test_which_argument_it_is_is_no_matter_of_the_graph() -> None:
    def f(a: Any, b: Any) -> Any:
        return a[0] * (2.0 if a is b else 3.0)

    def by_id(a: Any, b: Any) -> Any:
        return a[0] * (2.0 if id(a) == id(b) else 3.0)

    for fn in (f, by_id):
        for x in (ad.Tensor(np.ones(2)), np.ones(2), [1.0, 2.0]):
            with pytest.raises(NeedsNumberError, match=r"arguments of the compiled function.*\n.*test_objects.py"):
                ad.jit(fn)(x, x)

    inner = ad.jit(lambda a: f(a, a) + f(a, a * 1.0))
    assert float(inner(np.ones(2))) == 5.0
    assert float(ad.jit(lambda a, b: a.sum() * (1.0 if b is None else 2.0))(np.ones(2), np.ones(2))) == 4.0


def test_a_graph_that_raises_writes_nothing() -> None:
    """Documented: in Python, what was written to an argument before a `raise` stays."""

    def f(w: Any, x: Any) -> Any:
        w[0] = x
        if x > 0:
            raise ValueError("above 0")
        return w.sum()

    plain, compiled = np.zeros(2), np.zeros(2)
    with pytest.raises(ValueError, match="above 0"):
        f(plain, 1.5)
    with pytest.raises(ValueError, match="above 0"):
        ad.jit(f)(compiled, 1.5)
    assert plain.tolist() == [1.5, 0.0]
    assert compiled.tolist() == [0.0, 0.0]


def test_an_index_that_nothing_needs_is_not_looked_up() -> None:
    """Documented: in Python it raises IndexError; a graph computes what its results need."""

    def unused(v: Any, i: Any) -> Any:
        v[i]
        return v.sum()

    def used(v: Any, i: Any) -> Any:
        return v.sum() + 0 * v[i]

    v, outside = ad.Tensor(np.ones(3)), np.array(7)
    for f in (unused, used, ad.jit(used)):
        with pytest.raises(IndexError):
            f(v, outside)
    assert float(ad.jit(unused)(v, outside)) == 3.0


class Branching:
    """Properties whose functions branch and loop."""

    def __init__(self, x: Any) -> None:
        self.x, self.asked = x, 0

    @property
    def size(self) -> Any:
        self.asked += 1
        if self.x > 0:
            return self.x * 2
        y = self.x
        for _ in range(9):
            if y > 3:
                break
            y = y + 0.7
        return y * 3

    @property
    def double(self) -> Any:
        return self.size * 2

    @double.setter
    def double(self, value: Any) -> None:
        self.x = value / 4

    @property
    def absent(self) -> Any:
        raise AttributeError("absent")


class Further(Branching):
    @property
    def size(self) -> Any:
        found = super().size
        return found if found > 1 else -found


class Fallback(Branching):
    def __getattr__(self, name: str) -> Any:
        return 5.0


OUTSIDE = Further(2.0)


def set_in_a_loop(x: Any) -> Any:
    o, s = Further(x), 0.0
    for _ in range(9):
        s = s + o.double
        if s > 5:
            o.double = o.x
    return s * o.asked


PROPERTIES = {
    "own": lambda x: Branching(x).size + Branching(x * 2).double,
    "inherited": lambda x: Further(x).double,
    "counted": lambda x: (lambda o: o.size + o.size * o.asked)(Branching(x)),
    "loop": set_in_a_loop,
    "absent": lambda x: getattr(Branching(x), "absent", x) + (1.0 if hasattr(Branching(x), "absent") else x),
    "outside": lambda x: x * OUTSIDE.double,
}


@pytest.mark.parametrize("f", PROPERTIES.values(), ids=PROPERTIES)
def test_functions_of_properties_are_read(f: Any) -> None:
    compiled = ad.jit(f)
    for x in (1.3, -0.7, 0.2):
        OUTSIDE.asked = 0
        assert np.isclose(compiled(x), f(x)) and np.isclose(ad.grad(compiled)(x), ad.grad(f)(x))
    assert np.allclose(ad.jit(ad.vmap(f))(np.array([1.3, -0.7])), [f(1.3), f(-0.7)])


def test_an_error_in_a_property_goes_to_getattr() -> None:
    f = lambda x: x * Fallback(x).absent
    assert ad.jit(f)(2.0) == f(2.0) == 10.0


class Summed:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __add__(self, other: Any) -> Any:
        return self.x + other if self.x > other else other

    def __iter__(self) -> Any:
        if self.x > 0:
            yield self.x
        yield 1.0

    def __enter__(self) -> Any:
        return self.x if self.x > 0 else -self.x

    def __exit__(self, *error: Any) -> None:
        pass


def entered(x: Any) -> Any:
    with Summed(x) as y:
        return y


HINTS = {
    "operator": (lambda x: Summed(x) + 0.0, r"`__add__` is called by Python itself.*call it by its name"),
    "with": (entered, r"`__enter__` is called by Python itself"),
    "generator": (lambda x: sum(Summed(x)), r"`__iter__` is a generator.*write its loop where the items are used"),
    "expression": (lambda x: sum(x * k for k in range(5) if x > k), "conditions of a comprehension are Python's"),
}


@pytest.mark.parametrize("f, hint", HINTS.values(), ids=HINTS)
def test_code_that_stays_pythons_is_named(f: Any, hint: str) -> None:
    with pytest.raises(NeedsNumberError, match=rf"test_objects.py:\d+(.|\n)*{hint}"):
        ad.jit(f)(1.0)
    assert np.isclose(ad.jit(lambda x: Summed(x).__add__(0.5))(1.0), 1.5)


class Table:
    """An object of the user's with items of its own."""

    def __init__(self) -> None:
        self.data = np.arange(12.0).reshape(3, 4)

    def __getitem__(self, index):
        return self.data[index]


TABLE = Table()


@pytest.mark.parametrize(
    "index",
    [
        (0, 1), 0, slice(1, None), (slice(1, None), 2), ([0, 1], [1, 2]), (np.array([0, 2]), 1), np.array([0, 2]), ..., (..., None),
    ],
    ids=str,
)  # fmt: skip
def test_any_index_of_an_object_of_the_users(index) -> None:
    """Also those that cannot be keys; what the object holds may change between the calls."""
    compiled = ad.jit(lambda x: (x * TABLE[index]).sum())
    for _ in range(3):
        np.testing.assert_allclose(compiled(2.0).asnumpy(), (2.0 * TABLE[index]).sum())
        TABLE.data[0, 1] += 5.0
        TABLE.data = TABLE.data + 1.0


def test_numpys_builders_of_arrays() -> None:
    """`np.r_[x, s]` is an item of an object, with traced values in its index."""
    x = np.array([0.5, -1.0, 2.0])
    for f in (
        lambda s: np.r_[x, s],
        lambda s: np.c_[x, x * s],
        lambda s: np.r_[s, 2.0, 3.0],
        lambda s: np.r_[s * x, x],
    ):
        np.testing.assert_allclose(np.asarray(ad.jit(f)(1.5)), f(1.5))
        np.testing.assert_allclose(
            ad.grad(lambda s, f=f: f(s).sum())(1.5), ad.jit(ad.grad(lambda s, f=f: f(s).sum()))(1.5)
        )
