"""Elements along the last axis of a nest: vectors from memory and into it, under a mask at the end."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code, in_memory, in_register
from adjoint.core.spec import is_half


def get(code: Code, base: str, stride: int, i: str, dtype: np.dtype, width: int, mask: str | None) -> str:
    """`width` elements from base + stride * i on."""
    address = code.element(base, code.mul(i, stride), dtype)
    if width == 1:
        return code.load(address, dtype)
    if stride == 1 and mask is None:
        return code.load(address, dtype, width)
    if stride == 1:
        kind, name = in_memory(dtype, width), _vector_name(dtype, width)
        code.module.declare(f"{kind} @llvm.masked.load.{name}.p0(ptr, i32, <{width} x i1>, {kind})")
        value = code.put(
            f"call {kind} @llvm.masked.load.{name}.p0(ptr {address}, i32 {dtype.itemsize}, <{width} x i1> {mask}, {kind} zeroinitializer)"
        )
        return value if dtype.kind != "b" else code.put(f"icmp ne {kind} {value}, zeroinitializer")
    wide = in_register(dtype, width)
    total = "poison"
    for lane in range(width):
        place = code.element(address, _lane(code, lane, stride, mask, width), dtype)
        total = code.put(f"insertelement {wide} {total}, {in_register(dtype)} {code.load(place, dtype)}, i32 {lane}")
    return total


def _lane(code: Code, lane: int, stride: int, mask: str | None, width: int) -> Any:
    """The offset of a lane; one that the mask leaves out reads where the first lane does."""
    if mask is None or lane == 0:
        return lane * stride
    here = code.put(f"extractelement <{width} x i1> {mask}, i32 {lane}")
    return code.put(f"select i1 {here}, i64 {lane * stride}, i64 0")


def put(code: Code, value: str, base: str, stride: int, i: str, dtype: np.dtype, width: int, mask: str | None) -> None:
    """Store `width` elements from base + stride * i on."""
    address = code.element(base, code.mul(i, stride), dtype)
    if width == 1:
        code.store(value, address, dtype)
    elif stride == 1 and mask is None:
        code.store(value, address, dtype, width)
    elif stride == 1 and _only_lane(mask) is not None:
        one = f"i32 {_only_lane(mask)}"
        value = code.put(f"extractelement {in_register(dtype, width)} {value}, {one}")
        code.store(value, code.element(address, _only_lane(mask), dtype), dtype)
    elif stride == 1:
        kind, name = in_memory(dtype, width), _vector_name(dtype, width)
        if dtype.kind == "b":
            value = code.put(f"zext <{width} x i1> {value} to {kind}")
        if mask and mask[0] == "%" and in_memory(dtype) in ("i8", "i16", "i32") and is_x86():
            mask = _unforeseen(code, mask, width)
        code.module.declare(f"void @llvm.masked.store.{name}.p0({kind}, ptr, i32, <{width} x i1>)")
        code.do(
            f"call void @llvm.masked.store.{name}.p0({kind} {value}, ptr {address}, i32 {dtype.itemsize}, <{width} x i1> {mask})"
        )
    else:
        raise AssertionError("results lie along the last axis")


def _only_lane(mask: str | None) -> int | None:
    """The lane of a mask known now that has only one."""
    lanes = mask[1:-1].split(", ") if mask and mask[0] == "<" else []
    return lanes.index("i1 true") if lanes.count("i1 true") == 1 else None


def _unforeseen(code: Code, mask: str, width: int) -> str:
    """A mask of which LLVM knows nothing.

    LLVM 22 stores whole numbers of which only a part is wanted where it finds that a mask has one lane, and so writes beyond it:
    a truncation in front of a masked store becomes a part of it, and then a plain store of what was truncated.
    """
    bits = code.put(f"bitcast <{width} x i1> {mask} to i{width}")
    wide = code.put(f"zext i{width} {bits} to i64")
    hidden = code.put(f'call i64 asm "", "=r,0"(i64 {wide})')
    bits = code.put(f"trunc i64 {hidden} to i{width}")
    return code.put(f"bitcast i{width} {bits} to <{width} x i1>")


def _vector_name(dtype: np.dtype, width: int) -> str:
    kind = "f" if dtype.kind == "f" and not is_half(dtype) else "i"
    return f"v{width}{kind}{dtype.itemsize * 8}"


def registers(bits: int) -> int:
    """How many vector registers of so many bits there are."""
    return 16 if bits < 512 and is_x86() else 32


def is_x86() -> bool:
    """Whether code is made for a processor of that family."""
    return platform.machine().lower() in ("x86_64", "amd64", "i686", "x86")


def lane_mask(width: int, used: range) -> str:
    """A mask known now: which lanes are in use."""
    return "<" + ", ".join(f"i1 {'true' if k in used else 'false'}" for k in range(width)) + ">"


def mask_of(code: Code, width: int, left: Any) -> str:
    """Which lanes are in use when `left` elements are left."""
    if isinstance(left, int):
        return lane_mask(width, range(left))
    lanes = Lanes(code, width)
    counted = "<" + ", ".join(f"i64 {k}" for k in range(width)) + ">"
    limit = lanes.spread(left, np.dtype(np.int64))
    return code.put(f"icmp slt <{width} x i64> {counted}, {limit}")


def fill(code: Code, begin: str, size: int, value: Any, dtype: np.dtype) -> None:
    """The same number everywhere."""
    if not value and size:
        code.zero(begin, size * dtype.itemsize)
        return
    if size == 1:
        code.store(Lanes(code, 1).number(value, dtype), begin, dtype)
    elif size:
        with code.loop(0, size) as iteration:
            code.store(Lanes(code, 1).number(value, dtype), code.element(begin, iteration.i, dtype), dtype)
