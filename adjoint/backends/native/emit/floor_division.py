"""Division that rounds down, its remainder, and shifts, on lanes, as NumPy defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.spec import bool_

if TYPE_CHECKING:
    from adjoint.backends.native.emit.lanes import Lanes


def floor_div(lanes: Lanes, dtype: np.dtype, x: str, y: str) -> str:
    """The quotient rounded down."""
    return (_float_divmod if dtype.kind == "f" else _integer_divmod)(lanes, dtype, x, y)[0]


def remainder(lanes: Lanes, dtype: np.dtype, x: str, y: str) -> str:
    """What is left, with the sign of y."""
    return (_float_divmod if dtype.kind == "f" else _integer_divmod)(lanes, dtype, x, y)[1]


def _integer_divmod(lanes: Lanes, dtype: np.dtype, x: str, y: str) -> tuple[str, str]:
    """Quotient rounded down, and remainder with the sign of y; by 0 both are 0, as NumPy has it."""
    code, kind, zero, one = lanes.code, lanes.type(dtype), lanes.number(0, dtype), lanes.number(1, dtype)
    by_zero, by_minus_one = (lanes.compare("eq", y, lanes.number(n, dtype), dtype) for n in (0, -1))
    trap = code.put(f"or {lanes.type(bool_)} {by_zero}, {by_minus_one}")
    safe = lanes.select(trap, one, y, dtype)
    quotient, rest = code.put(f"sdiv {kind} {x}, {safe}"), code.put(f"srem {kind} {x}, {safe}")
    signs = lanes.compare("lt", code.put(f"xor {kind} {rest}, {y}"), zero, dtype)
    down = code.put(f"and {lanes.type(bool_)} {signs}, {lanes.compare('ne', rest, zero, dtype)}")
    quotient = lanes.select(down, code.put(f"sub {kind} {quotient}, {one}"), quotient, dtype)
    rest = lanes.select(down, code.put(f"add {kind} {rest}, {y}"), rest, dtype)
    quotient = lanes.select(by_minus_one, code.put(f"sub {kind} {zero}, {x}"), quotient, dtype)
    return lanes.select(by_zero, zero, quotient, dtype), lanes.select(by_zero, zero, rest, dtype)


def _float_divmod(lanes: Lanes, dtype: np.dtype, x: str, y: str) -> tuple[str, str]:
    """The same for floats, from the exact remainder; a quotient by 0 is x / y."""
    code, kind, zero = lanes.code, lanes.type(dtype), lanes.number(0, dtype)
    exact, plain = code.put(f"frem {kind} {x}, {y}"), code.put(f"fdiv {kind} {x}, {y}")
    rest = exact
    quotient = code.put(f"fdiv {kind} {code.put(f'fsub {kind} {x}, {rest}')}, {y}")
    signs = [lanes.compare("lt", v, zero, dtype) for v in (rest, y)]
    differ = code.put(f"xor {lanes.type(bool_)} {signs[0]}, {signs[1]}")
    some = lanes.code.put(f"fcmp une {kind} {rest}, {zero}")
    down = code.put(f"and {lanes.type(bool_)} {some}, {differ}")
    quotient = lanes.select(down, code.put(f"fsub {kind} {quotient}, {lanes.number(1.0, dtype)}"), quotient, dtype)
    rest = lanes.select(down, code.put(f"fadd {kind} {rest}, {y}"), rest, dtype)
    rest = lanes.select(some, rest, lanes.intrinsic("copysign", dtype, zero, y), dtype)
    floor = lanes.intrinsic("floor", dtype, quotient)
    short = lanes.compare("gt", code.put(f"fsub {kind} {quotient}, {floor}"), lanes.number(0.5, dtype), dtype)
    floor = lanes.select(short, code.put(f"fadd {kind} {floor}, {lanes.number(1.0, dtype)}"), floor, dtype)
    nothing = lanes.compare("eq", quotient, zero, dtype)
    floor = lanes.select(nothing, lanes.intrinsic("copysign", dtype, zero, plain), floor, dtype)
    by_zero = lanes.compare("eq", y, zero, dtype)
    return lanes.select(by_zero, plain, floor, dtype), lanes.select(by_zero, exact, rest, dtype)


def left_shift(lanes: Lanes, dtype: np.dtype, x: str, y: str) -> str:
    """By as many bits as there are, or by a negative number, nothing is left."""
    inside, by = _shift(lanes, dtype, y, 0)
    moved = lanes.code.put(f"shl {lanes.type(dtype)} {x}, {by}")
    return lanes.select(inside, moved, lanes.number(0, dtype), dtype)


def right_shift(lanes: Lanes, dtype: np.dtype, x: str, y: str) -> str:
    """By as many bits as there are, or by a negative number, nothing but the sign is left."""
    _, by = _shift(lanes, dtype, y, 8 * dtype.itemsize - 1)
    return lanes.code.put(f"ashr {lanes.type(dtype)} {x}, {by}")


def _shift(lanes: Lanes, dtype: np.dtype, y: str, other: int) -> tuple[str, str]:
    """Whether a shift by y is defined, and y or another number that is."""
    inside = lanes.code.put(f"icmp ult {lanes.type(dtype)} {y}, {lanes.number(8 * dtype.itemsize, dtype)}")
    return inside, lanes.select(inside, y, lanes.number(other, dtype), dtype)
