"""Half precision on lanes: float16 and bfloat16 are held as bits, and converted to float32 and back, rounded to even.

float16 is converted by the processor where it can, else in integer steps; bfloat16 is the upper half of a float32. A NaN stays a NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.spec import bool_, float16, float32, float64, int32

if TYPE_CHECKING:
    from adjoint.backends.native.emit.lanes import Lanes

INFINITE = 0x7F800000  # float32
BIASES = 2.0**112  # of the exponents of float32 and float16, apart
LARGE = 2.0**16  # what infinities of float16 become with that, the smallest of what is no number there
SMALLEST = 113 << 23  # the smallest normal number of float16, as float32
BEYOND = 143 << 23  # 2**16 as float32: it is infinite in float16
BFLOAT16_NAN, FLOAT16_NAN, FLOAT16_INFINITE = 0x7FC0, 0x7E00, 0x7C00


def to_single(lanes: Lanes, x: str, dtype: np.dtype) -> str:
    """Numbers in half precision as float32, exactly."""
    if dtype == float16 and lanes.code.module.converts_half:
        half = lanes.code.put(f"bitcast {_bits(lanes)} {x} to {_half(lanes)}")
        return lanes.code.put(f"fpext {_half(lanes)} {half} to {lanes.type(float32)}")
    wide = lanes.code.put(f"zext {_bits(lanes)} {x} to {lanes.type(int32)}")
    if dtype != float16:
        return _float(lanes, _step(lanes, "shl", wide, 16))
    size = _step(lanes, "shl", _step(lanes, "and", wide, 0x7FFF), 13)
    scaled = lanes.code.put(f"fmul {lanes.type(float32)} {_float(lanes, size)}, {lanes.number(BIASES, float32)}")
    infinite = lanes.compare("ge", scaled, lanes.number(LARGE, float32), float32)
    bits = _integer(lanes, scaled)
    bits = lanes.select(infinite, _step(lanes, "or", bits, INFINITE), bits, int32)
    sign = _step(lanes, "shl", _step(lanes, "and", wide, 0x8000), 16)
    return _float(lanes, _both(lanes, "or", bits, sign))


def from_single(lanes: Lanes, x: str, dtype: np.dtype) -> str:
    """Numbers of float32 in half precision, rounded to the nearest, halfway to even."""
    if dtype == float16 and lanes.code.module.converts_half:
        half = lanes.code.put(f"fptrunc {lanes.type(float32)} {x} to {_half(lanes)}")
        return lanes.code.put(f"bitcast {_half(lanes)} {half} to {_bits(lanes)}")
    bits = _integer(lanes, x)
    found = _float16(lanes, bits) if dtype == float16 else _bfloat16(lanes, x, bits)
    return lanes.code.put(f"trunc {lanes.type(int32)} {found} to {_bits(lanes)}")


def _bfloat16(lanes: Lanes, x: str, bits: str) -> str:
    upper = _step(lanes, "lshr", bits, 16)
    odd = _step(lanes, "and", upper, 1)
    rounded = _step(lanes, "lshr", _both(lanes, "add", _step(lanes, "add", bits, 0x7FFF), odd), 16)
    sign = _step(lanes, "and", upper, 0x8000)
    no_number = lanes.compare("ne", x, x, float32)
    return lanes.select(no_number, _step(lanes, "or", sign, BFLOAT16_NAN), rounded, int32)


def _float16(lanes: Lanes, bits: str) -> str:
    size = _step(lanes, "and", bits, 0x7FFFFFFF)
    odd = _step(lanes, "and", _step(lanes, "lshr", size, 13), 1)
    normal = _both(lanes, "add", _step(lanes, "sub", size, (112 << 23) - 0xFFF), odd)
    normal = _step(lanes, "lshr", normal, 13)
    half = lanes.number(0.5, float32)  # adding it moves the last digit that float16 has to the end of the mantissa
    moved = lanes.code.put(f"fadd {lanes.type(float32)} {_float(lanes, size)}, {half}")
    small = _step(lanes, "sub", _integer(lanes, moved), 126 << 23)
    found = lanes.select(_below(lanes, size, SMALLEST), small, normal, int32)
    number = _below(lanes, size, INFINITE + 1)
    large = lanes.select(number, lanes.number(FLOAT16_INFINITE, int32), lanes.number(FLOAT16_NAN, int32), int32)
    found = lanes.select(_below(lanes, size, BEYOND), found, large, int32)
    return _both(lanes, "or", found, _step(lanes, "and", _step(lanes, "lshr", bits, 16), 0x8000))


def to_odd_single(lanes: Lanes, x: str) -> str:
    """Numbers of float64 in float32 so that rounding these again gives what rounding once would: inexact ones have an odd last digit."""
    near = lanes.cast(x, float64, float32)
    back = lanes.cast(near, float32, float64)
    inexact = lanes.code.put(f"fcmp one {lanes.type(float64)} {back}, {x}")
    bits = _integer(lanes, near)
    even = lanes.compare("eq", _step(lanes, "and", bits, 1), lanes.number(0, int32), int32)
    found, wanted = (lanes.intrinsic("fabs", float64, v) for v in (back, x))
    less = lanes.compare("lt", found, wanted, float64)
    other = lanes.select(less, _step(lanes, "add", bits, 1), _step(lanes, "sub", bits, 1), int32)
    change = lanes.code.put(f"and {lanes.type(bool_)} {inexact}, {even}")
    return _float(lanes, lanes.select(change, other, bits, int32))


def _bits(lanes: Lanes) -> str:
    return lanes.type(float16)


def _half(lanes: Lanes) -> str:
    return "half" if lanes.width == 1 else f"<{lanes.width} x half>"


def _step(lanes: Lanes, word: str, x: str, number: int) -> str:
    return _both(lanes, word, x, lanes.number(number, int32))


def _both(lanes: Lanes, word: str, x: str, y: str) -> str:
    return lanes.code.put(f"{word} {lanes.type(int32)} {x}, {y}")


def _below(lanes: Lanes, x: str, number: int) -> str:
    return lanes.compare("lt", x, lanes.number(number, int32), int32)


def _integer(lanes: Lanes, x: str) -> str:
    return lanes.code.put(f"bitcast {lanes.type(float32)} {x} to {lanes.type(int32)}")


def _float(lanes: Lanes, x: str) -> str:
    return lanes.code.put(f"bitcast {lanes.type(int32)} {x} to {lanes.type(float32)}")
