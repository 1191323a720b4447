"""Parts put into arrays, computed inside nests: against NumPy, at sizes around the vectors' and in pieces for threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.native.compiler import Program, canonical
from adjoint.backends.native.plan.loop_expressions import _solved
from adjoint.backends.native.plan.units import Kernel, Nest, Plan
from adjoint.backends.native.rewrite.insert_slice import InsertSlice
from adjoint.testing import fuzz_graphs

LENGTHS = (2, 3, 7, 8, 9, 17, 100, 5000, 40_001)
SHAPES = ((3, 4), (1, 5), (5, 1), (9, 17), (64, 130), (300, 200))


def units(fn: Callable[..., Any], *args: Any) -> tuple[int, int]:
    """How many nests and kernels a function takes."""
    graph = ad.jit(fn, backend="native").graph(*args)
    plan = Plan(canonical(graph))
    return tuple(sum(isinstance(u, kind) for u in plan.units) for kind in (Nest, Kernel))  # type: ignore[return-value]


def same(fn: Callable[..., Any], wanted: np.ndarray, *args: Any) -> None:
    found = Program(ad.jit(fn).graph(*args))(*args)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", LENGTHS)
def test_along_one_axis(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n)
    same(lambda x: ops.roll(x, 1) * x, np.roll(x, 1) * x, x)
    same(lambda x: ops.concat([x[1:] * 2, x[:1]]), np.concatenate([x[1:] * 2, x[:1]]), x)
    same(lambda x: ops.pad(ops.sin(x), (2, 3)), np.pad(np.sin(x), (2, 3)), x)
    same(lambda x: ops.concat([x, ops.exp(x)]).sum(), np.concatenate([x, np.exp(x)]).sum(), x)
    same(lambda x: ops.stack([x, x * x], -1), np.stack([x, x * x], -1), x)


def steps(u: Any) -> Any:
    """One step of diffusion inside a border."""
    y = u * 1.0
    y[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return y


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_along_two_axes(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    same(steps, steps(x), x)
    same(lambda x: ops.pad(x * x, (1, 2, 0, 1)), np.pad(x * x, ((0, 1), (1, 2))), x)
    for axis in (0, 1):
        joined = np.concatenate([x, np.exp(x)], axis)
        same(lambda x, axis=axis: ops.concat([x, ops.exp(x)], axis), joined, x)
        same(lambda x, axis=axis: ops.concat([x, ops.exp(x)], axis).max(axis), joined.max(axis), x)
        same(lambda x, axis=axis: ops.concat([x, ops.exp(x)], axis).sum(1 - axis), joined.sum(1 - axis), x)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients(shape: tuple[int, int]) -> None:
    """The pull of the stencil is its transpose: <v, steps(u)> = <pull(v), u>."""
    u, v = np.random.default_rng(1).normal(size=(2, *shape))
    pulled = Program(ad.jit(ad.grad(lambda u, v: (steps(u) * v).sum())).graph(u, v))(u, v)[0]
    np.testing.assert_allclose((pulled * u).sum(), (v * steps(u)).sum(), rtol=1e-9, atol=1e-9)


def rosenbrock(x: Any) -> Any:
    head, tail = x[:-1], x[1:]
    return ops.sum(100.0 * (tail - head * head) ** 2 + (1.0 - head) ** 2)


def test_a_product_with_a_hessian_is_one_pass() -> None:
    x, v = np.random.default_rng(2).normal(size=(2, 50))
    assert units(ad.hvp(rosenbrock), x, v) == (1, 0)


def test_many_updates_stay_in_place() -> None:
    """A chain of updates is not copied at every step, nor split into a piece for each."""

    def filled(x: Any) -> Any:
        y = x * 1.0
        for k in places:
            y[k] = x[k + 1] * k
        return y

    places = [3 * k for k in range(20)]
    x = np.random.default_rng(3).normal(size=64)
    same(filled, filled(x.copy()), x)
    nests, found = units(filled, x)
    assert found >= 15 and nests <= 21


def test_where_an_index_is_inside() -> None:
    for start in range(-9, 10):
        for factor in (-3, -2, -1, 1, 2, 3):
            for n in range(7):
                low, high = _solved(start, factor, n)
                inside = [i for i in range(-60, 60) if 0 <= start + factor * i < n]
                assert list(range(low, high)) == inside


def test_long_chains_of_parts_do_not_take_for_ever() -> None:
    """How often a part splits a nest is a product along the graph: it is not counted beyond what matters."""

    def f(x: Any) -> Any:
        for k in range(60):
            y = ops.concat([x[1:], x[:1]])
            x = ops.sin(x * y) + y * (k % 3)
        return ops.sum(x)

    x = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x), np.asarray(ad.grad(f)(ad.Tensor(x))), rtol=1e-6)


def test_conditions_are_inserted() -> None:
    """The interpreter may hand over a truth value of Python's own; a random graph with one in a loop."""
    whole = InsertSlice((), ()).eval(np, False, True)
    assert whole.dtype == bool and whole.shape == () and whole
    assert fuzz_graphs.disagreement(99_111_465) is None
