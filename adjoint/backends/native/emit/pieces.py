"""Long straight stretches of a function as functions of their own: LLVM takes more than twice as long for a block of twice the length.

What a piece needs from before, and what is needed of it later, passes through memory on the stack of the function, the frame.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

LENGTH = 1000  # lines of a piece
LONG = 2 * LENGTH  # lines of a stretch that is cut
FRAME = "%frame"
ALIGN = 64

_REGISTER = re.compile(r"%[\w.]+")
_RESULT = re.compile(r"  (%[\w.]+) = (.*)")
_LABEL = re.compile(r"[\w.]+:")
_FLAGS = frozenset(
    ["nsw", "nuw", "exact", "fast", "contract", "reassoc", "nnan", "ninf", "nsz", "arcp", "afn", "disjoint", "nneg"]
)
_ARITHMETIC = frozenset(
    [
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "frem",
        "fneg",
        "add",
        "sub",
        "mul",
        "sdiv",
        "udiv",
        "srem",
        "urem",
        "and",
        "or",
        "xor",
        "shl",
        "lshr",
        "ashr",
        "phi",
        "call",
        "load",
        "freeze",
    ]
)
_CASTS = frozenset(
    [
        "fptrunc",
        "fpext",
        "fptosi",
        "fptoui",
        "sitofp",
        "uitofp",
        "trunc",
        "zext",
        "sext",
        "bitcast",
        "ptrtoint",
        "inttoptr",
    ]
)
_BITS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "half": 16,
    "bfloat": 16,
    "float": 32,
    "double": 64,
    "ptr": 64,
}
_ENDS = ("  br ", "  ret ", "  switch ", "  unreachable")


def in_pieces(functions: Iterable[str], name: Callable[[], str]) -> list[str]:
    """The functions, long ones cut; each piece comes before the function that calls it."""
    found: list[str] = []
    for text in functions:
        found += _Cut(text.split("\n"), name).functions() if text.count("\n") > LONG else [text]
    return found


class _Cut:
    """A function being cut: which lines become pieces, and what lies where in the frame."""

    def __init__(self, lines: Sequence[str], name: Callable[[], str]) -> None:
        self.lines, self.name = lines, name
        self.sources = dict(_sources(lines))
        self.slots: dict[str, int] = {}
        self.size = 0
        self.pieces: list[str] = []
        stretches = list(_stretches(lines))
        self.piece_of = {k: n for n, part in enumerate(stretches) for k in part}
        self.home = {m[1]: self.piece_of.get(k, -1) for k, line in enumerate(lines) if (m := _RESULT.match(line))}
        self.shared = self._shared()
        self.stretches = stretches

    def _shared(self) -> set[str]:
        """The registers that are used in another piece, or outside of any, than where they come from."""
        return {
            register
            for k, line in enumerate(self.lines)
            for register in _REGISTER.findall(line)
            if register in self.sources and self.home.get(register, -1) != self.piece_of.get(k, -1)
        }

    def functions(self) -> list[str]:
        """The pieces, and the function that calls them; the function as it was if it has no long stretch that can be cut."""
        if not self.stretches or not all(type_of(self.sources[register]) for register in self.shared):
            return ["\n".join(self.lines)]
        used = {r for k, line in enumerate(self.lines) if k not in self.piece_of for r in _REGISTER.findall(line)}
        body: list[str] = []
        begins = {part[0]: part for part in self.stretches}
        for k, line in enumerate(self.lines):
            if k in begins:
                body += self._call(begins[k], used)
            elif k not in self.piece_of:
                body.append(line)
        entry = body.index("entry:") + 1
        body.insert(entry, f"  {FRAME} = alloca [{self.size} x i8], align {ALIGN}")
        return [*self.pieces, "\n".join(body)]

    def _call(self, part: range, used: set[str]) -> list[str]:
        """The lines that call a piece, which is written on the way."""
        here = self.piece_of[part[0]]
        lines = [self.lines[k] for k in part]
        made = [m[1] for line in lines if (m := _RESULT.match(line))]
        mentioned = dict.fromkeys(r for line in lines for r in _REGISTER.findall(line))
        taken = [r for r in mentioned if r in self.sources and self.home.get(r, -1) != here]
        given = [r for r in made if r in self.shared]
        name = self.name()
        self.pieces.append(
            "\n".join(
                [
                    f"define internal void @{name}(ptr {FRAME}) nounwind {{",
                    "entry:",
                    *(line for r in taken for line in self._loaded(r)),
                    *lines,
                    *(line for r in given for line in self._stored(r)),
                    "  ret void",
                    "}",
                ]
            )
        )
        return [
            *(line for r in taken if self.home.get(r, -1) == -1 for line in self._stored(r)),
            f"  call void @{name}(ptr {FRAME})",
            *(line for r in given if r in used for line in self._loaded(r)),
        ]

    def _loaded(self, register: str) -> list[str]:
        at, address = self._place(register)
        return [address, f"  {register} = load {type_of(self.sources[register])}, ptr {at}"]

    def _stored(self, register: str) -> list[str]:
        at, address = self._place(register)
        return [address, f"  store {type_of(self.sources[register])} {register}, ptr {at}"]

    def _place(self, register: str) -> tuple[str, str]:
        """A new name for the address of a register's place in the frame, and the instruction for it."""
        if register not in self.slots:
            size = _bytes(type_of(self.sources[register]))
            room = ALIGN if size > 8 else 8
            self.size = -(-self.size // room) * room
            self.slots[register] = self.size
            self.size += size
        at = f"%at.{self.name()}"
        return at, f"  {at} = getelementptr i8, ptr {FRAME}, i64 {self.slots[register]}"


def _stretches(lines: Sequence[str]) -> Iterator[range]:
    """The lines of each piece: of blocks that are long, without what must stay where they are."""
    begin = 0
    for k, line in enumerate(lines):
        if _LABEL.match(line) or " = phi " in line or " = alloca " in line:
            begin = k + 1
        elif line.startswith(_ENDS):
            if k - begin > LONG:
                count = (k - begin) // LENGTH
                cuts = [begin + (k - begin) * i // count for i in range(count + 1)]
                yield from map(range, cuts[:-1], cuts[1:])
            begin = k + 1


def _sources(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each register of a function and where its type can be read: the instruction, or what stands before a parameter."""
    for parameter in lines[0].partition("(")[2].partition(")")[0].split(", "):
        kind, _, register = parameter.rpartition(" ")
        if register.startswith("%"):
            yield register, f"freeze {kind.split(' ')[0]} {register}"
    for line in lines:
        if m := _RESULT.match(line):
            yield m[1], m[2]


@cache
def type_of(instruction: str) -> str:
    """The type of what an instruction gives; nothing where it is not known here.

    >>> type_of("fmul contract <4 x double> %a, %b"), type_of("fcmp olt <4 x double> %a, %b"), type_of("load float, ptr %p")
    ('<4 x double>', '<4 x i1>', 'float')
    """
    op, _, rest = instruction.removeprefix("tail ").partition(" ")
    while (word := rest.partition(" "))[0] in _FLAGS:
        rest = word[2]
    if op in _ARITHMETIC:
        return _first_type(rest)
    if op in _CASTS:
        return _first_type(rest.rpartition(" to ")[2])
    if op in ("icmp", "fcmp"):
        return _like(_first_type(rest.partition(" ")[2]), "i1")
    if op == "select":
        return _first_type(_operands(rest)[1])
    if op in ("getelementptr", "alloca") and "<" not in rest:
        return "ptr"
    if op == "extractelement":
        return _element(_first_type(rest))
    if op == "insertelement":
        return _first_type(rest)
    if op == "shufflevector":
        lanes = _first_type(_operands(rest)[2]).partition(" ")[0]
        return f"{lanes} x {_element(_first_type(rest))}>"
    return ""


def _first_type(text: str) -> str:
    kind = text[: text.index(">") + 1] if text.startswith("<") else re.split(r"[ ,]", text, maxsplit=1)[0]
    return kind if _element(kind) in _BITS else ""


def _like(kind: str, element: str) -> str:
    """The type with as many lanes, of another element."""
    return f"{kind.rpartition(' ')[0]} {element}>" if kind.startswith("<") else element


def _operands(text: str) -> list[str]:
    """What stands between the commas outside of brackets."""
    return [part.strip() for part in re.split(r",(?![^<]*>)", text)]


def _element(kind: str) -> str:
    return kind.rpartition(" ")[2].removesuffix(">")


def _bytes(kind: str) -> int:
    lanes = int(kind[1:].partition(" ")[0]) if kind.startswith("<") else 1
    return -(-lanes * _BITS[_element(kind)] // 8)
