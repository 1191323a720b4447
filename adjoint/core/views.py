"""Tensors that show elements of one another, as NumPy's views do: what is written to one is seen in all of them.

A slice, a transposed or a reshaped Tensor remembers the steps that lead to it from its root. A write puts the new elements into
the root by the same steps, and reads what the others show anew: all of it in ops, so that it is differentiated, batched and
traced like any other computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any
from weakref import ref

import numpy as np

from adjoint.core import context
from adjoint.core import layout as _layout
from adjoint.core.autograd import autograd
from adjoint.core.dispatch import Value, has_ended, snapshot
from adjoint.core.errors import AdjointError, ArgumentError, called_at
from adjoint.core.layout import UNKNOWN, layout_of

_AS_IT_LIES: Any = object()  # the layout of what the root held when its family began, not asked for yet

#: In a function whose `x[i] = v` is not to be seen by its caller: what the caller is to find in each Tensor written to so.
kept: ContextVar[dict[int, tuple[Any, Any]] | None] = ContextVar("kept", default=None)


class Family:
    """A root and the Tensors that show parts of it, none of which it keeps alive."""

    __slots__ = ("__weakref__", "base", "is_array", "layout", "limit", "refusals", "root", "shape", "views")

    def __init__(self, root: Any, layout: Any = _AS_IT_LIES) -> None:
        self.root: Any = ref(root)
        self.base = root._trace.twin(root)  # what the root held, for when it is gone
        self.shape = root.shape
        self.layout = layout  # how NumPy's array for the root lies in memory, whatever has been written to it since
        self.views: list[Any] = []
        self.limit = 16
        self.refusals: list[Any] = []  # called before a write to x, as refuse(x): they may raise
        self.is_array = False  # whether the root is an array even without axes: `x += 1` writes into it

    def add(self, view: Any) -> None:
        self.views.append(ref(view))
        if len(self.views) > self.limit:
            self.views = [r for r in self.views if r() is not None]
            self.limit = 16 + 2 * len(self.views)

    def others(self, x: Any) -> list[Any]:
        """The views beside x that are still there."""
        self.views = [r for r in self.views if r() is not None]
        found = (r() for r in self.views)
        return [y for y in found if y is not None and y is not x and y._kin is not None and y._kin[0] is self]


def relate(view: Any, x: Any, step: Any) -> None:
    """Note that `view` is what `step` shows of `x`; a stack of unknown length belongs to a backward pass, which writes to none."""
    if (shape := x.shape) and min(shape) < 0:
        return
    kin = getattr(x, "_kin", None)
    if kin is None:
        kin = x._kin = (Family(x), ())
    elif kin[0].root() is None and not kin[0].refusals and not kin[0].others(x):
        kin = x._kin = (Family(x, layout(x)), ())
    family, steps = kin
    if step.ordered and not (shown := _is_shown(family, steps, step)):
        if shown is None:
            refuse = _Unordered(family, view)
            guard(x, refuse)
            guard(view, refuse)
        return
    view._kin = (family, (*steps, step))
    family.add(view)


def _is_shown(family: Family, steps: tuple[Any, ...], step: Any) -> bool | None:
    """Whether NumPy shows the elements, not copies, after a step that depends on the layout; None: nobody knows."""
    lies = _root_layout(family)
    if (tracer := context.tracer.get()) is not None:
        tracer.reshaped = tracer.reshaped or len(family.shape) > 1
    if lies is None and not steps:
        return True
    if lies is UNKNOWN:
        return None
    return bool(step.is_view(_after(family, steps)))


class _Unordered:
    """Refuses a write to a family, or to a Tensor that may or may not show its elements, while both are there."""

    def __init__(self, family: Family, view: Any) -> None:
        self.family, self.view = ref(family), ref(view)

    def lasts(self) -> bool:
        """Whether both are there."""
        family, view = self.family(), self.view()
        return family is not None and view is not None and bool(family.root() is not None or family.others(view))

    def __call__(self, written: Any) -> None:
        if self.lasts():
            raise AdjointError(
                "a Tensor is written to in place after a reshape or ravel of it, and whether NumPy would show the write in both "
                f"depends on an order in memory that is not known here. Reshape x.copy(), or write to y.copy(){called_at()}"
            )


class _Shown:
    """Refuses a write to a Tensor while there is a NumPy array of its elements, in which NumPy would show it."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = ref(array)

    def lasts(self) -> bool:
        """Whether the array is there."""
        return self.array() is not None

    def __call__(self, written: Any) -> None:
        if self.lasts():
            raise AdjointError(
                "a Tensor is written to in place while there is a NumPy array of it (np.asarray(x)), in which NumPy would show "
                f"the write. Use the Tensor itself, or take np.array(x), a copy{called_at()}"
            )


def _root_layout(family: Family) -> Any:
    if family.layout is _AS_IT_LIES:
        family.layout = layout_of(family.base)
    return family.layout


def _after(family: Family, steps: Sequence[Any]) -> np.ndarray:
    """An array of pairs that lies as NumPy's after these steps from the root."""
    part = _layout.written_out(_root_layout(family), family.shape)
    for step in steps:
        part = step.eval(np, part)
    return part


