"""Functions of each element against NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp

import adjoint as ad
from adjoint import ops

M, V, S = (2, 3), (3,), ()
TWO, THREE = np.array(2), np.array(3)  # inputs by which there is no derivative
POSITIVE, UNIT = (0.3, 3.0), (-0.8, 0.8)
MASK = np.array([[True, False, True], [False, False, True]])

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
]  # fmt: skip

FLAT: list[tuple[str, Callable[..., Any]]] = [
    ("sign", np.sign),
    ("floor", np.floor),
    ("ceil", np.ceil),
    ("trunc", np.trunc),
    ("round", np.round),
    ("stop_gradient", lambda x: x),
    ("isfinite", np.isfinite),
    ("isnan", np.isnan),
    ("isinf", np.isinf),
    ("logical_not", np.logical_not),
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
]

WHOLE: list[tuple[str, Callable[..., Any]]] = [
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

HOLOMORPHIC: list[tuple[str, Callable[..., Any]]] = [
    ("neg", np.negative), ("square", np.square), ("reciprocal", np.reciprocal), ("exp", np.exp), ("expm1", np.expm1),
    ("log", np.log), ("log1p", np.log1p), ("sqrt", np.sqrt), ("sin", np.sin), ("cos", np.cos), ("tan", np.tan),
    ("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan), ("sinh", np.sinh), ("cosh", np.cosh),
    ("tanh", np.tanh), ("asinh", np.arcsinh), ("atanh", np.arctanh), ("sinc", np.sinc),
]  # fmt: skip


def named(names: str) -> Callable[..., Any]:
    return getattr(ops, names.split()[0])


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        *(row(n, named(n), ref, M, domain=d) for n, ref, d in SMOOTH),
        *(row(n, named(n), ref, M, zero=True) for n, ref in FLAT),
        *(row(n, named(n), ref, M, V, domain=d) for n, ref, d in BINARY),
        *(row(n, named(n), ref, M, (2, 1), domain=(1, 9), number="int") for n, ref in WHOLE),
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
        row("clamp clip", lambda x: ops.clamp(x, -1, 1), lambda x: np.clip(x, -1, 1), M),
        row("clamp", ops.clamp, np.clip, M, S, (2, 1)),
        row("clamp", lambda x: ops.clamp(x, max=0.5), lambda x: np.minimum(x, 0.5), M),
        row("cast astype", lambda x: ops.cast(x, ad.float32), lambda x: x.astype("float32"), M, dtype=ad.float32),
        row("cast", lambda x: ops.cast(x, ad.complex128), lambda x: x.astype("complex128"), M, dtype=ad.complex128),
        *(row(f"bessel_{k}", lambda x, k=k: named(f"bessel_{k}")(2, x), lambda x, k=k: getattr(sp, f"{k}v")(2, x), M, domain=(0.5, 4), slack=8)
          for k in "jyik"),
        *(row(n, named(n), getattr(sp, n), M, V, domain=(0.5, 3), slack=8) for n in ("gammainc", "gammaincc")),
        row("betainc", lambda x: ops.betainc(TWO, THREE, x), lambda x: sp.betainc(2.0, 3.0, x), M, domain=(0.2, 0.8), slack=8),
        row("zeta", lambda x: ops.zeta(THREE, x), lambda x: sp.zeta(3.0, x), M, domain=(0.5, 3), slack=8),
        row("cast", lambda x: ops.cast(x, ad.int32), lambda x: x.astype("int32"), M, dtype=ad.int32),
        row("angle", ops.angle, np.angle, M, zero=True),
        *(row(n, named(n), getattr(np, n), M, number="complex") for n in ("abs", "angle", "real", "imag", "conj")),
        *(row(n, named(n), ref, M, domain=(0.2, 0.8), number="complex") for n, ref in HOLOMORPHIC),
        *(row(n, named(n), ref, M, V, domain=(0.2, 0.8), number="complex") for n, ref, _ in BINARY[:5]),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
