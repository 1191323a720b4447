"""Writing LLVM IR as text: types, names, blocks and loops."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from adjoint.backends.native.dtypes import MEMORY_TYPES
from adjoint.core.spec import is_half

#: The type of an element in a register.
REGISTER = {**MEMORY_TYPES, "bool": "i1"}


@cache  # asked very often, and a dtype's name is slow to get
def in_register(dtype: np.dtype, width: int = 1) -> str:
    """The type of a value: one element, or a vector of them."""
    kind = REGISTER[dtype.name]
    return kind if width == 1 else f"<{width} x {kind}>"


@cache
def in_memory(dtype: np.dtype, width: int = 1) -> str:
    """The type of what is loaded and stored."""
    kind = MEMORY_TYPES[dtype.name]
    return kind if width == 1 else f"<{width} x {kind}>"


def literal(value: Any, dtype: np.dtype) -> str:
    """A number as LLVM writes it: floats by their bits, so that nothing is rounded, half precision as its bits."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind == "i":
        return str(int(value))
    with np.errstate(all="ignore"):
        if is_half(dtype):
            return str(np.asarray(value).astype(dtype).view(np.uint16))
        wide = np.float64(np.asarray(value).astype(dtype))  # LLVM writes a float as the double of the same value
    return f"0x{wide.view(np.uint64):016X}"


def splat(text: str, dtype: np.dtype, width: int) -> str:
    """A literal in every lane."""
    if width == 1:
        return text
    return "<" + ", ".join([f"{in_register(dtype)} {text}"] * width) + ">"


@dataclass
class Module:
    """The parts of a module: functions, what they declare, the maths they call, addresses to link."""

    functions: list[str] = field(default_factory=list)
    declarations: dict[str, None] = field(default_factory=dict)
    maths: set[tuple[str, str, int]] = field(default_factory=set)
    scipy: set[tuple[str, int, str, int]] = field(default_factory=set)  # what SciPy computes
    externals: dict[str, int] = field(default_factory=dict)
    keep: list[Any] = field(default_factory=list)  # arrays whose addresses are in the code
    names: int = 0
    known: dict[str, str] = field(default_factory=dict)  # functions by their bodies
    written: dict[Hashable, str] = field(default_factory=dict)  # functions by what they depend on
    sizes: dict[str, int] = field(default_factory=dict)  # bytes of constants
    converts_half: bool = False  # whether the processor converts float16 to float32 and back
    checked: bool = False  # whether every access is compared with its buffer
    clock: Any = None  # what takes the time of each unit, in a build for that

    def fresh(self, hint: str) -> str:
        self.names += 1
        return f"{hint}{self.names}"

    def function(self, hint: str, parameters: str, lines: Sequence[str]) -> str:
        """The name of a function with this body: one that is there already if it does the same."""
        body = "\n".join([f"({parameters}) nounwind {{", "entry:", *lines, "  ret void", "}"])
        if body not in self.known:
            self.known[body] = self.fresh(hint)
            self.functions.append(f"define internal void @{self.known[body]}{body}")
        return self.known[body]

    def once(self, key: Hashable, hint: str, parameters: str, write: Callable[[Code], None]) -> str:
        """The name of a function that depends on the key alone, which is written when it is asked for first."""
        if key not in self.written:
            code = Code(self)
            write(code)
            self.written[key] = self.function(hint, parameters, code.lines)
        return self.written[key]

    def declare(self, text: str) -> None:
        self.declarations[f"declare {text}"] = None

    def constant(self, array: np.ndarray) -> str:
        """The name of a constant array's memory."""
        array = np.ascontiguousarray(array)
        name = self.fresh("const")
        self.externals[name] = array.ctypes.data
        self.keep.append(array)
        self.sizes[name] = array.nbytes
        self.declarations[f"@{name} = external constant i8"] = None
        return f"@{name}"


