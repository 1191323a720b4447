"""Every public function against NumPy and SciPy, and its derivatives against finite differences of its own values."""

from __future__ import annotations

import inspect
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import special as sp

import adjoint as ad
from adjoint import ops

Arrays = list[np.ndarray]
F64, F32 = np.dtype("float64"), np.dtype("float32")


@dataclass(frozen=True)
class Row:
    """One call of a public function, and what NumPy or SciPy have for it."""

    names: str  # the function, and its other names
    call: Callable[..., Any]
    reference: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    domain: tuple[float, float] = (-2.0, 2.0)
    number: str = "real"  # what the inputs are: real, complex, int, bool
    zero: bool = False  # whether the derivative is zero everywhere
    batches: bool = True  # False if the size of the result depends on the values: no vmap
    dtype: Any = None  # the result's, if the function fixes it
    slack: float = 1.0  # by how much results in half precision may be less precise than usual

    def inputs(self, seed: int = 0, shapes: Sequence[tuple[int, ...]] | None = None) -> Arrays:
        """Always the same ones for the same seed."""
        rng = np.random.default_rng(zlib.crc32(f"{self.names}{self.shapes}{seed}".encode()))
        return [self._draw(rng, shape) for shape in (self.shapes if shapes is None else shapes)]

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        if self.number == "bool":
            return np.asarray(rng.integers(0, 2, shape) == 1)
        if self.number == "int":
            return np.asarray(rng.integers(int(self.domain[0]), int(self.domain[1]) + 1, shape))
        x = np.asarray(rng.uniform(*self.domain, shape))
        return x + 1j * rng.uniform(-0.5, 0.5, shape) if self.number == "complex" else x

    @property
    def differentiable(self) -> bool:
        return (
            bool(self.shapes)
            and self.number in ("real", "complex")
            and any(map(inexact, flat(self.reference(*self.inputs()))))
        )

    def outputs(self, *xs: Any) -> list[Any]:
        """The results as a list."""
        return flat(self.call(*xs))

    def floats(self, *xs: Any) -> tuple[Any, ...]:
        """The results that have derivatives."""
        return tuple(y for y in self.outputs(*xs) if inexact(y))

    def values(self, xs: Sequence[np.ndarray]) -> Arrays:
        return [plain(y) for y in self.floats(*map(ad.Tensor, xs))]


def row(
    names: str, call: Callable[..., Any], reference: Callable[..., Any], *shapes: tuple[int, ...], **options: Any
) -> Row:
    return Row(names, call, reference, shapes, **options)


def flat(y: Any) -> list[Any]:
    return list(y) if isinstance(y, (tuple, list)) else [y]


def plain(y: Any) -> np.ndarray:
    return y.asnumpy() if isinstance(y, ad.Tensor) else np.asarray(y)


def inexact(y: Any) -> bool:
    return np.asarray(y).dtype.kind in "fc" if not isinstance(y, ad.Tensor) else y.dtype.kind in "fcV"


# ---------------------------------------------------------------- the table

M, V, S = (2, 3), (3,), ()
POSITIVE, UNIT = (0.3, 3.0), (-0.8, 0.8)
MASK = np.array([[True, False, True], [False, False, True]])
ROWS_, PAIRS = np.array([1, 0, 1]), np.array([[1, 2], [0, 0], [1, 2]])


def added(x: np.ndarray, index: Any, v: Any) -> np.ndarray:
    y = x.copy()
    np.add.at(y, index, v)
    return y


def replaced(x: np.ndarray, index: Any, v: Any) -> np.ndarray:
    y = x.copy()
    y[index] = v
    return y


def named(names: str) -> Callable[..., Any]:
    return getattr(ops, names.split()[0])


def columns(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=0, keepdims=True)


def halves_gated(x: np.ndarray) -> np.ndarray:
    a, b = np.split(x, 2)
    return a * sp.expit(b)


def pieces(x: np.ndarray, size: int) -> list[np.ndarray]:
    return [x[:, k : k + size] for k in range(0, x.shape[1], size)] if x.shape[1] else [x]


def cross_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return -(q * np.log(p) + (1 - q) * np.log1p(-p))


