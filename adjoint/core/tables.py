"""Tables of words and numbers: as text, Markdown and HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head; the first column is of words, the others of numbers.

    >>> print(Table(("n", "size"), (("one", "7"), ("two", "12"))).text())
    n    size
    one     7
    two    12
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        """Columns of equal width."""
        lines = [self.head, *self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.head))]
        cells = [
            [c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))]
            for line in lines
        ]
        return "\n".join("  ".join(line).rstrip() for line in cells)

    def markdown(self) -> str:
        """As GitHub and mkdocs read it."""
        marks = ["---", *["---:"] * (len(self.head) - 1)]
        lines = [[c.replace("|", "\\|") for c in line] for line in (self.head, marks, *self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def html(self) -> str:
        """As a notebook shows it."""
        lines = [("th", self.head), *(("td", row) for row in self.rows)]
        rows = "".join(
            "<tr>" + "".join(f"<{tag}{_side(k)}>{html.escape(c)}</{tag}>" for k, c in enumerate(line)) + "</tr>"
            for tag, line in lines
        )
        return f"<table>{rows}</table>"


def _side(column: int) -> str:
    return ' style="text-align: right"' if column else ' style="text-align: left"'
