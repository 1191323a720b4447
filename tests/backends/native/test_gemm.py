"""Matrix products in compiled code: sizes, transposes, batches, threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from adjoint import ops
from adjoint.backends.native import compiler
from adjoint.backends.native.emit.llvm_ir import Module
from adjoint.backends.native.kernels import gemm, gemm_blocking
from adjoint.backends.native.kernels.gemm_blocking import Product
from adjoint.backends.native.kernels.gemm_tiles import spans
from products import Bench, compiled

SIZES = (1, 7, 8, 9, 15, 16, 17, 33, 64, 100, 130)
FLIPS = list(itertools.product((False, True), repeat=2))
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
TOLERANCE = {F32: 1e-6, F64: 1e-15}


def close(found: Any, wanted: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """A product is right if each element is, measured by the sum of its terms' absolute values."""
    found = np.asarray(found)
    assert found.shape == wanted.shape and found.dtype == a.dtype
    scale = np.abs(a.astype(float)) @ np.abs(b.astype(float))
    assert np.all(np.abs(found - wanted) <= TOLERANCE[a.dtype] * 4 * scale)


def check_pairs(pairs: Sequence[tuple[np.ndarray, np.ndarray]], flips: tuple[bool, bool]) -> None:
    """All these products in one kernel, against NumPy in float64."""

    def f(*xs: Any) -> Any:
        return tuple(
            (x.swapaxes(-1, -2) if flips[0] else x) @ (y.swapaxes(-1, -2) if flips[1] else y)
            for x, y in zip(xs[::2], xs[1::2], strict=True)
        )

    stored = [x.swapaxes(-1, -2).copy() if flip else x for pair in pairs for x, flip in zip(pair, flips, strict=True)]
    for found, (a, b) in zip(compiled(f, *stored)(*stored), pairs, strict=True):
        close(found, a.astype(float) @ b.astype(float), a, b)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("flips", FLIPS)
