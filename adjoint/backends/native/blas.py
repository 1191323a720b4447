"""SciPy's BLAS for compiled code: row-major, arguments by value.

SciPy hands out the Fortran routines' addresses: column-major, every argument by pointer. The small module below wraps
them once a process, so that a kernel only declares and calls `adj_sgemm` and its like.
"""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.backends.native.entry import capsule_pointer
from adjoint.backends.native.jit import Library, compile_ir

TYPES = {"s": "float", "d": "double"}
LETTERS = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}

PROTOTYPES = {
    "gemm": "void @{s}(i32 %ta, i32 %tb, i64 %m, i64 %n, i64 %k, {t} %alpha, ptr %a, i64 %lda, ptr %b, i64 %ldb, {t} %beta, ptr %c, i64 %ldc)",
    "gemv": "void @{s}(i32 %ta, i64 %m, i64 %n, {t} %alpha, ptr %a, i64 %lda, ptr %x, i64 %incx, {t} %beta, ptr %y, i64 %incy)",
    "dot": "{t} @{s}(i64 %n, ptr %x, i64 %incx, ptr %y, i64 %incy)",
    "axpy": "void @{s}(i64 %n, {t} %alpha, ptr %x, i64 %incx, ptr %y, i64 %incy)",
}
# The Fortran routine's arguments in its order. Row-major C = A B is column-major Cᵀ = Bᵀ Aᵀ: the operands change
# places, and a matrix times a vector becomes its transpose times that vector.
FORTRAN = {
    "gemm": "tb ta n m k alpha b ldb a lda beta c ldc",
    "gemv": "ta n m alpha a lda x incx beta y incy",
    "dot": "n x incx y incy",
    "axpy": "n alpha x incx y incy",
}
DECLARE = "\n".join(
    "declare " + re.sub(r" %\w+", "", prototype.format(s=f"adj_{p}{routine}", t=t))
    for p, t in TYPES.items()
    for routine, prototype in PROTOTYPES.items()
)


def wrapper(p: str, routine: str) -> str:
    """The IR of one routine: put every number into memory and call Fortran with the addresses."""
    t, name = TYPES[p], p + routine
    prototype = PROTOTYPES[routine].format(s=f"adj_{name}", t=t)
    types = {argument: kind for kind, argument in re.findall(r"(\w+) %(\w+)", prototype)}
    order = FORTRAN[routine].split()
    result = prototype.split()[0]
    pointers = ", ".join(f"ptr %{a}" if types[a] == "ptr" else f"ptr %{a}.at" for a in order)
    lines = [spill(a, types[a], routine) for a in order if types[a] != "ptr"]
    call = f"call {result} @{name}({pointers})"
    lines += [f"%r = {call}\nret {result} %r"] if result != "void" else [f"{call}\nret void"]
    declare = f"declare {result} @{name}({', '.join(['ptr'] * len(order))})"
    return "\n".join([declare, f"define {prototype} {{", *lines, "}\n"])


def spill(argument: str, kind: str, routine: str) -> str:
    """The IR that puts an argument into memory at `%argument.at`, in Fortran's type."""
    value, fortran, lines = f"%{argument}", kind, []
    if kind == "i32":  # transposed or not
        fortran, letters = "i8", "TN" if routine == "gemv" else "NT"
        lines = [
            f"%{argument}.set = icmp ne i32 {value}, 0",
            f"%{argument}.as = select i1 %{argument}.set, i8 {ord(letters[1])}, i8 {ord(letters[0])}",
        ]
    elif kind == "i64":
        fortran = "i32"
        if argument.startswith("ld"):  # an empty matrix has 0, which BLAS takes for an error
            lines.append(f"%{argument}.max = call i64 @llvm.smax.i64(i64 {value}, i64 1)")
            value += ".max"
        lines.append(f"%{argument}.as = trunc i64 {value} to i32")
    value = f"%{argument}.as" if lines else value
    return "\n".join([*lines, f"%{argument}.at = alloca {fortran}", f"store {fortran} {value}, ptr %{argument}.at"])


