"""The one function that all guards of a graph are compiled to tells what each of them tells alone."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from adjoint.frontend.guards import Guard, compiled, image
from adjoint.frontend.places import Global


class Sub(list):
    pass


THING, OTHER = object(), object()
ARRAY = np.arange(3.0)
VALUES = [
    None, True, 1, 1.0, -0.0, 0.0, float("nan"), "a", (), [], {}, (1,), [1], (1.0,), [True], [1, 2, 3], [THING], [OTHER], (THING,),
    [THING, 1], {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": THING}, {"a": OTHER}, {1: 1}, [[]], [[1]],
    {"a": [1]}, {"a": [2]}, ({"a": 1},), list(range(100)), list(range(99)), OrderedDict(a=1), Sub([1]), {1}, ARRAY, [None], [-0.0],
    [0.0], [1000], [10**9], [ARRAY], THING,
]  # fmt: skip


@pytest.mark.parametrize("first", range(len(VALUES)))
def test_what_is_compiled_sees_what_the_guard_sees(first):
    space = {"k": VALUES[first]}
    guard = Guard(Global(space, "k", "`k`"), image(VALUES[first]))
    check = compiled([guard])
    assert check()
    for k, now in enumerate(VALUES):
        space["k"] = now
        assert check() == guard.holds() == (k == first), now


@pytest.mark.parametrize("made", [lambda n: [n, "ab"], lambda n: (n, "ab"), lambda n: {"a": n, "b": "ab"}])
def test_equal_numbers_that_are_not_the_same_will_do(made):
    space = {"k": made(10**9)}
    check = compiled([Guard(Global(space, "k", "`k`"), image(space["k"]))])
    space["k"] = made(int("1000000000"))
    assert check()
    space["k"] = made(10**9 + 1)
    assert not check()


@pytest.mark.parametrize(
    ("box", "change"),
    [
        ([THING, 2], lambda x: x.append(1)),
        ([THING, 2], lambda x: x.reverse()),
        ([], lambda x: x.append(THING)),
        ({}, lambda x: x.update(a=1)),
        ({"a": THING}, lambda x: x.update(a=OTHER)),
        ({"a": 1, "b": 2}, lambda x: x.update(a=x.pop("a"))),  # another order
        ({"a": [1]}, lambda x: x["a"].append(2)),
    ],
)
def test_a_container_that_is_written_to_is_another(box, change):
    check = compiled([Guard(Global({"k": box}, "k", "`k`"), image(box))])
    assert check()
    change(box)
    assert not check()
