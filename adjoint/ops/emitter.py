"""What an elementwise card writes its machine code with: `emit(self, b, *xs)`.

A backend hands the builder `b` in, so that cards know no backend, and `b` hides whether it writes one element or a vector.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Emitter(Protocol):
    """Steps on numbers. Operands are what a step gave, or Python numbers, which take the dtype of the operand beside them."""

    def is_float(self, x: Any) -> bool:
        """Whether an operand is a floating-point number, not an integer or a boolean."""

    def constant(self, value: Any, dtype: np.dtype) -> Any:
        """A number known now."""

    def cast(self, x: Any, dtype: np.dtype) -> Any:
        """The same number in another dtype, as NumPy's astype gives it."""

    def add(self, x: Any, y: Any) -> Any:
        """x + y; integers wrap around."""

    def sub(self, x: Any, y: Any) -> Any:
        """x - y."""

    def mul(self, x: Any, y: Any) -> Any:
        """x * y."""

    def div(self, x: Any, y: Any) -> Any:
        """x / y of floating-point numbers."""

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """x * y + z of floating-point numbers, rounded once."""

    def neg(self, x: Any) -> Any:
        """-x."""

    def abs(self, x: Any) -> Any:
        """The absolute value."""

    def copysign(self, x: Any, y: Any) -> Any:
        """The absolute value of x with the sign of y, floating-point numbers."""

    def sqrt(self, x: Any) -> Any:
        """The square root of a floating-point number."""

    def floor(self, x: Any) -> Any:
        """Rounded down; integers stay, here and in the next three."""

    def ceil(self, x: Any) -> Any:
        """Rounded up."""

    def trunc(self, x: Any) -> Any:
        """Rounded towards zero."""

    def round(self, x: Any) -> Any:
        """Rounded to the nearest integer, halves to the even one."""

    def floor_div(self, x: Any, y: Any) -> Any:
        """The largest integer not above x / y, as NumPy's floor_divide."""

    def remainder(self, x: Any, y: Any) -> Any:
        """x - y * floor(x / y), as NumPy's remainder."""

    def maximum(self, x: Any, y: Any) -> Any:
        """The larger one; NaN if either is."""

    def minimum(self, x: Any, y: Any) -> Any:
        """The smaller one; NaN if either is."""

    def compare(self, kind: str, x: Any, y: Any) -> Any:
        """A boolean; `kind` is lt, le, gt, ge, eq or ne. NaN compares as in Python."""

    def select(self, test: Any, x: Any, y: Any) -> Any:
        """x where the boolean is true, else y."""

    def bitwise_and(self, x: Any, y: Any) -> Any:
        """Bits set in both, of booleans or integers."""

    def bitwise_or(self, x: Any, y: Any) -> Any:
        """Bits set in either."""

    def bitwise_xor(self, x: Any, y: Any) -> Any:
        """Bits set in one of the two."""

    def bitwise_not(self, x: Any) -> Any:
        """Every bit flipped."""

    def left_shift(self, x: Any, y: Any) -> Any:
        """x * 2**y of integers."""

    def right_shift(self, x: Any, y: Any) -> Any:
        """x // 2**y of integers."""

    def call(self, name: str, *xs: Any) -> Any:
        """An elementary function of floating-point numbers, by name: exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan,
        asin, acos, atan, atan2, sinh, cosh, tanh, asinh, acosh, atanh, sigmoid, softplus, logaddexp, erf, erfc, pow or cbrt.
        """

    def special(self, name: str, *xs: Any, part: int = 0) -> Any:
        """A function of scipy.special that SciPy computes, or one of its several results; the card names it in `calls`."""
