"""Every function of adjoint.numpy against NumPy's own: values, dtypes, signatures, and gradients by finite differences.

A new function is checked by one line in CASES.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as anp
from adjoint.core import tree
from adjoint.core.errors import CutGradientError
from adjoint.ops.numpylike import api as numpy_api

pytestmark = pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")  # as of NumPy 2.5

rng = np.random.default_rng(7)
X, Y = rng.uniform(0.3, 2.0, 5), rng.uniform(0.3, 2.0, 5)
A, B, T = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.normal(size=(2, 3, 4))
M, S = rng.normal(size=(3, 3)), np.diag([3.0, 4.0, 6.0]) + 0.3 * np.ones((3, 3))
V, W = rng.normal(size=3), rng.normal(size=3)
C, F32 = A[:2] + 1j * B[:2], rng.normal(size=(2, 3)).astype(np.float32)
N, INTS = np.array([[1.0, np.nan, 3.5], [np.nan, 2.0, -1.0]]), np.array([[3, 1, 2], [0, 5, 4]])
XP, FP = np.array([0.0, 0.7, 1.1, 2.5]), np.array([1.0, -1.0, 0.5, 2.0])
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
PARTS, R1, R2 = [(X > 0.9), (X > 0.5)], rng.normal(size=(2, 3, 6)), rng.normal(size=(4, 2))

Case = tuple[str, tuple, dict]


def c(name: str, *args: Any, **kwargs: Any) -> Case:
    """One call to check; every float array in it is differentiated."""
    return name, args, kwargs


CASES: list[Case] = [
    # reductions
    *(c(f, *x, **k) for f in ("sum", "prod", "mean", "std", "var", "max", "min", "amax", "amin", "ptp", "median")
      for x, k in (((A,), {}), ((A, 0), {}), ((T, -1), {}), ((A, 1), {"keepdims": True}))),
    *(c(f, T, axis=(0, 2)) for f in ("sum", "prod", "mean", "std", "var", "max", "min", "median")),
    *(c(f, A, axis=0, where=MASK) for f in ("sum", "prod", "mean", "std", "var", "any", "all")),
    *(c(f, A, axis=1, initial=0.5) for f in ("sum", "prod", "max", "min")),
    c("max", A, 0, initial=-5.0, where=MASK), c("min", A, 0, initial=5.0, where=MASK),
    *(c(f, *x, **k) for f in ("any", "all", "count_nonzero", "argmax", "argmin")
      for x, k in (((A,), {}), ((INTS, 1), {}), ((INTS, 0), {"keepdims": True}))),
    *(c(f, *x) for f in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian")
      for x in ((N,), (N, 0), (A, 1), (INTS,))),
    *(c(f, A, *axis) for f in ("cumsum", "cumprod", "nancumsum", "nancumprod") for axis in ((), (1,))),
    *(c(f, INTS.astype(d), 1) for f in ("sum", "prod", "cumsum", "cumprod") for d in ("int8", "int32", "uint8", "bool")),
    c("sum", F32, dtype=np.float64), c("mean", F32), c("sum", A, axis=()), c("var", C), c("std", A, 0, ddof=1),
    c("std", A, correction=1), c("var", A, 1, mean=A.mean(1, keepdims=True), keepdims=True), c("mean", INTS),
    c("nancumsum", N, axis=0), c("nancumprod", N, axis=0), c("nanmax", N, 0, initial=1.5), c("nanmin", A, 1, keepdims=True),
    c("cumulative_sum", X, include_initial=True), c("cumulative_prod", A, axis=0),
    c("average", A), c("average", A, 1, np.abs(B[0])), c("average", X, weights=Y), c("average", A, 0, returned=True),
    c("average", T, (0, 2), np.abs(T[:, 0, :]), keepdims=True), c("average", X, weights=Y, returned=True),
    c("quantile", X, 0.3), c("quantile", A, np.array([0.1, 0.62]), axis=1), c("quantile", A, [[0.2], [0.9]], axis=0),
    c("percentile", A, 37.0, axis=1, keepdims=True), c("percentile", INTS, [10, 50]), c("nanpercentile", N, 40.0),
    c("nanquantile", N, np.array([0.31, 0.7]), axis=1), c("median", N), c("median", INTS, axis=0),
    *(c("quantile", X, 0.37, method=how) for how in ("lower", "higher", "nearest", "midpoint", "hazen", "weibull",
                                                    "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf")),
    # movement
    c("reshape", A, (4, 3)), c("reshape", A, (2, -1), order="F"), c("reshape", A, -1), c("ravel", A), c("ravel", A, "F"),
    c("transpose", T), c("transpose", T, (1, 2, 0)), c("permute_dims", T, (1, 2, 0)), c("matrix_transpose", T),
    c("swapaxes", T, 0, 2), c("moveaxis", T, 0, -1), c("moveaxis", T, (0, 1), (2, 0)), c("rollaxis", T, 2),
    c("rollaxis", T, 0, 3), c("squeeze", T[:1]), c("squeeze", T[:1], 0), c("expand_dims", A, 1), c("expand_dims", A, (0, -1)),
    c("broadcast_to", X, (3, 5)), c("broadcast_arrays", A, V[:, None]), c("tile", A, 2), c("tile", A, (2, 1, 3)),
    c("repeat", A, 2), c("repeat", A, [1, 0, 2], axis=0), c("flip", T), c("flip", T, 1), c("fliplr", A), c("flipud", A),
    c("roll", A, 2), c("roll", A, (1, -1), axis=(0, 1)), c("roll", A, 1, axis=1), c("roll", A, (1, 2), axis=1),
    *(c("rot90", A, turns) for turns in range(-1, 4)), c("rot90", T, 1, (1, 2)),
    c("concatenate", [A, B], axis=1), c("concatenate", (A, B), None), c("concatenate", T), c("concat", [X, Y]),
    c("concatenate", [F32, INTS]), c("concatenate", [F32, INTS], dtype=np.float32), c("stack", [X, Y]), c("stack", [X, Y], -1),
    c("vstack", [X, Y]), c("hstack", [X, Y]), c("hstack", [A, B]), c("dstack", [A, B]), c("dstack", [X, Y]),
    c("column_stack", [X, Y]), c("column_stack", [A, V]), c("append", A, B), c("append", A, B, axis=0),
    c("block", [[A, B], [B, A]]), c("block", [X, Y]), c("block", [[A], [XP]]), c("split", A, 2, axis=1), c("split", X, [1, 3]),
    c("array_split", X, 3), c("hsplit", A, 2), c("vsplit", A, [1]), c("dsplit", T, 2), c("hsplit", X, [2]), c("unstack", A, axis=1),
    c("pad", A, 1), c("pad", A, ((1, 0), (2, 1)), constant_values=3.0), c("pad", X, (2, 1), mode="edge"),
    c("pad", X, (2, 3), mode="reflect"), c("pad", X, 4, "symmetric"), c("pad", A, (1, 2), "wrap"),
    c("pad", A, 1, constant_values=((1.0, 2.0), (3.0, 4.0))),
    c("insert", X, 2, 7.0), c("insert", X, [1, 3], np.array([7.0, 8.0])), c("insert", A, 1, V, axis=1),
    c("insert", A, 1, 5.0, axis=0), c("insert", A, [0, 2], V[:, None], axis=1), c("insert", X, slice(0, 2), 1.5),
    c("insert", X, [2], np.array([1.0, 2.0])), c("delete", X, 1), c("delete", A, [0, 2], axis=1),
    c("delete", A, slice(0, 2), 0), c("delete", X, X > 1), c("resize", A, (2, 7)),
    c("atleast_1d", np.float64(3.0)), c("atleast_2d", X), c("atleast_3d", A), c("atleast_3d", X), c("atleast_2d", X, A),
    c("diag", X), c("diag", A), c("diag", A, 1), c("diag", X, -1), c("diagonal", T, 0, 1, 2), c("diagonal", A, -1), c("diagflat", A),
    c("trace", A), c("trace", T, 1, 0, 2), c("tril", A), c("triu", T, 1), c("tril", A, -1), c("triu", X),
    c("meshgrid", X, V), c("meshgrid", X, V, indexing="ij"), c("meshgrid", X, V, sparse=True),
    # selection
    c("where", MASK, A, B), c("where", MASK, A, 0), c("where", MASK), c("where", MASK, 1.0, F32[0, 0]),
    c("clip", A, -0.5, 0.5), c("clip", A, B[0] - 1, None), c("clip", A, max=0.1), c("clip", INTS, 1, 3), c("clip", A, None, B),
    c("select", PARTS, [X, X**2], 3.0), c("select", [MASK], [A]), c("choose", [2, 0, 1], [X[:3], Y[:3], V]),
    c("choose", [4, -1, 1], [V, W], mode="wrap"), c("choose", [4, -1, 1], [V, W], mode="clip"),
    c("piecewise", X, PARTS, [lambda v: v**2, lambda v: 3 * v, 7.0]), c("piecewise", X, [X < 1], [lambda v: -v, np.exp]),
    c("take", A, [2, 0, 2], axis=0), c("take", A, [[1, 5]]), c("take", X, 6, mode="wrap"), c("take", X, [9, -3], mode="clip"),
    c("take_along_axis", A, np.argsort(A, 1), axis=1), c("compress", [True, False, True], A, axis=0), c("extract", MASK, A),
    c("nonzero", INTS), c("argwhere", INTS), c("flatnonzero", INTS), c("unique", A), c("unique", INTS % 3, True, True, True),
    c("histogram", INTS / 7.0 + 0.05, 4, (0.0, 1.0), weights=A[:2, :3]), c("histogram", X, 3, (0.0, 2.5)), c("histogram", INTS.ravel(), [0, 1, 3, 5]),
    c("histogram", INTS, 3, density=True, weights=np.abs(A[:2, :3])), c("histogram", F32, 4),
    c("histogram2d", INTS[0], INTS[1], 2, weights=V), c("histogram2d", INTS[0], INTS[1], [[0, 1, 3], [0, 2, 5]], density=True, weights=V**2),
    c("histogramdd", INTS.T, (2, 3), weights=V), c("histogramdd", INTS.T, 2, [(0, 4), (1, 5)]), c("isin", INTS, [1, 4, 9], invert=True),
    c("isin", F32, F32[0]), c("argpartition", INTS[0], 0), c("lexsort", (INTS[1] % 2, INTS[0] % 2)), c("lexsort", INTS, axis=0), c("i0", X),
    *(c("pad", A, ((1, 2), (0, 3)), m) for m in ("linear_ramp", "maximum", "minimum", "mean", "median")),
    c("pad", A, 1, "mean", stat_length=2), c("pad", X, (2, 3), "median", stat_length=(2, 4)), c("pad", X, 2, "linear_ramp", end_values=(1.0, -2.0)),
    c("pad", A, ((1, 2), (3, 1)), "reflect", reflect_type="odd"), c("pad", X, 3, "symmetric", reflect_type="odd"),
    *(c("quantile", A, [0.1, 0.5, 0.77], 1, method=m) for m in ("inverted_cdf", "averaged_inverted_cdf")),
    c("unique_all", INTS % 3), c("unique_counts", A), c("unique_inverse", INTS % 3), c("unique_values", A),
    c("unique", A, axis=0), c("searchsorted", XP, X), c("searchsorted", XP, X, side="right"),
    c("searchsorted", [3, 1, 2], 2, sorter=[1, 2, 0]), c("digitize", X, XP), c("digitize", X, XP[::-1], right=True),
    c("digitize", X, XP[::-1]), c("partition", A, 1, axis=1), c("bincount", [0, 2, 2]), c("bincount", [0, 2, 2], V, 5),
    *(c(f, A, axis=axis) for f in ("sort", "argsort") for axis in (-1, 0, None)),
    # products
    c("dot", A, B.T), c("dot", V, W), c("dot", T, B.T), c("dot", A, T.swapaxes(1, 2)), c("dot", 2.0, A), c("vdot", A, B),
    c("inner", A, B), c("inner", X, Y), c("outer", X, V), c("outer", A, X), c("tensordot", T, A, ([1, 2], [0, 1])),
    c("tensordot", A, B.T, 1), c("tensordot", V, W, 0), c("kron", A, V), c("kron", A, M), c("cross", V, W), c("cross", M, V),
    c("cross", M, M + 1, axis=0), c("einsum", "ij,kj->ik", A, B), c("einsum", "ii", M), c("einsum", "ii->i", M),
    c("einsum", "...ij,jk", T, B.T), c("einsum", A, [0, 1], B, [0, 1], [1]), c("einsum", "i,i,j->j", V, W, X),
    c("vecdot", A, B), c("vecdot", A, B, axis=0), c("matvec", T, B[0]), c("vecmat", V, T), c("matmul", A, B.T),
    c("matmul", T, B.T), c("matmul", V, T),
    # linalg and fft
    *(c(f"linalg.{f}", M) for f in ("det", "inv", "slogdet", "pinv", "svdvals", "cond", "matrix_rank")),
    c("linalg.solve", M, V), c("linalg.solve", M, B), c("linalg.lstsq", A.T, X[:4]), c("linalg.lstsq", A.T, R2),
    c("linalg.cholesky", S), c("linalg.cholesky", S, upper=True), c("linalg.eigvalsh", S), c("linalg.eigvalsh", M, "U"),
    c("linalg.eig", S), c("linalg.eigvals", S), c("linalg.eigh", S), c("linalg.qr", A.T), c("linalg.qr", M, "r"), c("linalg.svd", A, full_matrices=False),
    c("linalg.svd", A, compute_uv=False), c("linalg.matrix_power", M, 3), c("linalg.matrix_power", M, -2),
    c("linalg.multi_dot", [V, M, A]), c("linalg.tensorinv", R1), c("linalg.tensorsolve", R1, R1[:, :, 0]),
    *(c("linalg.norm", X, order) for order in (None, 1, 2, 3, np.inf, -np.inf, 0.5)),
    *(c("linalg.norm", M, order) for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf)),
    c("linalg.norm", A, 3, axis=1), c("linalg.norm", T, axis=(0, 2), keepdims=True), c("linalg.vector_norm", A, axis=0, ord=3),
    c("linalg.matrix_norm", T, ord=1), c("linalg.trace", T), c("linalg.diagonal", T, offset=1), c("linalg.cross", M, V),
    c("linalg.outer", X, V), c("linalg.tensordot", T, A, axes=((1, 2), (0, 1))), c("linalg.matmul", A, B.T),
    c("linalg.vecdot", A, B), c("linalg.matrix_transpose", T),
    *(c(f"fft.{f}", A, *k) for f in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for k in ((), (6, 0, "ortho"))),
    *(c(f"fft.{f}", T, norm=k) for f in ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn")
      for k in (None, "forward")),
    c("fft.fftshift", A), c("fft.ifftshift", A, 1), c("fft.fftfreq", 5, 0.1), c("fft.rfftfreq", 6),
    # differences, integrals, polynomials, statistics
    c("diff", A), c("diff", A, 2, axis=0), c("diff", X, prepend=1.0, append=Y[:2]), c("ediff1d", A, 3.0, [1.0, 2.0]),
    c("gradient", A), c("gradient", X, 0.5), c("gradient", X, np.cumsum(Y), edge_order=2), c("gradient", A, 2.0, XP, axis=(0, 1)),
    c("gradient", A, axis=0, edge_order=2), c("gradient", X[:2]), c("trapezoid", A), c("trapezoid", A, np.cumsum(Y[:4])),
    c("trapezoid", A, dx=0.1, axis=0), c("trapezoid", A, np.cumsum(np.abs(B), 0), axis=0), c("interp", X, XP, FP),
    c("interp", X * 3, XP, FP, 1.0, -1.0), c("interp", 9.0, XP, FP), c("interp", X * 4, XP, FP, period=3.0),
    *(c(f, *x, m) for m in ("full", "same", "valid") for f in ("convolve", "correlate")
      for x in ((X, V), (V, X), (X, Y[:4]), (X[:4], Y), (X[:3], Y[:4]))),
    c("unwrap", np.array([0.1, 3.0, 6.5, -0.3, 2.9])), c("unwrap", 4 * T, axis=1, period=3.0), c("unwrap", INTS * 3, period=4),
    c("polyval", V, A), c("polyval", [2, 1], INTS), c("polyadd", X, V), c("polysub", V, X), c("polymul", X, V), c("polyder", X, 2),
    c("polyint", X, 2), c("polyint", X, 2, [1.0, 3.0]), c("polyfit", X, Y, 2), c("polyfit", X[:4], R2, 1), c("polyfit", X, Y, 1, w=X),
    c("vander", X), c("vander", X, 3, increasing=True), c("cov", A), c("cov", X, Y), c("cov", A, rowvar=False, bias=True),
    c("cov", A, fweights=[1, 2, 1, 3]), c("cov", A, aweights=X[:4]), c("corrcoef", A), c("corrcoef", X, Y),
    # parts, questions, copies
    c("real", C), c("imag", C), c("angle", C), c("angle", C, deg=True), c("real", A), c("imag", A), c("fix", A), c("sinc", A),
    *(c(f, *x) for f in ("round", "around") for x in ((A,), (A * 100, 1), (A * 100, -1), (INTS,))),
    c("sinc", np.zeros(2)), c("nan_to_num", N), c("nan_to_num", INTS), c("nan_to_num", C), c("real_if_close", A + 1e-16j),
    c("real_if_close", C), c("isclose", A, A + 1e-9), c("allclose", A, B), c("array_equal", A, A), c("array_equiv", A, A[:1]),
    c("isreal", C), c("iscomplex", C), c("isposinf", N), c("isneginf", N), c("iscomplexobj", C), c("isrealobj", A),
    c("shape", T), c("ndim", T), c("size", T), c("size", T, 1), c("result_type", F32, np.float64), c("can_cast", "i4", "i8"),
    c("common_type", F32, INTS), c("copy", A), c("astype", A, np.complex128), c("zeros_like", A), c("ones_like", INTS),
    c("full_like", A, 2.5), c("full_like", A, X[0], shape=(2,)), c("zeros_like", A, np.int32, shape=4),
    c("apply_along_axis", lambda v: v[:2] * v[-1], 1, T), c("apply_along_axis", lambda v: (v**2).sum(), 0, A),
    c("apply_over_axes", np.sum, T, [0, -1]), c("apply_over_axes", np.max, A, 1), c("poly", V),
    c("linspace", X[0], Y[0], 7), c("linspace", V, W, 4, endpoint=False, axis=1), c("linspace", 0, 5, 3, dtype=int),
    c("linspace", 0, 1, 5, retstep=True), c("logspace", 0.0, X[0], 4), c("geomspace", X[0], 30.0, 4), c("geomspace", -1.0, -8.0, 4),
]  # fmt: skip

# Values alone: at kinks and infinities differences say nothing; and what makes arrays from nothing.
VALUES: list[Case] = [
    c("histogram", INTS, "auto"), c("unique", np.array([3.0, 1.0, 3.0])), c("unique", np.array([[1.0, 2], [1, 2], [0, 1]]), axis=0),
    c("interp", [0.7, 2.5, 0.0], XP, FP), c("nan_to_num", np.array([np.inf, -np.inf, 1.0]), posinf=9.0), c("clip", A),
    c("isclose", np.array([np.inf, np.nan, 1.0]), np.array([np.inf, np.nan, 2.0]), equal_nan=True), c("empty_like", A[:0]),
    c("astype", A, np.float32), c("astype", A, int), c("array", [1, 2, 3]), c("array", [[1.0], [2.0]], ndmin=3), c("array", 3.5),
    c("asarray", [1, 2.5]), c("asarray", F32), c("asanyarray", [True]), c("ascontiguousarray", A.T), c("array", [1, 2], np.float32),
    c("zeros", 3), c("zeros", (2, 3), int), c("ones", (2,)), c("full", (2, 2), 7), c("full", 3, 1.5, np.float32), c("arange", 5),
    c("arange", 1.0, 2.0, 0.3), c("arange", 2, 8, 3, dtype=float), c("eye", 3), c("eye", 2, 3, 1), c("identity", 2), c("tri", 3, 4, -1),
    c("indices", (2, 3)), c("empty", (0, 3)), c("fromfunction", lambda i, j: i * 10 + j, (2, 3)), c("linspace", 0, 1, 5),
]  # fmt: skip


def found(space: Any, name: str) -> Any:
    for part in name.split("."):
        space = getattr(space, part)
    return space


def label(case: Case) -> str:
    return case[0]


def numbers(y: Any) -> list[Any]:
    """The numeric results of a call."""
    return [v for v in tree.leaves(list(y) if isinstance(y, tuple) else y) if not isinstance(v, type)]


def assert_same(got: Any, expected: Any) -> None:
    got, expected = numbers(got), numbers(expected)
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        if isinstance(e, (bool, int, tuple, np.dtype)):
            assert g == e
            continue
        assert isinstance(g, (ad.Tensor, int))
        assert np.shape(g) == np.shape(e)
        if isinstance(g, ad.Tensor):
            assert g.dtype == np.asarray(e).dtype
            g = g.asnumpy()
        np.testing.assert_allclose(g, e, rtol=1e-10, atol=1e-12)


def float_arrays(args: tuple) -> list[np.ndarray]:
    return [x for x in tree.leaves(list(args)) if _is_float(x)]


def _is_float(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.float64)) and x.dtype == np.float64


def scalar(function: Any, args: tuple, kwargs: dict) -> Any:
    """The weighted sum of a function's floating-point results, as a function of the float arrays among its arguments."""
    leaves, rebuild = tree.flatten(list(args))

    def total(*arrays: Any) -> Any:
        queue = list(arrays)
        y = function(*rebuild([queue.pop(0) if _is_float(x) else x for x in leaves]), **kwargs)
        parts = [v for v in numbers(y) if not isinstance(v, (bool, int, tuple, np.dtype)) and v.dtype.kind in "fc"]
        return sum((weigh(k, v) for k, v in enumerate(parts)), 0.0)

    return total


