"""The peak of compiled programs: nothing is held that need not be, and the numbers are the interpreter's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core.tree import flatten


def arrays(count: int, *shape: int) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [(random.normal(size=shape) / 10).astype(np.float32) for _ in range(count)]


def agree(fn: Any, *args: Any) -> None:
    """Compiled and interpreted results are equal to rounding."""
    found, wanted = (flatten(ad.jit(fn, backend=b)(*args))[0] for b in ("native", "interpreter"))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("perm", [(0, 2, 1), (1, 2, 0), (0, 1, 2), (2, 0, 1)])
def test_a_sum_of_products_is_one_product(perm: tuple[int, ...]) -> None:
    """The gradient of a weight that every step of a sequence uses: no product for each step exists."""
    sizes = (60, 70, 8)  # steps, rows, terms
    x = arrays(1, *[sizes[perm.index(k)] for k in range(3)])[0]
    y = arrays(1, 60, 8, 90)[0]

    def f(x: Any, y: Any) -> Any:
        return ops.sum(ops.transpose(x, perm) @ y, 0)

    assert ad.jit(f).memory(x, y).peak_bytes < 60 * 70 * 90
    agree(f, x, y)


def test_an_argument_that_nothing_reads_does_not_keep_others_from_being_overwritten() -> None:
    w, unused = arrays(1, 300, 300)[0], np.arange(3)
    step = ad.jit(lambda w, n: w * 2.0 + 1.0, donate="w")
    assert step.memory(ad.Tensor(w), unused).peak_bytes == 0
    assert (step(ad.Tensor(w), unused).asnumpy() == w * np.float32(2) + np.float32(1)).all()


def test_nests_that_share_nothing_are_not_joined() -> None:
    """The gradients of all biases would be one pass over all cotangents, which would be held for it."""
    network = nn.SequentialCell(*[cell for _ in range(12) for cell in (nn.Dense(256, 256), nn.ReLU())])
    weights = list(network.trainable_params())
    optimiser = ad.optim.SGD(weights, learning_rate=0.01)
    step = ad.optim.compiled_step(lambda x: ops.mean(network(x) ** 2), weights, optimiser)
    report = step.memory(ad.Tensor(arrays(1, 2048, 256)[0]))
    assert sum(held.what == "Sum" for held in report.at_peak) <= 2
    assert report.scratch_bytes < 3 * 2048 * 256 * 4
