"""Convolutions against loops over every window and tap, written here, and against SciPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import signal

import adjoint as ad
from adjoint import ops


def correlate(x: np.ndarray, w: np.ndarray, stride: Any, pairs: Any, dilation: Any, groups: int = 1) -> np.ndarray:
    """The definition of a convolution, element by element."""
    if not w[0].size or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ValueError
    x = np.pad(x, [(0, 0), (0, 0), *pairs])
    window, per = w.shape[2:], w.shape[0] // groups
    axes = zip(x.shape[2:], window, stride, dilation, strict=True)
    count = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in axes]
    if min(count) < 1:
        raise ValueError
    y = np.zeros((len(x), len(w), *count), np.result_type(x, w))
    for o, place, tap in itertools.product(range(len(w)), np.ndindex(*count), np.ndindex(*window)):
        at = tuple(p * s + t * d for p, s, t, d in zip(place, stride, tap, dilation, strict=True))
        for c in range(w.shape[1]):
            y[(slice(None), o, *place)] += x[(slice(None), o // per * w.shape[1] + c, *at)] * w[(o, c, *tap)]
    return y


def spread(x: np.ndarray, w: np.ndarray, stride: Any, pairs: Any, dilation: Any, groups: int, extra: Any) -> np.ndarray:
    """The definition of a transposed convolution: every element stamps its filter into the result."""
    if not w[0].size or x.shape[1] != w.shape[0] or not x[0, 0].size or not len(w):
        raise ValueError
    axes = list(zip(x.shape[2:], w.shape[2:], stride, dilation, extra, strict=True))
    y = np.zeros((len(x), w.shape[1] * groups, *((n - 1) * s + d * (k - 1) + 1 + e for n, k, s, d, e in axes)))
    y = y.astype(np.result_type(x, w))
    per = w.shape[0] // groups
    for c, place, tap in itertools.product(range(len(w)), np.ndindex(*x.shape[2:]), np.ndindex(*w.shape[2:])):
        at = tuple(p * s + t * d for p, s, t, d in zip(place, stride, tap, dilation, strict=True))
        for o in range(w.shape[1]):
            y[(slice(None), c // per * w.shape[1] + o, *at)] += x[(slice(None), c, *place)] * w[(c, o, *tap)]
    cut = tuple(slice(lo, n - hi) for n, (lo, hi) in zip(y.shape[2:], pairs, strict=True))
    return y[(slice(None), slice(None), *cut)]


def of_shape(shape: tuple[int, ...], y: np.ndarray) -> np.ndarray:
    """The result, if it has the shape that the call names."""
    if y.shape != shape:
        raise ValueError
    return y


def plane(b: np.ndarray, rank: int) -> np.ndarray:
    return b.reshape(-1, *(1,) * rank)


def windows(x: np.ndarray) -> np.ndarray:
    """Windows of 2 x 2, with stride 1 and 2 and one row of padding below."""
    x = np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 0)])
    if not x[0].size:
        raise ValueError
    n, c, h, w = x.shape
    at = [(i, j) for i in range(h - 1) for j in range(0, w - 1, 2)]
    return np.stack([x[:, :, i : i + 2, j : j + 2].reshape(n, c * 4) for i, j in at], axis=-1)


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    one, two = ((0, 0),), ((0, 0), (0, 0))
    return [
        row("conv1d", ops.conv1d, lambda x, w: correlate(x, w, (1,), one, (1,)), (2, 2, 4), (3, 2, 2)),
        row(
            "conv1d",
            lambda x, w, b: ops.conv1d(x, w, b, stride=2, pad_mode="pad", padding=(1, 2), dilation=2, groups=2),
            lambda x, w, b: correlate(x, w, (2,), ((1, 2),), (2,), 2) + plane(b, 1),
            (1, 4, 5), (2, 2, 2), (2,),
        ),
        row(
            "conv2d",
            lambda x, w, b: ops.conv2d(x, w, b, (2, 1), "pad", (1, 0), (1, 2)),
            lambda x, w, b: correlate(x, w, (2, 1), ((1, 1), (0, 0)), (1, 2)) + plane(b, 2),
            (2, 2, 3, 4), (1, 2, 2, 2), (1,),
        ),
        row(
            "conv2d",
            lambda x, w: ops.conv2d(x, w, pad_mode="same", stride=(2, 3), groups=2),
            lambda x, w: correlate(x, w, (2, 3), ((0, 1), (0, 0)), (1, 1), 2),
            (1, 2, 5, 4), (4, 1, 2, 1),
        ),
        row("conv2d", lambda x, w: ops.conv2d(x[0], w), lambda x, w: correlate(x, w, (1, 1), two, (1, 1))[0], (1, 1, 3, 3), (2, 1, 2, 3)),
        row(
            "conv3d",
            lambda x, w: ops.conv3d(x, w, pad_mode="pad", padding=((0, 1), (0, 0), (0, 0))),
            lambda x, w: correlate(x, w, (1, 1, 1), ((0, 1), (0, 0), (0, 0)), (1, 1, 1)),
            (1, 1, 2, 3, 2), (1, 1, 2, 2, 1),
        ),
        row(
            "conv2d_backprop_input",
            lambda w, g: ops.conv2d_backprop_input((1, 2, 5, 4), w, g, stride=2, padding=1),
            lambda w, g: of_shape((1, 2, 5, 4), spread(g, w, (2, 2), ((1, 1), (1, 1)), (1, 1), 1, (0, 1))),
            (1, 2, 3, 3), (1, 1, 3, 2),
        ),
        row(
            "conv2d_backprop_filter",
            lambda x, g: ops.conv2d_backprop_filter(x, (1, 2, 2, 2), g),
            lambda x, g: of_shape((1, 2, 2, 2), correlate(x.swapaxes(0, 1), g.swapaxes(0, 1), (1, 1), two, (1, 1)).swapaxes(0, 1)),
            (3, 2, 3, 4), (3, 1, 2, 3),
        ),
        row(
            "conv_transpose1d conv1d_transpose",
            lambda x, w, b: ops.conv_transpose1d(x, w, b, stride=3, padding=1, output_padding=2, dilation=2),
            lambda x, w, b: spread(x, w, (3,), ((1, 1),), (2,), 1, (2,)) + plane(b, 1),
            (2, 2, 3), (2, 1, 2), (1,),
        ),
        row(
            "conv_transpose2d conv2d_transpose",
            lambda x, w: ops.conv_transpose2d(x, w, stride=(2, 1), groups=2),
            lambda x, w: spread(x, w, (2, 1), two, (1, 1), 2, (0, 0)),
            (1, 4, 2, 2), (4, 1, 2, 1),
        ),
        row(
            "conv_transpose3d conv3d_transpose",
            ops.conv_transpose3d,
            lambda x, w: spread(x, w, (1, 1, 1), ((0, 0),) * 3, (1, 1, 1), 1, (0, 0, 0)),
            (1, 2, 1, 2, 2), (2, 1, 1, 2, 1),
        ),
        row("unfold", lambda x: ops.unfold(x, 2, 1, (0, 1, 0, 0), (1, 2)), windows, (2, 2, 3, 4)),
        row("fold", lambda x: ops.fold(x, (2, 3), 2), lambda x: np.tensordot(x, FOLD, 2)[:, None], (3, 4, 2)),
    ]  # fmt: skip


FOLD = np.zeros((4, 2, 2, 3))  # element k of window p stands at row k // 2, column p + k % 2
for k, p in itertools.product(range(4), range(2)):
    FOLD[k, p, k // 2, p + k % 2] = 1


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row


def test_a_large_one_against_scipy() -> None:
    """More than one batch of columns, in single precision."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(9, 8, 70, 69)).astype("float32"), rng.normal(size=(2, 8, 5, 4)).astype("float32")
    y = ops.conv2d(ad.Tensor(x), ad.Tensor(w)).asnumpy()
    assert y.dtype == np.float32 and y.flags.c_contiguous
    for n, o in ((0, 0), (8, 1)):
        want = sum(signal.correlate(x[n, c].astype(float), w[o, c].astype(float), "valid") for c in range(8))
        np.testing.assert_allclose(y[n, o], want, rtol=1e-4, atol=1e-4)


