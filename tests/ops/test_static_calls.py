"""Every function of `ops` and every method of Tensor, called with whatever it takes: static mode gives what dynamic mode gives.

A call that needs numbers of its inputs (a size, an order, a mask) is refused by name; which functions have such calls is listed, and the
list may only shrink.
"""

from __future__ import annotations

import inspect
from itertools import islice

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy  # gives Tensor the rest of its methods
from adjoint import ops
from adjoint.core import tree
from adjoint.core.errors import AdjointError

pytestmark = pytest.mark.filterwarnings("ignore")

rng = np.random.default_rng(0)
M, V = rng.uniform(0.3, 0.9, (4, 4)), np.sort(rng.uniform(0.3, 0.9, 4))
S, T, IMAGE = M @ M.T + 4 * np.eye(4), rng.uniform(0.3, 0.9, (2, 3, 4)), rng.uniform(0.3, 0.9, (1, 2, 6, 6))
I, I2, B, BM, C = np.array([0, 2, 1, 3]), rng.integers(0, 4, (4, 4)), V > 0.5, M > 0.6, V + 1j * V
POOL = [
    (M,), (V,), (S,), (M, V), (M, M), (V, V), (S, V), (T,), (IMAGE,), (I,), (BM,), (C,), (1.5,), (V, I), (M, I2), (M, I), (I, I),
    (B, B), (BM, M, M), (M, BM), (V, V, V), (M, M, M), (M, 0), (V, 0), (M, 1), (M, (0, 1)), (T, (2, 0, 1)), (M, (2, 8)),
    (M, 0, I), (M, 1, I2), (V, 2.0), (M, 0.3, 0.7), ([V, V],), ([M, M], 1), ("ij,jk->ik", M, M), (M, 0, I, M), (IMAGE, 2),
    (IMAGE, (2, 2)), (IMAGE, IMAGE[:, :, :3, :3]), (T, 0, 1), (M, np.float32), (V, (4, 4)), (I, 4), (I, 5, 1.0, 0.0), (T, (4,)),
    (T, (4,), V, V), (M, BM, 2.0), (M, ((1, 1), (0, 0))), (IMAGE, (1, 1, 1, 1)), (0.5, V), (IMAGE, V[:2], V[:2]), (M, M, V),
]  # fmt: skip

#: Functions some of whose calls need numbers: sizes, orders and masks that are Tensors, results whose size depends on values.
NEED_NUMBERS = {
    "arange", "argwhere", "asnumpy", "bincount", "exponential", "full",
    "gather_nd", "gumbel", "index_add", "item", "masked_select", "nonzero", "normal", "numpy", "ones", "ones_like_shape",
    "ops.broadcast_to", "ops.polygamma", "pad", "quantile", "rand", "randn", "repeat", "repeat_interleave",
    "requires_grad_", "roll", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum", "strides", "tile", "tolist", "uniform", "unique", "zeros",
}  # fmt: skip
FUNCTIONS = {n: f for n, f in vars(ops).items() if inspect.isfunction(f) and not n.startswith("_")}
METHODS = {
    n: (lambda x, *args, n=n: getattr(x, n)(*args))
    for n in dir(ad.Tensor)
    if not n.startswith("_") and callable(getattr(ad.Tensor, n))
}
NUMBERS = (ad.Tensor, np.ndarray, np.generic, bool, int, float, complex)


def calls(fn):
    """Calls that dynamic mode takes: a function of the arrays in them, the arrays, and the results."""
    for args in POOL:
        leaves, rebuild = tree.flatten(args)
        spots = [i for i, x in enumerate(leaves) if isinstance(x, np.ndarray) or type(x) is float]

        def run(*xs, leaves=leaves, rebuild=rebuild, spots=spots):
            filled = list(leaves)
            for i, x in zip(spots, xs, strict=True):
                filled[i] = x
            return fn(*rebuild(filled))

        def inputs(leaves=leaves, spots=spots):
            return [ad.Tensor(leaves[i]) if isinstance(leaves[i], np.ndarray) else leaves[i] for i in spots]

        ad.set_seed(0)
        try:
            want = tree.leaves(run(*inputs()))
        except Exception:  # not a call that it takes
            continue
        if any(isinstance(y, NUMBERS) for y in want):
            yield run, inputs, want


CALLS = {**{f"ops.{n}": f for n, f in FUNCTIONS.items()}, **{f"Tensor.{n}": f for n, f in METHODS.items()}}


@pytest.mark.parametrize("name", CALLS)
def test_static_mode_gives_the_same(name):
    fn = CALLS[name]
    refused = []
    for run, inputs, want in islice(calls(fn), 3):
        for backend in ("native", "interpreter"):
            ad.set_seed(0)
            try:
                found = tree.leaves(ad.jit(run, backend=backend)(*inputs()))
            except AdjointError as error:
                refused.append(error)
                continue
            assert len(found) == len(want)
            for a, b in zip(found, want, strict=True):
                if isinstance(b, NUMBERS):
                    a, b = np.asarray(a), np.asarray(b)
                    assert (a.shape, a.dtype) == (b.shape, b.dtype)
                    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-8)
    listed = name in NEED_NUMBERS or name.split(".")[1] in NEED_NUMBERS
    assert bool(refused) == listed, refused
