"""Code that asks now and then whether to go on, so that Ctrl-C ends a kernel: see `runtime/interrupt.py`."""

from __future__ import annotations

import numpy as np

from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.emit.stack_slots import StackSlots
from adjoint.backends.native.runtime.interrupt import DECLARE, NO_MEMORY, SYMBOL, possible
from adjoint.core.errors import shown_place
from adjoint.graph.node import Node

OFTEN = 1 << 15  # elements computed between two looks at the clock: some tens of microseconds
LARGE = 1 << 20  # elements of a step before which it is worth while to ask
NO_MEMORY_STATUS = 2  # what a function without Python ends with; 1 is an index out of range
FAILED_STATUS = 4  # what is noted where a matrix has no inverse or no factors, or where a kernel cannot be sure


class Polls:
    """Writes the questions of one function, and knows where it may be left early."""

    def __init__(self, code: Code, slots: StackSlots, standalone: bool = False) -> None:
        self.code, self._slots, self._standalone = code, slots, standalone
        self.donated: frozenset[Node] = frozenset()  # inputs that the function may overwrite
        self.given: set[str] = set()  # the addresses of those that results are written to
        self.committed = standalone or not possible()  # whether it has begun to: then it must not end before its time
        self.depth = 0  # loops around the code being written
        self.may_lack_memory = False
        self.may_fail = False
        self._state: str | None = None
        self._budget: str | None = None

    @property
    def may_leave_early(self) -> bool:
        """Whether the function may be left early anywhere."""
        return self._state is not None or self.may_lack_memory or self.may_fail

    def poll(self) -> None:
        """Ask whether to go on."""
        if self.committed:
            return
        go = self.code.new_label("going")
        self._ask(go)
        self.code.begin(go)

    def poll_in_loop(self, count: str, work: int, step: int = 1) -> None:
        """The same every so many iterations, given the number of them and the work of one; `count` grows by `step`."""
        if self.committed:
            return
        code = self.code
        every = 1 << max(OFTEN // max(work * step, 1), 1).bit_length() - 1
        if every > 1:
            mask = (every - 1) * step
            now, go = code.new_label("poll"), code.new_label("going")
            test = code.put(f"icmp eq i64 {code.put(f'and i64 {count}, {mask}')}, {mask}")
            code.branch(test, now, go)
            code.begin(now)
            self._ask(go)
            code.begin(go)
        else:
            self.poll()

    def poll_after_loop(self, count: str, work: int) -> None:
        """After a loop inside another: both may be too short to ask by themselves, but not together."""
        if self.committed:
            return
        code = self.code
        left = code.put(f"load i64, ptr {self._budget_slot()}")
        done = code.mul(count, max(work, 1))
        rest = code.put(f"sub i64 {left}, {done}")
        rest = code.put(f"sub i64 {rest}, 1")
        code.do(f"store i64 {rest}, ptr {self._budget_slot()}")
        now, go = code.new_label("poll"), code.new_label("going")
        code.branch(code.put(f"icmp slt i64 {rest}, 0"), now, go)
        code.begin(now)
        code.do(f"store i64 {OFTEN}, ptr {self._budget_slot()}")
        self._ask(go)
        code.begin(go)

    def no_memory(self, size: str, loop: Node) -> None:
        """Leave the function with a MemoryError, since there are not so many bytes for what a loop keeps."""
        self.may_lack_memory = True
        if self._standalone:
            self.code.do(f"store i64 {NO_MEMORY_STATUS}, ptr %status")
            self.code.jump("interrupted")
            return
        self.code.module.declarations[f"declare void @{NO_MEMORY}(i64, ptr) cold nounwind"] = None
        where = f"\n    the loop at {shown_place(loop.place)}" if loop.place else ""
        # By its address: the code, and with it the object that is kept on disk, stays the same.
        text = self.code.module.constant(np.frombuffer(where.encode() + b"\0", np.uint8))
        self.code.do(f"call void @{NO_MEMORY}(i64 {size}, ptr {text})")
        self.code.jump("interrupted")

    def leave_if_failed(self) -> None:
        """Leave the function if a kernel has noted that it failed: no loop goes on with what is no number."""
        self.may_fail = True
        code, go = self.code, self.code.new_label("going")
        noted = code.put("load i64, ptr %status")
        code.branch(code.put(f"icmp eq i64 {noted}, 0"), go, "interrupted")
        code.begin(go)

    def _ask(self, go: str) -> None:
        code = self.code
        code.module.declarations[DECLARE] = None
        stop = code.put(f"call i32 @{SYMBOL}(ptr {self._state_slot()})")
        code.branch(code.put(f"icmp ne i32 {stop}, 0"), "interrupted", go)

    def _state_slot(self) -> str:
        """What is remembered between two questions."""
        if self._state is None:
            self._state = name = self._slots.alloca("[2 x i64]")
            seen = f"{name}.seen"
            self._slots.lines += [
                f"  store i64 0, ptr {name}",
                f"  {seen} = getelementptr i64, ptr {name}, i64 1",
                f"  store i64 0, ptr {seen}",
            ]
        return self._state

    def _budget_slot(self) -> str:
        """How many elements may be computed before the next question, where loops are nested."""
        if self._budget is None:
            self._budget = self._slots.alloca_zero("i64")
        return self._budget
