"""Stacks for what the iterations of a loop leave behind: in the arena if their number is known, else memory that grows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.core.spec import Spec, int64
from adjoint.graph.node import Node

FIRST = 1 << 20  # bytes that a stack may begin with


class IterationStack:
    """Memory for one result of each iteration: as much as is needed if the number of them is known, else it grows."""

    def __init__(self, emitter: GraphEmitter, loop: Node, spec: Spec, iterations: int | None) -> None:
        self.emitter, self.dtype = emitter, spec.dtype
        self.size = prod(spec.shape[1:])  # elements of an iteration
        self.place = None
        if iterations is not None:
            self.place = emitter.shared.arena.take(iterations * self.size * self.dtype.itemsize, loop, "stack")
            self.pointer = emitter.shared.address(self.place)
        else:
            self.slot = emitter.shared.slots.heap_slot()
            emitter.shared.stacks.append((loop, self.size * self.dtype.itemsize))

    def begin(self) -> str:
        """Where the stack is now."""
        return self.pointer if self.place is not None else self.emitter.code.put(f"load ptr, ptr {self.slot}")

    def at(self, k: str) -> str:
        """Where the result of an iteration is."""
        return self.emitter.code.element(self.begin(), self.emitter.code.mul(k, self.size), self.dtype)


def grow(emitter: GraphEmitter, loop: Node, stacks: Sequence[IterationStack], capacity: str, count: str) -> None:
    """Make room for one more iteration."""
    code = emitter.code
    room = code.load(capacity, int64)
    more, enough = code.new_label("more"), code.new_label("enough")
    code.branch(code.put(f"icmp slt i64 {count}, {room}"), enough, more)
    code.begin(more)
    each = sum(stack.size * stack.dtype.itemsize for stack in stacks)
    few = max(min(FIRST // max(each, 1), 64), 1)
    new = code.put(f"mul i64 {code.put(f'add i64 {room}, {few}')}, 2")
    make_room(emitter, loop, stacks, new)
    code.store(new, capacity, int64)
    code.jump(enough)
    code.begin(enough)


def make_room(emitter: GraphEmitter, loop: Node, stacks: Sequence[IterationStack], iterations: str) -> None:
    """Give every stack memory for so many iterations; what is on it stays. Where there is none, the kernel ends with MemoryError."""
    code = emitter.code
    emitter.shared.module.declare("ptr @realloc(ptr, i64)")
    for stack in stacks:
        old = code.put(f"load ptr, ptr {stack.slot}")
        each = max(stack.size * stack.dtype.itemsize, 1)  # of no bytes there would be no memory, and NULL no failure
        size = code.put(f"mul i64 {code.put(f'add i64 {iterations}, 1')}, {each}")
        new = code.put(f"call ptr @realloc(ptr {old}, i64 {size})")
        none, some = code.new_label("none"), code.new_label("some")
        code.branch(code.put(f"icmp eq ptr {new}, null"), none, some)
        code.begin(none)
        emitter.shared.polls.no_memory(size, loop)
        code.begin(some)
        code.do(f"store ptr {new}, ptr {stack.slot}")
