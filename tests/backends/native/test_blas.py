"""SciPy's BLAS from compiled code, against NumPy."""

from __future__ import annotations

import datetime
import doctest
import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from adjoint.backends.native import blas, jit, threads
from adjoint.backends.native.call import make_callable
from adjoint.core.spec import Spec

DTYPES = [np.dtype(np.float32), np.dtype(np.float64)]
RNG = np.random.default_rng(0)


def kernel(body: str, arrays: int) -> jit.Library:
    """A kernel of the buffers %p0, %p1, ... that runs `body`."""
    loads = "\n".join(f"%a{i} = getelementptr ptr, ptr %b, i64 {i}\n%p{i} = load ptr, ptr %a{i}" for i in range(arrays))
    text = f"{blas.DECLARE}\ndeclare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
    return jit.compile_ir(
        f"{text}define void @kernel(ptr %b) {{\n{loads}\n{body}\nret void\n}}", ["kernel"], blas.externals()
    )


def run(body: str, inputs: list[np.ndarray], start: np.ndarray) -> np.ndarray:
    """Run `body` on the inputs %p0.., its result %py beginning as `start`."""
    n = len(inputs)
    body = f"call void @llvm.memcpy.p0.p0.i64(ptr %p{n + 1}, ptr %p{n}, i64 {start.nbytes}, i1 false)\n{body}"
    body = body.replace("%py", f"%p{n + 1}")
    specs = [Spec(a.shape, a.dtype) for a in (*inputs, start)]
    return make_callable(kernel(body, n + 2), "kernel", specs, [specs[-1]], single=True)(*inputs, start)


