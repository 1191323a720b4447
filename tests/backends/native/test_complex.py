"""Complex numbers in machine code: every card, NumPy's edges, loops and branches with complex state, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.interpreter import Steps
from adjoint.backends.native.compiler import Program
from adjoint.core.spec import spec_of
from adjoint.graph.node import Builder, Graph
from adjoint.ops import arithmetic, compare, complex_parts, transcendental, trigonometric
from adjoint.ops.card import REGISTRY
from adjoint.testing.cases import cases

#: Cards that take complex numbers and have no machine code for them.
LEFT = {
    *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh"),
    *("BandedSolve", "Cholesky", "Cofactor", "Det", "Eig", "Eigvalsh", "Expm", "Inv", "LU", "Logm", "Pinv", "QR"),
    *("Recurrence", "SLogDet", "SVDVals", "Solve", "SparseSolve", "Sqrtm", "Sylvester", "TriangularSolve"),
}


def compiled(graph: Graph) -> Program:
    """A program of which nothing is left to the interpreter."""
    program = Program(graph)
    assert not program.left_out, [n.op for n in program.left_out]
    return program


def one(op: Any, *xs: Any) -> tuple[Graph, list[Any]]:
    """A graph of one call, and its inputs."""
    builder = Builder()
    inputs = [builder.param(spec_of(x)) for x in xs]
    return Graph(tuple(builder.params), (builder.build(op, inputs),)), list(xs)


# ---------------------------------------------------------------- every card


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("part", range(4))
def test_the_samples_of_every_card(part: int, dtype: str) -> None:
    rtol = 1e-12 if dtype == "complex128" else 2e-5
    names = [name for name in sorted(REGISTRY) if REGISTRY[name].complex and not REGISTRY[name].opaque]
    for name in names[part::4]:
        builder, values, outputs, full = Builder(), [], [], True
        for (case,) in cases(REGISTRY[name], dtype, 1):
            call = builder.build(case.op, [builder.param(spec_of(x)) for x in case.xs])
            count = len(call.spec) if isinstance(call.spec, tuple) else 0
            outputs += [builder.pick(call, k) for k in range(count)] if count else [call]
            values += case.xs
            full = full and all(x.size for x in case.xs)
        if not outputs:
            continue
        graph = Graph(tuple(builder.params), tuple(outputs))
        program = Program(graph)
        assert name in LEFT or not full or not program.left_out, name
        with np.errstate(all="ignore"):
            found, wanted = program(*values), Steps(graph)(*values)
        for y, z in zip(found, wanted, strict=True):
            assert (np.asarray(y).dtype, np.shape(y)) == (np.asarray(z).dtype, np.shape(z)), name
            size = np.max(np.abs(z), initial=0.0)
            np.testing.assert_allclose(y, z, rtol, rtol * (1 + size), err_msg=name)


# ---------------------------------------------------------------- infinities, NaN, zeros with signs

EDGES = {
    "complex128": [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e300, -1e-300, 710.0, -745.0, 3.7e5],
    "complex64": [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e37, -1e-37, 88.9, -100.0, 3.7e5],
}


def edge_numbers(dtype: str) -> np.ndarray:
    """All pairs of numbers at the edges."""
    re, im = np.meshgrid(EDGES[dtype], EDGES[dtype])
    z = np.empty(re.size, dtype)
    z.real, z.imag = re.ravel(), im.ravel()
    return z


def parts_agree(found: Any, wanted: Any, rtol: float, size: Any = None, where: Any = True) -> None:
    """Equal parts, to a relative error, or one of this size; of a part beside a NaN the standard of C leaves the sign open."""
    other = np.isnan(np.imag(wanted)) | np.isnan(np.real(wanted))
    tiny = 2.3e-308 if rtol < 1e-10 else 1.2e-38
    for part in (np.real, np.imag):
        y, z = (np.where(other, abs(part(x)), part(x) + 0.0) for x in (found, wanted))
        with np.errstate(all="ignore"):
            near = abs(y - z) <= rtol * (abs(z) if size is None else size) + tiny
        wrong = where & ~(near | (y == z) | (np.isnan(y) & np.isnan(z)))
        assert not wrong.any(), (y[wrong][:5], z[wrong][:5])


ONE = [
    *(transcendental.Exp, transcendental.Expm1, transcendental.Log, transcendental.Log1p, transcendental.Sqrt),
    *(
        trigonometric.Sin,
        trigonometric.Cos,
        trigonometric.Tan,
        trigonometric.Sinh,
        trigonometric.Cosh,
        trigonometric.Tanh,
    ),
    *(arithmetic.Neg, arithmetic.Abs, complex_parts.Conj, compare.IsFinite, compare.IsNan),
]


@pytest.mark.parametrize("dtype", EDGES)
def test_functions_at_the_edges(dtype: str) -> None:
    z = edge_numbers(dtype)
    builder = Builder()
    x = builder.param(spec_of(z))
    graph = Graph((x,), tuple([builder.build(kind(), [x]) for kind in ONE]))
    with np.errstate(all="ignore"):
        for kind, found, wanted in zip(ONE, compiled(graph)(z), Steps(graph)(z), strict=True):
            assert found.dtype == wanted.dtype
            parts_agree(found, wanted, 4e-15 if dtype == "complex128" else 2e-6)
            if kind in (transcendental.Sqrt, transcendental.Log):  # on the branch cut the sign of zero decides
                known = ~np.isnan(z)
                assert np.array_equal(np.signbit(found.imag[known]), np.signbit(wanted.imag[known]))


@pytest.mark.parametrize("dtype", EDGES)
@pytest.mark.parametrize("kind", [arithmetic.Add, arithmetic.Sub, arithmetic.Mul, arithmetic.Div, arithmetic.MaskedMul])
def test_arithmetic_at_the_edges(kind: Any, dtype: str) -> None:
    z = edge_numbers(dtype)
    x, y = z[::3][:, None], z[1::2][None]
    largest = np.finfo(dtype).max ** 0.5  # beyond, NumPy's own loops differ by whether they round products
    sizes = [np.where(np.isfinite(part), abs(part), 0) for v in (x, y) for part in (v.real, v.imag)]
    moderate = (np.maximum(*sizes[:2]) < largest) & (np.maximum(*sizes[2:]) < largest)
    with np.errstate(all="ignore"):
        size = abs(x) * abs(y) if kind in (arithmetic.Mul, arithmetic.MaskedMul) else None
    builder = Builder()
    inputs = [builder.param(spec_of(v)) for v in (x, y, x.real, y.real)]
    pairs = [(0, 1), (0, 3), (2, 1)]
    graph = Graph(tuple(inputs), tuple([builder.build(kind(), [inputs[i], inputs[j]]) for i, j in pairs]))
    values = [np.array(v) for v in (x, y, x.real, y.real)]
    with np.errstate(all="ignore"):
        for found, wanted in zip(compiled(graph)(*values), Steps(graph)(*values), strict=True):
            parts_agree(found, wanted, 4e-15 if dtype == "complex128" else 2e-6, size, moderate)


@pytest.mark.parametrize("exponent", [2, 3, -1, 5, 0, 1, -7, 0.5, 2 + 0j, 1.5 - 2j])
def test_powers_known_when_compiled(exponent: Any) -> None:
    z = edge_numbers("complex128")
    z = z[np.isfinite(z) & (abs(z) < 1e30)]
    builder = Builder()
    x = builder.param(spec_of(z))
    graph = Graph((x,), (builder.build(arithmetic.Pow(), [x, builder.const(exponent)]),))
    with np.errstate(all="ignore"):
        found, wanted = compiled(graph)(z)[0], Steps(graph)(z)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_equality_and_casts() -> None:
    z = np.array([0, 1j, 1, 1 + 1j, -0.0, complex(np.nan, 0)])
    for op in (compare.Equal(), compare.NotEqual()):
        graph, xs = one(op, z[:, None], z[None])
        np.testing.assert_array_equal(compiled(graph)(*xs)[0], Steps(graph)(*xs)[0])
    for dtype in ("complex64", "float64", "float32", "bool", "int64"):
        graph, xs = one(ops.Cast(np.dtype(dtype)), z[:-1])
        np.testing.assert_array_equal(compiled(graph)(*xs)[0], Steps(graph)(*xs)[0], strict=True)
        if dtype != "complex64":
            graph, xs = one(ops.Cast(np.dtype("complex64")), np.arange(3).astype(dtype))
            np.testing.assert_array_equal(compiled(graph)(*xs)[0], Steps(graph)(*xs)[0], strict=True)


# ---------------------------------------------------------------- arguments and results


def test_arguments_of_any_layout_and_kind() -> None:
    run = ad.jit(lambda x, y: (x * y, x, ops.real(x).sum(), 2j))
    draw = np.random.default_rng(0)
    z = draw.standard_normal((4, 6)) + 1j * draw.standard_normal((4, 6))
    for x in (z, np.asfortranarray(z), np.repeat(z, 2, 1)[:, ::2], z[::-1, ::-1], np.broadcast_to(z[:1], z.shape)):
        for y in (2.0, 1 - 1j, np.complex128(3j), z.real, z, z.astype(np.complex64)):
            for _ in range(3):  # the third call goes the shortest way
                product, same, total, known = run(x, y)
                np.testing.assert_allclose(np.asarray(product), x * y, rtol=1e-6)
                np.testing.assert_array_equal(np.asarray(same), x)
                np.testing.assert_allclose(np.asarray(total), x.real.sum())
                assert np.asarray(known) == 2j


@pytest.mark.parametrize("shape", [(), (0,), (1,), (17,), (3, 0, 2), (2, 3, 5)])
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_shapes(shape: tuple[int, ...], dtype: str) -> None:
    draw = np.random.default_rng(1)
    z = (draw.standard_normal(shape) + 1j * draw.standard_normal(shape)).astype(dtype)
    z = np.asarray(z)
    run = ad.jit(lambda z: (ops.exp(z) * z, ops.conj(z), z.sum(), abs(z)))
    for found, wanted in zip(run(z), (np.exp(z) * z, np.conj(z), z.sum(), abs(z)), strict=True):
        assert np.asarray(found).dtype == np.asarray(wanted).dtype and np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5 if dtype == "complex64" else 1e-13)


def test_what_is_left_takes_and_gives_complex_numbers() -> None:
    draw = np.random.default_rng(2)
    z = draw.standard_normal((3, 3)) + 1j * draw.standard_normal((3, 3))

    def f(z: Any, s: Any) -> Any:
        values, vectors = ops.eig(z * s)
        return ops.inv(z @ z) * 2 + values, abs(vectors).sum(), ops.asin(s)

    for scale in (0.5, 0.5 + 0.25j):
        found = ad.jit(f)(z, scale)
        for y, w in zip(found, ad.jit(f, backend="interpreter")(z, scale), strict=True):
            np.testing.assert_allclose(np.asarray(y), np.asarray(w), rtol=1e-10)


def test_donated_arguments() -> None:
    z = np.arange(6.0) * (1 - 2j)

    def step(x: Any) -> Any:
        x[1:3] = 2 * x[2:4]
        return x * (1 + 1j)

    wanted = np.asarray(step(ad.Tensor(z)))
    found = ad.jit(step, donate="x")(ad.Tensor(z.copy()))
    np.testing.assert_array_equal(np.asarray(found), wanted)


# ---------------------------------------------------------------- loops and branches


def escape(c: Any) -> Any:
    """How often Mandelbrot's step is taken before a number is large, and the number."""
    z, n = c * 0, 0
    while (abs(z) < 2.0) & (n < 60):
        z, n = z * z + c, n + 1
    return z, n


