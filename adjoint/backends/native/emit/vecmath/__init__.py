"""Elementary functions as LLVM IR text: accurate, branch-free and vectorised, on any processor with fused multiply-add.

`library({("exp", "float", 16), ...})` is one block of text to put into a module; `symbol("exp", "float", 16)` is the name
to call. Width 1 gives scalar code. Only generic intrinsics are used, and libm for the sines of huge arguments (`LIBM`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cache

from adjoint.backends.native.emit.vecmath import error_function, exponential, logarithm, power, trigonometric
from adjoint.backends.native.emit.vecmath.function_body import BITS, PREFIX, FunctionBody, Kernel, VectorValue
from adjoint.core.errors import ArgumentError

KERNELS: dict[str, Kernel] = {
    kernel.__name__: kernel
    for kernel in (
        *(
            exponential.exp,
            exponential.exp2,
            exponential.expm1,
            exponential.sigmoid,
            exponential.softplus,
            exponential.logaddexp,
        ),
        *(exponential.sinh, exponential.cosh, exponential.tanh),
        *(logarithm.log, logarithm.log2, logarithm.log10, logarithm.log1p),
        *(logarithm.asinh, logarithm.acosh, logarithm.atanh),
        *(trigonometric.sin, trigonometric.cos, trigonometric.tan),
        *(trigonometric.asin, trigonometric.acos, trigonometric.atan, trigonometric.atan2),
        *(error_function.erf, error_function.erfc, power.pow, power.cbrt),
    )
}
NAMES = frozenset(KERNELS)


def arity(name: str) -> int:
    """The number of arguments of a function."""
    return len(inspect.signature(KERNELS[name]).parameters) - 1


def symbol(name: str, dtype: str, width: int) -> str:
    """The LLVM name of a function, such as `adj_exp_v16f32`, or `adj_exp_f64` for one element."""
    if name not in NAMES:
        raise ArgumentError(f"no vector function {name!r}; there are {', '.join(sorted(NAMES))}")
    if dtype not in BITS:
        raise ArgumentError(f"dtype must be 'float' or 'double', got {dtype!r}")
    if width < 1:
        raise ArgumentError(f"width must be positive, got {width}")
    return f"{PREFIX}_{name}_{FunctionBody(dtype, width).suffix}"


@cache
def function(name: str, dtype: str, width: int) -> tuple[str, str, dict[str, str]]:
    """The symbol of a function, its definition, and the declarations and helpers it needs, by symbol."""
    title, code = symbol(name, dtype, width), FunctionBody(dtype, width)
    names = ("x",) if arity(name) == 1 else ("x", "y")
    result = KERNELS[name](code, *(VectorValue(code, "float", f"%{n}") for n in names))
    args = ", ".join(f"{code.type()} %{n}" for n in names)
    head = f"define internal {code.type()} @{title}({args}) alwaysinline nounwind willreturn memory(none) {{"
    lines = [head, "entry:", *code.lines, f"  ret {code.type()} {result.text}", "}"]
    return title, "\n".join(lines), code.beside


def parts(wanted: Iterable[tuple[str, str, int]]) -> tuple[list[str], list[str]]:
    """Declarations and definitions for every wanted (name, dtype, width), each once: for a module that has its own."""
    texts: dict[str, str] = {}
    for name, dtype, width in sorted(set(wanted)):
        title, definition, beside = function(name, dtype, width)
        texts |= {**beside, title: definition}
    declared = [text for text in texts.values() if text.startswith("declare")]
    return declared, [text for text in texts.values() if not text.startswith("declare")]


def library(wanted: Iterable[tuple[str, str, int]]) -> str:
    """All of `parts` as one text."""
    declarations, definitions = parts(wanted)
    return "\n".join([*declarations, *definitions, ""])
