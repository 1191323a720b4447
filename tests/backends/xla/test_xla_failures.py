"""Where NumPy raises an error, a program on XLA does: an index out of range is never taken for the nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def error_of(f: Any, args: Any, backend: str) -> BaseException:
    with pytest.raises(Exception) as caught:
        ad.jit(f, backend=backend)(*args)
    return caught.value


def first_line(error: BaseException) -> str:
    """What is said of the step itself, without the calls around it."""
    said = str(error).split("\n")[0]
    return said[said.rindex(" on ") :] if " on " in said else said


def fails_alike(f: Any, *args: Any) -> BaseException:
    found, wanted = error_of(f, args, "xla"), error_of(f, args, "interpreter")
    assert isinstance(found, type(wanted)), found
    if "converge" not in str(wanted):
        assert first_line(found) == first_line(wanted)
    return found


def up_to(x, n):
    total, i = 0.0, 0
    while i < n:
        total = total + x[i]
        i = i + 1
    return total


def until_negative(x):
    i, product = 0, 1.0
    while x[i] > 0:
        product = product * x[i]
        i = i + 1
    return product


def in_a_branch(x, i):
    if i < 3:
        return x[i] * 2.0
    return x[0]


def test_an_index_out_of_range_names_the_index_and_the_line():
    x, bad = np.arange(6.0).reshape(2, 3), np.array([0, 2, -3, -4])
    error = fails_alike(lambda x, i: x[:, i].sum(), x, bad)
    assert isinstance(error, ad.IndexingError) and "index -4 is out of bounds" in str(error)
    assert "test_xla_failures.py" in str(error) and "x[:, i].sum()" in str(error)
    fails_alike(lambda x, i, j: x[i, j], x, np.array([0, 1]), np.array([1, 7]))
    fails_alike(lambda x, i: ops.take_along_axis(x, i, 1), x, np.array([[0], [9]]))


def test_labels_and_segments_that_do_not_exist_are_named():
    x, labels = np.arange(8.0).reshape(4, 2), np.array([0, 1, 1, -1])
    error = fails_alike(lambda x, i: ops.segment_sum(x, i, 2), x, labels)
    assert "the segment -1 is not one of the 2" in str(error) and "test_xla_failures.py" in str(error)
    error = fails_alike(lambda x, i: ops.cross_entropy(x, i), x, labels)
    assert "class -1 is not one of 0 to 1" in str(error) and "test_xla_failures.py" in str(error)


def test_indices_of_small_dtypes():
    """Whose range is shorter than the axis."""
    x, i = np.arange(300.0), np.array([1, 100, -3], np.int8)
    np.testing.assert_array_equal(np.asarray(ad.jit(lambda x, i: x[i], backend="xla")(x, i)), x[i])
    fails_alike(lambda x, i: x[i], x[:5], np.array([1, 200], np.uint8))


def test_an_index_out_of_range_in_loops_and_branches():
    x = np.array([1.0, 2.0, 3.0])
    fails_alike(up_to, x, ad.Tensor(7))
    fails_alike(until_negative, x)
    fails_alike(in_a_branch, x, ad.Tensor(-5))
    assert ad.jit(in_a_branch, backend="xla")(x, ad.Tensor(5)) == 1.0


def test_a_place_out_of_range():
    def put(x, i):
        y = x * 1.0
        y[i] = 7.0
        return y

    fails_alike(put, np.arange(4.0), np.array([1, 4]))
    fails_alike(lambda x, i: ops.scatter_add(x, 0, i, x[:2]), np.arange(4.0), np.array([-5, 1]))


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: ops.cholesky(x).sum(), -np.eye(3)),
        (lambda x: ops.cholesky(x).sum(), np.stack([np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])])),
        (lambda x: ops.inv(x).sum(), np.ones((3, 3))),
        (lambda x: ops.solve(x, x[0]).sum(), np.zeros((2, 2))),
        (lambda x: ops.svd(x)[1].sum(), np.full((2, 2), np.nan)),
        (lambda x: ops.cast(x, ad.int64) ** ops.cast(-x, ad.int64), np.array([1.0, 2.0])),
    ],
    ids=["cholesky", "cholesky of one of a batch", "inv", "solve", "svd", "power"],
)
def test_what_cannot_be_computed(f, x):
    fails_alike(f, x)


def test_what_is_not_finite_is_no_failure_by_itself():
    x = np.array([[np.inf, 1.0], [0.0, 2.0]])
    found, wanted = (ad.jit(lambda x: ops.inv(x), backend=b)(x) for b in ("xla", "interpreter"))
    np.testing.assert_allclose(np.asarray(found)[1], np.asarray(wanted)[1])
