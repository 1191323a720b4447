"""Pooling and windows in compiled code against the cards' own NumPy evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.backends.native import compiler
from adjoint.backends.native.kernels import pooling_geometry
from adjoint.backends.native.runtime import thread_pool
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Graph
from adjoint.ops.pool import SAMPLES, MaxPool, MaxPoolIndex, MaxPoolPull, MaxPoolPush
from adjoint.ops.sum_pool import SumPool, SumPoolPull
from adjoint.ops.unfolding import Fold, Unfold

CARDS = [MaxPool, MaxPoolPush, MaxPoolPull, MaxPoolIndex, SumPool, SumPoolPull, Unfold, Fold]


def compiled(*calls: tuple[Any, list[np.ndarray]]) -> compiler.Program:
    """A program with the result of each op."""
    builder = Builder()
    nodes = [builder.build(op, [builder.param(Spec(a.shape, a.dtype)) for a in arrays]) for op, arrays in calls]
    return compiler.Program(Graph(tuple(builder.params), tuple(nodes)))


def operands(card: type, geometry: tuple, shape: tuple, draw: Any) -> tuple[Any, list[np.ndarray]]:
    """An op, and inputs for it if x has this shape."""
    space = shape[len(shape) - len(geometry[0]) :]
    op = card(*geometry, space) if card in (SumPoolPull, Fold) else card(*geometry)
    windows = op.pooled(shape)
    shapes = {
        MaxPoolPush: [shape, shape],
        MaxPoolPull: [windows, shape],
        SumPoolPull: [windows],
        Fold: [Unfold(*geometry).infer(Spec(shape)).shape],
    }
    return op, [draw(s) for s in shapes.get(card, [shape])]


def check(cards: list[type], geometry: tuple, shape: tuple, draw: Any) -> None:
    calls = [operands(card, geometry, shape, draw) for card in cards]
    run = compiled(*calls)
    assert not run.left_out
    found = run(*(a for _, arrays in calls for a in arrays))
    for (op, arrays), got in zip(calls, found, strict=True):
        with np.errstate(invalid="ignore"):
            want = op.eval(np, *arrays)
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=str(op))


def numbers(dtype: str, seed: int = 0) -> Any:
    """Draws arrays of a few different numbers, so that there are ties."""
    draw = np.random.default_rng(seed)
    return lambda shape: draw.integers(-4, 5, shape).astype(dtype)


def flat(window: Any, stride: Any, padding: Any = ((0, 0), (0, 0)), dilation: Any = (1, 1)) -> tuple:
    return window, stride, padding, dilation


CASES = {
    "halves": (flat((2, 2), (2, 2)), (2, 3, 28, 28)),
    "halves, odd": (flat((2, 2), (2, 2)), (3, 11, 13)),
    "halves, narrow": (flat((2, 2), (2, 2)), (4, 10, 10)),
    "thirds": (flat((3, 3), (3, 3)), (2, 9, 52)),
    "overlapping": (flat((3, 3), (2, 2), ((1, 1), (1, 1))), (2, 19, 37)),
    "step 1": (flat((2, 3), (1, 1)), (2, 7, 40)),
    "gaps": (flat((1, 1), (2, 3)), (2, 7, 20)),
    "gaps in one axis": (flat((2, 3), (3, 3)), (2, 7, 30)),
    "uneven padding": (flat((2, 2), (2, 2), ((0, 1), (1, 0))), (2, 7, 9)),
    "dilation": (flat((3, 2), (2, 1), ((1, 0), (2, 3)), (2, 3)), (2, 9, 18)),
    "all": (flat((7, 7), (1, 1)), (3, 5, 7, 7)),
    "one place": (flat((1, 1), (1, 1)), (1, 1, 1)),
    "no lead": (flat((2, 2), (2, 2)), (6, 34)),
    "one axis": (((3,), (2,), ((1, 0),), (1,)), (2, 21)),
    "three axes": (((2, 1, 2), (2, 1, 2), ((0, 0),) * 3, (1, 1, 1)), (2, 4, 3, 8)),
}


@pytest.mark.parametrize(("geometry", "shape"), [s for s in SAMPLES if 0 not in s[1]])
def test_samples_of_the_cards(geometry, shape):
    check(CARDS, geometry, shape, numbers("float64"))


@pytest.mark.parametrize("name", CASES)
def test_shapes(name):
    check(CARDS, *CASES[name], numbers("float32"))


@pytest.mark.parametrize("bits", [128, 256])
def test_vectors_of_any_length(monkeypatch, bits):
    monkeypatch.setattr(compiler, "vector_bits", lambda: bits)
    check([MaxPool, MaxPoolPull, SumPool], *CASES["halves"], numbers("float32"))


def test_whole_numbers():
    check([MaxPool, MaxPoolIndex, SumPool, SumPoolPull, Unfold, Fold], *CASES["overlapping"], numbers("int64"))


@pytest.mark.parametrize("name", ["halves", "overlapping", "uneven padding"])
def test_nan_and_infinities(name):
    draw = numbers("float64")
    geometry, shape = CASES[name]

    def holed(size: tuple) -> np.ndarray:
        x = draw(size)
        if size == shape:
            x[..., :4, :4] = -np.inf
            x.flat[::17], x.flat[5::19] = np.nan, np.inf
        return x

    check([MaxPool, MaxPoolPush, MaxPoolPull, MaxPoolIndex], geometry, shape, holed)


def test_ties_share():
    geometry, shape = CASES["halves"]
    op, (g, x) = operands(MaxPoolPull, geometry, shape, lambda s: np.ones(s, "float32"))
    (got,) = compiled((op, [g, x]))(g, x)
    assert (got == 0.25).all()


def test_results_do_not_depend_on_threads():
    draw = np.random.default_rng(0)
    geometry, shape = CASES["overlapping"][0], (64, 19, 37)
    calls = [operands(card, geometry, shape, lambda s: draw.normal(size=s)) for card in (MaxPool, MaxPoolPull)]
    run = compiled(*calls)
    before = thread_pool.get_num_threads()
    try:
        found = []
        for n in (1, 2):
            thread_pool.set_num_threads(n)
            found.append([y.tobytes() for y in run(*(a for _, arrays in calls for a in arrays))])
    finally:
        thread_pool.set_num_threads(before)
    assert found[0] == found[1]


FEW = {
    "side by side": (flat((2, 2), (2, 2)), (1, 240, 270)),
    "overlapping": (flat((3, 2), (1, 2), ((1, 1), (0, 1))), (2, 190, 210)),
    "depth": (((2, 3, 2), (2, 3, 2), ((0, 0),) * 3, (1, 1, 1)), (1, 8, 60, 130)),
}


@pytest.mark.parametrize("name", FEW)
def test_rows_of_few_planes_are_shared_among_threads(name, pool):
    geometry, shape = FEW[name]
    assert pooling_geometry.geometry(MaxPool(*geometry), shape).items(1e5)[1] > 1
    for threads in (1, 2):
        pool(threads)
        check(CARDS, geometry, shape, numbers("float32"))


def test_what_has_no_code_is_left_to_the_interpreter():
    geometry = ((2,), (2,), ((0, 0),), (1,))
    for x in (np.zeros((0, 4)), np.zeros((2, 4), bool)):
        op = Unfold(*geometry)
        run = compiled((op, [x]))
        assert run.left_out
        np.testing.assert_array_equal(run(x)[0], op.eval(np, x))
