"""Indexing by arrays as machine code: shapes that broadcast, known indices, chunks for threads, errors, and formulas of few elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet

RNG = np.random.default_rng(3)


def places(n: int, *shape: int) -> np.ndarray:
    """Places along an axis of n, some counted from its end."""
    return RNG.integers(-n, n, shape)


CASES: list[tuple[tuple[int, ...], list[Any]]] = [
    ((5,), [places(5, 7)]),
    ((5,), [places(5, 3).astype(np.int32)]),
    ((5,), [np.zeros(0, int)]),
    ((5, 4), [places(5, 3), places(4, 3)]),
    ((5, 4, 3), [places(5, 2, 1), places(4, 3)]),
    ((5, 4, 3), [places(5, 1, 1), places(4, 4, 1)]),
    ((5, 4), [np.arange(5)[:, None], places(4, 5, 2)]),
    ((5, 4), [np.arange(5)[::-1], np.array([1, -1, 2, 0, 3])]),
    ((6, 6), [np.arange(6), np.arange(6)]),
    ((6, 6), [np.int64(-2), places(6, 4)]),
    ((4, 1, 2), [places(4, 6, 1), places(1, 1, 1)]),
    ((70, 65), [places(70, 900)]),  # in chunks along the second axis
    ((300, 70), [np.arange(300)[:, None], places(70, 300, 40)]),  # in chunks along the first
    ((9000,), [places(9000, 20000)]),
]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
@pytest.mark.parametrize("known", [0, 1, 2], ids=["no index known", "the first known", "all known"])
def test_against_numpy(known: int, dtype: str) -> None:
    """`known` says how many of the indices are constants."""
    for shape, indices in CASES:
        base = RNG.integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)
        fixed = indices if known == 2 else indices[:known]
        rest = indices[len(fixed) :]
        part = base[tuple(indices)].shape
        updates = [(ScatterSet(), v) for v in values(part, dtype)]
        if dtype != "bool":
            updates += [(ScatterAdd(), v) for v in values(part, dtype)]

        def fn(base: Any, vs: Any, *rest: Any, fixed: Any = fixed, updates: Any = updates) -> Any:
            put = [op(base, v, *fixed, *rest) for (op, _), v in zip(updates, vs, strict=True)]
            return (Gather()(base, *fixed, *rest), *put, *(op(base, v, *fixed, *rest) for op, v in updates))

        compiled, vs = ad.jit(fn), [v for _, v in updates]
        found = compiled(base, vs, *rest)
        put = [op.eval(np, base, v, *indices) for op, v in updates]
        for x, y in zip(found, [base[tuple(indices)], *put, *put], strict=True):
            np.testing.assert_array_equal(x, y, strict=True, err_msg=f"{shape} {indices}")
        assert "in the interpreter" not in compiled.explain(base, vs, *rest)


def values(part: tuple[int, ...], dtype: str) -> list[np.ndarray]:
    """Of the shape of what is indexed, and of shapes that broadcast to it."""
    shapes = {part, (), part[-1:], (*part[:-1], 1)[: len(part)]}
    return [RNG.integers(0, 2, s).astype(dtype) for s in sorted(shapes)]


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_change_results(threads: int) -> None:
    from adjoint.backends.native.runtime import thread_pool

    base, v, i = RNG.normal(size=(40, 130)), RNG.normal(size=(700, 130)), places(40, 700)
    wanted = ScatterAdd().eval(np, base, v, i)
    try:
        thread_pool.set_num_threads(threads)
        np.testing.assert_array_equal(ad.jit(lambda b, v, i: ScatterAdd()(b, v, i))(base, v, i), wanted)
    finally:
        thread_pool.set_num_threads(thread_pool.default_threads())


def test_an_index_out_of_range_is_named() -> None:
    """In calls the quick way and the first time, and in chunks."""
    for shape, n in (((5,), 3), ((90000,), 60000)):
        x, i = ad.Tensor(np.ones(shape)), np.zeros(n, int)
        for fn in (lambda x, i: x[i] * 2.0, lambda x, i: ScatterAdd()(x, 1.0, i)):
            compiled = ad.jit(fn)
            for k, wrong in enumerate((0, shape[0], 0, -shape[0] - 1, 0)):
                i[n // 2] = wrong
                if k % 2:
                    with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
                        compiled(x, ad.Tensor(i.copy()))
                else:
                    compiled(x, ad.Tensor(i.copy()))


# ---------------------------------------------------------------- formulas of few elements


def by_labels(x: Any, y: Any) -> Any:
    return -ops.mean(ops.log_softmax(x, -1)[np.arange(x.shape[0]), y])


def by_one_hot(x: Any, y: Any) -> Any:
    return -ops.mean(ops.sum(ops.log_softmax(x, -1) * ops.one_hot(y, x.shape[1]), -1))


@pytest.mark.parametrize("shape", [(17, 10), (1, 7), (40, 6)])
def test_cross_entropy_by_labels_is_that_by_one_hot(shape: tuple[int, int]) -> None:
    x, y = RNG.normal(size=shape), RNG.integers(0, shape[1], shape[0])
    wanted = ad.value_and_grad(by_one_hot)(x, y)
    run = ad.jit(ad.value_and_grad(by_labels))
    for found, known in zip(run(x, y), wanted, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-15)
    second = [ad.grad(lambda x, f=f: (ad.grad(f)(x, y) ** 2).sum()) for f in (by_labels, by_one_hot)]
    np.testing.assert_allclose(ad.jit(second[0])(x), second[1](x), rtol=1e-11, atol=1e-14)
    rows = ad.vmap(by_labels, (0, 0))
    np.testing.assert_allclose(ad.jit(rows)(x[None], y[None]), rows(x[None], y[None]), rtol=1e-12)


def test_cross_entropy_by_labels_stores_no_matrix() -> None:
    x, y = np.zeros((512, 100)), np.zeros(512, int)
    text = ad.jit(by_labels).explain(x, y)
    assert text.index("kernel: Gather") < text.index("Max")  # of x itself
    gradient = ad.jit(ad.grad(by_labels)).explain(x, y)
    assert "ScatterAdd" not in gradient.split("compiled kernels")[1].split("graph")[0]


def test_labels_out_of_range_are_found_though_their_elements_are_not_read() -> None:
    x, y = np.zeros((17, 10)), np.full(17, 3)
    y[11] = 10
    for fn in (by_labels, ad.grad(by_labels), ad.grad(lambda x, y: by_labels(x, y) ** 2)):
        with pytest.raises(IndexError, match="index 10 is out of bounds"):
            ad.jit(fn)(x, y)


def rows_of_sums(x: Any, i: Any) -> Any:
    """Sums over one of two index arrays, over both, and over an axis behind them."""
    u = ScatterAdd()(np.zeros((5, 30)), x, i, np.arange(3))
    w = ScatterAdd()(np.zeros((5, 3)), x, np.arange(3), np.abs(i) % 3)
    t = ScatterAdd()(np.zeros((5, 2)), ops.stack([x, x], 1), i)
    return ops.sum(u, 0), ops.sum(u, 1), ops.sum(-w, 1, keepdims=True), ops.sum(u), ops.sum(t, 1), ops.sum(t, 0)


def test_sums_of_scattered_values() -> None:
    x, i = RNG.normal(size=3), np.array([4, -1, 2])
    for found, wanted in zip(ad.jit(rows_of_sums)(x, i), rows_of_sums(x, i), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15)
    with pytest.raises(IndexError, match="out of bounds"):
        ad.jit(lambda x, i: rows_of_sums(x, i)[0])(x, np.array([4, -6, 2]))
