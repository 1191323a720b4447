"""Sine, cosine and tangent of huge arguments in single precision, where the CPU's code calls libm: integers reduce them by pi/2."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache

from adjoint.backends.native.emit import vecmath
from adjoint.backends.native.emit.vecmath.coefficients import COS, SIN
from adjoint.backends.native.emit.vecmath.function_body import FunctionBody, VectorValue

#: The first 208 bits of 2/pi behind the point. The table has 16 zeros before them.
TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE51
WORDS = 7
_LIBM = re.compile(r"^declare double @(sin|cos|tan)\(double\)")


def parts_without_libm(wanted: Iterable[tuple[str, str, int]]) -> tuple[list[str], list[str]]:
    """Declarations and definitions of elementary functions of which none calls libm."""
    declared, defined = vecmath.parts(wanted)
    names = [m[1] for text in declared if (m := _LIBM.match(text))]
    declared = [text for text in declared if not _LIBM.match(text)]
    defined = [re.sub(r"call double @(sin|cos|tan)\(", r"call double @huge_\1(", text) for text in defined]
    for name in names:
        needs, text = _definition(name)
        declared += needs
        defined.append(text)
    if names:
        words = ", ".join(f"i32 {TWO_OVER_PI >> 32 * (WORDS - 1 - k) & 0xFFFFFFFF}" for k in range(WORDS))
        defined.append(f"@two_over_pi = internal constant [{WORDS} x i32] [{words}]")
    return declared, defined


@cache
def _definition(name: str) -> tuple[list[str], str]:
    """`double @huge_sin(double)` of a number that float32 can hold, not below 1 in size; NaN of infinity and NaN."""
    c = FunctionBody("double", 1)
    x = VectorValue(c, "float", "%x")
    r, k, ok = _reduced(c, x)
    z = r * r
    s = c.fma(z * r, c.polynomial(z, SIN["double"]), r)
    t = c.fma(z * z, c.polynomial(z, COS["double"]), c.fma(z, -0.5, 1.0))
    odd = (k & 1).equals(1)
    if name == "tan":
        y = c.select(odd, -(t / s), s / t)
    else:
        even_part, odd_part = (s, t) if name == "sin" else (t, s)
        y = c.select(odd, odd_part, even_part)
        turned = (k if name == "sin" else k + 1) & 2
        y = (y.bits() ^ (turned << 62)).floats()
    if name != "cos":
        y = (y.bits() ^ c.sign_of(x)).floats()
    y = c.select(ok, y, math.nan)
    head = f"define internal double @huge_{name}(double %x) noinline nounwind willreturn {{"
    lines = [head, "entry:", *c.lines, f"  ret double {y.text}", "}"]
    return list(c.beside.values()), "\n".join(lines)


def _reduced(c: FunctionBody, x: VectorValue) -> tuple[VectorValue, VectorValue, VectorValue]:
    """r and k with |x| = k pi/2 + r, and whether x is finite: |x| is m 2^e, and only some bits of 2/pi count for k modulo 4."""

    def put(text: str) -> VectorValue:
        return c.emit(text, "int")

    bits = c.abs(x).bits()
    exponent = bits >> 52
    ok = exponent < 2047
    m = ((bits & ((1 << 52) - 1)) | (1 << 52)) >> 29
    start = c.select(ok, exponent - (1046 - 14), c.const(16, "int"))  # the first bit of the table that counts
    first = start >> 5
    shift = start & 31
    words = []
    for place in range(4):
        index = (first + place).text
        address = put(f"getelementptr i32, ptr @two_over_pi, i64 {index}").text
        words.append(put(f"zext i32 {put(f'load i32, ptr {address}, align 4').text} to i64"))
    high, low = (words[0] << 32) | words[1], (words[2] << 32) | words[3]
    c.beside["llvm.fshl.i64"] = "declare i64 @llvm.fshl.i64(i64, i64, i64)"
    upper = put(f"call i64 @llvm.fshl.i64(i64 {high.text}, i64 {low.text}, i64 {shift.text})")
    lower = put(f"shl i64 {low.text}, {shift.text}") >> 32
    above = put(f"mul i64 {m.text}, {upper.text}") + (put(f"mul i64 {m.text}, {lower.text}") >> 32)
    k = (above + (1 << 61)) >> 62
    rest = above - (k << 62)  # a signed number of quarter turns, in units of 2^-62
    turns = c.emit(f"sitofp i64 {rest.text} to double", "float")
    return turns * (math.pi / 2 * 2.0**-62), k, ok