SMOOTH: list[tuple[str, Callable[..., Any], tuple[float, float]]] = [
    ("neg negative", np.negative, (-2, 2)),
    ("abs absolute", np.abs, (-2, 2)),
    ("square", np.square, (-2, 2)),
    ("reciprocal", np.reciprocal, POSITIVE),
    ("exp", np.exp, (-2, 2)),
    ("exp2", np.exp2, (-2, 2)),
    ("expm1", np.expm1, (-2, 2)),
    ("log", np.log, POSITIVE),
    ("log1p", np.log1p, (-0.5, 2)),
    ("log2", np.log2, POSITIVE),
    ("log10", np.log10, POSITIVE),
    ("sqrt", np.sqrt, POSITIVE),
    ("safe_sqrt", np.sqrt, POSITIVE),
    ("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    ("cbrt", np.cbrt, (0.3, 3)),
    ("cbrt", np.cbrt, (-3, -0.3)),
    ("sin", np.sin, (-3, 3)),
    ("cos", np.cos, (-3, 3)),
    ("tan", np.tan, (-1, 1)),
    ("asin arcsin", np.arcsin, UNIT),
    ("acos arccos", np.arccos, UNIT),
    ("atan arctan", np.arctan, (-2, 2)),
    ("sinh", np.sinh, (-2, 2)),
    ("cosh", np.cosh, (-2, 2)),
    ("tanh", np.tanh, (-2, 2)),
    ("asinh arcsinh", np.arcsinh, (-2, 2)),
    ("acosh arccosh", np.arccosh, (1.3, 3)),
    ("atanh arctanh", np.arctanh, UNIT),
    ("sinc", np.sinc, (-2, 2)),
    ("sinc", np.sinc, (-0.02, 0.02)),
    ("erf", sp.erf, (-2, 2)),
    ("erfc", sp.erfc, (-2, 2)),
    ("erfinv", sp.erfinv, UNIT),
    ("lgamma gammaln", sp.gammaln, (0.5, 4)),
    ("lgamma gammaln", sp.gammaln, (-1.8, -1.2)),
    ("digamma", sp.digamma, (0.5, 4)),
    ("real", np.real, (-2, 2)),
    ("conj", np.conj, (-2, 2)),
    ("relu", lambda x: np.maximum(x, 0), (-2, 2)),
    ("relu6", lambda x: np.clip(x, 0, 6), (-2, 9)),
    ("leaky_relu", lambda x: np.where(x > 0, x, 0.2 * x), (-2, 2)),
    ("elu", lambda x: np.where(x > 0, x, np.expm1(x)), (-2, 2)),
    ("celu", lambda x: np.where(x > 0, x, np.expm1(x)), (-2, 2)),
    ("selu", lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), (-2, 2)),
    ("gelu", lambda x: x * sp.ndtr(x), (-3, 3)),
    ("sigmoid", sp.expit, (-5, 5)),
    ("log_sigmoid logsigmoid", sp.log_expit, (-5, 5)),
    ("silu swish", lambda x: x * sp.expit(x), (-5, 5)),
    ("mish", lambda x: x * np.tanh(np.logaddexp(0, x)), (-5, 5)),
    ("softplus", lambda x: np.logaddexp(0, x), (-5, 5)),
    ("softsign", lambda x: x / (1 + np.abs(x)), (-2, 2)),
    ("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1), (-5, 5)),
    ("hardswish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), (-5, 5)),
    ("hardtanh", lambda x: np.clip(x, -1, 1), (-2, 2)),
    ("hardshrink", lambda x: np.where(np.abs(x) > 0.5, x, 0), (-2, 2)),
    ("softshrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), (-2, 2)),
]  # fmt: skip

HOLOMORPHIC: list[tuple[str, Callable[..., Any]]] = [
    ("neg", np.negative), ("square", np.square), ("reciprocal", np.reciprocal), ("exp", np.exp), ("expm1", np.expm1),
    ("log", np.log), ("log1p", np.log1p), ("sqrt", np.sqrt), ("sin", np.sin), ("cos", np.cos), ("tan", np.tan),
    ("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan), ("sinh", np.sinh), ("cosh", np.cosh),
    ("tanh", np.tanh), ("asinh", np.arcsinh), ("atanh", np.arctanh), ("sinc", np.sinc), ("sum", np.sum),
    ("mean", np.mean), ("prod", np.prod), ("cumsum", np.cumsum), ("cumprod", np.cumprod),
]  # fmt: skip

FLAT: list[tuple[str, Callable[..., Any]]] = [
    ("sign", np.sign),
    ("floor", np.floor),
    ("ceil", np.ceil),
    ("trunc", np.trunc),
    ("round", np.round),
    ("stop_gradient", lambda x: x),
    ("zeros_like", np.zeros_like),
    ("ones_like", np.ones_like),
    ("isfinite", np.isfinite),
    ("isnan", np.isnan),
    ("isinf", np.isinf),
    ("logical_not", np.logical_not),
    ("any", np.any),
    ("all", np.all),
    ("argmax", np.argmax),
    ("argmin", np.argmin),
    ("argsort", np.argsort),
    ("count_nonzero", np.count_nonzero),
]

BINARY: list[tuple[str, Callable[..., Any], tuple[float, float]]] = [
    ("add", np.add, (-2, 2)),
    ("sub subtract", np.subtract, (-2, 2)),
    ("mul multiply", np.multiply, (-2, 2)),
    ("div divide true_divide", np.divide, (0.5, 2)),
    ("pow power", np.power, (0.5, 2)),
    ("mod remainder floor_mod floormod", np.mod, (0.6, 1.9)),
    ("fmod", np.fmod, (0.6, 1.9)),
    ("atan2 arctan2", np.arctan2, (-2, 2)),
    ("hypot", np.hypot, (-2, 2)),
    ("logaddexp", np.logaddexp, (-2, 2)),
    ("maximum", np.maximum, (-2, 2)),
    ("minimum", np.minimum, (-2, 2)),
    ("xlogy", sp.xlogy, POSITIVE),
    ("complex", lambda x, y: x + 1j * y, (-2, 2)),
    ("polar", lambda r, a: r * np.exp(1j * a), (0.3, 2)),
    ("mse_loss", lambda x, y: np.mean((x - y) ** 2), (-2, 2)),
    ("l1_loss", lambda x, y: np.mean(np.abs(x - y)), (-2, 2)),
]

COMPARISONS: list[tuple[str, Callable[..., Any]]] = [
    ("less lt", np.less),
    ("less_equal le", np.less_equal),
    ("greater gt", np.greater),
    ("greater_equal ge", np.greater_equal),
    ("equal eq", np.equal),
    ("not_equal ne", np.not_equal),
    ("isclose", np.isclose),
    ("logical_and", np.logical_and),
    ("logical_or", np.logical_or),
    ("logical_xor", np.logical_xor),
    ("floor_divide floor_div", np.floor_divide),
    ("mod remainder floor_mod floormod", np.mod),
    ("fmod", np.fmod),
    ("bitwise_and", np.bitwise_and),
    ("bitwise_or", np.bitwise_or),
    ("bitwise_xor", np.bitwise_xor),
    ("bitwise_left_shift", np.left_shift),
    ("bitwise_right_shift", np.right_shift),
]

ELEMENTWISE = [
    *(row(n, named(n), ref, M, domain=d) for n, ref, d in SMOOTH),
    *(row(n, named(n), ref, M, zero=True) for n, ref in FLAT),
    *(row(n, named(n), ref, M, V, domain=d) for n, ref, d in BINARY),
    *(row(n, named(n), ref, M, (2, 1), domain=(1, 9), number="int") for n, ref in COMPARISONS),
    row("bitwise_not", ops.bitwise_not, np.bitwise_not, M, number="int"),
    row("bitwise_and", ops.bitwise_and, np.bitwise_and, M, V, number="bool"),
    row("floor_divide", ops.floor_divide, np.floor_divide, M, V, domain=(0.6, 1.9), zero=True),
    row("fmod", ops.fmod, np.fmod, M, S, domain=(-1.9, -0.6)),
    row("fmod", lambda x: ops.fmod(x, 0.7), lambda x: np.fmod(x, 0.7), M, domain=(-1.9, -0.8)),
    row("round", lambda x: ops.round(x, 1), lambda x: np.round(x, 1), M, zero=True),
    row("round", lambda x: ops.round(x, decimals=-1), lambda x: np.round(x, -1), M, domain=(-99, 99), zero=True),
    row("polygamma", lambda x: ops.polygamma(1, x), lambda x: sp.polygamma(1, x), M, domain=(0.5, 4), slack=4),
    row("lerp", ops.lerp, lambda a, b, w: a + w * (b - a), M, V, S),
    row("where", lambda x, y: ops.where(MASK, x, y), lambda x, y: np.where(MASK, x, y), M, V),
    row("clamp clip clip_by_value", lambda x: ops.clamp(x, -1, 1), lambda x: np.clip(x, -1, 1), M),
    row("clamp", ops.clamp, np.clip, M, S, (2, 1)),
    row("clamp", lambda x: ops.clamp(x, max=0.5), lambda x: np.minimum(x, 0.5), M),
    row("cast astype", lambda x: ops.cast(x, ad.float32), lambda x: x.astype("float32"), M, dtype=F32),
    row("cast", lambda x: ops.cast(x, ad.complex128), lambda x: x.astype("complex128"), M, dtype=ad.complex128),
    row("cast", lambda x: ops.cast(x, ad.int32), lambda x: x.astype("int32"), M, dtype=ad.int32),
    row("angle", ops.angle, np.angle, M, zero=True),
    *(row(n, named(n), getattr(np, n), M, number="complex") for n in ("abs", "angle", "real", "imag", "conj")),
]  # fmt: skip

ACTIVATION = [
    row(
        "gelu",
        lambda x: ops.gelu(x, "tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        M,
    ),
    row("celu", lambda x: ops.celu(x, 2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2)), M),
    row("prelu", ops.prelu, lambda x, w: np.where(x > 0, x, w * x), M, S),
    row(
        "softplus", lambda x: ops.softplus(x, 2.0, 3.0), lambda x: np.where(2 * x > 3, x, np.logaddexp(0, 2 * x) / 2), M
    ),
    row("softmax", ops.softmax, lambda x: sp.softmax(x, axis=-1), M),
    row("softmax", lambda x: ops.softmax(x, 0), lambda x: sp.softmax(x, axis=0), M),
    row("log_softmax", lambda x: ops.log_softmax(x, 0), lambda x: sp.log_softmax(x, axis=0), M),
    row("softmin", ops.softmin, lambda x: sp.softmax(-x, axis=-1), M),
    row("glu", lambda x: ops.glu(x, 0), halves_gated, M),
    row("normalize", lambda x: ops.normalize(x, 0), columns, M, domain=POSITIVE),
]


def reductions(name: str, function: Any, reference: Any) -> list[Row]:
    """All axes, one from the end, two at once, and one kept."""
    return [
        row(name, function, reference, M),
        row(name, lambda x: function(x, axis=-2), lambda x: reference(x, axis=-2), (2, 3, 2)),
        row(name, lambda x: function(x, axis=(0, 2)), lambda x: reference(x, axis=(0, 2)), (2, 3, 2)),
        row(name, lambda x: function(x, axis=1, keepdims=True), lambda x: reference(x, axis=1, keepdims=True), M),
    ]


WHOLE_NUMBERS = ("sum", "mean", "prod", "max", "min", "var", "std", "median", "ptp", "cumsum", "cumprod")
REDUCTION = [
    *reductions("sum", ops.sum, np.sum),
    *reductions("mean", ops.mean, np.mean),
    *reductions("prod", ops.prod, np.prod),
    *reductions("max amax", ops.max, np.max),
    *reductions("min amin", ops.min, np.min),
    *reductions("any", ops.any, np.any),
    *reductions("all", ops.all, np.all),
    *reductions("var", ops.var, np.var),
    *reductions("std", ops.std, np.std),
    *reductions("logsumexp", ops.logsumexp, sp.logsumexp),
    *reductions("median", ops.median, np.median),
    *reductions("ptp", ops.ptp, np.ptp),
    *reductions("quantile", lambda x, **k: ops.quantile(x, 0.3, **k), lambda x, **k: np.quantile(x, 0.3, **k)),
    row("quantile", lambda x: ops.quantile(x, [0.1, 1.0], 0), lambda x: np.quantile(x, [0.1, 1.0], 0), (4, 2)),
    row("sum", lambda x: ops.sum(x, dtype=ad.float64), np.sum, M, dtype=F64),
    row("prod", lambda x: ops.prod(x, 1, dtype=ad.float64), lambda x: np.prod(x, 1), M, dtype=F64),
    row("var", lambda x: ops.var(x, 1, ddof=1), lambda x: np.var(x, 1, ddof=1), M),
    row("std", lambda x: ops.std(x, 1, ddof=1), lambda x: np.std(x, 1, ddof=1), M),
    row("var", ops.var, np.var, M, number="complex"),
    *(row(n, named(n), getattr(np, n), M, number="int") for n in WHOLE_NUMBERS),
    *(row(n, named(n), getattr(np, n), M, number="bool") for n in ("sum", "mean", "prod", "any", "all", "count_nonzero")),
    row("max", lambda x: ops.max(x, 0, return_indices=True), lambda x: (x.max(0), x.argmax(0)), M),
    row("min", lambda x: ops.min(x, 1, keepdims=True, return_indices=True), lambda x: (x.min(1, keepdims=True), x.argmin(1)[:, None]), M),
    row("argmax", lambda x: ops.argmax(x, 1, keepdims=True), lambda x: np.argmax(x, 1, keepdims=True), M),
    row("argmin", lambda x: ops.argmin(x, keepdims=True), lambda x: np.argmin(x, keepdims=True), M),
    row("argsort", lambda x: ops.argsort(x, 0, descending=True), lambda x: np.argsort(-x, 0, stable=True), M),
    row("count_nonzero", lambda x: ops.count_nonzero(x, 0, keep_dims=True), lambda x: np.count_nonzero(x, 0, keepdims=True), M),
    row("cumsum", lambda x: ops.cumsum(x, 1), lambda x: np.cumsum(x, 1), M),
    row("cumsum", ops.cumsum, np.cumsum, M),
    row("cumprod", lambda x: ops.cumprod(x, -1), lambda x: np.cumprod(x, -1), (2, 5)),
    row("cumprod", ops.cumprod, np.cumprod, M),
    row("cummax", lambda x: ops.cummax(x, 1)[0], lambda x: np.maximum.accumulate(x, 1), (2, 5)),
    row("cummin", lambda x: ops.cummin(x, 0)[0], lambda x: np.minimum.accumulate(x, 0), (5, 2)),
    row("cummin", lambda x: ops.cummin(x, 0)[0], lambda x: np.minimum.accumulate(x, 0), (5, 2), number="bool"),
    row("sort", ops.sort, lambda x: (np.sort(x), np.argsort(x)), M),
    row("sort", lambda x: ops.sort(x, 0, descending=True), lambda x: (-np.sort(-x, 0), np.argsort(-x, 0)), M),
    row("topk", lambda x: ops.topk(x, 2), lambda x: (-np.sort(-x)[:, [0, 1]], np.argsort(-x)[:, [0, 1]]), M),
    row("topk", lambda x: ops.topk(x, 1, 0, largest=False), lambda x: (np.sort(x, 0)[[0]], np.argsort(x, 0)[[0]]), M),
]  # fmt: skip

MOVEMENT = [
    row("reshape", lambda x: ops.reshape(x, (3, -1)), lambda x: x.reshape(3, -1), M),
    row("reshape", lambda x: ops.reshape(x, -1), lambda x: x.reshape(-1), M),
    row("flatten ravel", ops.flatten, np.ravel, M),
    row("flatten", lambda x: ops.flatten(x, "F"), lambda x: x.ravel("F"), M),
    row("flatten", lambda x: ops.flatten(x, start_dim=1), lambda x: x.reshape(len(x), x[:1].size), (2, 3, 2)),
    row("transpose permute", ops.transpose, np.transpose, (2, 3, 2)),
    row("transpose", lambda x: ops.transpose(x, (1, -1, 0)), lambda x: x.transpose(1, -1, 0), (2, 3, 2)),
    row("swapaxes swapdims", lambda x: ops.swapaxes(x, 0, -1), lambda x: np.swapaxes(x, 0, -1), (2, 3, 2)),
    row("t", ops.t, np.transpose, M),
    row("moveaxis movedim", lambda x: ops.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1), (2, 3, 2)),
    row("moveaxis", lambda x: ops.moveaxis(x, (0, 1), (2, 0)), lambda x: np.moveaxis(x, (0, 1), (2, 0)), (2, 3, 2)),
    row("squeeze", ops.squeeze, np.squeeze, (1, 3, 1)),
    row("squeeze", lambda x: ops.squeeze(x, (0, -1)), lambda x: np.squeeze(x, (0, -1)), (1, 3, 1)),
    row("expand_dims unsqueeze", lambda x: ops.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1)), M),
    row("broadcast_to", lambda x: ops.broadcast_to(x, (2, -1, 2)), lambda x: np.broadcast_to(x, (2, len(x), 2)), (3, 1)),
    row("expand", lambda x: ops.expand(x, 2, 3), lambda x: np.broadcast_to(x, (2, 3)), V),
    row("broadcast_arrays", ops.broadcast_arrays, np.broadcast_arrays, M, V, (2, 1)),
    row("tile", lambda x: ops.tile(x, 2), lambda x: np.tile(x, 2), M),
    row("tile", lambda x: ops.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), M),
    row("repeat repeat_interleave", lambda x: ops.repeat(x, 2), lambda x: np.repeat(x, 2), M),
    row("repeat", lambda x: ops.repeat(x, [2, 0, 1], 1), lambda x: np.repeat(x, [2, 0, 1], 1), M),
    row("flip", ops.flip, np.flip, M),
    row("flip", lambda x: ops.flip(x, (-1,)), lambda x: np.flip(x, (-1,)), M),
    row("roll", lambda x: ops.roll(x, 1), lambda x: np.roll(x, 1), M),
    row("roll", lambda x: ops.roll(x, (1, -4), (0, 1)), lambda x: np.roll(x, (1, -4), (0, 1)), M),
    row("roll", lambda x: ops.roll(x, (1, 1), 1), lambda x: np.roll(x, (1, 1), 1), M),
    row("slice_axis", lambda x: ops.slice_axis(x, 1, 1, 3), lambda x: x[:, 1:3], M),
    row("concat cat concatenate", lambda *xs: ops.concat(xs, -1), lambda *xs: np.concatenate(xs, -1), M, (2, 1)),
    row("stack", lambda *xs: ops.stack(xs, 1), lambda *xs: np.stack(xs, 1), M, M),
    row("unstack unbind", lambda x: ops.unstack(x, 1), lambda x: [x[:, i] for i in range(x.shape[1])], M),
    row("split", lambda x: ops.split(x, 2, 1), lambda x: pieces(x, 2), M),
    row("split", lambda x: ops.split(x, [1, 0, 2], -1), lambda x: [x[:, [0]], x[:, []], x[:, [1, 2]]], M),
    row("chunk", lambda x: ops.chunk(x, 2, 1), lambda x: pieces(x, -(-x.shape[1] // 2)), M),
    row("array_split", lambda x: ops.array_split(x, 2, 1), lambda x: np.array_split(x, 2, 1), M),
    row("array_split", lambda x: ops.array_split(x, [1, -1, 7]), lambda x: np.array_split(x, [1, -1, 7]), (4,)),
    row("pad", lambda x: ops.pad(x, (1, 2)), lambda x: np.pad(x, ((0, 0), (1, 2))), M),
    row("pad", lambda x, v: ops.pad(x, (1, 0, 0, 1), value=v), lambda x, v: np.pad(x, ((0, 1), (1, 0)), constant_values=v), M, S),
    row("pad", lambda x: ops.pad(x, (1, -1)), lambda x: np.pad(np.delete(x, -1, 1), ((0, 0), (1, 0))), M),
    row("pad", lambda x: ops.pad(x, (1, 1), value=7), lambda x: np.pad(x, ((0, 0), (1, 1)), constant_values=7), M, number="int"),
    *(
        row("pad_widths", lambda x, ours=ours: ops.pad_widths(x, [(1, 0), (2, 1)], ours), lambda x, mode=mode: np.pad(x, [(1, 0), (2, 1)], mode), M)
        for ours, mode in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"), ("symmetric", "symmetric"))
    ),
    row("take", lambda x: ops.take(x, [[5, 0], [1, 1]]), lambda x: np.take(x, [[5, 0], [1, 1]]), M),
    row("take", lambda x: ops.take(x, ROWS_, -1), lambda x: np.take(x, ROWS_, -1), M),
    row("take", lambda x: ops.take(x, 1, 0), lambda x: np.take(x, 1, 0), M),
    row("take_along_axis", lambda x: ops.take_along_axis(x, ROWS_[None], 0), lambda x: np.take_along_axis(x, ROWS_[None], 0), M),
    row("take_along_axis", lambda x: ops.take_along_axis(x, PAIRS[:1], 1), lambda x: np.take_along_axis(x, PAIRS[:1], 1), M),
    row("take_along_axis", lambda x: ops.take_along_axis(x, PAIRS, 1), lambda x: np.take_along_axis(x, PAIRS, 1), (1, 3)),
    row("meshgrid", ops.meshgrid, np.meshgrid, V, (2,), (2,)),
    row("meshgrid", lambda *xs: ops.meshgrid(*xs, indexing="ij"), lambda *xs: np.meshgrid(*xs, indexing="ij"), V, (2,)),
    row("diagonal", ops.diagonal, np.diagonal, (2, 3, 2)),
    row("diagonal", lambda x: ops.diagonal(x, -1, 2, 0), lambda x: np.diagonal(x, -1, 2, 0), (2, 2, 3)),
    row("diag", ops.diag, np.diag, V),
    row("diag", lambda x: ops.diag(x, 1), lambda x: np.diag(x, 1), M),
    row("diag_embed", lambda x: ops.diag_embed(x, -1), lambda x: np.stack([np.diag(v, -1) for v in x]), M),
    row("tril", lambda x: ops.tril(x, -1), lambda x: np.tril(x, -1), (2, 3, 3)),
    row("triu", ops.triu, np.triu, M),
    row("ones_like_shape", lambda x: ops.ones_like_shape(x, (2,)), lambda x: np.ones(2), M, zero=True),
    row("array", lambda x, y: ops.array([[x, 2.0], [1.0, y * x]]), lambda x, y: np.array([[x, 2.0], [1.0, y * x]]), S, S),
]  # fmt: skip

SELECTION = [
    row("gather", lambda x: ops.gather(x, ROWS_, 0), lambda x: x[ROWS_], M),
    row("index_select", lambda x: ops.index_select(x, 1, ROWS_), lambda x: x[:, ROWS_], M),
    row("gather_elements", lambda x: ops.gather_elements(x, 1, PAIRS[:2]), lambda x: x[[[0], [1]], PAIRS[:2]], M),
    row("gather_elements", lambda x: ops.gather_elements(x, 0, PAIRS[1:2]), lambda x: x[[0, 0], [0, 1]][None], M),
    row("gather_nd", lambda x: ops.gather_nd(x, PAIRS), lambda x: x[PAIRS[:, 0], PAIRS[:, 1]], M),
    row("gather_nd", lambda x: ops.gather_nd(x, PAIRS[:, :1]), lambda x: x[PAIRS[:, 0]], M),
    row("scatter_nd_add tensor_scatter_add", lambda x, v: ops.scatter_nd_add(x, PAIRS, v), lambda x, v: added(x, tuple(PAIRS.T), v), M, V),
    row("tensor_scatter_update", lambda x, v: ops.tensor_scatter_update(x, PAIRS, v), lambda x, v: replaced(x, tuple(PAIRS.T), v), M, V),
    row("scatter_add", lambda x, v: ops.scatter_add(x, 0, PAIRS[1:2], v), lambda x, v: added(x, ([0, 0], [0, 1]), v[0, :2]), M, M),
    row("scatter", lambda x, v: ops.scatter(x, 1, PAIRS[:2], v), lambda x, v: replaced(x, ([0, 0, 1], [1, 2, 0]), v.ravel()[[0, 1, 3]]), M, (2, 2)),
    row("index_add", lambda x, v: ops.index_add(x, ROWS_, v, 1), lambda x, v: added(x, (slice(None), ROWS_), v), M, M),
    row("index_fill", lambda x, v: ops.index_fill(x, 1, [2, 0], v), lambda x, v: replaced(x, (slice(None), [2, 0]), v), M, S),
    row("masked_fill", lambda x, v: ops.masked_fill(x, MASK, v), lambda x, v: np.where(MASK, v, x), M, S),
    row("masked_select", lambda x: ops.masked_select(x, MASK), lambda x: x[MASK], M),
    row("masked_select", lambda x: ops.masked_select(x, MASK), lambda x: np.broadcast_to(x, (2, 3))[MASK], V),
    row("nonzero", ops.nonzero, np.argwhere, M, batches=False),
    row("nonzero", lambda x: ops.nonzero(x, as_tuple=True), np.nonzero, M, number="bool", batches=False),
    row("argwhere", ops.argwhere, np.argwhere, M, number="bool", batches=False),
    row("unique", ops.unique, np.unique, M, batches=False),
    row(
        "unique",
        lambda x: ops.unique(x, return_inverse=True, return_counts=True),
        lambda x: np.unique(x, return_inverse=True, return_counts=True),
        (3, 4),
        number="int",
        batches=False,
    ),
    row("searchsorted", lambda x, v: ops.searchsorted(ops.sort(x)[0], v), lambda x, v: np.searchsorted(np.sort(x), v), (4,), M),
    row("searchsorted", lambda x, v: ops.searchsorted(x, v, right=True), lambda x, v: np.searchsorted(x, v, "right"), (1,), M, number="int"),
    row("bincount", lambda x: ops.bincount(x, minlength=3), lambda x: np.bincount(x, minlength=3), (4,), domain=(0, 4), number="int", batches=False),
    row("bincount", lambda w: ops.bincount(ROWS_, w, 4), lambda w: np.bincount(ROWS_, w, 4), V),
]  # fmt: skip

CREATION = [
    row("zeros", lambda: ops.zeros((2, 3)), lambda: np.zeros((2, 3), "float32"), dtype=F32),
    row("ones", lambda: ops.ones(2, ad.int32), lambda: np.ones(2, "int32"), dtype=ad.int32),
    row("full", lambda v: ops.full((2, 3), v), lambda v: np.full((2, 3), v), S),
    row("full", lambda: ops.full(2, 7.0), lambda: np.full(2, 7.0), dtype=F32),
    row("full_like", lambda x, v: ops.full_like(x, v), np.full_like, M, S),
    row("zeros_like", lambda x: ops.zeros_like(x, ad.int8), lambda x: np.zeros_like(x, "int8"), M, dtype=ad.int8),
    row("ones_like", lambda x: ops.ones_like(x, ad.float64), lambda x: np.ones_like(x, "float64"), M, dtype=F64, zero=True),
    row("arange", lambda: ops.arange(2, 9, 3), lambda: np.arange(2, 9, 3), dtype=ad.int64),
    row("arange", lambda: ops.arange(0, 1, 0.25), lambda: np.arange(0, 1, 0.25), dtype=F32),
    row("linspace", lambda: ops.linspace(-1, 2, 7), lambda: np.linspace(-1, 2, 7), dtype=F32),
    row("linspace", lambda a, b: ops.linspace(a, b, 5), lambda a, b: np.linspace(a, b, 5), S, S),
    row("linspace", lambda a: ops.linspace(a, 1.0, 1), lambda a: np.linspace(a, 1.0, 1), S),
    row("linspace", lambda a: ops.linspace(a, 9.0, 4, ad.float32), lambda a: np.linspace(a, 9.0, 4), S, dtype=F32),
    row("logspace", lambda a, b: ops.logspace(a, b, 4, 3.0), lambda a, b: np.logspace(a, b, 4, base=3.0), S, S),
    row("eye", lambda: ops.eye(2, 3, ad.float64), lambda: np.eye(2, 3), dtype=F64),
    row("one_hot", lambda: ops.one_hot(ROWS_, 2), lambda: np.eye(2)[ROWS_], dtype=F32),
    row("one_hot", lambda: ops.one_hot(PAIRS, 3, axis=0), lambda: np.moveaxis(np.eye(3)[PAIRS], -1, 0), dtype=F32),
    row("one_hot", lambda a, b: ops.one_hot(ROWS_, 2, a, b), lambda a, b: np.where(np.eye(2, dtype=bool)[ROWS_], a, b), S, S),
    row("tril_indices", lambda: ops.tril_indices(3, 4, 1), lambda: np.stack(np.tril_indices(3, 1, 4)), dtype=ad.int64),
    row("triu_indices", lambda: ops.triu_indices(3, 4, -1), lambda: np.stack(np.triu_indices(3, -1, 4)), dtype=ad.int64),
]  # fmt: skip

LOSS = [
    *(row("reduced", lambda x, how=how: ops.reduced(x, how), ref, M) for how, ref in (("mean", np.mean), ("sum", np.sum), ("none", np.copy))),
    row("mse_loss", lambda x, y: ops.mse_loss(x, y, "none"), lambda x, y: (x - y) ** 2, M, V),
    row("l1_loss", lambda x, y: ops.l1_loss(x, y, "sum"), lambda x, y: np.sum(np.abs(x - y)), M, M),
    row("binary_cross_entropy", lambda p, q: ops.binary_cross_entropy(p, q, reduction="none"), cross_entropy, M, M, domain=(0.2, 0.8)),
    row(
        "binary_cross_entropy",
        lambda p, q, w: ops.binary_cross_entropy(p, q, w),
        lambda p, q, w: np.mean(w * cross_entropy(p, q)),
        M, M, V,
        domain=(0.2, 0.8),
    ),
    row(
        "binary_cross_entropy_with_logits",
        lambda z, q: ops.binary_cross_entropy_with_logits(z, q),
        lambda z, q: np.mean(cross_entropy(sp.expit(z), q)),
        M, M,
        domain=(0.2, 0.8),
    ),
    row(
        "binary_cross_entropy_with_logits",
        lambda z, q, w, p: ops.binary_cross_entropy_with_logits(z, q, w, p, "sum"),
        lambda z, q, w, p: np.sum(w * -(p * q * sp.log_expit(z) + (1 - q) * sp.log_expit(-z))),
        M, M, V, V,
        domain=(0.2, 0.8),
    ),
]  # fmt: skip

COMPLEX = [
    *(row(n, named(n), ref, M, domain=(0.2, 0.8), number="complex") for n, ref in HOLOMORPHIC),
    *(row(n, named(n), ref, M, V, domain=(0.2, 0.8), number="complex") for n, ref, _ in BINARY[:5]),
]

TABLE = [*ELEMENTWISE, *ACTIVATION, *REDUCTION, *MOVEMENT, *SELECTION, *CREATION, *LOSS, *COMPLEX]

#: Functions with a test file of their own, and families tested beside their cards.
ELSEWHERE = {"getitem", "setitem"}
OTHER_FAMILIES = {"random", "products", "norms", "linalg", "fourier"}


# ---------------------------------------------------------------- the checks


def ids(rows: Sequence[Row]) -> list[str]:
    return [f"{i}-{r.names.split()[0]}" for i, r in enumerate(rows)]


def over(wanted: Callable[[Row], bool]) -> Any:
    """Run a test for each of these rows."""
    rows = [r for r in TABLE if wanted(r)]
    return pytest.mark.parametrize("r", rows, ids=ids(rows))


def small_axes() -> Iterator[Any]:
    """Each row with its axes of size 2 or 3 replaced by ones of size 0 or 1, wherever NumPy has an answer."""
    for r, name in zip(TABLE, ids(TABLE), strict=True):
        for old, new in ((2, 0), (2, 1), (3, 0), (3, 1)):
            shapes = [tuple(new if n == old else n for n in shape) for shape in r.shapes]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    want = [np.asarray(y) for y in flat(r.reference(*r.inputs(0, shapes)))]
            except (ValueError, IndexError, RuntimeWarning):
                continue
            if tuple(shapes) != r.shapes:
                yield pytest.param(r, shapes, want, id=f"{name}-{shapes}")


def close(got: Sequence[Any], want: Sequence[Any], rtol: float, what: str) -> None:
    assert len(got) == len(want), f"{what}: {len(got)} results, expected {len(want)}"
    for a, b in zip(map(plain, got), map(np.asarray, want), strict=True):
        assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
        scale = max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0.0)) if b.dtype.kind in "fc" else 0.0
        kind = complex if b.dtype.kind == "c" else float
        np.testing.assert_allclose(a.astype(kind), b.astype(kind), rtol=rtol, atol=rtol * scale, err_msg=what)


def directions(like: Sequence[np.ndarray], seed: int) -> Arrays:
    rng = np.random.default_rng(seed)
    draw = lambda x: rng.uniform(-1, 1, x.shape) + (1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else 0)  # noqa: E731
    return [np.asarray(draw(x)) for x in like]


def slope(f: Callable[[Arrays], Arrays], xs: Arrays, ts: Arrays, h: float = 1e-3) -> Arrays:
    """The derivative of `f` along `ts`, by central differences of the fourth order."""
    at = {k: f([x + k * h * t for x, t in zip(xs, ts, strict=True)]) for k in (-2, -1, 1, 2)}
    return [(a - 8 * b + 8 * c - d) / (12 * h) for a, b, c, d in zip(at[-2], at[-1], at[1], at[2], strict=True)]


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    return sum(float(np.vdot(plain(x), plain(y)).real) for x, y in zip(a, b, strict=True))


def units(xs: Arrays) -> Iterator[tuple[int, int, complex, Arrays]]:
    """Every direction along one number of the inputs, as (input, element, direction)."""
    for i, x in enumerate(xs):
        for k in range(x.size):
            for one in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                ts = [np.zeros_like(v) for v in xs]
                ts[i].flat[k] = one
                yield i, k, one, ts


def pulled(r: Row, xs: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
    return list(ad.vjp(r.floats, *map(ad.Tensor, xs))[1](*gs))


def expected_dtype(r: Row, want: np.ndarray, narrow: Any) -> Any:
    """The result has the precision of the inputs, unless the function fixes another."""
    if r.dtype is not None:
        return r.dtype
    if want.dtype.kind not in "fc" or r.number in ("int", "bool"):
        return want.dtype
    if want.dtype.kind == "c":
        return np.result_type(np.complex64, narrow if narrow in (F32, F64) else F32)
    return narrow


@over(lambda r: True)
@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_value(r: Row, dtype: np.dtype) -> None:
    """The value and the dtype, for Tensors and for plain arrays."""
    narrow = {"real": dtype, "complex": np.result_type(dtype, np.complex64)}.get(r.number)
    xs = [x.astype(narrow) if narrow else x for x in r.inputs()]
    wide = [x.astype(np.result_type(x, float)) if narrow else x for x in xs]
    want = [np.asarray(y) for y in flat(r.reference(*wide))]
    tolerance = 1e-12 if dtype == F64 and r.dtype != F32 else 2e-5
    got = r.outputs(*map(ad.Tensor, xs))
    close(got, want, tolerance, r.names)
    for y, w in zip(got, want, strict=True):
        assert y.dtype == expected_dtype(r, w, dtype), f"{r.names} of {dtype}: the result is {y.dtype}"
    close(r.outputs(*xs), want, tolerance, f"{r.names} of plain arrays")


@over(lambda r: r.differentiable and not r.zero)
def test_gradient(r: Row) -> None:
    """Reverse mode, every partial derivative, against differences of the function's own values."""
    xs = r.inputs()
    gs = directions(r.values(xs), 1)
    found = pulled(r, xs, gs)
    for i, k, one, ts in units(xs):
        want = inner(gs, slope(r.values, xs, ts))
        got = plain(found[i]).flat[k]
        got = got.imag if one == 1j else got.real
        tolerance = 1e-3 if r.dtype == F32 else 1e-8
        assert got == pytest.approx(want, rel=tolerance, abs=tolerance), f"{r.names}: element {k} of input {i}"


@over(lambda r: r.differentiable and not r.zero)
def test_forward(r: Row) -> None:
    """Forward mode against reverse mode: <g, J t> = <J' g, t>."""
    xs = r.inputs()
    ts, gs = directions(xs, 2), directions(r.values(xs), 3)
    pushed = ad.jvp(r.floats, [ad.Tensor(x) for x in xs], [ad.Tensor(t) for t in ts])[1]
    assert inner(gs, pushed) == pytest.approx(
        inner(pulled(r, xs, gs), ts), rel=1e-10 if r.dtype != F32 else 1e-5, abs=1e-10
    )


@over(lambda r: r.differentiable and not r.zero and r.dtype != F32)
def test_second_order(r: Row) -> None:
    """The gradient of the gradient along a direction, against differences of the gradient, in three ways of nesting."""
    xs = r.inputs()
    gs, ts, us = directions(r.values(xs), 4), directions(xs, 5), directions(xs, 6)
    want = slope(lambda v: [plain(g) for g in pulled(r, v, gs)], xs, ts)

    def gradient(*values: Any) -> Any:
        return ad.vjp(r.floats, *values)[1](*gs)

    inputs = [ad.Tensor(x) for x in xs]
    forward = ad.jvp(gradient, inputs, [ad.Tensor(t) for t in ts])[1]
    close(forward, want, 1e-7, f"{r.names}: forward over reverse")
    reverse = ad.vjp(gradient, *inputs)[1](*us)
    assert inner(reverse, ts) == pytest.approx(inner(us, want), rel=1e-7, abs=1e-7), f"{r.names}: reverse over reverse"


@over(lambda r: r.zero)
def test_zero_derivative(r: Row) -> None:
    """No derivative flows, and none is NaN."""
    xs = r.inputs()
    weight = lambda *v: sum(ops.sum(ops.cast(y, ad.float64)) for y in r.outputs(*v)) + 0.0 * sum(x.sum() for x in v)  # noqa: E731
    grads = ad.grad(weight, tuple(range(len(xs))))(*map(ad.Tensor, xs))
    for g in flat(grads):
        assert not plain(g).any()
    assert not plain(ad.jvp(weight, [ad.Tensor(x) for x in xs], [ad.Tensor(t) for t in directions(xs, 7)])[1]).any()


@over(lambda r: bool(r.shapes) and r.batches)
def test_vmap(r: Row) -> None:
    """A batch against a loop: all inputs batched, and each alone, from its last axis."""
    batch = [r.inputs(seed) for seed in range(2)]
    stacked = [np.stack(xs) for xs in zip(*batch, strict=True)]
    want = [
        np.stack(ys) for ys in zip(*([plain(y) for y in r.outputs(*map(ad.Tensor, xs))] for xs in batch), strict=True)
    ]
    close(flat(ad.vmap(r.outputs)(*map(ad.Tensor, stacked))), want, 1e-12, f"vmap({r.names})")
    for i in range(len(stacked)):
        alone = [[b[j] if j == i else batch[0][j] for j in range(len(stacked))] for b in batch]
        want = [
            np.stack(ys)
            for ys in zip(*([plain(y) for y in r.outputs(*map(ad.Tensor, xs))] for xs in alone), strict=True)
        ]
        args = [np.moveaxis(x, 0, -1) if j == i else batch[0][j] for j, x in enumerate(stacked)]
        axes = tuple(-1 if j == i else None for j in range(len(stacked)))
        close(flat(ad.vmap(r.outputs, axes)(*map(ad.Tensor, args))), want, 1e-12, f"vmap({r.names}), input {i} alone")


@over(lambda r: r.batches and r.differentiable and not r.zero)
def test_vmap_of_gradient(r: Row) -> None:
    """The gradient of each example of a batch against a loop."""
    batch = [r.inputs(seed) for seed in range(2)]
    gs = directions(r.values(batch[0]), 8)
    want = [np.stack(ys) for ys in zip(*([plain(g) for g in pulled(r, xs, gs)] for xs in batch), strict=True)]
    got = ad.vmap(lambda *xs: ad.vjp(r.floats, *xs)[1](*gs))(
        *(ad.Tensor(np.stack(xs)) for xs in zip(*batch, strict=True))
    )
    close(flat(got), want, 1e-10, f"vmap of the gradient of {r.names}")


@over(lambda r: bool(r.shapes) and r.number == "real")
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision(r: Row, name: str) -> None:
    """Results and gradients keep the dtype, and are near those of double precision."""
    dtype = getattr(ad, name)
    tolerance = r.slack * {"float16": 1e-2, "bfloat16": 8e-2}[name]
    xs = [x.astype(dtype) for x in r.inputs()]
    wide = [x.astype(float) for x in xs]
    want = [np.asarray(y) for y in flat(r.reference(*wide))]
    got = r.outputs(*map(ad.Tensor, xs))
    for y, w in zip(got, want, strict=True):
        assert y.dtype == expected_dtype(r, w, dtype), f"{r.names} of {name}: the result is {y.dtype}"
        if w.dtype.kind in "fc" and not r.zero:
            close([y], [w], tolerance, f"{r.names} of {name}")
    if r.differentiable and not r.zero:
        gs = directions(r.values(wide), 9)
        found = pulled(r, xs, gs)
        assert all(g.dtype == dtype for g in found), f"{r.names} of {name}: gradients are {[g.dtype for g in found]}"
        close(found, [plain(g) for g in pulled(r, wide, gs)], tolerance, f"gradient of {r.names} of {name}")


@pytest.mark.parametrize(("r", "shapes", "want"), list(small_axes()))
def test_small_axes(r: Row, shapes: list[tuple[int, ...]], want: Arrays) -> None:
    """Axes without elements or with one: wherever NumPy has an answer, ours is the same, and has a gradient."""
    xs = r.inputs(0, shapes)
    close(r.outputs(*map(ad.Tensor, xs)), want, 1e-12, f"{r.names} of shapes {shapes}")
    if want and r.differentiable and not r.zero:
        gs = [np.ones_like(y) for y in r.values(xs)]
        assert [g.shape for g in pulled(r, xs, gs)] == shapes
        pushed = ad.jvp(r.floats, [ad.Tensor(x) for x in xs], [ad.Tensor(np.ones_like(x)) for x in xs])[1]
        assert inner(gs, pushed) == pytest.approx(inner(pulled(r, xs, gs), [np.ones_like(x) for x in xs]), abs=1e-9)


@pytest.mark.parametrize("names, reference, domain", BINARY, ids=[names for names, *_ in BINARY])
def test_python_numbers(names: str, reference: Callable[..., Any], domain: tuple[float, float]) -> None:
    """A Python number beside an array gives way to its dtype, in the result and in the gradient."""
    x, number = np.array([0.75, 1.25], "float32"), 0.7
    for call, want in (
        (lambda x: named(names)(x, number), reference(x, number)),
        (lambda x: named(names)(number, x), reference(number, x)),
    ):
        y = call(ad.Tensor(x))
        assert y.dtype == np.result_type(F32, np.complex64 if want.dtype.kind == "c" else F32)
        close([y], [want], 1e-6, names)
        assert ad.grad(lambda x, call=call: ops.real(call(x)))(ad.Tensor(x)).dtype == F32


ODD_VALUES: list[tuple[Any, Any]] = [
    (lambda: ops.exp2(ad.Tensor([3, -1])), [8.0, 0.5]),
    (lambda: ops.hypot(ad.Tensor([np.inf, 0.0, 1e-300]), ad.Tensor([1.0, 0.0, 0.0])), np.float32([np.inf, 0.0, 0.0])),
    (lambda: ops.hypot(np.array([1e-300, 1e300]), 0.0), [1e-300, 1e300]),
    (lambda: ops.fmod(np.array([5.3, -5.3, 7.0, -4.0]), 0.1), np.fmod([5.3, -5.3, 7.0, -4.0], 0.1)),
    (lambda: ops.fmod(ad.Tensor([7, -7]), ad.Tensor([-4, 4])), [3, -3]),
    (lambda: ops.xlogy(np.zeros(4), np.array([0.0, -1.0, np.inf, np.nan])), [0.0, 0.0, 0.0, np.nan]),
    (lambda: ops.isclose(np.array([np.inf, -np.inf, np.nan, 1.0]), np.array([np.inf, np.inf, np.nan, np.inf])), [True, False, False, False]),
    (lambda: ops.isclose(np.array([np.nan, 1.0]), np.nan, equal_nan=True), [True, False]),
    (lambda: ops.isclose(np.uint8([1]), np.uint8([2])), [False]),
    (lambda: ops.isinf(np.array([np.inf, -np.inf, np.nan, 0.0])), [True, True, False, False]),
    (lambda: ops.prod(ad.Tensor(np.full(4, 200, "int32"))), 200**4),
    (lambda: ops.cumprod(ad.Tensor(np.full(5, 200, "int32")))[-1], 200**5),
    (lambda: ops.cummin(ad.Tensor(np.array([3, 0, 2], "uint8")), 0)[0], np.uint8([3, 0, 0])),
    (lambda: ops.median(ad.Tensor([3, 1, 2])), 2.0),
    (lambda: ops.median(np.array([1.0, np.nan, 2.0])), np.nan),
    (lambda: ops.logsumexp(np.zeros((2, 0)), 1), [-np.inf, -np.inf]),
    (lambda: ops.round(np.array([0.125, 15.0, 25.0]), 2), [0.12, 15.0, 25.0]),
    (lambda: ops.round(np.array([15.0, 25.0, 1234.0]), -1), [20.0, 20.0, 1230.0]),
    (lambda: ops.binary_cross_entropy(np.array([0.0, 1.0]), np.array([1.0, 0.0]), reduction="none"), [100.0, 100.0]),
    (lambda: ops.searchsorted(np.array([[1.0, 3.0], [5.0, 9.0]]), np.array([[3.0, 0.0], [9.0, 10.0]])), [[1, 0], [1, 2]]),
    (lambda: ops.one_hot(ad.Tensor([0, -1, 5]), 2, dtype=ad.int32), [[1, 0], [0, 0], [0, 0]]),
    (lambda: ops.bincount([0, 2], [0.5, 1.5]), [0.5, 0.0, 1.5]),
    (lambda: ops.take(ops.arange(3), []), []),
    (lambda: ops.index_add(ops.zeros((2, 2)), 1, ops.ones(2), 0), [[0.0, 0.0], [1.0, 1.0]]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "want"), ODD_VALUES)
def test_odd_values(call: Callable[[], Any], want: Any) -> None:
    """Infinities, wrap-around, ties and other places where a formula goes astray. Nothing warns."""
    got = plain(call())
    np.testing.assert_array_equal(got, want)
    assert got.dtype.kind == np.asarray(want).dtype.kind or not got.size


X = ad.Tensor(np.ones((2, 3)))
REFUSED: list[tuple[Any, str]] = [
    (lambda: ops.add(X, ops.ones(2)), r"shapes \(2, 3\) and \(2,\) do not broadcast"),
    (lambda: ops.clamp(X), "give min, max or both"),
    (lambda: ops.gelu(X, "fast"), "approximate must be 'none' or 'tanh', not 'fast'"),
    (lambda: ops.glu(X), r"axis -1 of shape \(2, 3\) cannot be halved"),
    (lambda: ops.sum(X, 2), "sum: axis 2 is outside the input's 2 axes"),
    (lambda: ops.mean(X, (0, -2)), "names an axis twice"),
    (lambda: ops.max(X, (0, 1), return_indices=True), "needs one axis"),
    (lambda: ops.topk(X, 4), "k=4 of an axis with 3 elements"),
    (lambda: ops.quantile(X, 1.5), "q must lie between 0 and 1, not 1.5"),
    (lambda: ops.softmax(X, 3), "softmax: axis 3 is outside"),
    (lambda: ops.reshape(X, (4, -1)), r"6 elements of shape \(2, 3\) do not fill \(4, -1\)"),
    (lambda: ops.reshape(X, (5,)), r"6 elements of shape \(2, 3\) do not fill the shape \(5,\)"),
    (lambda: ops.flatten(X, "K"), "order must be 'C' or 'F', not 'K'"),
    (lambda: ops.transpose(X, (0, 0)), "does not name each of the input's 2 axes once"),
    (lambda: ops.t(ops.ones((1, 1, 1))), "a matrix is needed"),
    (lambda: ops.moveaxis(X, (0, 1), 0), "2 axes for 1 places"),
    (lambda: ops.squeeze(X, 0), "has size 2, not 1"),
    (lambda: ops.expand_dims(X, (0, 0)), "names an axis twice"),
    (lambda: ops.broadcast_to(X, (3, 3)), r"shape \(2, 3\) does not broadcast to \(3, 3\)"),
    (lambda: ops.concat([]), "no tensors to join"),
    (lambda: ops.concat([X, ops.ones((2, 2))]), "differ on other axes than axis 0"),
    (lambda: ops.stack([X, ops.ones((2, 2))]), "differ"),
    (lambda: ops.split(X, 0), "the size must be at least 1"),
    (lambda: ops.split(X, [1, 2]), r"sizes \(1, 2\) do not add up to the 2 elements of axis 0"),
    (lambda: ops.chunk(X, 0), "there must be at least 1"),
    (lambda: ops.pad(X, (1, 2, 3)), "3 widths for an input of 2 axes"),
    (lambda: ops.pad(X, (1, 2), "mirror"), "mode 'mirror' is not one of constant"),
    (lambda: ops.pad(X, (-2, -2)), r"crop more than the shape \(2, 3\) has"),
    (lambda: ops.take(X, [3], 1), "3 is outside axis 1 of size 3"),
    (lambda: ops.take_along_axis(X, [0], 0), "the indices have 1 axes, the input 2"),
    (lambda: ops.meshgrid(X, indexing="no"), "indexing must be 'xy' or 'ij'"),
    (lambda: ops.diag(ops.ones((1, 1, 1))), "a vector or matrix is needed"),
    (lambda: ops.tril(ops.ones(2)), "a matrix is needed"),
    (lambda: ops.scatter(X, 0, [[0, 0]], ops.ones((1, 1))), r"src has shape \(1, 1\), the index \(1, 2\)"),
    (lambda: ops.linspace(0, 1, 0), "it must be at least 1"),
    (lambda: ops.one_hot([0], 2, axis=3), "axis 3 for indices of 1 axes"),
    (lambda: ops.mse_loss(X, X, "total"), "reduction must be 'mean', 'sum' or 'none', not 'total'"),
    (lambda: ops.logical_and(X, ops.bitwise_and(X, X)), "not defined for float64 and float64"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_refusals(call: Callable[[], Any], words: str) -> None:
    """What makes no sense is refused with words, and the user's line."""
    with pytest.raises((ValueError, TypeError, IndexError), match=words) as caught:
        call()
    assert "called at test_functional.py" in str(caught.value)


@pytest.mark.parametrize("names", sorted({r.names for r in TABLE if " " in r.names}))
def test_other_names(names: str) -> None:
    """The other names of a function are the function itself."""
    first, *others = names.split()
    assert all(getattr(ops, name) is getattr(ops, first) for name in others)


def test_every_public_function_has_a_row() -> None:
    """A new public function is in the table, or tested with its family."""
    table = {name for r in TABLE for name in r.names.split()}
    missing = [
        name
        for name, function in vars(ops).items()
        if inspect.isfunction(function)
        and function.__module__.startswith("adjoint.ops.functional.")
        and function.__module__.rsplit(".", 1)[1] not in OTHER_FAMILIES
        and name not in table | ELSEWHERE
    ]
    assert not missing, f"without a row in {__name__}.TABLE: {', '.join(missing)}"