def power_by_steps(z: Any, n: Any) -> Any:
    w = z * 0 + 1
    for _ in range(n):
        w = w * z + ops.sin(w) * 1e-2j
    return w


def branch(z: Any) -> Any:
    w = ops.log(z) if abs(z) > 1 else z * z
    return w


def whole(f: Callable[..., Any], *xs: Any) -> Program:
    """The program of a function on such arguments, of which nothing may be left out."""
    return compiled(ad.jit(f).graph(*xs))


def test_a_loop_until_a_number_is_large() -> None:
    run = ad.jit(escape)
    for c in (0.3 + 0.5j, -0.1 + 0.65j, 1 + 1j, 0j, 2.0 + 0j):
        z, n = run(ad.Tensor(c))
        w, m = escape(c)
        assert int(n) == m
        np.testing.assert_allclose(np.asarray(z), w, rtol=1e-9)
    whole(escape, ad.Tensor(0.3 + 0.5j))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_gradients_through_loops(dtype: Any) -> None:
    """Against the interpreter and against dynamic mode; the derivative of second order too."""
    draw = np.random.default_rng(3)
    z = (0.4 * draw.standard_normal(5) + 0.4j * draw.standard_normal(5)).astype(dtype)
    n = ad.Tensor(4)

    def loss(z: Any, n: Any) -> Any:
        return ops.sum(abs(power_by_steps(z, n)) ** 2)

    def twice(z: Any, n: Any) -> Any:
        return ops.sum(ops.real(ad.grad(loss)(z, n)) ** 3)

    rtol = 1e-11 if dtype == np.complex128 else 2e-4
    for f in (loss, twice):
        gradient = ad.grad(f)
        found = np.asarray(ad.jit(gradient)(ad.Tensor(z), n))
        np.testing.assert_allclose(found, np.asarray(gradient(ad.Tensor(z), 4)), rtol=rtol, atol=rtol)
        np.testing.assert_allclose(found, np.asarray(ad.grad(ad.jit(f))(ad.Tensor(z), n)), rtol=rtol, atol=rtol)
        whole(gradient, ad.Tensor(z), n)


