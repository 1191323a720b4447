"""Slots on the stack of a function, made once at its beginning."""

from __future__ import annotations


class StackSlots:
    """The slots of one function; `lines` is the code that makes them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.heap: list[str] = []  # slots that hold memory to free at the end

    def alloca(self, kind: str) -> str:
        """A slot of some type."""
        name = f"%stack{len(self.lines)}"
        self.lines.append(f"  {name} = alloca {kind}, align 16")
        return name

    def alloca_zero(self, kind: str) -> str:
        """A slot that holds 0 when the function begins."""
        name = self.alloca(kind)
        self.lines.append(f"  store {kind} {'null' if kind == 'ptr' else '0'}, ptr {name}")
        return name

    def heap_slot(self) -> str:
        """A slot for the address of memory that grows, freed at the end."""
        name = self.alloca_zero("ptr")
        self.heap.append(name)
        return name
