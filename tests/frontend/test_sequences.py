"""Lists, tuples and texts that meet a number which only the run knows: as Python has it, or refused."""

from __future__ import annotations

import operator
from collections import deque

import numpy as np
import pytest

import adjoint as ad
from run_time_numbers import halvings


def in_place(a, k):
    a *= k
    return a


def number_in_place(a, k):
    k *= a
    return k


SEQUENCES = [[1, 2], (1, 2), "ab", b"ab", bytearray(b"ab"), deque([1, 2]), [ad.Tensor(1.0)]]
REPEATS = [operator.mul, lambda a, k: k * a, in_place, number_in_place, operator.imul]


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda s: type(s).__name__)
def test_repeats_a_number_of_times_that_the_run_knows(sequence, repeat):
    with pytest.raises(ad.NeedsNumberError, match=f"repeats a {type(sequence).__name__} by a number"):
        ad.jit(lambda x: x * len(repeat(sequence, halvings(x))))(8.0)


@pytest.mark.parametrize("times", [np.int64(3), ad.Tensor(3)])
def test_integers_of_arrays_repeat_in_numpy_only(times):
    with pytest.raises(ad.NeedsNumberError, match="repeats a list"):
        ad.jit(lambda n: sum([1, 2] * n))(times)


def test_truths_repeat():
    with pytest.raises(ad.NeedsNumberError, match="repeats a list"):
        ad.jit(lambda x: sum([x, x] * (x > 1.0)))(2.0)


def test_counters_repeat_as_in_python():
    def f(x):
        total = 0.0
        for k in range(20):
            total = total + sum([1.0, 2.0] * k) * x
        return total

    assert ad.jit(f)(2.0) == f(2.0)


def test_no_float_repeats_or_extends():
    for wrong in (
        lambda x: [1.0, 2.0] * x,
        lambda x: x * (1.0, 2.0),
        lambda x: operator.add([1.0], x),
        lambda x: operator.add(x, [1.0]),
    ):
        for run in (wrong, ad.jit(wrong)):
            with pytest.raises(TypeError):
                run(2.0)


def test_tensors_multiply_lists():
    f = lambda x: sum([1.0, 2.0] * x)
    assert ad.jit(f)(ad.Tensor(2.0)) == f(ad.Tensor(2.0)) == 6.0
    assert ad.jit(ad.grad(f))(2.0) == ad.grad(f)(2.0) == 3.0
