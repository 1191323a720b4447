"""The axes of a nest: neighbours become one wherever every array allows it."""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.backends.native.plan.loop_expressions import Expr, Load, contiguous, within
from adjoint.backends.native.plan.units import Nest, cuts


def loads_of(expressions: Iterable[Expr]) -> list[Load]:
    """The loads in expressions."""
    return [e for e in within(expressions) if isinstance(e, Load)]


def coalesced(
    nest: Nest, loads: list[Load], lead: int = 0
) -> tuple[tuple[int, ...], list[tuple[int, ...]], list[tuple[bool, ...]]]:
    """The space with neighbouring axes made one wherever every array allows it: sizes, strides, and which axes go.

    The first `lead` axes stay apart from the others, which are at least one; so does an axis along which expressions change,
    and after the strides of loads and roots come those of its index.
    """
    steps = [list(e.strides) for e in loads]
    gone: list[list[bool]] = []
    for root in nest.roots:
        away = root.op.axes if root.op.reduction else ()
        kept = [n for axis, n in enumerate(nest.space) if axis not in away]
        strides = iter(contiguous(kept))
        steps.append([0 if axis in away else next(strides) for axis in range(len(nest.space))])
        gone.append([axis in away for axis in range(len(nest.space))])
    for cut in cuts(nest.roots.values()):
        steps.append([int(axis == cut) for axis in range(len(nest.space))])
    sizes = list(nest.space)
    if lead == len(sizes):
        sizes.append(1)
        for row in (*steps, *gone):
            row.append(0)  # type: ignore[attr-defined]
    axis = len(sizes) - 2
    while axis >= 0:
        if lead and axis == lead - 1:
            axis -= 1
            continue
        n = sizes[axis + 1]
        together = all(s[axis] == s[axis + 1] * n for s in steps) and all(g[axis] == g[axis + 1] for g in gone)
        if n == 1 or together:
            sizes[axis] *= n
            for s in steps:
                if n == 1:
                    del s[axis + 1]
                else:
                    del s[axis]
            for g in gone:
                g[axis] = g[axis] if n == 1 else g[axis + 1]
                del g[axis + 1]
            del sizes[axis + 1]
        elif sizes[axis] == 1:
            del sizes[axis]
            for row in (*steps, *gone):
                del row[axis]  # type: ignore[attr-defined]
        axis = min(axis - 1, len(sizes) - 2)
    return tuple(sizes), [tuple(s) for s in steps], [tuple(g) for g in gone]
