"""A module cut into parts, which LLVM compiles at the same time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

SIZE = 1000  # lines of a part
COPIES = 5000  # lines that inlining may add to a module
INLINE = "alwaysinline "


class FunctionText:
    """The text of a function, and what can be read off it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.head, _, body = text.partition("\n")
        self.name = symbol(self.head)
        self.lines = text.count("\n") + 1
        self.uses = Counter(re.findall(r"@([\w.]+)", body))

    def added(self, inlined: Mapping[str, FunctionText]) -> int:
        """How many lines inlining adds."""
        return sum(inlined[name].lines * times for name, times in self.uses.items() if name in inlined)

    def declaration(self) -> str:
        """The line that lets other parts use it."""
        return re.sub(r" %[\w.]+(?=[,)])", "", self.head.removesuffix(" {").replace("define internal", "declare"))


def split(declarations: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Modules that together define these functions, long ones first.

    A function to inline is copied into every part that calls it; where that is too much, it is a function like others.
    """
    functions, inlined = with_inlining(texts)
    declared = {symbol(line): line for line in declarations}
    others = [f for f in functions if f.name not in inlined]
    parts = list(grouped(sorted(others, key=lambda f: not f.added(inlined)), inlined))  # what inlines stays together
    if len(parts) == 1:
        return ["\n".join([*declared.values(), *(f.text for f in functions), ""])]
    declared |= {f.name: f.declaration() for f in functions}
    return sorted((module(part, declared, inlined) for part in parts), key=len, reverse=True)


def uncut(declarations: Iterable[str], texts: Iterable[str]) -> list[str]:
    """The same as one module."""
    functions, _ = with_inlining(texts)
    return ["\n".join([*declarations, *(f.text for f in functions), ""])]


def with_inlining(texts: Iterable[str]) -> tuple[list[FunctionText], dict[str, FunctionText]]:
    """The functions, and by name those of them to inline: none where that would add too much."""
    functions = [FunctionText(text) for text in texts]
    inlined = {f.name: f for f in functions if INLINE in f.head}
    if sum(f.added(inlined) for f in functions) > COPIES:
        return [FunctionText(f.text.replace(INLINE, "", 1)) for f in functions], {}
    return functions, inlined


def grouped(functions: Sequence[FunctionText], inlined: Mapping[str, FunctionText]) -> Iterator[list[FunctionText]]:
    """Neighbours together, as many as make a part."""
    part: list[FunctionText] = []
    lines = 0
    for f in functions:
        part.append(f)
        lines += f.lines + f.added(inlined)
        if lines >= SIZE:
            yield part
            part, lines = [], 0
    if part:
        yield part


def module(part: Sequence[FunctionText], declared: Mapping[str, str], inlined: Mapping[str, FunctionText]) -> str:
    """The text of a part: its functions for all to see, copies of what they inline, and declarations of all else they use."""
    copies = [f for f in inlined.values() if any(f.name in mine.uses for mine in part)]
    used = {name: None for f in (*part, *copies) for name in f.uses}
    here = {f.name for f in (*part, *copies)}
    return "\n".join(
        [
            *(declared[name] for name in used if name in declared and name not in here),
            *(f.text for f in copies),
            *(f.text.replace("define internal", "define", 1) for f in part),
            "",
        ]
    )


def symbol(line: str) -> str:
    """The name that a line declares or defines."""
    return re.search(r"@([\w.]+)", line)[1]  # type: ignore[index]
