"""Panels of a factor packed for tiles: functions that products of all sizes share."""

from __future__ import annotations

import numpy as np

from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code, Module
from adjoint.backends.native.emit.vector_access import get, put
from adjoint.backends.native.kernels.gemm_tiles import Factor, mask_of
from adjoint.core.spec import int64

PARAMETERS = "ptr %from, i64 %apart, ptr %to, i64 %rows"


def define_pack(module: Module, dtype: np.dtype, width: int, along: bool, columns: int, line: int) -> str:
    """The function that packs rows of a panel, each `line` elements from the next. What is behind its columns is of no use.

    Neighbours `along` rows lie along memory, or else those of columns do; the others are `%apart` from each other.
    """

    def write(code: Code) -> None:
        if along:
            _copy(code, dtype, width, columns, line)
            return
        whole = code.put(f"and i64 %rows, {-width}")
        with code.loop(0, whole, width) as iteration:
            target = code.element("%to", code.mul(iteration.i, line), dtype)
            with code.loop(0, columns, width) as at:
                source = Factor("%from", 1, "%apart").at(code, iteration.i, at.i, dtype).pointer
                _turn(code, source, target, at.i, columns, line, dtype, width)
        _gather(code, dtype, columns, line, whole)

    return module.once(("pack", dtype, width, along, columns, line), "pack", PARAMETERS, write)


def _copy(code: Code, dtype: np.dtype, width: int, columns: int, line: int) -> None:
    with code.loop(0, "%rows") as iteration:
        source = code.element("%from", code.mul(iteration.i, "%apart"), dtype)
        target = code.element("%to", code.mul(iteration.i, line), dtype)
        for v in range(0, columns, width):
            mask = mask_of(width, min(width, columns - v))
            value = get(code, source, 1, str(v), dtype, width, mask)
            put(code, value, target, 1, str(v), dtype, width, mask_of(width, min(width, line - v)))


def _gather(code: Code, dtype: np.dtype, columns: int, line: int, begin: str) -> None:
    """The rows that fill no square block, element by element."""
    with code.loop(begin, "%rows") as iteration:
        target = code.element("%to", code.mul(iteration.i, line), dtype)
        with code.loop(0, columns) as at:
            source = Factor("%from", 1, "%apart").at(code, iteration.i, at.i, dtype).pointer
            code.store(code.load(source, dtype), code.element(target, at.i, dtype), dtype)
        for lane in range(columns, line):
            code.store(Lanes(code, 1).number(0, dtype), code.element(target, lane, dtype), dtype)


def _turn(
    code: Code, source: str, target: str, column: str, columns: int, line: int, dtype: np.dtype, width: int
) -> None:
    """A square block, or what there is of one, transposed."""
    left = code.put(f"sub i64 {columns}, {column}")
    room = width if line % width == 0 else code.put(f"sub i64 {line}, {column}")
    to, name = code.element(target, column, dtype), define_turn(code.module, dtype, width)
    code.do(f"call void @{name}(ptr {source}, i64 %apart, i64 {left}, ptr {to}, i64 {line}, i64 {room})")


def define_turn(module: Module, dtype: np.dtype, width: int) -> str:
    """The function that transposes a square block: `left` lines of it are there, and `room` lanes of each are stored."""

    def write(code: Code) -> None:
        lanes, one = Lanes(code, width), Lanes(code, 1)
        final = code.put("add i64 %left, -1")
        block = []
        for k in range(width):  # a line that is not there is read as the last one
            place = one.intrinsic("smin", int64, str(k), final)
            block.append(code.load(code.element("%from", code.mul(place, "%apart"), dtype), dtype, width))
        counted = "<" + ", ".join(f"i64 {k}" for k in range(width)) + ">"
        mask = code.put(f"icmp slt <{width} x i64> {counted}, {lanes.spread('%room', int64)}")
        for k, value in enumerate(lanes.transposed(block, dtype)):
            put(code, value, code.element("%to", code.mul("%line", k), dtype), 1, "0", dtype, width, mask)

    parameters = "ptr %from, i64 %apart, i64 %left, ptr %to, i64 %line, i64 %room"
    return module.once(("turn", dtype, width), "turn", parameters, write)
