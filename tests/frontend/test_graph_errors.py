"""Control flow on graph values that does not fit: the error names the variable and the place, in the user's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.frontend import ControlFlowError
from adjoint.graph.trace import NeedsNumberError
from tests.frontend.test_graph import traced


def shapes_differ(x):
    if x.sum() > 0:  # noqa: SIM108
        y = x
    else:
        y = x[:2]
    return y


def one_branch(x):
    if x.sum() > 0:
        z = x
    return z


def grows(x):
    while x.sum() > 0:
        x = ops.concat([x, x])
    return x


def returns_nothing(x):
    if x.sum() > 0:
        return x


def list_in_while(x):
    seen = []
    while x.sum() > 1:
        x = x / 2
        seen.append(x)
    return seen


def defined_in_while(x):
    while x.sum() > 1:
        x = last = x / 2
    return last


def ternary_of_shapes(x):
    return x if x.sum() > 0 else x[0]


def strings(x):
    if x.sum() > 0:  # noqa: SIM108
        name = "a"
    else:
        name = "b"
    return {"a": x, "b": -x}[name]


def needs_a_number(x):
    return [1, 2, 3][ops.cast(x.sum(), ad.int64)]


def vector_condition(x):
    return x if x > 0 else -x


ERRORS = {
    shapes_differ: r"`y` is float64\[4\] after the `if` branch and float64\[2\] after the `else` branch \(test_graph_errors.py:\d+:5\). "
    r"Make both the same shape, or choose between them with ops.where",
    one_branch: r"`z` is only defined in one branch of the `if` at test_graph_errors.py:\d+:5, and it is used later: give it a value before",
    grows: r"`x` changes from float64\[4\] to float64\[8\] in the body of the `while` at test_graph_errors.py:\d+:5",
    returns_nothing: r"the function returns float64\[4\] in the `if` branch and None otherwise",
    list_in_while: r"`seen` changes from a list of 0 to a list of 1 in the body of the `while`.*fill a Tensor by x\[i\] = v",
    defined_in_while: r"`last` is only defined in the body of the `while` at .*give it a value before the loop",
    ternary_of_shapes: r"the ternary gives float64\[4\] if the condition holds and float64\[\] if not \(test_graph_errors.py:\d+:\d+\)",
    strings: r"`name` is 'a' after the `if` branch and 'b' after the `else` branch",
}


@pytest.mark.parametrize("f", ERRORS, ids=lambda f: f.__name__)
def test_misfits_name_the_variable_and_the_place(f: Any) -> None:
    with pytest.raises(ControlFlowError, match=ERRORS[f]) as caught:
        traced(f, np.arange(4.0))
    line = int(str(caught.value).split("test_graph_errors.py:")[1].split(":")[0])
    assert 0 < line - f.__code__.co_firstlineno < 5


def test_a_number_that_is_not_known_yet() -> None:
    with pytest.raises(NeedsNumberError, match="needs a number"):
        traced(needs_a_number, np.arange(4.0))
    with pytest.raises(TypeError, match="ambiguous"):
        traced(vector_condition, np.arange(4.0))


def test_a_failed_attempt_leaves_no_trace() -> None:
    """A loop that starts as one of the graph and falls back to Python has run each round once."""
    seen = []

    def f(x):
        ys = {}
        for i in range(10):
            ys[i] = x * i
            seen.append(len(ys))
        return ys

    _, got = traced(f, np.float64(2.0))
    assert got == {i: 2.0 * i for i in range(10)}
    assert seen == list(range(1, 11))
