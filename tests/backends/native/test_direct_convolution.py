"""Convolution in compiled code against the cards' own NumPy evaluation in float64."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.signal

from adjoint.backends.native import compiler
from adjoint.backends.native.runtime import thread_pool
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Graph
from adjoint.ops.conv import SAMPLES, Conv, ConvFilter, ConvInput

LIMITS = {"float32": 5e-6, "float64": 1e-13}


def compiled(*calls: tuple[Any, np.ndarray, np.ndarray]) -> compiler.Program:
    """A program with the result of each op."""
    builder = Builder()
    nodes = [builder.build(op, [builder.param(Spec(a.shape, a.dtype)) for a in arrays]) for op, *arrays in calls]
    return compiler.Program(Graph(tuple(builder.params), tuple(nodes)))


def operands(
    geometry: tuple, x: tuple, w: tuple, dtype: str, seed: int = 0
) -> list[tuple[Any, np.ndarray, np.ndarray]]:
    """The three cards of a convolution, each with inputs."""
    draw = np.random.default_rng(seed)
    count = Conv(*geometry).infer(Spec(x), Spec(w)).shape
    xs, ws, gs = (draw.normal(size=shape).astype(dtype) for shape in (x, w, count))
    return [
        (Conv(*geometry), xs, ws),
        (ConvInput(*geometry, x[2:]), gs, ws),
        (ConvFilter(*geometry, w[2:]), xs, gs),
    ]


def check(geometry: tuple, x: tuple, w: tuple, dtype: str) -> None:
    calls = operands(geometry, x, w, dtype)
    run = compiled(*calls)
    assert not run.left_out
    found = run(*(array for _, *arrays in calls for array in arrays))
    for (op, a, b), got in zip(calls, found, strict=True):
        want = op.eval(np, a.astype("float64"), b.astype("float64"))
        assert got.dtype == dtype and got.shape == want.shape
        assert np.abs(got - want).max() <= LIMITS[dtype] * np.abs(want).max(), op


def flat(stride: int, padding: Any, dilation: int = 1, groups: int = 1) -> tuple:
    """The geometry of two axes that are alike."""
    pairs = padding if isinstance(padding, tuple) else ((padding, padding),) * 2
    return (stride, stride), pairs, (dilation, dilation), groups


@pytest.mark.parametrize(("geometry", "x", "w"), [s for s in SAMPLES if 0 not in s[1]])
def test_samples_of_the_cards(geometry, x, w):
    check(geometry, x, w, "float64")


CASES = {
    "lenet 1": (flat(1, 2), (16, 1, 28, 28), (6, 1, 5, 5)),
    "lenet 2": (flat(1, 0), (16, 6, 14, 14), (16, 6, 5, 5)),
    "same": (flat(1, 1), (2, 8, 17, 40), (5, 8, 3, 3)),
    "one place": (flat(1, 0), (3, 2, 5, 5), (4, 2, 5, 5)),
    "size one": (flat(1, 0), (1, 1, 1, 1), (1, 1, 1, 1)),
    "product": (flat(1, 0), (2, 16, 9, 9), (24, 16, 1, 1)),
    "stride 2": (flat(2, 1), (2, 3, 23, 21), (7, 3, 3, 3)),
    "stride 2, images": (flat(2, 1), (16, 3, 23, 21), (7, 3, 3, 3)),
    "stride 3": (flat(3, ((0, 2), (1, 3)), 2, 2), (16, 4, 19, 20), (6, 2, 3, 2)),
    "stride above window": (flat(3, 0), (2, 2, 11, 38), (3, 2, 2, 2)),
    "dilation": (flat(1, 4, 4), (2, 3, 15, 33), (4, 3, 3, 3)),
    "uneven padding": (flat(1, ((3, 0), (0, 5))), (2, 3, 8, 18), (4, 3, 3, 4)),
    "wide padding": (flat(1, 7), (2, 3, 5, 5), (4, 3, 3, 3)),
    "depthwise": (flat(1, 1, 1, 8), (3, 8, 9, 33), (8, 1, 3, 3)),
    "groups": (flat(2, 1, 1, 3), (16, 9, 8, 8), (6, 3, 3, 3)),
    "even window": (flat(2, 1), (1, 3, 12, 64), (5, 3, 4, 4)),
    "one axis": (((2,), ((1, 2),), (3,), 1), (4, 3, 50), (5, 3, 4)),
    "three axes": (((1, 2, 1), ((1, 0), (1, 1), (2, 0)), (2, 1, 1), 1), (2, 3, 5, 6, 19), (4, 3, 2, 3, 3)),
    "many channels": (flat(1, 1), (1, 40, 6, 7), (33, 40, 3, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_shapes(name):
    check(*CASES[name], "float32")


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("name", ["same", "stride 2, images"])
def test_vectors_of_any_length(monkeypatch, name, bits):
    monkeypatch.setattr(compiler, "vector_bits", lambda: bits)
    check(*CASES[name], "float64")


@pytest.mark.parametrize("seed", range(6))
def test_random_shapes(seed):
    draw = np.random.default_rng(seed)
    rank = draw.integers(1, 4)
    groups = draw.integers(1, 3)
    window, stride, dilation = (tuple(int(n) for n in draw.integers(1, 4, rank)) for _ in range(3))
    padding = tuple((int(a), int(b)) for a, b in draw.integers(0, 3, (rank, 2)))
    space = tuple(int(d * (k - 1) + n) for d, k, n in zip(dilation, window, draw.integers(1, 20, rank), strict=True))
    samples, inputs, outputs = (int(n) for n in (draw.choice([1, 3, 8, 16]), *draw.integers(1, 6, 2)))
    geometry = (stride, padding, dilation, int(groups))
    check(geometry, (samples, inputs * groups, *space), (outputs * groups, inputs, *window), "float64")


@pytest.mark.parametrize("name", ["lenet 1", "lenet 2"])
def test_results_do_not_depend_on_threads(name):
    geometry, x, w = CASES[name]
    before = thread_pool.get_num_threads()
    try:
        for op, a, b in operands(geometry, (64, *x[1:]), w, "float32"):
            run = compiled((op, a, b))
            found = []
            for n in (1, 2, 3):
                thread_pool.set_num_threads(n)
                found.append(run(a, b)[0].tobytes())
            assert len(set(found)) == 1
    finally:
        thread_pool.set_num_threads(before)


@pytest.mark.parametrize("samples", [1, 16])
def test_infinities_and_nan_stay_where_they_belong(samples):
    """Only windows that hold one give it on: lanes that do not count must not turn 0 * inf into NaN."""
    geometry = flat(1, 1)
    for (op, a, b), value in product(
        operands(geometry, (samples, 2, 9, 21), (3, 2, 3, 3), "float32"), (np.inf, np.nan)
    ):
        a = a.copy()
        a[-1, -1, -1, -1] = value
        (got,) = compiled((op, a, b))(a, b)
        with np.errstate(invalid="ignore"):
            want = op.eval(np, a, b)
        assert np.isfinite(want).any()
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("count", [10, 20])
def test_lanes_left_out_of_a_filter_gradient(count):
    """The last vector of a row is longer than what is left: no place may count twice, and 0 * inf must not come in."""
    x, g = np.ones((1, 1, 1, count + 2), "float32"), np.ones((1, 1, 1, count), "float32")
    x[..., count] = np.inf  # the first tap never meets it
    op = ConvFilter((1, 1), ((0, 0), (0, 0)), (1, 1), 1, (1, 3))
    (got,) = compiled((op, x, g))(x, g)
    assert got.ravel().tolist() == [count, np.inf, np.inf]


def test_what_has_no_code_is_left_to_the_interpreter():
    draw = np.random.default_rng(0).normal
    plain = flat(1, 0)
    a, b = draw(size=(0, 1, 4, 4)), draw(size=(1, 1, 2, 2))
    run = compiled((Conv(*plain), a, b))
    assert run.left_out
    np.testing.assert_allclose(run(a, b)[0], Conv(*plain).eval(np, a, b))


WIDE = {
    "one part": (((1,), ((0, 0),), (1,), 1), (2, 3, 70), (4, 3, 32)),
    "two parts": (((1,), ((2, 5),), (1,), 1), (2, 3, 70), (4, 3, 33)),
    "stride and groups": (((3,), ((40, 0),), (1,), 2), (2, 4, 90), (6, 2, 70)),
    "dilation": (((2,), ((0, 9),), (2,), 1), (1, 2, 150), (3, 2, 41)),
    "two axes": (((1, 2), ((1, 0), (0, 0)), (1, 1), 3), (16, 3, 4, 49), (3, 1, 2, 40)),
    "the whole row": (((1,), ((0, 0),), (1,), 1), (3, 2, 65), (2, 2, 65)),
}


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", WIDE)
def test_wide_windows_are_several_narrow_ones(name, dtype):
    check(*WIDE[name], dtype)


def test_a_wide_window_is_the_direct_sum():
    """SciPy, which adds up in another way."""
    draw = np.random.default_rng(0)
    x, w = draw.normal(size=(1, 1, 300)), draw.normal(size=(1, 1, 77))
    (got,) = compiled((Conv((1,), ((0, 0),), (1,), 1), x, w))(x, w)
    np.testing.assert_allclose(got[0, 0], scipy.signal.correlate(x[0, 0], w[0, 0], "valid", "direct"), rtol=1e-10)
