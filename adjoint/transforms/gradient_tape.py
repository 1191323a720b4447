"""GradientTape: record everything in a `with` block, then ask for gradients."""

from __future__ import annotations

from contextvars import Token
from typing import Any

import numpy as np

from adjoint.core import context, tree
from adjoint.core.absent import ZERO
from adjoint.core.arrays import kept
from adjoint.core.dispatch import EAGER, Value, beside, make, wrap
from adjoint.core.errors import ArgumentError, EndedTransformError, NotDifferentiableError, called_at
from adjoint.core.parameter import PARAMETERS, Parameter, plain
from adjoint.core.spec import dtype_of, is_inexact, shape_of
from adjoint.ops.casting import replaced
from adjoint.ops.language import reshape
from adjoint.transforms.batch import Batch
from adjoint.transforms.seeds import checked, unit
from adjoint.transforms.tape import Record, Tape, sweep


class GradientTape(Tape):
    """Records the ops inside a `with` block; `gradient` then differentiates what they computed.

    Every floating-point Tensor used inside is watched, so `watch` is needed only for arrays and numbers, of which it
    returns the Tensor to use. A tape gives one gradient unless it is `persistent`.
    The manner of TensorFlow; ours is `grad`.

    >>> import adjoint as ad
    >>> x = ad.Tensor([3.0])
    >>> with ad.GradientTape() as tape:
    ...     y = x * x
    >>> print(tape.gradient(y, x))
    [6.]
    """

    def __init__(self, persistent: bool = False) -> None:
        super().__init__("GradientTape")
        self.persistent = persistent
        self._leaves: dict[int, tuple[Any, Any, Record]] = {}  # id -> the user's object, its tracked Tensor and Record
        self._outer: Any = None
        self._token: Token | None = None
        self._used = False

    def __enter__(self) -> GradientTape:
        if self._token is not None:
            raise EndedTransformError(f"this GradientTape is already recording{called_at()}")
        self._outer = context.open_tape.get()
        self.level = context.new_level()
        self.base = EAGER if self._outer is None else None
        self._used, self.closed = False, False
        self._leaves.clear()
        self._token = context.open_tape.set(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._token is not None:
            context.open_tape.reset(self._token)
            self._token, self.closed = None, True

    # ------------------------------------------------------------ recording

    def leaf(self, x: Any) -> Any:
        """The tracked Tensor that stands for `x` on this tape."""
        if isinstance(x, Value) and self.level <= x._trace.level < PARAMETERS.level:
            return x  # made on this tape, or inside a transform that began later
        known = self._leaves.get(id(x))
        if known is None:
            below = self._outer.leaf(x) if self._outer is not None else plain(x) if isinstance(x, Parameter) else x
            if isinstance(below, Value):  # `x[i] = v` may change x itself
                below = below._value if below._trace is EAGER else make(below._value, below._trace, below._extra)
            tracked = self.track(kept(below))
            known = self._leaves[id(x)] = (x, tracked, tracked._extra)
            self._leaves[id(tracked)] = (tracked, *known[1:])  # `x[i] = v` may rebind it
            if isinstance(x, Parameter):
                tracked._extra.hooks = getattr(x._extra, "hooks", None)
        return known[1]

    def store(self, p: Parameter, value: Any) -> None:
        """Let a Parameter stand for another value from here on; its gradient adds up all that it stands for."""
        tape, new = self, replaced(self.leaf(p), value)
        while tape is not None and isinstance(new, Value) and new._trace is tape:
            tape._leaves[id(p)] = (p, new, tape._leaves[id(p)][2])
            tape, new = tape._outer, new._value

    def watch(self, x: Any) -> Any:
        """Track `x` from here on, and return the Tensor to compute with (needed for arrays and Python numbers)."""
        for leaf in tree.leaves(x):
            if not is_inexact(dtype_of(leaf)):
                raise NotDifferentiableError(
                    f"watch: {dtype_of(leaf)} values have no derivative; pass floats{called_at()}"
                )
        return tree.map(self.leaf, x)

    def record(self, op: Any, xs: tuple[Any, ...]) -> Any:
        """Apply an op to Tensors that no inner transform tracks."""
        return self.apply(op, tuple(self._noted(x) for x in xs))

    def _noted(self, x: Any) -> Any:
        if not isinstance(x, Value) or x._trace is self:
            return x
        return self.leaf(x) if is_inexact(dtype_of(x)) else x

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        inner = context.open_tape.get()
        if inner is not None and inner.level > self.level:
            return inner.record(op, xs)
        token = context.open_tape.set(self._outer if self._token is not None else inner)
        try:
            if self._token is not None:
                return super().apply(op, tuple(self._noted(x) for x in xs))
            # After the block the Tensors made in it are plain values.
            return wrap(op(*[x._value if isinstance(x, Value) and x._trace is self else x for x in xs]))
        finally:
            context.open_tape.reset(token)

    # ------------------------------------------------------------ derivatives

    def gradient(self, target: Any, sources: Any, output_gradients: Any = None) -> Any:
        """The derivative of the sum of `target` (or its product with `output_gradients`) by each of `sources`."""
        nodes = self._start(target, sources)
        targets = list(map(self._unwrapped, tree.leaves(target)))
        given = [output_gradients] if tree.is_leaf(target) else tree.leaves_like(output_gradients, target)
        if output_gradients is None:
            seeds = [unit(y) for y in targets]
        elif len(given) == len(targets):
            seeds = [checked("gradient: output_gradients", g, y) for g, y in zip(given, targets, strict=True)]
        else:
            raise ArgumentError(f"gradient: {len(given)} output_gradients for {len(targets)} targets{called_at()}")
        keep = {n for n in nodes if n is not None}
        with self._paused():
            found = sweep(self.seeds(targets, seeds), keep)
        return self._shaped(sources, [found.get(n, ZERO) for n in nodes])

    def jacobian(self, target: Any, sources: Any) -> Any:
        """The derivative of each element of `target` by each element of `sources`: target.shape + source.shape."""
        if not isinstance(target, Value):
            raise ArgumentError(f"jacobian: the target must be one Tensor, not a {type(target).__name__}{called_at()}")
        if any(dtype_of(x).kind == "c" for x in tree.leaves(sources)):
            raise NotDifferentiableError(
                f"jacobian: a complex source has no single Jacobian. Watch its real and imaginary parts{called_at()}"
            )
        nodes = self._start(target, sources)
        target = self._unwrapped(target)
        shape, n = target.shape, target.size
        basis = np.eye(n, dtype=target.dtype).reshape(n, *shape)

        def pulled(basis: Any) -> list[Any]:
            batch = Batch(n)
            seed = batch.track(beside(basis, target), 0)
            found = sweep(self.seeds([target], [seed]), {m for m in nodes if m is not None})
            rows = [found.get(m, ZERO) for m in nodes]
            return [r if r is ZERO else batch.materialize(r) for r in rows]

        with self._paused():
            rows = pulled(basis)
            if target.dtype.kind == "c":  # a cotangent of 1 pulls the real parts back, one of i the others
                pairs = zip(rows, pulled(basis * 1j), strict=True)
                rows = [re if re is ZERO else re + 1j * im for re, im in pairs]
        rows = [r if r is ZERO else reshape(r, shape + shape_of(r)[1:]) for r in rows]
        return self._shaped(sources, rows, shape)

    def _paused(self) -> Any:
        return context.setting(context.open_tape, self._outer if self._token is not None else context.open_tape.get())

    def _unwrapped(self, y: Any) -> Any:
        """The Tensor of this tape that a tape inside it has recorded in turn."""
        while isinstance(y, Value) and y._trace is not self and isinstance(y._trace, GradientTape):
            y = y._value
        return y

    def _owns(self, y: Any) -> bool:
        return isinstance(y, Value) and y._trace is self

    def _start(self, target: Any, sources: Any) -> list[Any]:
        if self._used and not self.persistent:
            raise EndedTransformError(
                f"this GradientTape has given its gradient; make it GradientTape(persistent=True) to ask again{called_at()}"
            )
        targets = tree.leaves(target)
        if not any(self._owns(self._unwrapped(y)) for y in targets):
            raise ArgumentError(
                "gradient: the target was not computed inside this tape's `with` block (or not from floating-point "
                f"Tensors){called_at()}"
            )
        self._used = True
        return [self._node(x) for x in tree.leaves(sources)]

    def _node(self, x: Any) -> Record | None:
        known = self._leaves.get(id(x))
        if known is not None:
            return known[2]
        x = self._unwrapped(x)
        return x._extra if self._owns(x) else None

    def _shaped(self, sources: Any, gradients: list[Any], lead: tuple[int, ...] = ()) -> Any:
        xs, rebuild = tree.flatten(sources)
        if not self.persistent:
            self._leaves.clear()
        return rebuild([
            wrap(beside(np.zeros(lead + shape_of(x), dtype_of(x)), x) if g is ZERO else g) for x, g in zip(xs, gradients, strict=True)
        ])  # fmt: skip