@functools.cache
def library() -> Library:
    """The wrappers, compiled and linked to SciPy's BLAS at first use."""
    text = "declare i64 @llvm.smax.i64(i64, i64)\n"
    text += "".join(wrapper(p, routine) for p in TYPES for routine in PROTOTYPES)
    names = [p + routine for p in TYPES for routine in PROTOTYPES]
    return compile_ir(text, [f"adj_{name}" for name in names], {n: routine_address(n) for n in names})


def externals() -> dict[str, int]:
    """The addresses behind `DECLARE`."""
    return dict(library().addresses)


def routine_address(name: str) -> int:
    """The address of one of SciPy's BLAS routines."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[name]
    prototype = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)
    signature = prototype(("PyCapsule_GetName", ctypes.pythonapi))(capsule)
    if not re.search(rb"\bint \*", signature):
        raise RuntimeError(f"SciPy's {name} does not take 32-bit integers: {signature.decode()}")
    return capsule_pointer(capsule, signature)


def gemm(
    dtype: np.dtype,
    a: str,
    b: str,
    c: str,
    m: int | str,
    n: int | str,
    k: int | str,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float | str = 1.0,
    beta: float | str = 0.0,
    lda: int | str | None = None,
    ldb: int | str | None = None,
    ldc: int | str | None = None,
) -> str:
    """The IR of c[m, n] = alpha · op(a)[m, k] · op(b)[k, n] + beta · c, row-major.

    Pointers are IR names; numbers are numbers or IR names. A leading dimension is the distance from row to row of the
    matrix as it is stored, when that is not its number of columns. Sizes must stay below 2³¹.

    >>> gemm(np.dtype("float32"), "%a", "%b", "%c", 2, 3, "%k", transpose_b=True)
    'call void @adj_sgemm(i32 0, i32 1, i64 2, i64 3, i64 %k, float 0x3FF0000000000000, ptr %a, i64 %k, ptr %b, i64 %k, float 0x0000000000000000, ptr %c, i64 3)'
    """
    p = LETTERS[np.dtype(dtype)]
    t = TYPES[p]
    lda = lda if lda is not None else m if transpose_a else k
    ldb = ldb if ldb is not None else k if transpose_b else n
    ldc = ldc if ldc is not None else n
    return (
        f"call void @adj_{p}gemm(i32 {int(transpose_a)}, i32 {int(transpose_b)}, i64 {m}, i64 {n}, i64 {k}, "
        f"{t} {real(alpha, dtype)}, ptr {a}, i64 {lda}, ptr {b}, i64 {ldb}, {t} {real(beta, dtype)}, ptr {c}, i64 {ldc})"
    )


def real(value: float | str, dtype: np.dtype) -> str:
    """A number as an IR constant of exactly that value; an IR name stays as it is."""
    if isinstance(value, str):
        return value
    return "0x" + struct.pack(">d", float(np.dtype(dtype).type(value))).hex().upper()


def get_blas_threads() -> int | None:
    """How many threads SciPy's BLAS runs on, None when it does not say."""
    openblas = _openblas()
    return None if openblas is None else openblas[0]()


def set_blas_threads(n: int) -> bool:
    """Let SciPy's BLAS run on `n` threads, in the whole process; False when this BLAS cannot be told."""
    openblas = _openblas()
    if openblas is None:
        return False
    openblas[1](n)
    return True


@functools.cache
def _openblas() -> tuple[Any, Any] | None:
    """The functions of SciPy's own OpenBLAS that read and set its number of threads."""
    import scipy

    package = Path(scipy.__file__).parent
    for path in (*package.parent.glob("scipy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")):
        handle = ctypes.CDLL(str(path))
        for prefix in ("scipy_openblas", "openblas"):
            if hasattr(handle, f"{prefix}_set_num_threads"):
                return getattr(handle, f"{prefix}_get_num_threads"), getattr(handle, f"{prefix}_set_num_threads")
    return None