class Code:
    """The body of one function, line by line."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []
        self.label = "entry"
        self._names = 0

    def fresh(self) -> str:
        self._names += 1
        return f"%v{self._names}"

    def new_label(self, hint: str) -> str:
        self._names += 1
        return f"{hint}{self._names}"

    def put(self, text: str) -> str:
        """An instruction that has a result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction that has none."""
        self.lines.append(f"  {text}")

    def begin(self, label: str) -> None:
        """A new block; the one before has ended with a branch."""
        self.label = label
        self.lines.append(f"{label}:")

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, test: str, yes: str, no: str) -> None:
        self.do(f"br i1 {test}, label %{yes}, label %{no}")

    def phi(self, kind: str, first: tuple[str, str]) -> tuple[str, int]:
        """A value that differs by the way we came; its other ways are added later, with `arrive`."""
        name = self.fresh()
        self.lines.append(f"  {name} = phi {kind} [ {first[0]}, %{first[1]} ]")
        return name, len(self.lines) - 1

    def arrive(self, place: int, value: str, label: str) -> None:
        self.lines[place] += f", [ {value}, %{label} ]"

    # ------------------------------------------------------------ integers

    def add(self, a: Any, b: Any) -> Any:
        """Sum of two numbers of 64 bits, each a name or known now."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        return a if b == 0 else self.put(f"add nsw i64 {a}, {b}")

    def mul(self, a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if 0 in (a, b):
            return 0
        if a == 1:
            return b
        return a if b == 1 else self.put(f"mul nsw i64 {a}, {b}")

    def element(self, pointer: str, offset: Any, dtype: np.dtype) -> str:
        """The address of an element."""
        if offset == 0:
            return pointer
        return self.put(f"getelementptr {in_memory(dtype)}, ptr {pointer}, i64 {offset}")

    # ------------------------------------------------------------ memory

    def load(self, address: str, dtype: np.dtype, width: int = 1) -> str:
        """A value from memory; truth values are bytes there."""
        kind = in_memory(dtype, width)
        value = self.put(f"load {kind}, ptr {address}, align {dtype.itemsize}")
        if dtype.kind != "b":
            return value
        return self.put(f"icmp ne {kind} {value}, {'0' if width == 1 else 'zeroinitializer'}")

    def store(self, value: str, address: str, dtype: np.dtype, width: int = 1) -> None:
        if dtype.kind == "b":
            value = self.put(f"zext {in_register(dtype, width)} {value} to {in_memory(dtype, width)}")
        self.do(f"store {in_memory(dtype, width)} {value}, ptr {address}, align {dtype.itemsize}")

    def copy(self, to: str, source: str, size: Any) -> None:
        """Copy bytes between places that do not overlap."""
        self.module.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        self.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

    def zero(self, to: str, size: Any) -> None:
        self.module.declare("void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.do(f"call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {size}, i1 false)")

    # ------------------------------------------------------------ loops

    @contextmanager
    def loop(
        self, low: Any, high: Any, step: int = 1, carry: Sequence[tuple[str, str]] = ()
    ) -> Iterator[LoopIteration]:
        """Repeat for i from `low` while it is below `high`. `carry` holds (type, first value) of what is carried from iteration to iteration.

        Inside, `.values` are the carried values and `.next` must be set to their new ones; afterwards `.results` hold the last.
        LLVM turns multiples of a counter it understands into running sums. That helps innermost loops alone, those that
        call no function, and takes a third of the time to compile, so other counters are made opaque to it.
        """
        body, after, before = self.new_label("loop"), self.new_label("done"), self.label
        known = isinstance(low, int) and isinstance(high, int)
        assert not known or low < high, "a loop without iterations is not written"
        if known:
            self.jump(body)
        else:
            self.branch(self.put(f"icmp slt i64 {low}, {high}"), body, after)
        self.begin(body)
        i, place = self.phi("i64", (str(low), before))
        phis = [self.phi(kind, (first, before)) for kind, first in carry]
        iteration = LoopIteration(i, [name for name, _ in phis])
        yield iteration
        assert len(iteration.next) == len(phis), "a loop must set what it carries"
        end = self.label
        following = self.put(f"add nsw i64 {i}, {step}")
        inside = self.lines[place:]
        calls = any("call void @" in line and "@llvm." not in line for line in inside)
        if end != body or calls or not any(f"mul nsw i64 {i}, " in line for line in inside):
            following = self.put(f'call i64 asm "", "=r,0"(i64 {following})')  # the same, without an instruction
        more = self.put(f"icmp slt i64 {following}, {high}")
        self.branch(more, body, after)
        self.arrive(place, following, end)
        for (_, at), value in zip(phis, iteration.next, strict=True):
            self.arrive(at, value, end)
        self.begin(after)
        iteration.results = list(iteration.next)
        if not known:
            for k, (kind, first) in enumerate(carry):
                iteration.results[k] = self.put(f"phi {kind} [ {first}, %{before} ], [ {iteration.next[k]}, %{end} ]")


@dataclass
class LoopIteration:
    """One iteration of a loop being written."""

    i: str
    values: list[str]
    next: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
