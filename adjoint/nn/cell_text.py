"""A Cell as text and in a notebook."""

from __future__ import annotations

from typing import Any

from adjoint.nn.network_summary import summary


class CellText:
    """What a Cell shows of itself."""

    def extra_repr(self) -> str:
        """What `repr` shows between the brackets of a layer; to be written by a class that wants it."""
        return ""

    def __repr__(self) -> str:
        cell: Any = self
        sizes = [(p.size, p.requires_grad) for p in cell.get_parameters()]
        if not sizes:
            return self._text()
        fixed = sum(n for n, trained in sizes if not trained)
        note = f", {fixed:,} not trained" if fixed else ""
        return f"{self._text()}  # {sum(n for n, _ in sizes):,} parameters{note}"

    def _text(self) -> str:
        cell: Any = self
        extra = self.extra_repr()
        lines = [f"  ({name}): {inner._text().replace(chr(10), chr(10) + '  ')}" for name, inner in cell._cells.items()]
        if not extra:
            lines += [f"  ({name}): Parameter{list(p.shape)} {p.dtype}" for name, p in cell._params.items()]
        return f"{type(self).__name__}({extra}" + "".join(f"\n{line}" for line in lines) + ("\n)" if lines else ")")

    def _repr_html_(self) -> str:
        """A table of the layers; `nn.summary(net, x)` has the shapes of their results too."""
        return summary(self)._repr_html_()