def weigh(k: int, v: Any) -> Any:
    """A number from a result: its elements with various weights, both parts of a complex one; without NaN."""
    weights = np.cos(np.arange(v.size) + k).reshape(v.shape)
    if v.dtype.kind == "c":
        return (np.real(v) * weights).sum() + (np.imag(v) * np.sin(weights)).sum()
    return np.where(np.isnan(v), 0.0, v * weights).sum()


def differences(total: Any, arrays: list[np.ndarray], h: float = 1e-6) -> list[np.ndarray]:
    """Central differences of NumPy's own function."""
    grads = []
    for k, x in enumerate(arrays):
        x = np.asarray(x)
        g = np.zeros(x.shape)
        for i in np.ndindex(x.shape):
            up, down = x.copy(), x.copy()
            up[i] += h
            down[i] -= h
            g[i] = (total(*arrays[:k], up, *arrays[k + 1 :]) - total(*arrays[:k], down, *arrays[k + 1 :])) / (2 * h)
        grads.append(g)
    return grads


@pytest.mark.parametrize("case", CASES + VALUES, ids=label)
def test_value_shape_and_dtype(case: Case) -> None:
    name, args, kwargs = case
    assert_same(found(anp, name)(*args, **kwargs), found(np, name)(*args, **kwargs))


