"""Matplotlib for the examples, where it is installed."""

from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    """Matplotlib's pyplot, which draws to files here; None, with a hint, where it is not installed."""
    try:
        import matplotlib
    except ImportError:
        print("For the picture: pip install matplotlib")
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure: Any, path: str) -> None:
    """Write a figure, and say where it is."""
    figure.savefig(path, dpi=110)
    figure.clear()
    print(f"Picture: {path}")
