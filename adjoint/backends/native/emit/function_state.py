"""The function being written: what all graphs in it share, the outer one and those inside control flow."""

from __future__ import annotations

import re
import sys
from typing import Any

from adjoint.backends.native.emit.llvm_ir import Code, Module
from adjoint.backends.native.emit.polling import Polls
from adjoint.backends.native.emit.stack_slots import StackSlots
from adjoint.backends.native.emit.vector_access import is_x86
from adjoint.backends.native.plan.arena import Arena
from adjoint.backends.native.plan.arena_places import ALIGN, Place
from adjoint.backends.native.plan.given_back import Regions, given_back
from adjoint.backends.native.plan.result_rooms import EVEN
from adjoint.backends.native.runtime import thread_pool
from adjoint.backends.native.runtime.pages import page_size
from adjoint.graph.node import Node

MANY = 8  # results, of which the last one may take a little longer
DONT_NEED = 4  # Linux: the contents are not needed any more
_ADDRESS = "getelementptr i8, ptr %arena, i64 "
_MOMENT = "; moment "
_GIVE_BACK = f"""\
  %low = ptrtoint ptr %begin to i64
  %before = sub i64 %low, 1
  %mask = sub i64 0, %page
  %up = add i64 %before, %page
  %first = and i64 %up, %mask
  %high = add i64 %low, %size
  %end = and i64 %high, %mask
  %some = icmp ugt i64 %end, %first
  br i1 %some, label %give, label %done
give:
  %count = sub i64 %end, %first
  %at = inttoptr i64 %first to ptr
  %rc = call i32 @madvise(ptr %at, i64 %count, i32 {DONT_NEED})
  br label %done
done:""".split("\n")
_NUMBER = re.compile(r"#(\d+)")


class FunctionState:
    """The code of a function, its arena and its stack."""

    def __init__(self, module: Module, bits: int, standalone: bool = False) -> None:
        self.module, self.bits = module, bits
        self.standalone = standalone  # whether it runs without Python, in a program of somebody else's
        self.code = Code(module)
        module.converts_half = bits > 128 or not is_x86()
        self.arena = Arena()
        self.slots = StackSlots()
        self.polls = Polls(self.code, self.slots, standalone)
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

    @property
    def may_go_wrong(self) -> bool:
        """Whether there is something to note: an index out of range, or a kernel that failed."""
        return self.checks or self.polls.may_fail

    def address(self, place: Place) -> str:
        """The address of a place in the arena; its offset is put in when all places are known."""
        size = f" ; {place.size}" if self.module.checked else ""
        return self.code.put(f"{_ADDRESS}#{place.number}{size}")

    def every_result_begun(self) -> bool:
        """Whether the last of many results is being written: what is taken now comes on top of all of them."""
        return MANY <= len(self.results) <= len(self.arena.rooms)

    def pause(self) -> None:
        """Note that a unit is over, after which memory may be given back."""
        self.arena.moments.append(self.arena.now)
        self.code.do(f"{_MOMENT}{self.arena.now}")

    def lay_out_arena(self, spare: float = 0.0) -> None:
        """Lay out the arena, and put the offsets into the code; parts of it may be given back meanwhile, for so many nanoseconds."""
        arena = self.arena
        arena.lay_out()
        going: dict[int, Regions] = {}
        if sys.platform == "linux" and not self.module.checked and not self.standalone:
            rooms = list(arena.rooms.values())
            arena.given_back, going = given_back(arena.places, arena.now + 1, arena.size, rooms, arena.moments, spare)
        lines, self.code.lines = self.code.lines, []
        for line in lines:
            if line.startswith(f"  {_MOMENT}"):
                for offset, size in going.get(int(line[len(_MOMENT) + 2 :]), ()):
                    self._give_back(offset, size)
                continue
            if _ADDRESS in line:
                place = arena.places[int(_NUMBER.search(line)[1])]  # type: ignore[index]
                line = _NUMBER.sub(str(place.offset), line)
                line = line.replace("%arena", place.base) if place.base else line
            self.code.lines.append(line)

    def _give_back(self, offset: int, size: int) -> None:
        """Give the whole pages of a part of the arena back to the system."""
        self.module.declare("i32 @madvise(ptr, i64, i32)")
        name = self.module.function("give_back", "ptr %begin, i64 %size, i64 %page", _GIVE_BACK)
        begin = self.code.put(f"{_ADDRESS}{offset}")
        self.code.do(f"call void @{name}(ptr {begin}, i64 {size}, i64 {page_size(size)})")

    def status_begins(self, place: int) -> list[str]:
        """Instructions for where it is noted what went wrong: the result at this place, if Python is to hear of it."""
        told = self.may_go_wrong and not self.standalone
        lines = [f"  %status.at = getelementptr ptr, ptr %buffers, i64 {place}", "  %status = load ptr, ptr %status.at"]
        return [*(lines if told else ["  %status = alloca i64"]), "  store i64 0, ptr %status"]

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
