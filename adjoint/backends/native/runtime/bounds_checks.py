"""Rewrites the text of a kernel so that each access is compared with the bounds of its pointer.

Each pointer has its bounds beside it: those of a buffer are known by name, those of an address computed from another are that
one's, a phi of pointers is a phi of bounds, and what is stored in a context has its bounds stored before it. What no rule below
knows is refused, so that no access goes unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.backends.native.runtime.checked_build import CHECK, LANES, SHADOW
from adjoint.backends.native.runtime.thread_pool import SYMBOL as PARALLEL

REGION = "(ptr noalias %ctx, i64 %chunk)"  # what threads call: it has no parameters for bounds
BITS = {"double": 64, "float": 32, "i64": 64, "i32": 32, "i16": 16, "i8": 8, "ptr": 64}
HEADER = 16  # bytes before a place on the stack: its size is the last word, the bounds of what it holds come before


class Checker:
    """Rewrites the functions of a kernel."""

    def __init__(self, buffers: Sequence[int], constants: Mapping[str, int]) -> None:
        self.buffers, self.constants = buffers, constants  # their sizes in bytes
        self.sites: list[str] = []
        self.owners: dict[str, str] = {}  # what the functions compute that the kernel calls

    def rewritten(self, functions: Sequence[str], main: str) -> list[str]:
        """All functions, the one that calls them last."""
        texts = [text.split("\n") for text in functions]
        #: Functions with bounds as parameters: all that are not called by number of chunk.
        self.known = {_symbol(lines[0]): REGION not in lines[0] for lines in texts}
        last = _Function(self, main.split("\n"), "kernel").text()
        callers_first = [_Function(self, lines, _symbol(lines[0])).text() for lines in reversed(texts)]
        return [*reversed(callers_first), last]

    def rubbish(self, places: Mapping[str, int]) -> list[str]:
        """Instructions that fill results and the arena with NaN, so that what is read before it is written shows."""
        return [
            f"  call void @llvm.memset.p0.i64(ptr {name}, i8 255, i64 {size}, i1 false)"
            for name, k in places.items()
            if (size := self.buffers[k])
        ]


def _symbol(head: str) -> str:
    return re.search(r"@([\w.]+)", head)[1]  # type: ignore[index]


def _bytes(kind: str) -> int:
    """The size of a type."""
    if kind[0] in "<[":
        count, _, element = kind[1:-1].split(" ")
        return int(count) * (BITS[element] // 8)
    return BITS[kind] // 8


_POINTER = re.compile(r"ptr (?:noalias )?([%@][\w.]+|null)")
_BOUNDED = re.compile(r"ptr (?:noalias )?(?P<name>%[\w.]+)")
_ADDRESS = re.compile(r"  (%[\w.]+) = getelementptr \S+, ptr ([%@][\w.]+), i64 (\S+)(?: ; (\d+))?$")
_LOAD = re.compile(r"  (%[\w.]+) = load (<.*?>|\S+), ptr ([%@][\w.]+)(, align \d+)?$")
_STORE = re.compile(r"  store (<\d+ x \w+>|\w+) (.*), ptr (%[\w.]+)(, align \d+)?$")
_ALLOCA = re.compile(r"  (%[\w.]+) = alloca (\[.*?\]|\S+?)(?:, align (\d+))?$")
_MASKED_LOAD = re.compile(
    r"  (%\S+ = call (<\d+ x \w+>) @llvm\.masked\.load\S*\()ptr ([%@][\w.]+)(, i32 \d+, <\d+ x i1> (<.*?>|%\S+),.*)$"
)
_MASKED_STORE = re.compile(
    r"  (call void @llvm\.masked\.store\S*\((<\d+ x \w+>) .*, )ptr (%[\w.]+)(, i32 \d+, <\d+ x i1> (<.*?>|%\S+)\))$"
)
_COPY = re.compile(r"  (call void @llvm\.memcpy\S*\()ptr (%[\w.]+), ptr ([%@][\w.]+), i64 (\S+), i1 false\)$")
_SET = re.compile(r"  (call void @llvm\.memset\S*\()ptr (%[\w.]+), i8 (\d+), i64 (\S+), i1 false\)$")
_PHI = re.compile(r"  (%[\w.]+) = phi ptr (.*)$")
_REALLOC = re.compile(r"  (%[\w.]+) = call ptr @realloc\(ptr (\S+), i64 (\S+)\)$")
_CALL = re.compile(r"  call void @([\w.]+)\((.*)\)$")
_FREELY = (" = icmp ", " = ptrtoint ", "@llvm.prefetch", "@free(", "@adj_poll(", "@adj_no_memory(")


class _Function:
    """Rewrites one function."""

    def __init__(self, checker: Checker, lines: list[str], name: str) -> None:
        self.checker, self.lines, self.name = checker, lines, name
        self.out: list[str] = []
        self.fresh = 0
        self.where = checker.owners.get(name, "")
        #: From an address computed to the one it was computed from.
        self.made: dict[str, tuple[str, str]] = {}
        self.narrow: dict[str, str] = {}
        for line in lines:
            if found := _ADDRESS.match(line):
                target, base, offset, size = found.groups()
                if size is not None:
                    self.narrow[target] = size
                else:
                    self.made[target] = base, offset

    def bounds(self, pointer: str) -> tuple[str, str]:
        """The names of a pointer's bounds."""
        while pointer in self.made:
            pointer = self.made[pointer][0]
        if pointer == "null":
            return "null", "null"
        if pointer[0] == "@":
            size = self.checker.constants[pointer[1:]]
            return pointer, f"getelementptr (i8, ptr {pointer}, i64 {size})"
        return f"{pointer}.low", f"{pointer}.high"

    def put(self, text: str) -> str:
        self.fresh += 1
        self.out.append(f"  %safe{self.fresh} = {text}")
        return f"%safe{self.fresh}"

    def safe(self, pointer: str, size: Any, line: str) -> str:
        """The pointer, if so many bytes from there on are inside its bounds."""
        low, high = self.bounds(pointer)
        given = f"ptr {pointer}, ptr {low}, ptr {high}, i64 {size}"
        return self.put(f"call ptr @{CHECK}({given}, i64 {self.site(line)})")

    def site(self, line: str) -> int:
        """The number of an access, by which it is named."""
        self.checker.sites.append(f"{self.name}{self.where and f' ({self.where})'}: {line.strip()}")
        return len(self.checker.sites) - 1

    def begin(self, name: str, size: str) -> None:
        """Bounds of a pointer that is the begin of its buffer."""
        self.out.append(f"  {name}.low = getelementptr i8, ptr {name}, i64 0")
        self.out.append(f"  {name}.high = getelementptr i8, ptr {name}, i64 {size}")

    def text(self) -> str:
        head = self.lines[0]
        if self.checker.known.get(self.name):
            head = _BOUNDED.sub(r"\g<0>, ptr \g<name>.low, ptr \g<name>.high", head)
        self.out.append(head)
        for line in self.lines[1:]:
            if line == "entry:":
                self.out.append(line)
                self._entry(head)
            elif line.startswith("  ; "):
                self.where = line[4:]
            elif ("ptr" not in line or " = fptrunc " in line) and " = alloca " not in line:
                self.out.append(line)
            else:
                self._line(line)
        return "\n".join(self.out)

    def _entry(self, head: str) -> None:
        if REGION in head:
            at = self.put("getelementptr i8, ptr %ctx, i64 -8")
            self.begin("%ctx", self.put(f"load i64, ptr {at}"))
        elif self.name == "kernel":
            self.begin("%buffers", str(8 * len(self.checker.buffers)))

    def _line(self, line: str) -> None:
        if any(word in line for word in _FREELY):
            self.out.append(line)
            return
        for pattern, rule in RULES:
            if found := pattern.match(line):
                rule(self, line, *found.groups())
                return
        raise AssertionError(f"a checked build does not know this instruction: {line}")

    # ------------------------------------------------------------ instructions

    def _address(self, line: str, target: str, base: str, offset: str, size: str | None) -> None:
        self.out.append(line)
        if size is not None:
            self.begin(target, size)

    def _load(self, line: str, target: str, kind: str, pointer: str, align: str | None) -> None:
        at = self.safe(pointer, _bytes(kind), line)
        self.out.append(f"  {target} = load {kind}, ptr {at}{align or ''}")
        if kind != "ptr":
            return
        base, offset = self.made.get(pointer, (pointer, "0"))
        if base == "%buffers":
            self.begin(target, str(self.checker.buffers[int(offset)]))
            return
        shadow = self.put(f"call ptr @{SHADOW}(ptr {pointer}, ptr {self.bounds(pointer)[0]})")
        self.out.append(f"  {target}.low = load ptr, ptr {shadow}")
        self.out.append(f"  {target}.high = load ptr, ptr {self.put(f'getelementptr ptr, ptr {shadow}, i64 1')}")

    def _store(self, line: str, kind: str, value: str, pointer: str, align: str | None) -> None:
        at = self.safe(pointer, _bytes(kind), line)
        self.out.append(f"  store {kind} {value}, ptr {at}{align or ''}")
        if kind == "ptr":
            low, high = self.bounds(value)
            shadow = self.put(f"call ptr @{SHADOW}(ptr {pointer}, ptr {self.bounds(pointer)[0]})")
            self.out.append(f"  store ptr {low}, ptr {shadow}")
            self.out.append(f"  store ptr {high}, ptr {self.put(f'getelementptr ptr, ptr {shadow}, i64 1')}")

    def _alloca(self, line: str, name: str, kind: str, align: str | None) -> None:
        size = _bytes(kind)
        words = 0 if kind.endswith("x i8]") and name != "%prefetches" else -(-size // 8)
        before = -(-(HEADER + 16 * words) // 64) * 64
        whole = self.put(f"alloca [{before + size} x i8], align 64")
        self.out.append(f"  {name} = getelementptr i8, ptr {whole}, i64 {before}")
        self.out.append(f"  store i64 {size}, ptr {self.put(f'getelementptr i8, ptr {name}, i64 -8')}")
        self.begin(name, str(size))

    def _masked(self, line: str, head: str, kind: str, pointer: str, rest: str, mask: str) -> None:
        width = int(kind[1 : kind.index(" ")])
        if mask[0] == "<":
            bits = str(sum(2**k for k, lane in enumerate(mask.split(",")) if "true" in lane))
        else:
            lanes = self.put(f"bitcast <{width} x i1> {mask} to i{width}")
            bits = lanes if width == 64 else self.put(f"zext i{width} {lanes} to i64")
        low, high = self.bounds(pointer)
        given = f"ptr {pointer}, ptr {low}, ptr {high}, i64 {bits}, i64 {_bytes(kind) // width}"
        at = self.put(f"call ptr @{LANES}({given}, i64 {self.site(line)})")
        self.out.append(f"  {head}ptr {at}{rest}")

    def _copy(self, line: str, head: str, to: str, source: str, size: str) -> None:
        places = [self.safe(p, size, line) for p in (to, source)]
        size = self._if_same(size, (to, source), places)
        self.out.append(f"  {head}ptr {places[0]}, ptr {places[1]}, i64 {size}, i1 false)")

    def _set(self, line: str, head: str, to: str, value: str, size: str) -> None:
        place = self.safe(to, size, line)
        self.out.append(f"  {head}ptr {place}, i8 {value}, i64 {self._if_same(size, [to], [place])}, i1 false)")

    def _if_same(self, size: str, pointers: Sequence[str], places: Sequence[str]) -> str:
        """The size, or nothing if a pointer was out of bounds."""
        for pointer, place in zip(pointers, places, strict=True):
            size = self.put(f"select i1 {self.put(f'icmp eq ptr {pointer}, {place}')}, i64 {size}, i64 0")
        return size

    def _phi(self, line: str, name: str, ways: str) -> None:
        self.out.append(line)
        pairs = re.findall(r"\[ (\S+), (\S+) \]", ways)
        for k, end in enumerate(("low", "high")):
            found = ", ".join(f"[ {self.bounds(value)[k]}, {label} ]" for value, label in pairs)
            self.out.append(f"  {name}.{end} = phi ptr {found}")

    def _realloc(self, line: str, name: str, old: str, size: str) -> None:
        self.out.append(line)
        self.begin(name, size)

    def _call(self, line: str, name: str, given: str) -> None:
        called = _symbol(given) if name == PARALLEL else name
        self.checker.owners.setdefault(called, self.where)
        if self.checker.known.get(called):  # of the module itself: what lies outside takes addresses as they are
            line = _POINTER.sub(lambda m: ", ptr ".join([m[0], *self.bounds(m[1])]), line)
        self.out.append(line)


RULES: list[tuple[re.Pattern[str], Callable[..., None]]] = [
    (_ADDRESS, _Function._address),
    (_LOAD, _Function._load),
    (_STORE, _Function._store),
    (_ALLOCA, _Function._alloca),
    (_MASKED_LOAD, _Function._masked),
    (_MASKED_STORE, _Function._masked),
    (_COPY, _Function._copy),
    (_SET, _Function._set),
    (_PHI, _Function._phi),
    (_REALLOC, _Function._realloc),
    (_CALL, _Function._call),
]
