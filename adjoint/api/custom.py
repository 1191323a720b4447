"""Derivatives of the user's own: custom_vjp, custom_jvp, and replacing a card's rule.

A function with its own rule is called as one op. Its kernel runs the function; its missing mode is derived: a rule that
is linear in the tangent is transposed by reverse mode, and the other way round, so one rule serves both modes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.batching import vmap
from adjoint.api.grad import vjp
from adjoint.api.inputs import name_of
from adjoint.core import context, rules, tree
from adjoint.core.absent import ZERO
from adjoint.core.arrays import kept
from adjoint.core.dispatch import EAGER, HALF, Value, lift, wrap
from adjoint.core.errors import ArgumentError, CutGradientError, NoRuleError, boundary, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import Spec, dtype_of, is_inexact, shape_of, spec_of
from adjoint.core.verbs import verbs
from adjoint.ops.card import Op


class CustomCall(Op):
    """One call of a user's function on flat inputs; subclasses hold the user's rule."""

    opaque = True

    def __init__(self, name: str, fn: Callable[..., Any], rule: Callable[..., Any]) -> None:
        self.name, self.fn, self.rule = name, fn, rule
        self.rebuild: Callable[[list[Any]], Any] = lambda ys: ys[0]

    def __repr__(self) -> str:
        return self.name

    def infer(self, *specs: Spec) -> Any:
        y = self.eval(np, *(np.zeros(s.shape, s.dtype) for s in specs))
        return tuple(map(spec_of, y)) if isinstance(y, tuple) else spec_of(y)

    def eval(self, xp: Any, *xs: Any) -> Any:
        with context.setting(context.open_tape, None):  # plain values: an open tape has seen the call as a whole
            out = context.readable(self.fn)(*map(wrap, xs))
        leaves, self.rebuild = tree.flatten(out)
        if not leaves:
            raise ArgumentError(f"{self.name} returned nothing (did you forget `return`?){called_at()}")
        for y in leaves:
            if isinstance(y, Value) and y._trace is not EAGER and y._trace is not HALF:
                raise CutGradientError(
                    f"{self.name} has a derivative rule of its own and uses a Tensor or Parameter from outside that is "
                    f"being differentiated; the rule cannot see it. Pass it as an argument.{called_at()}"
                )
        values = tuple(lift(y) if isinstance(y, Value) else kept(np.asarray(y)) for y in leaves)
        return values if len(values) > 1 else values[0]

    def output(self, ys: Any) -> Any:
        """The function's output in its own structure."""
        return self.rebuild(list(ys) if isinstance(ys, tuple) else [ys])

    @classmethod
    def samples(cls, draw: Any) -> Any:
        yield from ()

    def __hash__(self) -> int:
        return id(self)


def _flat(ys: Any) -> tuple[Any, ...]:
    return ys if isinstance(ys, tuple) else (ys,)


def _given_back(what: str, grads: Any, xs: Sequence[Any]) -> list[Any]:
    """A rule's results, one for each input, as values one level below; None counts as zero."""
    grads = list(grads) if isinstance(grads, (tuple, list)) else [grads]
    if len(grads) != len(xs):
        raise ArgumentError(f"{what} returned {len(grads)} gradients for {len(xs)} inputs{called_at()}")
    result = []
    for i, (g, x) in enumerate(zip(grads, xs, strict=True)):
        if g is None or not is_inexact(dtype_of(x)):
            result.append(ZERO)
            continue
        if shape_of(g) != shape_of(x):
            raise ArgumentError(
                f"{what} returned a gradient of shape {shape_of(g)} for input {i} of shape {shape_of(x)}{called_at()}"
            )
        result.append(lift(kept(g) if dtype_of(g) == dtype_of(x) else verbs.cast(g, dtype_of(x))))
    return result


