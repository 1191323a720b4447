"""`fmod` of integers of every width, to their ends, as NumPy has it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

WIDTHS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
MODES: dict[str, Callable[[Any], Any]] = {
    "dynamic": lambda f: lambda x, y: f(ad.Tensor(x), y),
    "native": ad.jit,
    "interpreter": lambda f: ad.jit(f, backend="interpreter"),
    "batch": lambda f: ad.vmap(f, (0, None)),
}


def numbers(dtype: str) -> np.ndarray:
    ends = np.iinfo(dtype)
    inside = [n for n in (-13, -7, -1, 0, 1, 2, 3, 7, 100) if n >= ends.min]
    return np.unique(np.array([ends.min, ends.min + 1, *inside, ends.max - 1, ends.max], dtype))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fmod", [np.fmod, ops.fmod], ids=["np", "ops"])
def test_all_pairs_of_widths(fmod: Callable[..., Any], mode: str) -> None:
    run = MODES[mode](fmod)
    for one, other in itertools.product(WIDTHS, repeat=2):
        x, y = numbers(one)[:, None], numbers(other)
        with np.errstate(all="ignore"):
            wanted, found = np.fmod(x, y), np.asarray(run(x, y))
        assert found.dtype == wanted.dtype, (one, other)
        np.testing.assert_array_equal(found, wanted, f"{one} {other}")


def test_the_least_integer() -> None:
    x = np.array([-13, 100])
    assert ad.jit(lambda a: np.fmod(a, -(2**63)))(x).tolist() == [-13, 100]
    assert ops.fmod(ad.Tensor(x), -(2**63)).tolist() == [-13, 100]
    least = np.array([-128, -128], np.int8)
    assert ad.jit(np.fmod)(least, np.array([3, 7], np.int8)).tolist() == [-2, -2]


def test_integers_beside_floats() -> None:
    x, y = np.array([-(2**63), -7, 7]), np.array([2.5, -2.5, 0.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(ops.fmod(ad.Tensor(x), y)), np.fmod(x, y))
        np.testing.assert_array_equal(np.asarray(ad.jit(ops.fmod)(y, x)), np.fmod(y, x))
