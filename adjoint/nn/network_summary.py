"""A network as a table: its layers, the shapes of their results, and their Parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

from adjoint.core import context, tree
from adjoint.core.errors import ArgumentTypeError, called_at
from adjoint.core.spec import dtype_of, shape_of


@dataclass(frozen=True)
class LayerSummary:
    """One Cell. `parameters` and `trainable` count the elements of the Parameters that it holds itself and no row above has."""

    path: str
    kind: str
    depth: int
    output: str  # the shape of its first result; empty if it was not called
    calls: int
    parameters: int
    trainable: int
    note: str = ""  # of a Cell or Parameters that stand in another place already


class NetworkSummary:
    """What `nn.summary` gives: `layers`, and totals in which a shared Parameter counts once."""

    def __init__(self, layers: list[LayerSummary], size: int, ran: bool) -> None:
        self.layers, self.ran = layers, ran
        self.parameters = sum(row.parameters for row in layers)
        self.trainable = sum(row.trainable for row in layers)
        self.bytes = size

    def _table(self) -> list[list[str]]:
        head = ["layer", *(["output shape"] if self.ran else []), "parameters", "trainable"]
        rows = []
        for row in self.layers:
            name = row.path.rsplit(".", 1)[-1]
            label = (
                "  " * row.depth
                + (f"{name}: {row.kind}" if name else row.kind)
                + (f"  ({row.note})" if row.note else "")
            )
            times = f" x{row.calls}" if row.calls > 1 else ""
            shape = [f"{row.output}{times}" if row.calls else "not called"] if self.ran else []
            rows.append([label, *shape, f"{row.parameters:,}" if row.parameters else "", _yes(row)])
        return [head, *rows]

    def _totals(self) -> str:
        fixed = self.parameters - self.trainable
        return f"{self.parameters:,} parameters: {self.trainable:,} trainable, {fixed:,} not; {_size(self.bytes)} of memory"

    def __str__(self) -> str:
        table = self._table()
        widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
        count = len(table[0]) - 2  # columns of text; numbers and yes or no stand right
        lines = [
            "  ".join(c.ljust(w) if k < count else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True)))
            for row in table
        ]
        rule = "-" * len(lines[0])
        return "\n".join(line.rstrip() for line in [lines[0], rule, *lines[1:], rule, self._totals()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self._table()

        def cells(row: list[str], tag: str) -> str:
            styles = ["text-align:left;white-space:pre", *["text-align:right"] * (len(row) - 1)]
            return "".join(
                f"<{tag} style='{style}'>{escape(cell)}</{tag}>" for style, cell in zip(styles, row, strict=True)
            )

        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
        top = f"<thead><tr>{cells(head, 'th')}</tr></thead>"
        return f"<div class='adjoint-summary'><table>{top}<tbody>{body}</tbody></table><div>{escape(self._totals())}</div></div>"


def _yes(row: LayerSummary) -> str:
    if not row.parameters:
        return ""
    return "yes" if row.trainable == row.parameters else f"{row.trainable:,}" if row.trainable else "no"


def _size(count: int) -> str:
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"


def summary(net: Any, *inputs: Any, **kwargs: Any) -> NetworkSummary:
    """The layers of a network with the shapes of their results and the sizes of their Parameters; `print` it.

    The network is called once on the inputs, out of training and without recording; without inputs there are no shapes. A Cell or a
    Parameter that stands in several places counts once.

    >>> import adjoint as ad
    >>> net = ad.nn.SequentialCell(ad.nn.Dense(3, 8), ad.nn.ReLU(), ad.nn.Dense(8, 2))
    >>> print(ad.nn.summary(net, ad.ops.ones((5, 3))))
    layer           output shape  parameters  trainable
    ---------------------------------------------------
    SequentialCell  (5, 2)
      0: Dense      (5, 8)                32        yes
      1: ReLU       (5, 8)
      2: Dense      (5, 2)                18        yes
    ---------------------------------------------------
    50 parameters: 50 trainable, 0 not; 200 B of memory
    """
    if isinstance(net, type) and hasattr(net, "cells_and_names"):
        raise ArgumentTypeError(f"summary: {net.__name__} is a class; give one of its Cells{called_at()}")
    if not hasattr(net, "cells_and_names"):
        raise ArgumentTypeError(f"summary: a Cell is needed, not {type(net).__name__}{called_at()}")
    seen: dict[int, tuple[str, int]] = {}
    ran = bool(inputs or kwargs)
    if ran:
        with _observed(net, seen), context.no_grad(), context.setting(context.static_mode, False):
            net(*inputs, **kwargs)
    layers = list(_layers(net, seen))
    size = sum(p.size * p.dtype.itemsize for p in net.get_parameters())
    return NetworkSummary(layers, size, ran)


@contextmanager
def _observed(net: Any, seen: dict[int, tuple[str, int]]) -> Iterator[None]:
    """While each Cell inside notes its results, out of training. Compiled functions with the network in them stay as they are."""
    cells = [cell for _, cell in net.cells_and_names()]
    before = [(cell, cell.__dict__["training"]) for cell in cells]

    def noting(cell: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            out = type(cell)._run(cell, *args, **kwargs)
            first, calls = seen.get(id(cell), (_shapes(out), 0))
            seen[id(cell)] = first, calls + 1
            return out

        return run

    try:
        for cell in cells:
            cell.__dict__["training"], cell.__dict__["_run"] = False, noting(cell)
        yield
    finally:
        for cell, training in before:
            cell.__dict__["training"] = training
            del cell.__dict__["_run"]


def _shapes(out: Any) -> str:
    leaves = tree.leaves(out)
    shown = [str(shape_of(x)) for x in leaves if _is_array(x)]
    return ", ".join(shown[:3]) + (", …" if len(shown) > 3 else "") if shown else type(out).__name__


def _is_array(x: Any) -> bool:
    try:
        dtype_of(x)
    except Exception:  # a string, None, anything that a Cell may return
        return False
    return hasattr(x, "shape")


def _layers(net: Any, seen: dict[int, tuple[str, int]]) -> Iterator[LayerSummary]:
    """The rows, each Cell before those inside it."""
    cells: dict[int, str] = {}
    counted: dict[int, str] = {}

    def rows(cell: Any, path: str, depth: int) -> Iterator[LayerSummary]:
        kind, (output, calls) = type(cell).__name__, seen.get(id(cell), ("", 0))
        if id(cell) in cells:
            first = cells[id(cell)] or "the network"
            yield LayerSummary(path, kind, depth, output, calls, 0, 0, f"the same as {first}")
            return
        cells[id(cell)] = path
        own = {id(p): p for p in cell._params.values()}
        fresh = [p for key, p in own.items() if key not in counted]
        shared = [counted[key] or "the network" for key in own if key in counted]
        counted.update(dict.fromkeys(own, path))
        note = f"shares Parameters with {shared[0]}" if shared else ""
        trainable = sum(p.size for p in fresh if p.requires_grad)
        yield LayerSummary(path, kind, depth, output, calls, sum(p.size for p in fresh), trainable, note)
        for name, child in cell._cells.items():
            yield from rows(child, f"{path}.{name}" if path else name, depth + 1)

    return rows(net, "", 0)
