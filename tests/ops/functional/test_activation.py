"""Activation functions against formulas in NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp

from adjoint import ops

M, V, S = (2, 3), (3,), ()

SIMPLE: list[tuple[str, Callable[..., Any], tuple[float, float]]] = [
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


def columns(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=0, keepdims=True)


def halves_gated(x: np.ndarray) -> np.ndarray:
    a, b = np.split(x, 2)
    return a * sp.expit(b)


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        *(row(n, getattr(ops, n.split()[0]), ref, M, domain=d) for n, ref, d in SIMPLE),
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
        row("normalize", lambda x: ops.normalize(x, 0), columns, M, domain=(0.3, 3.0)),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