DIFFERENTIABLE = [case for case in CASES if float_arrays(case[1])]


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=label)
def test_gradient_by_finite_differences(case: Case) -> None:
    name, args, kwargs = case
    arrays = float_arrays(args)
    expected = differences(scalar(found(np, name), args, kwargs), arrays)
    tangents = tuple(np.cos(np.arange(x.size)).reshape(x.shape) for x in arrays)
    along = sum((e * t).sum() for e, t in zip(expected, tangents, strict=True))
    for space in (anp, np):  # our namespace, and NumPy's own function by its protocols
        total = scalar(found(space, name), args, kwargs)
        if not isinstance(total(*map(ad.Tensor, arrays)), ad.Tensor):
            return  # no floating-point result
        got = ad.grad(total, tuple(range(len(arrays))))(*arrays)
        for g, e in zip(got if isinstance(got, tuple) else (got,), expected, strict=True):
            np.testing.assert_allclose(g.asnumpy(), np.nan_to_num(e), rtol=2e-6, atol=2e-7)
        pushed = ad.jvp(total, tuple(map(ad.Tensor, arrays)), tuple(map(ad.Tensor, tangents)))[1]
        np.testing.assert_allclose(pushed.asnumpy(), np.nan_to_num(along), rtol=1e-5, atol=1e-6)


