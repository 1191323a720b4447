"""Tensors that show elements of one another, as NumPy's views do: what is written to one is seen in all of them.

A slice, a transposed or a reshaped Tensor remembers the steps that lead to it from its root. A write puts the new elements into
the root by the same steps, and reads what the others show anew: all of it in ops, so that it is differentiated, batched and
traced like any other computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np

from adjoint.core.autograd import autograd
from adjoint.core.dispatch import Value, make


class Family:
    """A root and the Tensors that show parts of it, none of which it keeps alive."""

    __slots__ = ("base", "layout", "limit", "refusals", "root", "shape", "views")

    def __init__(self, root: Any, layout: Any = None) -> None:
        self.root: Any = ref(root)
        self.base = make(root._value, root._trace, root._extra)  # what the root held, for when it is gone
        self.shape = root.shape
        self.layout = layout  # an array that lies in memory as NumPy's would; None: in one piece
        self.views: list[Any] = []
        self.limit = 16
        self.refusals: list[Any] = []  # called before a write to x, as refuse(x): they may raise

    def add(self, view: Any) -> None:
        self.views.append(ref(view))
        if len(self.views) > self.limit:
            self.views = [r for r in self.views if r() is not None]
            self.limit = 16 + 2 * len(self.views)

    def others(self, x: Any) -> list[Any]:
        """The views beside x that are still there."""
        self.views = [r for r in self.views if r() is not None]
        found = (r() for r in self.views)
        return [y for y in found if y is not None and y is not x and getattr(y, "_kin", (None,))[0] is self]


def relate(view: Any, x: Any, step: Any) -> None:
    """Note that `view` is what `step` shows of `x`; a stack of unknown length belongs to a backward pass, which writes to none."""
    if any(n < 0 for n in x.shape):
        return
    kin = getattr(x, "_kin", None)
    if kin is None or (kin[0].root() is None and not kin[0].refusals and not kin[0].others(x)):
        kin = x._kin = (Family(x, layout(x)), ())
    family, steps = kin
    if (steps or family.layout is not None) and not step.is_view((*steps, step), laid_out(family)):
        return
    view._kin = (family, (*steps, step))
    family.add(view)


def laid_out(family: Family) -> Any:
    """An array that lies in memory as NumPy's would for the root, of pairs: the real and the imaginary part have places of their own."""
    return np.empty(family.shape, "?,?") if family.layout is None else family.layout


def layout(x: Any) -> Any:
    """An array that lies in memory as NumPy's would for x; None: in one piece."""
    kin = getattr(x, "_kin", None)
    if kin is None or (not kin[1] and kin[0].layout is None):
        return None
    part = laid_out(kin[0])
    for step in kin[1]:
        part = step.eval(np, part)
    return None if part.flags.c_contiguous else part


def guard(x: Any, refuse: Any) -> None:
    """Call `refuse(y)` before each write to a Tensor y that may be seen in x, as long as `refuse.lasts()`."""
    if getattr(x, "_kin", None) is None:
        x._kin = (Family(x, layout(x)), ())
    family = x._kin[0]
    family.refusals = [*(r for r in family.refusals if r.lasts()), refuse]


def alone(x: Any) -> Any:
    """The same Tensor, sharing its elements with none."""
    if getattr(x, "_kin", None) is not None:
        del x._kin
    return x


def own(y: Any, *inputs: Any) -> Any:
    """y, and where it is one of the inputs or shows elements of it a Tensor of its own: a write to one is not seen in the other."""
    return y.copy() if isinstance(y, Value) and any(related(y, x) for x in inputs) else y


def relatives(x: Any) -> list[Any]:
    """The Tensors in which a write to x may be seen."""
    kin = getattr(x, "_kin", None)
    if kin is None:
        return []
    root = kin[0].root()
    return [y for y in (root, *kin[0].others(x)) if y is not None and y is not x]


def related(x: Any, y: Any) -> bool:
    """Whether a write to one may be seen in the other."""
    a, b = getattr(x, "_kin", None), getattr(y, "_kin", None)
    return x is y or (a is not None and b is not None and a[0] is b[0])


def write(x: Any, new: Any, place: Any = None) -> None:
    """Bind x to a new value, and all that show its elements; `place` is the step to the elements that differ, if known."""
    kin = getattr(x, "_kin", None)
    if kin is None:
        x._take(new)
        return
    family, steps = kin
    for refuse in family.refusals:
        refuse(x)
    root = family.root()
    others = family.others(x)
    if (
        root is not None and root.tracked and autograd.is_leaf(root)
    ):  # what was recorded keeps the values it was computed with
        others = [y for y in others if not y.tracked]
    if not others and (root is None or root is x):
        del x._kin
        x._take(new)
        return
    whole = new
    if steps:
        base = family.base if root is None else root
        for y in others if root is None else ():
            base = _put(base, y._kin[1], y)
        whole = _put(base, steps, new)
    if root is not None and root is not x:
        root._take(whole)
    reached = steps if place is None else (*steps, place)
    for y in others:
        if not _apart(reached, y._kin[1], family.base):
            y._rebind(_shown(whole, y._kin[1]))
    x._take(new if new.dtype == whole.dtype else _shown(whole, steps))


def _shown(root: Any, steps: Sequence[Any]) -> Any:
    for step in steps:
        root = step.show(root)
    return root


def _put(root: Any, steps: Sequence[Any], value: Any) -> Any:
    """The root with a value in place of what the steps show of it."""
    parents = [root]
    for step in steps[:-1]:
        parents.append(step.show(parents[-1]))
    for parent, step in zip(reversed(parents), reversed(steps), strict=True):
        value = step.put(parent, value)
    return value


def _apart(one: Sequence[Any], other: Sequence[Any], base: Any) -> bool:
    """Whether two ways from the root are known to show no element in common."""
    return bool(one and other) and one[0].is_apart(other[0], base)