def test_branches_and_batches() -> None:
    z = np.array([0.2 + 0.1j, 2 - 1j, -3 + 0.5j, 0.5j])
    run = ad.jit(branch)
    np.testing.assert_allclose([complex(run(ad.Tensor(x))) for x in z], [complex(branch(x)) for x in z], rtol=1e-13)
    whole(branch, ad.Tensor(z[0]))
    batched = ad.jit(ad.vmap(branch))
    np.testing.assert_allclose(np.asarray(batched(z)), [complex(branch(x)) for x in z], rtol=1e-13)
    gradient = ad.grad(lambda z: ops.real(branch(z)))
    found = np.asarray(ad.jit(ad.vmap(gradient))(z))
    np.testing.assert_allclose(found, [complex(gradient(ad.Tensor(x))) for x in z], rtol=1e-12)


def test_a_loop_that_begins_with_a_real_number() -> None:
    def f(n: Any, step: Any) -> Any:
        z = 1.0 + 0j
        table = ops.zeros(3, np.complex128)
        for k in range(n):
            z = z * step
            table[k % 3] = z + table[(k + 1) % 3]
        return z, table

    found = ad.jit(f)(ad.Tensor(7), 0.5 + 0.5j)
    for y, w in zip(found, f(7, 0.5 + 0.5j), strict=True):
        np.testing.assert_allclose(np.asarray(y), np.asarray(w), rtol=1e-14)


def test_a_loop_with_a_step_without_code_stays_whole() -> None:
    def f(z: Any, n: Any) -> Any:
        for _ in range(n):
            z = ops.inv(z) * 0.5 + z
        return z

    z = np.eye(3) * (1 + 1j) + 0.1
    found = ad.jit(f)(ad.Tensor(z), ad.Tensor(3))
    np.testing.assert_allclose(np.asarray(found), np.asarray(f(z, 3)), rtol=1e-12)


# ---------------------------------------------------------------- products


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,ij->i", "bij,bjk->bik", "ij->j", "i,ij,j->", "i,j->ij"])
def test_einstein_sums(subscripts: str) -> None:
    sizes, draw = {"i": 3, "j": 4, "k": 5, "b": 2}, np.random.default_rng(4)
    shapes = [[sizes[a] for a in term] for term in subscripts.split("->")[0].split(",")]
    xs = [draw.standard_normal(s) + 1j * draw.standard_normal(s) for s in shapes]
    xs[0] = xs[0].real if len(xs) > 1 else xs[0]
    program = whole(lambda *xs: ops.einsum(subscripts, *xs), *xs)
    np.testing.assert_allclose(program(*xs)[0], np.einsum(subscripts, *xs), rtol=1e-12)