def test_the_gradient_is_that_of_the_backprop_functions() -> None:
    x, w = ops.randn(2, 4, 6, 5, seed=1), ops.randn(6, 2, 3, 2, seed=2)
    options: Any = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "groups": 2}
    y, pull = ad.vjp(lambda x, w: ops.conv2d(x, w, pad_mode="pad", **options), x, w)
    g = ops.randn(*y.shape, seed=3)
    dx, dw = pull(g)
    assert (dx == ops.conv2d_backprop_input(x.shape, w, g, **options)).all()
    assert (dw == ops.conv2d_backprop_filter(x, w.shape, g, **options)).all()


def test_static_mode() -> None:
    x, w = ops.randn(1, 2, 5, 5, seed=1), ops.randn(3, 2, 3, 3, seed=2)

    def loss(x: Any, w: Any) -> Any:
        return ops.sum(ops.conv2d(x, w, pad_mode="same") ** 2)

    for a, b in zip(ad.jit(ad.grad(loss, (0, 1)))(x, w), ad.grad(loss, (0, 1))(x, w), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-5)


X, W = ops.ones((1, 2, 4, 4)), ops.ones((3, 2, 2, 2))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ops.conv2d(X[0, 0], W), "an input of 4 axes (or 3 for a single sample)"),
        (lambda: ops.conv2d(X, W[0]), "the shapes (1, 2, 4, 4) and (2, 2, 2)"),
        (lambda: ops.conv2d(X, ops.ones((3, 1, 2, 2))), "take 1 channels, the input has 2"),
        (lambda: ops.conv2d(X, W, padding=1), "padding=1 needs pad_mode='pad', not 'valid'"),
        (lambda: ops.conv2d(X, W, pad_mode="full"), "pad_mode must be 'valid', 'same' or 'pad', not 'full'"),
        (lambda: ops.conv2d(X, W, stride=0), "stride must be an integer >= 1, or 2 of them, not 0"),
        (lambda: ops.conv2d(X, W, groups=0), "groups must be an integer >= 1, not 0"),
        (
            lambda: ops.conv2d(X, W, ops.ones(2)),
            "an element for each of the 3 channels of the result, not the shape (2,)",
        ),
        (lambda: ops.conv2d(X, W, dilation=(1, 2, 3)), "dilation must be an integer >= 1, or 2 of them"),
        (lambda: ops.conv2d(X, W, pad_mode="pad", padding=-1), "padding must be an integer >= 0"),
        (lambda: ops.conv2d(X, ops.ones((3, 2, 5, 5))), "which is more than the padded input has: (4, 4)"),
        (lambda: ops.conv_transpose2d(X, ops.ones((2, 3, 2, 2)), output_padding=1), "must be smaller than the stride"),
        (lambda: ops.conv_transpose2d(X, ops.ones((2, 3, 1, 1)), padding=2), "leaves nothing of the result"),
        (lambda: ops.conv2d_backprop_input((1, 9, 4, 4), W, ops.ones((1, 3, 3, 3))), "input_size is (1, 9, 4, 4)"),
        (lambda: ops.unfold(X[0], 2), "an input (N, C, H, W) is needed"),
        (lambda: ops.fold(X[0], (4, 4), 2), "need an input of shape (N, C * 4, 9), not (2, 4, 4)"),
    ],
)
def test_refusals(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value) and "called at test_convolution.py" in str(caught.value)