def test_sizes(dtype: np.dtype, flips: tuple[bool, bool], rng: np.random.Generator) -> None:
    order = [rng.permutation(SIZES) for _ in range(3)]
    pairs = [
        (rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype))
        for m, n, k in zip(*order, strict=True)
    ]
    check_pairs(pairs, flips)


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize(("m", "n", "left", "right"), [(513, 131, "part", "ahead"), (300, 613, "ahead", "part")])
def test_packed_and_in_several_blocks(
    m: int, n: int, left: str, right: str, flips: tuple[bool, bool], rng: np.random.Generator
) -> None:
    k = 611
    a, b = rng.standard_normal((m, k)).astype(F32), rng.standard_normal((k, n)).astype(F32)
    plan = gemm_blocking.layout(
        Product(F32, m, n, k, (1, m) if flips[0] else (k, 1), (1, k) if flips[1] else (n, 1)), 512
    )
    assert (plan.left, plan.right) == (left, right) and plan.deep < k and plan.chunks > 3
    check_pairs([(a, b)], flips)


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize(("m", "n", "k"), [(513, 131, 611), (300, 613, 611), (260, 300, 1500)])
def test_what_is_packed_in_slices_has_the_same_bits(
    m: int, n: int, k: int, flips: tuple[bool, bool], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = rng.standard_normal((m, k)).astype(F32), rng.standard_normal((k, n)).astype(F32)
    stored = [x.T.copy() if flip else x for x, flip in zip((a, b), flips, strict=True)]
    product = Product(F32, m, n, k, (1, m) if flips[0] else (k, 1), (1, k) if flips[1] else (n, 1))

    def f(a: Any, b: Any) -> Any:
        y = (a.T if flips[0] else a) @ (b.T if flips[1] else b)
        return y, ops.tanh(y) * y

    found, slices = [], []
    for most in (1 << 30, 200_000, 1):
        monkeypatch.setattr(gemm_blocking, "AHEAD", most)
        plan = gemm_blocking.layout(product, compiler.vector_bits())
        slices.append(-(-k // plan.slice) if plan.slice else 1)
        found.append(compiled(f, *stored)(*stored))
    assert slices[0] == 1 and (slices[2] > 1) == ("ahead" in (plan.left, plan.right))
    for other in found[1:]:
        assert all(np.array_equal(x, y) for x, y in zip(found[0], other, strict=True))
    close(found[0][0], a.astype(float) @ b.astype(float), a, b)


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_vector_widths(bits: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "vector_bits", lambda: bits)
    shapes = [(33, 17, 20), (1, 30, 19), (30, 1, 19), (50, 40, 300), (9, 5, 1)]
    pairs = [(rng.standard_normal((m, k)).astype(F32), rng.standard_normal((k, n)).astype(F32)) for m, n, k in shapes]
    check_pairs(pairs, (False, False))
    check_pairs(pairs, (False, True))


@pytest.mark.parametrize("flips", FLIPS)
def test_batches(flips: tuple[bool, bool], rng: np.random.Generator) -> None:
    leads = [((6,), (6,)), ((6,), ()), ((), (6,)), ((2, 1), (3,)), ((2, 3), (1, 3)), ((1,), (4,)), ((4, 1, 2), (3, 1)), ((2, 3), (2, 3))]  # fmt: skip
    pairs = [
        (rng.standard_normal((*x, 5, 9)).astype(F32), rng.standard_normal((*y, 9, 18)).astype(F32)) for x, y in leads
    ]
    check_pairs(pairs, flips)


def test_vectors(rng: np.random.Generator) -> None:
    x, m = rng.standard_normal(70).astype(F32), rng.standard_normal((3, 70, 70)).astype(F32)
    f = compiled(lambda x, m: (x @ x, x @ m, m @ x, x @ m[0], m[1] @ x), x, m)
    wide, matrices = x.astype(float), m.astype(float)
    for found, (a, b) in zip(f(x, m), [(wide, wide), (wide, matrices), (matrices, wide), (wide, matrices[0]), (matrices[1], wide)], strict=True):  # fmt: skip
        np.testing.assert_allclose(found, a @ b, rtol=1e-4, atol=1e-4)


def test_inputs_that_are_not_contiguous(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((40, 60))[::2, ::3], rng.standard_normal((50, 20)).T[:, ::2]
    found = compiled(lambda a, b: a @ b, a, b)(a, b)[0]
    close(found, a @ b, a, b)


@pytest.mark.parametrize(("m", "n", "k"), [(20, 20, 20), (1, 40, 40), (40, 1, 40), (70, 70, 300)])
def test_nan_and_infinity_stay_where_they_belong(m: int, n: int, k: int, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((m, k)).astype(F32), rng.standard_normal((k, n)).astype(F32)
    a[m // 2, 3], b[5, n // 2], b[6, n - 1] = np.nan, np.inf, -np.inf
    a[0, 5] = 0
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    np.testing.assert_allclose(compiled(lambda a, b: a @ b, a, b)(a, b)[0], wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((300, 300), (300, 300)),
        ((40, 64, 64), (40, 64, 64)),
        ((2000, 1200), (1200,)),
        ((1200,), (1200, 2000)),
        ((33, 700), (700, 900)),
    ],
)
def test_the_number_of_threads_does_not_change_a_bit(
    a: tuple[int, ...], b: tuple[int, ...], rng: np.random.Generator, pool: Callable[[int], None]
) -> None:
    x, y = rng.standard_normal(a).astype(F32), rng.standard_normal(b).astype(F32)
    f = compiled(lambda x, y: x @ y, x, y)
    found = []
    for count in (1, 2, 3):
        pool(count)
        found.append(np.array(f(x, y)[0]))
    assert all(np.array_equal(found[0], other) for other in found)
    np.testing.assert_allclose(found[0], x.astype(float) @ y.astype(float), rtol=1e-3, atol=1e-3)


def test_large_products_are_cut_into_chunks() -> None:
    def chunks(m: int, n: int, k: int) -> int:
        return gemm_blocking.layout(Product(F32, m, n, k, (k, 1), (n, 1)), 512).chunks

    assert chunks(64, 64, 64) == 1
    assert chunks(512, 512, 512) > 4
    assert chunks(4, 2000, 2000) > 2


def test_equal_products_share_a_function(rng: np.random.Generator) -> None:
    module = Module()
    emitter = Bench(module, 256)
    product = Product(F32, 8, 8, 8, (8, 1), (8, 1))
    gemm.emit_gemm(emitter, product, "%x", "%y", "%z")
    gemm.emit_gemm(emitter, product, "%z", "%y", "%x")
    assert len(module.functions) == 1


def test_products_of_other_sizes_share_their_tiles() -> None:
    module = Module()
    emitter = Bench(module, 256)
    tiles = []
    for m, n, k in ((48, 64, 100), (96, 128, 300)):
        gemm.emit_gemm(emitter, Product(F32, m, n, k, (k, 1), (n, 1)), "%x", "%y", "%z")
        tiles.append([text for text in module.functions if text.startswith("define internal void @tile")])
    assert tiles[0] and tiles[0] == tiles[1]


def test_an_axis_is_cut_evenly() -> None:
    for n, most in itertools.product((1, 2, 7, 14, 15, 100), (1, 2, 3, 14)):
        found = [s.start + k * s.size + i for s in spans(n, most) for k in range(s.count) for i in range(s.size)]
        assert found == list(range(n))
        sizes = {s.size for s in spans(n, most)}
        assert max(sizes) <= most and max(sizes) - min(sizes) <= 1