def draw(*shape: int, dtype: np.dtype) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def near(result: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(result, expected, rtol=100 * np.finfo(result.dtype).eps, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ta, tb", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("m, n, k", [(2, 3, 4), (1, 5, 1), (17, 33, 9), (3, 2, 0), (0, 2, 3), (2, 0, 3)])
def test_gemm(dtype: np.dtype, ta: bool, tb: bool, m: int, n: int, k: int) -> None:
    a = draw(*((k, m) if ta else (m, k)), dtype=dtype)
    b = draw(*((n, k) if tb else (k, n)), dtype=dtype)
    c = draw(m, n, dtype=dtype)
    body = blas.gemm(dtype, "%p0", "%p1", "%py", m, n, k, transpose_a=ta, transpose_b=tb, alpha=-0.1, beta=0.7)
    product = (a.T if ta else a).astype(float) @ (b.T if tb else b).astype(float)
    near(run(body, [a, b], c), -0.1 * product + 0.7 * c)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gemm_within_larger_matrices(dtype: np.dtype) -> None:
    a, b, c = draw(6, 10, dtype=dtype), draw(7, 12, dtype=dtype), draw(6, 9, dtype=dtype)
    body = blas.gemm(dtype, "%p0", "%p1", "%py", 3, 4, 5, lda=10, ldb=12, ldc=9)
    expected = c.copy()
    expected[:3, :4] = a[:3, :5] @ b[:5, :4]
    near(run(body, [a, b], c), expected)


def test_gemm_overwrites_what_was_there() -> None:
    a, c = np.eye(3), np.full((3, 3), np.nan)
    near(run(blas.gemm(a.dtype, "%p0", "%p0", "%py", 3, 3, 3), [a], c), a)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("transpose", [0, 1])
def test_gemv(dtype: np.dtype, transpose: int) -> None:
    p = blas.LETTERS[dtype]
    t = blas.TYPES[p]
    a, x, y = draw(4, 6, dtype=dtype), draw(24, dtype=dtype), draw(24, dtype=dtype)
    body = f"call void @adj_{p}gemv(i32 {transpose}, i64 4, i64 6, {t} 2.0, ptr %p0, i64 6, ptr %p1, i64 2, {t} 0.5, ptr %py, i64 3)"
    matrix = a.T if transpose else a
    rows, columns = matrix.shape
    expected = y.copy()
    expected[: 3 * rows : 3] = 2 * matrix @ x[: 2 * columns : 2] + 0.5 * y[: 3 * rows : 3]
    near(run(body, [a, x], y), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dot_and_axpy(dtype: np.dtype) -> None:
    p = blas.LETTERS[dtype]
    t = blas.TYPES[p]
    x, y = draw(10, dtype=dtype), draw(10, dtype=dtype)
    dot = f"%r = call {t} @adj_{p}dot(i64 5, ptr %p0, i64 2, ptr %p1, i64 1)\nstore {t} %r, ptr %py"
    near(run(dot, [x, y], draw(1, dtype=dtype)), np.array([x[::2] @ y[:5]]))
    axpy = f"call void @adj_{p}axpy(i64 5, {t} 0.25, ptr %p0, i64 2, ptr %py, i64 1)"
    expected = y.copy()
    expected[:5] += dtype.type(0.25) * x[::2]
    near(run(axpy, [x], y), expected)


@pytest.fixture
def blas_threads() -> Iterator[None]:
    before = blas.get_blas_threads()
    if before is None:
        pytest.skip("this BLAS does not tell its threads")
    yield
    blas.set_blas_threads(before)


def test_the_threads_of_blas(blas_threads: None) -> None:
    assert blas.set_blas_threads(1)
    assert blas.get_blas_threads() == 1


def test_an_unknown_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_openblas", lambda: None)
    assert blas.get_blas_threads() is None
    assert blas.set_blas_threads(1) is False


@pytest.mark.parametrize("n", [1, 2])
def test_gemm_on_the_pool(n: int, blas_threads: None) -> None:
    """Blocks of rows on our threads, each with a BLAS of one thread."""
    blas.set_blas_threads(1)
    before = threads.get_num_threads()
    threads.set_num_threads(n)
    f8 = np.dtype(np.float64)
    text = f"""{blas.DECLARE}\n{threads.DECLARE}
    define internal void @rows(ptr %b, i64 %i) {{
      %b1 = getelementptr ptr, ptr %b, i64 1
      %b2 = getelementptr ptr, ptr %b, i64 2
      %x = load ptr, ptr %b
      %y = load ptr, ptr %b1
      %z = load ptr, ptr %b2
      %o = mul i64 %i, {16 * 64}
      %xo = getelementptr double, ptr %x, i64 %o
      %zo = getelementptr double, ptr %z, i64 %o
      {blas.gemm(f8, "%xo", "%y", "%zo", 16, 64, 64)}
      ret void
    }}
    define void @kernel(ptr %b) {{
      call void @adj_parallel_for(ptr @rows, ptr %b, i64 4)
      ret void
    }}"""
    library = jit.compile_ir(text, ["kernel"], {**blas.externals(), **threads.externals()})
    spec = Spec((64, 64))
    product = make_callable(library, "kernel", [spec, spec], [spec], single=True, release_gil=True)
    a, b = draw(64, 64, dtype=f8), draw(64, 64, dtype=f8)
    for _ in range(50):
        near(product(a, b), a @ b)
    threads.set_num_threads(before)


def test_a_constant_keeps_its_value() -> None:
    assert blas.real(0.1, np.dtype(np.float64)) == "0x3FB999999999999A"
    assert blas.real(0.1, np.dtype(np.float32)) == "0x3FB99999A0000000"
    assert blas.real("%alpha", np.dtype(np.float32)) == "%alpha"


def test_examples() -> None:
    assert doctest.testmod(blas).failed == 0


def test_a_signature_without_plain_integers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.linalg import cython_blas

    monkeypatch.setitem(cython_blas.__pyx_capi__, "sgemm", datetime.datetime_CAPI)  # a capsule with another name
    with pytest.raises(RuntimeError, match="does not take 32-bit integers"):
        blas.routine_address("sgemm")
