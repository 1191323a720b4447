"""What `ad.explain` returns: a table of a program's steps and their derivatives, as text, Markdown, HTML and LaTeX."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.explanations.equations import Equation, Row
from adjoint.explanations.notation import Html, Latex, Notation, escaped

STYLE = """
.adjoint-explain { font: 14px/1.5 system-ui, sans-serif; }
.adjoint-explain table { border-collapse: collapse; font-family: "STIX Two Math", "Cambria Math", "DejaVu Serif", serif; }
.adjoint-explain th { text-align: left; padding: 4px 16px; border-bottom: 2px solid #888; font-family: system-ui, sans-serif; }
.adjoint-explain td { text-align: left; padding: 2px 16px; vertical-align: top; white-space: nowrap; }
.adjoint-explain td + td, .adjoint-explain th + th { border-left: 1px solid #bbb; }
.adjoint-explain tr.last td { border-bottom: 1px solid #888; }
.adjoint-explain td.where { color: #777; font: 12px/1.7 ui-monospace, monospace; }
.adjoint-explain .value { color: #0b5ea8; }
.adjoint-explain .bar { text-decoration: overline; }
.adjoint-explain tr.gap td { color: #777; text-align: center; font-style: italic; }
@media (prefers-color-scheme: dark) { .adjoint-explain .value { color: #6cb6ff; } }
"""

TITLES = {
    "primal": "Forward primal trace ↓",
    "tangents": "Forward tangent trace ↓",
    "where": "Where",
    "adjoints": "Reverse adjoint trace ↑",
}


@dataclass(frozen=True, eq=False)
class Explanation:
    """The steps of a program and their derivatives. `print` shows a table; notebooks show it as HTML.

    `value` is what the function gave; `gradients` has the gradient by each input, and `tangent` the derivative along the
    direction of forward mode. The reverse column is read upwards: beside each step stands what it gives to the adjoints of its
    inputs.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[Row]
    value: Any
    gradients: dict[str, np.ndarray]
    tangent: Any
    left_out: int
    constant: Callable[[int], str]

    # ------------------------------------------------------------ text

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def text(self) -> str:
        """The table for a terminal."""
        notation = Notation(self.constant)
        table = [[TITLES[c] for c in self.columns]]
        rules = {0}
        kinds = [row.kind for row in self.rows]
        for k, row in enumerate(self.rows):
            cells = [self._lines(row, c, notation) for c in self.columns]
            for i in range(max(map(len, cells))):
                table.append([cell[i] if i < len(cell) else "" for cell in cells])
            if k + 1 < len(kinds) and kinds[k] != kinds[k + 1] and "gap" not in kinds[k : k + 2]:
                rules.add(len(table) - 1)
        widths = [max(_width(line[j]) for line in table) for j in range(len(self.columns))]
        lines = [self.title, ""]
        for i, line in enumerate(table):
            lines.append(
                " │ ".join(text + " " * (w - _width(text)) for text, w in zip(line, widths, strict=True)).rstrip()
            )
            if i in rules:
                lines.append("─┼─".join("─" * w for w in widths))
        return "\n".join(lines)

    def _lines(self, row: Row, column: str, notation: Notation) -> list[str]:
        """The lines of one cell. Adjoints are read upwards, so what comes first stands last."""
        if row.kind == "gap":
            return [row.note if column == "primal" else "…"]
        return [notation.text(row.where)] if column == "where" else [e.shown(notation) for e in _equations(row, column)]

    # ------------------------------------------------------------ other forms

    def markdown(self) -> str:
        """The table in Markdown."""
        notation = Notation(self.constant)
        lines = [_piped([TITLES[c] for c in self.columns]), _piped(["---"] * len(self.columns))]
        for row in self.rows:
            cells = ["<br>".join(t.replace("|", "\\|") for t in self._lines(row, c, notation)) for c in self.columns]
            lines.append(_piped(cells))
        return "\n".join(lines)

    def html(self) -> str:
        """The table in HTML, with its style; it needs nothing from elsewhere."""
        notation = Html(self.constant)
        head = "".join(f"<th>{html.escape(TITLES[c])}</th>" for c in self.columns)
        body = []
        for k, row in enumerate(self.rows):
            following = self.rows[k + 1].kind if k + 1 < len(self.rows) else row.kind
            last = " last" if row.kind != following and "gap" not in (row.kind, following) else ""
            cells = "".join(self._cell(row, c, notation) for c in self.columns)
            body.append(f'<tr class="{row.kind}{last}">{cells}</tr>')
        return (
            f'<div class="adjoint-explain"><meta charset="utf-8"><style>{STYLE}</style><p>{html.escape(self.title)}</p>'
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        )

    _repr_html_ = html

    def _cell(self, row: Row, column: str, notation: Html) -> str:
        if row.kind == "gap":
            return f"<td>{html.escape(row.note) if column == 'primal' else '…'}</td>"
        if column == "where":
            line = f"{row.file}: {row.source}" if row.source else ""
            return f'<td class="where" title="{html.escape(line)}">{html.escape(row.where)}</td>'
        return f"<td>{'<br>'.join(_html_equation(e, notation) for e in _equations(row, column))}</td>"

    def latex(self) -> str:
        """The table as a LaTeX array."""
        notation = Latex(self.constant)
        columns = [c for c in self.columns if c != "where"]
        words = [TITLES[c].replace("↓", r"\downarrow").replace("↑", r"\uparrow") for c in columns]
        head = " & ".join(rf"\text{{{t.rpartition(' ')[0]}}} {t.rpartition(' ')[2]}" for t in words)
        lines = [rf"\begin{{array}}{{{'|'.join('l' * len(columns))}}}", head + r" \\ \hline"]
        for k, row in enumerate(self.rows):
            if row.kind == "gap":
                lines.append(" & ".join([rf"\text{{{escaped(row.note)}}}"] + [r"\vdots"] * (len(columns) - 1)) + r" \\")
                continue
            cells = [[e.shown(notation) for e in _equations(row, c)] for c in columns]
            for i in range(max(map(len, cells))):
                lines.append(" & ".join(cell[i] if i < len(cell) else "" for cell in cells) + r" \\")
            if k + 1 < len(self.rows) and row.kind != self.rows[k + 1].kind and self.rows[k + 1].kind != "gap":
                lines[-1] += r" \hline"
        return "\n".join([*lines, r"\end{array}"])


def _equations(row: Row, column: str) -> Sequence[Equation]:
    if column == "primal":
        return [] if row.primal is None else [row.primal]
    return row.tangents if column == "tangents" else row.adjoints[::-1]


def _html_equation(e: Equation, notation: Html) -> str:
    return " = ".join([*e.parts(notation), f'<span class="value">{html.escape(e.number)}</span>'])


def _piped(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _width(text: str) -> int:
    """How wide a text is on a terminal: marks over letters take no room, some letters two."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
