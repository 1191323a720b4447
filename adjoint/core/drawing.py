"""How our pictures look: one set of colours, sizes and lines, and no window of matplotlib's is ever opened."""

from __future__ import annotations

import io
import os
from typing import Any

from adjoint.core.extras import extra

#: Colours that stay apart for all kinds of sight and in print (after Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
INK, FAINT = "#222222", "#d8d8d8"


def figure(columns: int = 1, width: float = 7.0, height: float = 4.2, **options: Any) -> tuple[Any, Any]:
    """A figure of matplotlib and its axes side by side, without pyplot: nothing of the user's session changes."""
    made = extra("matplotlib.figure", "matplotlib", "plot", "a picture").Figure(
        figsize=(width, height), layout="constrained"
    )
    axes = made.subplots(1, columns, **options)
    for one in axes if columns > 1 else [axes]:
        one.spines[["top", "right"]].set_visible(False)
        one.spines[["left", "bottom"]].set_color(INK)
        one.grid(color=FAINT, linewidth=0.6)
        one.set_axisbelow(True)
    return made, axes


def save(drawn: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure, as PNG, SVG, PDF or whatever the name ends with; the same figure gives the same bytes."""
    name = os.fspath(path)
    drawn.savefig(name, dpi=110, metadata={"Date": None} if name.endswith((".svg", ".svgz")) else None)


def svg(drawn: Any) -> str:
    """A figure as the SVG element that a page can hold."""
    text = io.StringIO()
    drawn.savefig(text, format="svg", metadata={"Date": None})
    found = text.getvalue()
    return found[found.index("<svg") :]


def picture_below(draw: Any) -> str:
    """What a notebook shows below a table: the picture, or nothing where matplotlib is not installed."""
    try:
        return svg(draw())
    except ImportError:
        return ""
