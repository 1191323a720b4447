"""Matrix products that scale, add and go on: epilogues, as the planner may ask for them and as loop nests become them; packed factors."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.native import compiler
from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Module
from adjoint.backends.native.emit.vector_access import get, put
from adjoint.backends.native.kernels import gemm
from adjoint.backends.native.kernels.gemm_blocking import Product
from adjoint.backends.native.kernels.gemm_tiles import FinishedVectors
from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul
from adjoint.backends.native.runtime import llvm_compile
from products import Bench, compiled

FLIPS = list(itertools.product((False, True), repeat=2))
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def run(product: Product, arrays: Sequence[np.ndarray], write: Callable[[FinishedVectors], None] | None = None) -> None:
    """Compile a product and run it on [a, b, c, *captured]."""
    emitter = Bench(Module(), compiler.vector_bits())
    a, b, c, *captured = (compiler._buffer(emitter.code, k) for k in range(len(arrays)))
    epilogue = gemm.GemmEpilogue(write, [(x, None) for x in captured], [(0, F64)]) if write else None
    gemm.emit_gemm(emitter, product, a, b, c, epilogue=epilogue)
    emitter.shared.lay_out_arena()
    text = compiler.module_text(emitter.shared.module, emitter.shared, len(arrays), {})
    library = llvm_compile.compile_ir(text, ["kernel"], compiler._externals(emitter.shared.module, emitter.shared))
    arena = np.zeros(emitter.shared.arena.size + 64, np.uint8)
    buffers = (ctypes.c_void_p * (len(arrays) + 1))(*(x.ctypes.data for x in (*arrays, arena)))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library["kernel"])(ctypes.addressof(buffers))


@pytest.mark.parametrize(("m", "n", "k"), [(5, 21, 9), (40, 50, 700), (6, 1, 30), (9, 40, 1)])
def test_scaled_and_added(m: int, n: int, k: int, rng: np.random.Generator) -> None:
    a, b, c = rng.standard_normal((m, k)), rng.standard_normal((k, n)), rng.standard_normal((m, n))
    wanted = c - 0.5 * (a @ b)
    run(Product(F64, m, n, k, (k, 1), (n, 1), alpha=-0.5, accumulate=True), [a, b, c])
    np.testing.assert_allclose(c, wanted, rtol=1e-12, atol=1e-12)
    run(Product(F64, m, n, k, (k, 1), (n, 1), alpha=3.0), [a, b, c])
    np.testing.assert_allclose(c, 3 * (a @ b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("m", "n", "k"), [(5, 21, 9), (140, 150, 700), (6, 1, 30), (1, 33, 12)])
def test_epilogue(m: int, n: int, k: int, rng: np.random.Generator) -> None:
    """Half of the sums, stored over them row by row, and their column next to it."""

    def halved(spot: FinishedVectors) -> None:
        lanes = Lanes(spot.code, spot.width)
        for v, mask in enumerate(spot.masks):
            at = str(v * spot.width)
            value = get(spot.code, spot.sums, 1, at, F64, spot.width, mask)
            value = spot.code.put(f"fmul {lanes.type(F64)} {value}, {lanes.number(0.5, F64)}")
            begin = spot.code.add(spot.code.mul(spot.row, n), spot.column)
            put(spot.code, value, spot.code.element(spot.captured[0], begin, F64), 1, at, F64, spot.width, mask)

    a, b = rng.standard_normal((2, m, k)), rng.standard_normal((2, k, n))
    c, half = np.full((2, m, n), np.nan), np.full((2, m, n), np.nan)
    run(Product(F64, m, n, k, (k, 1), (n, 1), (2,), (m * k,), (k * n,)), [a, b, c, half], halved)
    np.testing.assert_allclose(c, a @ b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(half, (a @ b) / 2, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- nests that become epilogues


def fused(f: Callable[..., Any], *xs: np.ndarray) -> list[FusedMatMul]:
    """The products of a function that have an epilogue."""
    graph = compiler.canonical(ad.jit(f).graph(*xs))
    emitter = GraphEmitter(
        FunctionState(Module(), compiler.vector_bits()), graph, [f"%x{k}" for k in range(len(graph.params))], {}
    )
    return [unit for unit in emitter.units if isinstance(unit, FusedMatMul)]


SHAPES = [(20, 33, 17), (130, 70, 300), (70, 513, 400), (1, 40, 9), (300, 48, 611)]


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
@pytest.mark.parametrize("flips", FLIPS)
def test_bias_activation_and_residual(
    m: int, n: int, k: int, flips: tuple[bool, bool], rng: np.random.Generator, pool: Callable[[int], None]
) -> None:
    a, b, bias, x, scale = (rng.standard_normal(s) for s in ((m, k), (k, n), (n,), (m, n), (m, 1)))
    stored = [v.T.copy() if flip else v for v, flip in zip((a, b), flips, strict=True)]

    def f(a: Any, b: Any, bias: Any, x: Any, scale: Any) -> Any:
        z = (a.T if flips[0] else a) @ (b.T if flips[1] else b)
        return ops.relu(z + bias) * scale + x, ops.tanh(z) > 0.1

    inputs = (*stored, bias, x, scale)
    assert len(fused(f, *inputs)) == 1
    run = compiled(f, *inputs)
    found = []
    for count in (1, 2, 3):
        pool(count)
        found.append([np.array(y) for y in run(*inputs)])
    z = a @ b
    np.testing.assert_allclose(found[0][0], np.maximum(z + bias, 0) * scale + x, rtol=1e-11, atol=1e-11)
    assert np.mean(found[0][1] == (np.tanh(z) > 0.1)) > 0.999
    assert all(np.array_equal(y, other[i]) for other in found[1:] for i, y in enumerate(found[0]))


def test_a_product_that_is_wanted_itself_is_stored_too(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((40, 30)), rng.standard_normal((30, 50))

    def f(a: Any, b: Any) -> Any:
        z = a @ b
        return z, z * 2 + 1

    assert [unit.kept for unit in fused(f, a, b)] == [True]
    z, y = compiled(f, a, b)(a, b)
    np.testing.assert_allclose(z, a @ b, rtol=1e-12)
    np.testing.assert_array_equal(y, z * 2 + 1)


def test_what_is_added_up_reads_what_was_stored(rng: np.random.Generator) -> None:
    a, b, c = rng.standard_normal((6, 40, 30)), rng.standard_normal((30, 50)), rng.standard_normal((6, 40, 50))

    def f(a: Any, b: Any, c: Any) -> Any:
        y = a @ b + c
        return y, y.sum(axis=(0, 1)), (y * y).sum()

    assert len(fused(f, a, b, c)) == 1
    wanted = a @ b + c
    for found, right in zip(
        compiled(f, a, b, c)(a, b, c), (wanted, wanted.sum((0, 1)), (wanted**2).sum()), strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("k", [30, 700])
def test_a_step_of_descent_over_the_weight_itself(k: int, rng: np.random.Generator) -> None:
    x, y, w = rng.standard_normal((k, 64)), rng.standard_normal((k, 200)), rng.standard_normal((64, 200))

    def f(w: Any, x: Any, y: Any, rate: Any) -> Any:
        return w - rate * (x.T @ y)

    inputs = [w.copy(), x, y, np.array(0.1)]
    made = compiled(f, *inputs)
    (new,) = made.giving_up(inputs, (0,))
    assert new is inputs[0] and len(fused(f, *inputs)) == 1
    np.testing.assert_allclose(new, w - 0.1 * (x.T @ y), rtol=1e-11, atol=1e-11)


def test_a_factor_is_not_overwritten_while_it_is_read(rng: np.random.Generator) -> None:
    w, x = rng.standard_normal((60, 60)), rng.standard_normal((60, 60))
    wanted = w - w @ x
    (new,) = compiled(lambda w, x: w - w @ x, w, x).giving_up([w, x], (0,))
    np.testing.assert_allclose(new, wanted, rtol=1e-11, atol=1e-11)


def test_what_is_read_elsewhere_or_comes_later_is_no_epilogue(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((40, 40)), rng.standard_normal((40, 40))

    def f(a: Any, b: Any) -> Any:
        z = a @ b
        return z + z.T, z * ops.sum(z), z + b @ a

    units = fused(f, a, b)
    assert sum(len(unit.roots) for unit in units) == 1  # z is at hand when b @ a is made
    z = a @ b
    for found, right in zip(compiled(f, a, b)(a, b), (z + z.T, z * z.sum(), z + b @ a), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("flip", [False, True])
def test_a_factor_of_several_products_is_packed_once(flip: bool, rng: np.random.Generator) -> None:
    w, x = rng.standard_normal((300, 300)).astype(F32) / 20, rng.standard_normal((20, 300)).astype(F32)

    def f(w: Any, x: Any) -> Any:
        for _ in range(5):
            x = ops.tanh(x @ (w.T if flip else w))
        return x

    graph = compiler.canonical(ad.jit(f).graph(w, x))
    emitter = GraphEmitter(FunctionState(Module(), compiler.vector_bits()), graph, ["%w", "%x"], {})
    emitter.run()
    calls = [line for line in emitter.code.lines if "_columns(" in line or "_columns," in line]
    assert len(calls) == 1
    wanted = x.astype(float)
    for _ in range(5):
        wanted = np.tanh(wanted @ (w.T if flip else w))
    np.testing.assert_allclose(compiled(f, w, x)(w, x)[0], wanted, rtol=1e-4, atol=1e-5)


def iterations(w: Any, x: Any, n: Any) -> Any:
    """A loop whose number of iterations is known at run time."""
    i = ops.zeros_like(n)
    while i < n:
        x = ops.tanh(x @ w + x @ w.T)
        i = i + 1
    return x


def test_a_factor_of_every_round_is_packed_before_the_loop(rng: np.random.Generator) -> None:
    w, x = rng.standard_normal((200, 200)) / 20, rng.standard_normal((20, 200))
    graph = compiler.canonical(ad.jit(iterations).graph(w, x, np.asarray(4)))
    emitter = GraphEmitter(FunctionState(Module(), compiler.vector_bits()), graph, ["%w", "%x", "%n"], {})
    emitter.run()
    packed = [k for k, line in enumerate(emitter.code.lines) if "_columns" in line]
    head = next(k for k, line in enumerate(emitter.code.lines) if line.startswith("head"))
    assert len(packed) == 2 and max(packed) < head
    made = compiled(iterations, w, x, np.asarray(4))
    for n in (0, 1, 4):
        wanted = x
        for _ in range(n):
            wanted = np.tanh(wanted @ w + wanted @ w.T)
        np.testing.assert_allclose(made(w, x, np.asarray(n))[0], wanted, rtol=1e-11, atol=1e-11)