NEEDS_VALUES = {
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "partition",
    "linalg.lstsq",
}  # their results' shapes or orders depend on the values


@pytest.mark.parametrize("case", [case for case in DIFFERENTIABLE if case[0] not in NEEDS_VALUES], ids=label)
def test_vmap_is_a_loop(case: Case) -> None:
    name, args, kwargs = case
    arrays = [np.asarray(x) for x in float_arrays(args)]
    total = scalar(found(anp, name), args, kwargs)
    one, two = (total(*(ad.Tensor(factor * x) for x in arrays)) for factor in (1.0, 1.1))
    if isinstance(one, ad.Tensor):
        both = ad.vmap(total)(*(np.stack([x, 1.1 * x]) for x in arrays))
        np.testing.assert_allclose(both.asnumpy(), [one.item(), two.item()], rtol=1e-8)


# ---------------------------------------------------------------- the namespace as a whole

PUBLIC = [
    *(n for n in dir(numpy_api) if not n.startswith("_")),
    *(f"linalg.{n}" for n in dir(anp.linalg) if not n.startswith("_") and n != "LinAlgError"),
    *(f"fft.{n}" for n in dir(anp.fft) if not n.startswith("_")),
]
IN_PLACE = set(numpy_api._IN_PLACE)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_has_a_case(name: str) -> None:
    assert name in IN_PLACE | {case[0] for case in CASES + VALUES}


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="the signatures are those of NumPy 2.4")
@pytest.mark.parametrize("name", sorted(set(PUBLIC) - IN_PLACE - {"arange", "vecdot", "matvec", "vecmat"}))
def test_signatures_are_numpys(name: str) -> None:
    theirs = list(inspect.signature(found(np, name)).parameters.values())
    ours = list(inspect.signature(found(anp, name)).parameters.values())
    newer = {"ndmax", "descending"}  # of NumPy after 2.4: refused by Python itself
    theirs = [p for p in theirs if p.name not in newer]
    assert [(p.name, p.kind) for p in ours] == [(p.name, p.kind) for p in theirs]


