"""What follows a product point by point, where the product's rows and columns are not the axes of its result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


AROUND_A_VECTOR = (1, 7, 8, 9, 16, 17, 33)


@pytest.mark.parametrize("lead", [(1,), (3,), (2, 5)], ids=str)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_what_follows_stacks_times_vectors(lead: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> None:
    """A vector on the right is a column that the result has no axis for: its last axis are rows, not columns."""
    sizes = [(m, k) for m in AROUND_A_VECTOR for k in (1, 9)]
    stacks = [rng.normal(size=(*lead, m, k)).astype(dtype) for m, k in sizes]
    columns = [rng.normal(size=k).astype(dtype) for _, k in sizes]
    rows = [rng.normal(size=m).astype(dtype) for m, _ in sizes]

    def f(stacks: Any, columns: Any, rows: Any) -> Any:
        right = [ops.tanh(a @ v + 1.0) * u for a, v, u in zip(stacks, columns, rows, strict=True)]
        left = [ops.tanh(u @ a - 1.0) * v for a, v, u in zip(stacks, columns, rows, strict=True)]
        return right, left, sum(ops.sum(x) for x in (*right, *left))

    right, left, _ = f(stacks, columns, rows)
    found = ad.jit(f)(stacks, columns, rows)
    for x, y in zip((*found[0], *found[1]), (*right, *left), strict=True):
        np.testing.assert_allclose(x, np.asarray(y), rtol=1e-4 if dtype == F32 else 1e-12)
    gradient = ad.grad(lambda *xs: f(*xs)[2], (0, 1, 2))
    for x, y in zip(
        ad.core.tree.leaves(ad.jit(gradient)(stacks, columns, rows)),
        ad.core.tree.leaves(gradient(stacks, columns, rows)),
        strict=True,
    ):
        np.testing.assert_allclose(
            x, np.asarray(y), rtol=1e-3 if dtype == F32 else 1e-10, atol=1e-4 if dtype == F32 else 1e-12
        )
