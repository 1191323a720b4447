"""Errors of a graph that Python would catch: by `except`, or by a context manager that swallows them."""

import contextlib
import decimal
import threading
import unittest
import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.frontend.errors import ControlFlowError
from adjoint.graph.numbers import NeedsNumberError

TABLE = ad.Tensor(np.array([1.0, 2.0, 3.0]))


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return error[0] is not None


class Notes(Swallows):
    def __exit__(self, *error):
        self.left = True


@contextlib.contextmanager
def swallowing():
    try:
        yield
    except (ValueError, IndexError):
        Notes().left = True


@contextlib.contextmanager
def noting():
    try:
        yield
    finally:
        Notes().left = True


@contextlib.contextmanager
def stacked():
    with contextlib.ExitStack() as stack:
        stack.enter_context(Swallows())
        yield


#: Those of libraries too: what swallows errors is written in Python, and does not only return None.
SWALLOWING = [
    lambda: contextlib.suppress(ValueError, IndexError), Swallows, swallowing, stacked, contextlib.ExitStack,
    lambda: pytest.raises((ValueError, IndexError)), lambda: unittest.TestCase().assertRaises((ValueError, IndexError)),  # noqa: PT027
]  # fmt: skip
PASSING = [
    contextlib.nullcontext, Notes, noting, ad.no_grad, warnings.catch_warnings, np.errstate, decimal.localcontext, threading.Lock,
]  # fmt: skip


def raising(manager, x):
    y = x
    with manager():
        if x > 1:
            raise ValueError("above 1")
        y = 2 * x
    return y


def picking(manager, x, i):
    y = x
    with manager():
        y = TABLE[i] * x
    return y


@pytest.mark.parametrize("manager", SWALLOWING)
def test_errors_of_the_graph_are_refused_where_a_manager_swallows(manager):
    with pytest.raises(ControlFlowError, match=r"the `raise` at test_caught.py"):
        ad.jit(lambda x: raising(manager, x))(0.5)
    with pytest.raises(NeedsNumberError, match="whether this index is outside"):
        ad.jit(lambda x: picking(manager, x, 1 if x > 1 else 7))(1.5)
    if manager not in SWALLOWING[-2:]:  # those want an error
        assert float(ad.jit(lambda x: picking(manager, x, 1 if x > 1 else -3))(1.5)) == 3.0


@pytest.mark.parametrize("manager", PASSING)
def test_errors_of_the_graph_pass_other_managers(manager):
    assert float(ad.jit(lambda x: raising(manager, x))(0.5)) == 1.0
    with pytest.raises(ValueError, match="above 1"):
        ad.jit(lambda x: raising(manager, x))(1.5)
    assert float(ad.jit(lambda x: picking(manager, x, 1 if x > 1 else 7))(1.5)) == 3.0


def test_what_tracing_raises_is_not_swallowed():
    def f(x):
        y = x
        with contextlib.suppress(TypeError):
            y = x * [1, 2, 3][int(x)]
        return y

    with pytest.raises(NeedsNumberError):
        ad.jit(f)(1.5)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_loops_that_catch_an_index_are_pythons(backend):
    def f(x):
        s = 0 * x
        for k in range(12):
            try:
                s = s + TABLE[k] * x
            except LookupError:
                s = s - x
        return s

    assert float(ad.jit(f, backend=backend)(1.5)) == float(f(1.5)) == -4.5


def test_an_index_that_a_try_does_not_catch_is_the_graphs():
    def f(x):
        i = 1 if x > 1 else 7
        try:
            y = TABLE[i] * x
        except ValueError:
            y = -x
        except IndexError:
            print("outside")
            raise
        return y

    assert float(ad.jit(f)(1.5)) == 3.0
    with pytest.raises(IndexError):
        ad.jit(f)(0.5)