class VjpCall(CustomCall):
    """A call whose reverse rule the user gave: rule(*inputs, out, dout) -> one gradient for each input."""

    def vjp(self, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        dout = self.output(tuple(map(wrap, g)) if isinstance(g, tuple) else wrap(g))
        out = self.output(tuple(map(wrap, y)) if isinstance(y, tuple) else wrap(y))
        return tuple(_given_back(f"the vjp rule of {self.name}", self.rule(*map(wrap, xs), out, dout), xs))

    def jvp(self, ts: Sequence[Any], y: Any, *xs: Any) -> Any:
        """The rule is linear in its cotangent; its transpose takes tangents forward."""
        moving = [i for i, t in enumerate(ts) if t is not ZERO]

        def pulled(*gs: Any) -> tuple[Any, ...]:
            back = self.vjp(gs if isinstance(y, tuple) else gs[0], y, *xs)
            zeros = [np.zeros(shape_of(xs[i]), dtype_of(xs[i])) for i in moving]
            return tuple(z if back[i] is ZERO else back[i] for i, z in zip(moving, zeros, strict=True))

        _, push = vjp(pulled, *(wrap(np.ones(shape_of(v), dtype_of(v))) for v in _flat(y)))
        pushed = tuple(lift(t) for t in push(*(wrap(ts[i]) for i in moving)))
        return pushed if isinstance(y, tuple) else pushed[0]

    def vmap(self, dims: Sequence[int | None], *xs: Any) -> Any:
        fn = vmap(self.fn, in_axes=tuple(dims))

        def filled(*args: Any) -> list[Any]:
            return [verbs.zeros_like(x) if g is None else g for g, x in zip(self.rule(*args), args, strict=False)]

        def rule(*args: Any) -> list[Any]:
            grads = vmap(filled, in_axes=(*dims, 0, 0))(*args)
            return [_to_axis(g, d) for g, d in zip(grads, dims, strict=True)]

        batched = VjpCall(f"vmap({self.name})", fn, rule)
        ys = batched(*xs)
        self.rebuild = batched.rebuild
        return ys


def _to_axis(g: Any, d: int | None) -> Any:
    """A batched gradient in the place of its input's batch axis; summed for an input that all examples share."""
    return verbs.sum_axes(g, (0,)) if d is None else verbs.moveaxis(g, 0, d)


class JvpCall(CustomCall):
    """A call whose forward rule the user gave: rule(inputs, tangents) -> (out, tangent)."""

    def jvp(self, ts: Sequence[Any], y: Any, *xs: Any) -> Any:
        vectors = [np.zeros(shape_of(x), dtype_of(x)) if t is ZERO else t for t, x in zip(ts, xs, strict=True)]
        found = self.rule(tuple(map(wrap, xs)), tuple(map(wrap, vectors)))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise ArgumentError(f"the jvp rule of {self.name} must return (output, tangent){called_at()}")
        leaves = tree.leaves_like(found[1], self.output(y))
        if [shape_of(t) for t in leaves] != [shape_of(v) for v in _flat(y)]:
            shapes = ", ".join(str(shape_of(t)) for t in leaves)
            raise ArgumentError(f"the jvp rule of {self.name} returned tangents of shape {shapes}{called_at()}")
        pushed = tuple(
            lift(kept(t) if dtype_of(t) == dtype_of(v) else verbs.cast(t, dtype_of(v)))
            for t, v in zip(leaves, _flat(y), strict=True)
        )
        return pushed if isinstance(y, tuple) else pushed[0]

    def vjp(self, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        """The rule is linear in its tangents; its transpose takes cotangents back."""
        moving = [i for i, x in enumerate(xs) if is_inexact(dtype_of(x))]

        def pushed(*ts: Any) -> Any:
            full: list[Any] = [ZERO] * len(xs)
            for i, t in zip(moving, ts, strict=True):
                full[i] = t
            return self.jvp(full, y, *xs)

        _, pull = vjp(pushed, *(wrap(np.zeros(shape_of(xs[i]), dtype_of(xs[i]))) for i in moving))
        result: list[Any] = [ZERO] * len(xs)
        for i, c in zip(moving, pull(*map(wrap, _flat(g))), strict=True):
            result[i] = lift(c)
        return tuple(result)

    def vmap(self, dims: Sequence[int | None], *xs: Any) -> Any:
        fn = vmap(self.fn, in_axes=tuple(dims))
        rule = vmap(self.rule, in_axes=(tuple(dims), tuple(dims)))
        batched = JvpCall(f"vmap({self.name})", fn, rule)
        ys = batched(*xs)
        self.rebuild = batched.rebuild
        return ys


class _Custom:
    """A function with a derivative rule of its own."""

    kind: type[CustomCall]
    setter: str

    def __init__(self, fn: Callable[..., Any], rule: Callable[..., Any] | None = None) -> None:
        if not callable(fn):
            raise TypeError(f"{type(self).__name__}: a function is needed, not {type(fn).__name__}")
        self.fn, self.rule = fn, rule
        functools.update_wrapper(self, fn)

    def _define(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        if self.rule is not None:  # without one it has not been called
            rules.changed()
        self.rule = rule
        return rule

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.rule is None:
            raise NoRuleError(name_of(self.fn), self.setter[3:], f"Give it one with @{name_of(self.fn)}.{self.setter}.")
        leaves, rebuild = tree.flatten(args)
        spots = [i for i, x in enumerate(leaves) if isinstance(x, (Value, np.ndarray, np.generic, float, complex))]

        def on_arrays(*xs: Any) -> Any:
            filled = list(leaves)
            for i, x in zip(spots, xs, strict=True):
                filled[i] = x
            return context.readable(self.fn)(*rebuild(filled), **kwargs)

        call = self.kind(name_of(self.fn), on_arrays, self._flat_rule(leaves, rebuild, spots))
        xs = [resolve(x) if isinstance(x, Parameter) else x for x in (leaves[i] for i in spots)]
        return call.output(wrap(call(*xs)))

    def _flat_rule(self, leaves: list[Any], rebuild: Any, spots: list[int]) -> Callable[..., Any]:
        raise NotImplementedError


class custom_vjp(_Custom):
    """A function whose reverse derivative is the user's: `rule(*inputs, out, dout)` returns one gradient per input.

    Forward mode and higher orders follow from the rule. Give the rule as a second argument or with `@f.defvjp`.

    >>> import adjoint as ad
    >>> @ad.custom_vjp
    ... def clipped(x):
    ...     return x * 10
    >>> @clipped.defvjp
    ... def clipped_vjp(x, out, dout):
    ...     return (ad.ops.clamp(dout * 10, -1, 1),)
    >>> print(ad.grad(clipped)(3.0))
    1.0
    """

    kind, setter = VjpCall, "defvjp"

    def defvjp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule; usable as a decorator."""
        return self._define(rule)

    def _flat_rule(self, leaves: list[Any], rebuild: Any, spots: list[int]) -> Callable[..., Any]:
        def rule(*args: Any) -> list[Any]:
            *xs, out, dout = args
            filled = list(leaves)
            for i, x in zip(spots, xs, strict=True):
                filled[i] = x
            inputs = rebuild(filled)
            grads = self.rule(*inputs, out, dout)  # type: ignore[misc]
            grads = tuple(grads) if isinstance(grads, (tuple, list)) else (grads,)
            if len(grads) != len(inputs):
                raise ArgumentError(
                    f"the vjp rule of {name_of(self.fn)} returned {len(grads)} gradients for {len(inputs)} inputs{called_at()}"
                )
            picked: list[Any] = []
            for g, x in zip(grads, inputs, strict=True):
                count = len(tree.leaves(x))
                parts = [None] * count if g is None or not count else tree.leaves_like(g, x)
                if len(parts) != count:
                    raise ArgumentError(
                        f"the vjp rule of {name_of(self.fn)} returned a gradient unlike its input in structure{called_at()}"
                    )
                picked += parts
            return [picked[i] for i in spots]

        return rule


class custom_jvp(_Custom):
    """A function whose forward derivative is the user's: `rule(inputs, tangents)` returns `(output, tangent)`.

    Reverse mode and higher orders follow from the rule. Give the rule as a second argument or with `@f.defjvp`.

    >>> import adjoint as ad
    >>> @ad.custom_jvp
    ... def cube(x):
    ...     return x ** 3
    >>> @cube.defjvp
    ... def cube_jvp(inputs, tangents):
    ...     (x,), (t,) = inputs, tangents
    ...     return x ** 3, 3 * x ** 2 * t
    >>> print(ad.grad(cube)(2.0), ad.grad(ad.grad(cube))(2.0))
    12.0 12.0
    """

    kind, setter = JvpCall, "defjvp"

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule; usable as a decorator."""
        return self._define(rule)

    def _flat_rule(self, leaves: list[Any], rebuild: Any, spots: list[int]) -> Callable[..., Any]:
        def rule(inputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
            filled: list[Any] = list(leaves)
            moved: list[Any] = [0 if isinstance(x, int) else None for x in leaves]  # a whole number stands still
            for i, x, t in zip(spots, inputs, tangents, strict=True):
                filled[i], moved[i] = x, t
            return self.rule(rebuild(filled), rebuild(moved))  # type: ignore[misc]

        return rule


class BpropGetters:
    """Replaces the reverse rule of a card, or of a Cell class, from outside.

    >>> import adjoint as ad
    >>> @ad.bprop_getters.register(ad.ops.Sin)
    ... def get_bprop_sin(self):
    ...     def bprop(x, out, dout):
    ...         return (dout * 100,)
    ...     return bprop
    >>> print(ad.grad(ad.ops.sin)(0.0))
    100.0
    >>> ad.bprop_getters.restore(ad.ops.Sin)
    >>> print(ad.grad(ad.ops.sin)(0.0))
    1.0
    """

    def __init__(self) -> None:
        self._replaced: dict[type, Any] = {}

    def register(self, cls: type) -> Callable[[Callable[[Any], Callable[..., Any]]], Callable[..., Any]]:
        """Use the rule that `getter(self)` returns, `bprop(*inputs, out, dout)`, in place of the class's own."""
        attribute = "vjp" if isinstance(cls, type) and issubclass(cls, Op) else "bprop"
        if not isinstance(cls, type) or (attribute == "bprop" and not hasattr(cls, "construct")):
            raise TypeError(f"bprop_getters.register takes an op card or a Cell class, not {cls!r}{called_at()}")

        def decorate(getter: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
            self._replaced.setdefault(cls, cls.__dict__.get(attribute))
            if attribute == "vjp":
                setattr(cls, attribute, _card_vjp(getter))
            else:
                setattr(cls, attribute, lambda self, *args: getter(self)(*args))
            rules.changed()
            return getter

        return decorate

    def restore(self, cls: type) -> None:
        """Give the class its own rule back."""
        if cls not in self._replaced:
            return
        attribute = "vjp" if issubclass(cls, Op) else "bprop"
        original = self._replaced.pop(cls)
        if original is None:
            delattr(cls, attribute)
        else:
            setattr(cls, attribute, original)
        rules.changed()


def _card_vjp(getter: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    def replaced_vjp(self: Any, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        grads = getter(self)(*map(wrap, xs), wrap(y), wrap(g))
        return tuple(_given_back(f"the bprop registered for {type(self).__name__}", grads, xs))

    return replaced_vjp


bprop_getters = BpropGetters()
