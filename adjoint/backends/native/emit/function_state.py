"""The function being written: what all graphs in it share, the outer one and those inside control flow."""

from __future__ import annotations

import re
from typing import Any

from adjoint.backends.native.emit.llvm_ir import Code, Module
from adjoint.backends.native.emit.polling import Polls
from adjoint.backends.native.emit.stack_slots import StackSlots
from adjoint.backends.native.plan.arena import Arena
from adjoint.backends.native.plan.arena_places import ALIGN, Place
from adjoint.backends.native.plan.result_rooms import EVEN
from adjoint.backends.native.runtime import thread_pool
from adjoint.graph.node import Node

_ADDRESS = "getelementptr i8, ptr %arena, i64 "
_NUMBER = re.compile(r"#(\d+)")


class FunctionState:
    """The code of a function, its arena and its stack."""

    def __init__(self, module: Module, bits: int) -> None:
        self.module, self.bits = module, bits
        self.code = Code(module)
        self.arena = Arena()
        self.slots = StackSlots()
        self.polls = Polls(self.code, self.slots)
        self.results: frozenset[str] = frozenset()  # addresses of results in memory of their own
        self.parallel = False
        self.checks = False  # whether an index may be out of range
        self.stacks: list[tuple[Node, int]] = []  # loops with a stack that grows, and its bytes for an iteration
        self.packed: dict[str, dict[Any, str]] = {}  # while a loop is written: what has been made of its constants

    def call(self, name: str, context: str, chunks: int) -> None:
        """Call a function `void (ptr ctx, i64 chunk)` for each chunk: on all threads, if there are several."""
        if chunks > 1:
            self.parallel = True
            self.module.declarations[thread_pool.DECLARE] = None
            self.code.do(f"call void @{thread_pool.SYMBOL}(ptr @{name}, ptr {context}, i64 {chunks})")
        else:
            self.code.do(f"call void @{name}(ptr {context}, i64 0)")

    def address(self, place: Place) -> str:
        """The address of a place in the arena; its offset is put in when all places are known."""
        size = f" ; {place.size}" if self.module.checked else ""
        return self.code.put(f"{_ADDRESS}#{place.number}{size}")

    def lay_out_arena(self) -> None:
        """Lay out the arena, and put the offsets into the code."""
        self.arena.lay_out()
        places, lines = self.arena.places, self.code.lines
        for k, line in enumerate(lines):
            if _ADDRESS in line:
                place = places[int(_NUMBER.search(line)[1])]  # type: ignore[index]
                line = _NUMBER.sub(str(place.offset), line)
                lines[k] = line.replace("%arena", place.base) if place.base else line

    def even_begins(self) -> list[str]:
        """Instructions for the first address in each result that is a multiple of the alignment, where intermediates begin."""
        bases = dict.fromkeys(p.base for p in self.arena.places)
        lines = []
        for name in [base.removesuffix(EVEN) for base in bases if base.endswith(EVEN)]:
            lines += [
                f"  {name}.number = ptrtoint ptr {name} to i64",
                f"  {name}.minus = sub i64 0, {name}.number",
                f"  {name}.gap = and i64 {name}.minus, {ALIGN - 1}",
                f"  {name}{EVEN} = getelementptr i8, ptr {name}, i64 {name}.gap",
            ]
        return lines