def layout(x: Any) -> Any:
    """How NumPy's array for x lies in memory: see `core.layout`."""
    kin = getattr(x, "_kin", None)
    if kin is None:
        return layout_of(x)
    family, steps = kin
    lies = _root_layout(family)
    return lies if lies is UNKNOWN or not steps else _layout.tidy(_after(family, steps))


def layout_in(x: Any, order: str) -> Any:
    """How a copy of x lies in memory, by NumPy's word for the order."""
    if order == "C":
        return None
    columns = _layout.tidy(np.empty(x.shape, _layout.PAIR, order="F"))
    if order == "A":
        return columns if _layout.same(layout(x), columns) else None
    if order not in ("F", "K"):
        raise ArgumentError(f"copy: order must be 'C', 'F', 'A' or 'K', not {order!r}{called_at()}")
    return columns if order == "F" else _layout.compact(layout(x))


def settle(x: Any, wanted: Any) -> Any:
    """The same Tensor, whose elements no other shows, with its array in this layout."""
    if _layout.same(layout(x), wanted):
        return x
    alone(x)
    if wanted is not UNKNOWN:
        x._rebind(_layout.reordered(x, _layout.compact(wanted)))
    if not _layout.same(layout_of(x), wanted):  # there are gaps, or the order is not known
        x._kin = (Family(x, wanted), ())
    return x


def like(y: Any, x: Any) -> Any:
    """y, a copy of x that keeps the order of its axes."""
    return settle(y, _layout.compact(layout(x)))


def guard(x: Any, refuse: Any) -> None:
    """Call `refuse(y)` before each write to a Tensor y that may be seen in x, as long as `refuse.lasts()`."""
    if getattr(x, "_kin", None) is None:
        x._kin = (Family(x), ())
    family = x._kin[0]
    if refuse not in family.refusals:
        family.refusals = [*(r for r in family.refusals if r.lasts()), refuse]


def as_array(x: Any) -> Any:
    """The same Tensor, which stands for an array of the caller's: it is written to even if it has no axes."""
    x._kin = (Family(x), ())
    x._kin[0].is_array = True
    return x


def is_array(x: Any) -> bool:
    """Whether `x += 1` writes into x; what has no axes is a number, unless it stands for an array."""
    kin = getattr(x, "_kin", None)
    return bool(x.shape) or (kin is not None and not kin[1] and kin[0].is_array)


def updates(x: Any) -> bool:
    """The same where `x += 1` is traced: the graph is made anew for an argument of the other kind."""
    if not x.shape and (tracer := context.tracer.get()) is not None:
        value = x
        while isinstance(value, Value):  # through the transforms inside the traced function
            value = value._value
        tracer.pointed |= any(value is node for node in tracer.points)
    return is_array(x)


def note_array(x: Any, array: np.ndarray) -> None:
    """Refuse writes to x while there is this array of its elements: NumPy would show them there."""
    guard(x, _Shown(array))


def keep(x: Any, shown: bool = False, again: bool = False) -> None:
    """Before a write to x: note what x holds for the caller, who is to see this write and later ones only if it is `shown`.

    What was noted before stays, unless x was shown until now and is to be noted `again`.
    """
    if (found := kept.get()) is not None and (id(x) not in found or (again and found[id(x)][1] is x)):
        found[id(x)] = (x, x if shown else snapshot(x))


def outside(x: Any) -> Any:
    """What the caller is to find in x."""
    found = kept.get() or {}
    return found[id(x)][1] if id(x) in found else x


def part(x: Any) -> Any:
    """The same Tensor, from here on apart from those that show its elements, or whose elements it shows: they keep theirs."""
    kin = getattr(x, "_kin", None)
    if kin is not None:
        if not kin[1]:
            kin[0].root = _nobody
        x._kin = None
    return x


def _nobody() -> None: ...


def alone(x: Any) -> Any:
    """The same Tensor, sharing its elements with none; a plain array as it is."""
    if isinstance(x, Value):
        x._kin = None
    return x


def own(y: Any, *inputs: Any) -> Any:
    """y, and where it is one of the inputs or shows elements of it a Tensor of its own: a write to one is not seen in the other."""
    return like(y.copy(), y) if isinstance(y, Value) and any(related(y, x) for x in inputs) else y


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
    if (tracer := context.tracer.get()) is not None:
        tracer.wrote = True
    kin = getattr(x, "_kin", None)
    if kin is None:
        _replace(x, new)
        return
    family, steps = kin
    for refuse in family.refusals:
        refuse(x)
    root = family.root()
    others = family.others(x)
    if tracer is not None:  # a loop's body is traced more than once: what an earlier time left can never be used
        others = [y for y in others if not has_ended(y)]
    if (
        root is not None and root.tracked and autograd.is_leaf(root)
    ):  # what was recorded keeps the values it was computed with
        others = [y for y in others if not y.tracked]
    if not others and (root is None or root is x):
        _replace(x, new)
        if family.is_array:
            as_array(x)
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


def _replace(x: Any, new: Any) -> None:
    """Bind x, whose elements no other shows, to a new value; NumPy's array lies as it did."""
    lies = layout(x) if len(x.shape) > 1 else None
    x._take(new)
    alone(x)
    if lies is not None or (len(x.shape) > 1 and layout_of(x) is not None):
        settle(x, lies)


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