@pytest.mark.parametrize("name", sorted(n for n in anp.__dict__ if isinstance(getattr(np, n, None), np.ufunc)))
def test_every_ufunc_is_there(name: str) -> None:
    assert getattr(anp, name).nin == getattr(np, name).nin
    assert name in repr(getattr(anp, name)) or getattr(anp, name).__name__ in repr(getattr(anp, name))


def test_what_is_missing_says_so() -> None:
    with pytest.raises(AttributeError, match=r"adjoint.numpy has no 'busday_count' yet"):
        _ = anp.busday_count
    with pytest.raises(AttributeError, match=r"module 'adjoint.numpy' has no attribute 'nonsense'"):
        _ = anp.nonsense


def test_constants_and_dtypes_are_numpys() -> None:
    assert anp.pi == np.pi and anp.float32 is np.float32 and anp.newaxis is None and anp.ndarray is ad.Tensor


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("call, words", [
    (lambda x: anp.quantile(x, 0.5, weights=x), "weights="),
    (lambda x: anp.sort(x, order="f"), "order='f'"), (lambda x: anp.polyfit(x, x, 1, full=True), "full=True"),
    (lambda x: anp.clip(x, 0, 1, dtype=int), "dtype="), (lambda x: anp.zeros(3, like=x), "like="),
    (lambda x: anp.quantile(x, 0.5, method="closest_observation"), "closest_observation"),
    (lambda x: anp.einsum("i->", x, dtype=float), "dtype="), (lambda x: anp.add(x, x, where=x > 0), "where= without out="),
    (lambda x: anp.matmul(x, x, axes=[0, 0, 0]), "axes="), (lambda x: anp.sum(x, out=anp.zeros((), int)), "out= holds int64"),
])  # fmt: skip
def test_arguments_without_meaning_are_named(call: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        ad.grad(lambda x: call(x).sum())(np.ones(3))


@pytest.mark.parametrize("name", sorted(IN_PLACE))
def test_functions_that_write_tell_the_rewrite(name: str) -> None:
    for call in (getattr(anp, name), getattr(np, name)):
        with pytest.raises(CutGradientError, match=rf"numpy.{name} writes into its first argument.*Write `.*= v"):
            ad.grad(lambda x, call=call: call(x, 0, *[1.0, 0][: 2 if name == "put_along_axis" else 1]))(np.ones(3))
