"""Corners of cards on XLA: numbers that do not fit, repeated places, shapes that nobody chose."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends import interpreter
from adjoint.backends.xla.devices import jax, precise
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import run
from adjoint.core.spec import is_inexact, spec_of
from adjoint.graph.trace import trace
from adjoint.testing.cases import flat
from on_xla import together

FLOATS = np.array([0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 7.25, -129.0, 300.0, 3e9, -3e9, 5e9, 9.3e18, -9.3e18, 1.9e19, 1e300])
FLOATS = np.concatenate([FLOATS, [np.inf, -np.inf, np.nan]])
WHOLE = np.array([0, 1, -1, 2, -3, 7, -8, 31, 32, 63, 64, 65, 127, -128])


def check(calls: list[tuple[Any, tuple[Any, ...]]]) -> None:
    """Each op on its inputs gives what the interpreter gives."""
    graphs = [trace(lambda *v, op=op: flat(op(*v)), [spec_of(x) for x in xs])[0] for op, xs in calls]
    found = together([(graph, xs) for graph, (_, xs) in zip(graphs, calls, strict=True)])
    with np.errstate(all="ignore"):
        for graph, (op, xs), ys in zip(graphs, calls, found, strict=True):
            for y, wanted in zip(ys, map(np.asarray, interpreter.compile(graph)(*xs)), strict=True):
                what = f"{op} on {[(x.dtype, x.shape) for x in xs]}"
                assert (y.dtype, y.shape) == (wanted.dtype, wanted.shape), what
                if is_inexact(wanted.dtype):
                    np.testing.assert_allclose(y, wanted, 1e-11, 1e-11, err_msg=what)
                else:
                    np.testing.assert_array_equal(y, wanted, err_msg=what)


def test_numbers_that_do_not_fit() -> None:
    # Of unsigned integers NumPy itself has several answers, by how many there are.
    integers = [np.dtype(d) for d in ("int8", "int16", "int32", "int64")]
    calls: list[Any] = [(ops.Cast(d), (x,)) for d in integers for x in (FLOATS, FLOATS[:14].astype(np.float32))]
    calls += [(ops.Cast(np.dtype(d)), (FLOATS[:n],)) for d, n in (("uint8", 7), ("uint32", 10), ("uint64", 13))]
    for dtype in ("int8", "int32", "int64"):
        x = WHOLE.astype(dtype)
        calls += [(op(), (x[:, None], x)) for op in (ops.FloorDiv, ops.Mod, ops.LeftShift, ops.RightShift)]
        calls.append((ops.Pow(), (x[:, None], abs(x[:-1]))))
    calls += [(op(), (FLOATS[:, None], FLOATS)) for op in (ops.FloorDiv, ops.Mod, ops.Maximum, ops.Minimum, ops.Less)]
    calls += [(op(), (FLOATS,)) for op in (ops.Round, ops.Sign, ops.Floor, ops.IsFinite)]
    with np.errstate(all="ignore"):
        check(calls)


def test_integers_are_promoted_as_in_numpy() -> None:
    counts, halves = np.array([2**40 + 1, 3]), np.array([0.1, 0.7], np.float32)
    calls: list[Any] = [(op(), (counts, halves)) for op in (ops.Add, ops.Mul, ops.Div, ops.Less, ops.Maximum)]
    calls += [(op(), (np.array([2, 3], np.int32),)) for op in (ops.Sqrt, ops.Sin, ops.Erf, ops.Sigmoid)]
    calls += [(ops.Sum((0,)), (np.full(3, 2**30, np.int32),)), (ops.CumSum(0), (np.full(3, 2**30, np.int32),))]
    check(calls)
    assert float(ad.jit(lambda x: x * 0.1, backend="xla")(np.float32(0.3))) == float(np.float32(0.3) * np.float32(0.1))


def test_python_numbers_do_not_raise_the_precision() -> None:
    single = [np.float32(0.3), np.float32(7.7)]
    for f in (lambda x: x**0.3, lambda x: x % 0.1, lambda x: x // 0.1, lambda x: x * 0.1 + x):
        graph = ad.jit(f, backend="interpreter").graph(single[0])
        with precise():
            program = jax().make_jaxpr(lambda x, graph=graph: run(graph, Tracing(16), [x]))(single[0])
        assert (
            "f64[] = pow" not in str(program)
            and "f64[] = rem" not in str(program)
            and "f64[] = mul" not in str(program)
        )
        for x in single:
            np.testing.assert_allclose(ad.jit(f, backend="xla")(x), ad.jit(f, backend="interpreter")(x), 1e-6)


def test_no_number_sorts_last_and_is_the_largest() -> None:
    x = np.array([[3.0, np.nan, -0.0, np.inf], [0.0, -0.0, np.nan, np.nan]])
    calls: list[Any] = [(ops.ArgSort(1, down), (x,)) for down in (False, True)]
    calls += [(op(1), (x,)) for op in (ops.ArgMax, ops.ArgMin, ops.CumArgMax)]
    calls += [(op((1,)), (x,)) for op in (ops.Max, ops.Min)]
    check(calls)


def test_places_named_twice_and_from_the_end() -> None:
    rng = np.random.default_rng(0)
    calls: list[Any] = []
    for shape, lead in [((5, 3), (7,)), ((4,), (2, 9)), ((3, 1, 2), (6,)), ((2, 3), (0,)), ((1, 4), (3,))]:
        index = rng.integers(-shape[0], shape[0], lead)
        x, v = rng.normal(size=shape), rng.normal(size=lead + shape[1:])
        calls += [(ops.Gather(), (x, index)), (ops.ScatterAdd(), (x, v, index)), (ops.ScatterSet(), (x, v, index))]
        calls.append((ops.ScatterSet(), (x, np.float64(2.0), index)))
    rows, columns = rng.integers(-3, 3, (4, 1)), rng.integers(0, 5, 6)
    calls.append((ops.ScatterSet(), (rng.normal(size=(3, 5, 2)), rng.normal(size=(4, 6, 2)), rows, columns)))
    for key in [
        (1,),
        ((None, None, -1),),
        ((4, None, -2), 0),
        ((1, 3, None), (None, None, 2)),
        ((3, 3, None),),
        (-1, -1),
    ]:
        part = np.zeros((5, 4))[tuple(slice(*k) if isinstance(k, tuple) else k for k in key)].shape
        calls.append((ops.PutItem(key, (5, 4)), (rng.normal(size=part),)))
        calls.append((ops.SetItem(key), (rng.normal(size=(5, 4)), rng.normal(size=part))))
    check(calls)


#: Window, stride, padding, dilation, sizes in space: strides larger than windows, windows as large as the input, one element.
GEOMETRIES: list[Any] = [
    ((2,), (3,), ((0, 0),), (1,), (7,)),
    ((3,), (1,), ((2, 1),), (2,), (5,)),
    ((1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), (1, 3)),
    ((3, 2), (1, 4), ((1, 0), (0, 1)), (1, 3), (3, 6)),
    ((7, 5), (1, 1), ((3, 3), (0, 0)), (1, 1), (4, 5)),  # more elements than are written out
]


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_windows_of_any_shape(geometry: Any) -> None:
    rng = np.random.default_rng(1)
    window, stride, padding, dilation, space = geometry
    x = np.round(rng.normal(size=(2, 4, *space)), 0)  # many are equal
    w = rng.normal(size=(6, 2, *window))
    pool, filters = (window, stride, padding, dilation), (stride, padding, dilation, 2)
    g = rng.normal(size=ops.Conv(*filters).infer(spec_of(x), spec_of(w)).shape)
    h = g[:, :4]
    calls: list[Any] = [(op(*pool), (x,)) for op in (ops.MaxPool, ops.MaxPoolIndex, ops.SumPool, ops.Unfold)]
    calls += [(ops.MaxPoolPush(*pool), (rng.normal(size=x.shape), x)), (ops.MaxPoolPull(*pool), (h, x))]
    calls.append((ops.SumPoolPull(*pool, space), (h,)))
    unfolded = ops.Unfold(*pool).infer(spec_of(x)).shape
    calls.append((ops.Fold(*pool, space), (rng.normal(size=unfolded),)))
    calls += [(ops.Conv(*filters), (x, w)), (ops.ConvInput(*filters, space), (g, w))]
    calls.append((ops.ConvFilter(*filters, window), (x, g)))
    calls.append((ops.MaxPoolPull(*pool), (np.zeros((0, *h.shape[1:])), x[:0])))
    check(calls)


def test_samples_are_those_of_the_interpreter() -> None:
    def drawn(x: Any) -> Any:
        y = ops.randn(3, 5, dtype=ad.float64) + ops.dropout(x, 0.4)
        return y, ops.rand(2, 7), ops.randint(0, 100, (11,))

    found = []
    for backend in ("xla", "interpreter"):
        ad.set_seed(3)
        run = ad.jit(drawn, backend=backend)
        found.append([np.asarray(y) for y in (*run(np.ones((3, 5))), *run(np.ones((3, 5))))])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, 1e-12, 1e-14)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_integers_compare_with_numbers_beyond_their_dtype(dtype):
    limits = np.iinfo(dtype)
    x = np.array([0, 1, limits.min, limits.max], dtype)
    there = ad.Tensor(x, device="cpu:1")
    for n in (-1, 300, limits.max, limits.max + 1, limits.min - 1, 2**63, -(2**70)):
        for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
            np.testing.assert_array_equal(compare(there, n).asnumpy(), compare(x, n))
            np.testing.assert_array_equal(compare(n, there).asnumpy(), compare(n, x))


def test_inverses_and_solutions_of_half_precision():
    x = np.array([[3.0, 1.0], [0.5, -2.0]])
    there = ad.Tensor(x, device="cpu:1").astype("float16")
    for f in (ops.inv, lambda x: ops.solve(x, x @ x)):
        wanted = [f(ad.Tensor(x)), ad.grad(lambda x, f=f: f(x).sum())(ad.Tensor(x))]
        for g in (f, ad.jit(f)):
            found = [g(there), ad.grad(lambda x, g=g: g(x).sum())(there)]
            for y, want in zip(found, wanted, strict=True):
                np.testing.assert_allclose(y.astype("float64").asnumpy(), want.asnumpy(), rtol=0.1, atol=0.05)
    for f in (ops.inv, ad.jit(ops.inv)):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            f(there * 0)
