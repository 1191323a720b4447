"""ZeRO: optimiser state, gradients and Parameters split over the devices that a batch is split over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.ops.card import card
from adjoint.optim.optimizer import Optimizer
from adjoint.optim.rule import Rule, Slots, State
from adjoint.parallel.constraint import Constrain
from adjoint.parallel.device_mesh import Mesh
from adjoint.parallel.layouts_on_mesh import Layout
from adjoint.parallel.parameter_layouts import NOTE, layout_of, place


@dataclass(frozen=True)
class ShardedRule(Rule):
    """An update rule of which each device does its part."""

    inner: Rule = field(default_factory=Rule)
    stage: int = 1
    whole: tuple[Layout, ...] = ()  # how the Parameters are used
    split: tuple[Layout, ...] = ()  # how the state lies

    @property
    def slots(self) -> tuple[str, ...]:
        return self.inner.slots

    def first(self, slot: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self.inner.first(slot, shape, dtype)

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        return self.inner.one(w, g, old, lr, shared, decay)

    def read(self, params: Sequence[Any]) -> Sequence[Any]:
        if self.stage < 3:
            return params
        return [card(Constrain, a, b)(p) for p, a, b in zip(params, self.whole, self.split, strict=True)]

    def collected(self, grads: Sequence[Any]) -> Sequence[Any]:
        return grads if self.stage < 2 else _laid(grads, self.split)

    def update(
        self, grads: Sequence[Any], state: State, params: Sequence[Any], lr: Any, decays: Sequence[Any] | None = None
    ) -> tuple[list[Any], State]:
        grads, params = _laid(grads, self.split), _laid(params, self.split)
        changed, fresh = self.inner.update(grads, state, params, lr, decays)
        for slot in self.slots:
            fresh[slot] = [
                _laid([x], [how])[0] if x.shape == p.shape else x
                for x, p, how in zip(fresh[slot], params, self.split, strict=True)
            ]
        return _laid(_laid(changed, self.split), self.split if self.stage == 3 else self.whole), fresh


def _laid(xs: Sequence[Any], layouts: Sequence[Layout]) -> list[Any]:
    return [card(Constrain, how, how)(x) for x, how in zip(xs, layouts, strict=True)]


def zero(optimizer: Optimizer, mesh: Mesh, stage: int = 1, axis: str = "data") -> Optimizer:
    """Split what an optimiser holds over the devices along an axis of a mesh, instead of a copy on each. The results are the same.

    Stage 1 splits the optimiser's state: a step updates on each device the part of the Parameters that it has state for, and gathers them.
    Stage 2 splits the gradients besides, so that they are summed only where they are needed. Stage 3 splits the Parameters too: they
    are gathered where the network reads them. An array is split along its longest axis that makes equal parts and that its layout leaves
    whole; one that has none stays whole. Gives back the optimiser.

    >>> import adjoint as ad
    >>> net = ad.nn.Dense(4, 8)
    >>> optimiser = ad.optim.Adam(net.trainable_params(), 0.01)
    >>> _ = ad.parallel.zero(optimiser, ad.parallel.mesh(data=1), stage=1)
    >>> ad.parallel.layout_of(optimiser.slots["moment1"][0])
    ('data',)
    """
    if not isinstance(optimizer, Optimizer):
        raise ArgumentTypeError(
            f"zero: expected an optimiser with state for each Parameter, a subclass of ad.optim.Optimizer, not {type(optimizer).__name__}{called_at()}"
        )
    if stage not in (1, 2, 3):
        raise ArgumentError(f"zero: stage must be 1, 2 or 3, not {stage!r}{called_at()}")
    if isinstance(optimizer.rule, ShardedRule):
        raise ArgumentError(
            f"zero: the optimiser's state is split already, by stage {optimizer.rule.stage}{called_at()}"
        )
    mesh.along(axis)
    whole = tuple(layout_of(p) for p in optimizer.parameters)
    split = tuple(
        split_further(layout, p.shape, mesh, axis) for layout, p in zip(whole, optimizer.parameters, strict=True)
    )
    own = {f.name: getattr(optimizer.rule, f.name) for f in fields(Rule)}
    optimizer.rule = ShardedRule(**own, inner=optimizer.rule, stage=stage, whole=whole, split=split)
    optimizer._update = optimizer._updating()
    for held in optimizer.slots.values():
        for slot, p, how in zip(held, optimizer.parameters, split, strict=True):
            slot.__dict__[NOTE] = how if slot.shape == p.shape else split_further((), slot.shape, mesh, axis)
    if stage == 3:
        for p, how in zip(optimizer.parameters, split, strict=True):
            p.__dict__[NOTE] = how
    return place(optimizer, mesh)  # type: ignore[no-any-return]


def split_further(layout: Layout, shape: Sequence[int], mesh: Mesh, axis: str) -> Layout:
    """A layout with the longest axis that it leaves whole split too; the layout itself if there is none that makes equal parts."""
    full = [*layout, *[None] * (len(shape) - len(layout))]
    parts = mesh.along(axis)
    free = [k for k, part in enumerate(full) if part is None and shape[k] and shape[k] % parts == 0]
    used = [name for part in full for name in (part if isinstance(part, tuple) else (part,))]
    if not free or axis in used:
        return layout
    longest = max(free, key=lambda k: (shape[k], -k))
    full[longest] = axis
    while full[-1] is None:
        full.pop()
    return tuple(full)


def gradient_layouts(optimizer: Optimizer, apart: str | tuple[str, ...] | None = None) -> list[Layout]:
    """How the gradients of an optimiser's Parameters lie where they are kept; those that devices keep `apart` along an axis have it first."""
    rule = optimizer.rule
    if isinstance(rule, ShardedRule) and rule.stage > 1 and apart is None:
        return list(rule.split)
    whole = rule.whole if isinstance(rule, ShardedRule) else [layout_of(p) for p in optimizer.parameters]
    return list(whole) if apart is None else [(apart, *layout) for layout in whole]
