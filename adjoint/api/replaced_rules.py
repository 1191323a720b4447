"""Replacing the derivative rule of a card, or of a Cell class, from outside: MindSpore's registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.grad import vjp
from adjoint.api.ruled_calls import VjpCall, batched_rule, given_back, transposed_vjp
from adjoint.core import context, rules
from adjoint.core.absent import ZERO, instantiate
from adjoint.core.dispatch import lift, wrap
from adjoint.core.errors import ArgumentTypeError, called_at
from adjoint.core.spec import dtype_of, has_derivative, is_inexact, spec_of
from adjoint.ops.card import Op


class BpropGetters:
    """Replaces the derivative of a card, or of a Cell class, from outside, in both modes and in graphs compiled before.

    Forward mode takes the transpose of the rule.

    >>> import adjoint as ad
    >>> @ad.bprop_getters.register(ad.ops.Sin)
    ... def get_bprop_sin(self):
    ...     def bprop(x, out, dout):
    ...         return (dout * 100,)
    ...     return bprop
    >>> print(ad.grad(ad.ops.sin)(0.0), ad.jvp(ad.ops.sin, 0.0, 1.0)[1])
    100.0 100.0
    >>> ad.bprop_getters.restore(ad.ops.Sin)
    >>> print(ad.grad(ad.ops.sin)(0.0))
    1.0
    """

    def __init__(self) -> None:
        self._own: dict[type, dict[str, Any]] = {}  # the attributes of each class that were replaced

    def register(self, cls: type) -> Callable[[Callable[[Any], Callable[..., Any]]], Callable[..., Any]]:
        """Use the rule that `getter(self)` returns, `bprop(*inputs, out, dout)`, in place of the class's own."""
        is_card = isinstance(cls, type) and issubclass(cls, Op)
        if not is_card and not (isinstance(cls, type) and hasattr(cls, "construct")):
            raise ArgumentTypeError(
                f"bprop_getters.register takes an op card or a Cell class, not {cls!r}{called_at()}"
            )
        if is_card and not _has_float_results(cls):
            raise ArgumentTypeError(
                f"bprop_getters.register: {cls.__name__} gives integers or truth values, which no gradient reaches{called_at()}"
            )

        def decorate(getter: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
            self.restore(cls)
            new = _card_rules(cls, getter) if is_card else {"bprop": lambda self, *args: getter(self)(*args)}
            self._own[cls] = {name: cls.__dict__[name] for name in new if name in cls.__dict__}
            for name, rule in new.items():
                setattr(cls, name, rule)
            self._note(cls, getter)
            return getter

        return decorate

    def restore(self, cls: type) -> None:
        """Give the class its own rule back."""
        if cls not in self._own:
            return
        own = self._own.pop(cls)
        for name in _REPLACED if issubclass(cls, Op) else ("bprop",):
            if name in own:
                setattr(cls, name, own[name])
            else:
                delattr(cls, name)
        self._note(cls, None)

    def _note(self, cls: type, getter: Callable[..., Any] | None) -> None:
        others = {c: g for c, g in rules.replaced.items() if c is not cls}
        rules.replaced = {**others, cls: getter} if getter is not None and issubclass(cls, Op) else others
        rules.changed()


_REPLACED = ("vjp", "jvp", "vmap", "differentiable")


def _card_rules(cls: type, getter: Callable[[Any], Callable[..., Any]]) -> dict[str, Any]:
    """The attributes of a card that take part in its derivatives, made from a reverse rule."""
    own_vjp, own_vmap = cls.vjp, cls.vmap  # type: ignore[attr-defined]
    what, known = f"the bprop registered for {cls.__name__}", set[Any]()

    def pull(self: Any, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        if rules.transposing.get():
            return own_vjp(self, g, y, *xs)
        if cls.takes_zero:  # type: ignore[attr-defined]
            g = tuple(map(instantiate, g, y)) if type(y) is tuple else instantiate(g, y)
        return tuple(given_back(what, context.readable(getter(self))(*map(wrap, xs), wrap(y), wrap(g)), xs))

    def push(self: Any, ts: Sequence[Any], y: Any, *xs: Any) -> Any:
        seen = known if vars(self) == {} else set[Any]()  # the rule may depend on the card's fields
        return transposed_vjp(self, cls.__name__, seen, ts, y, xs)

    def batch(self: Any, dims: Sequence[int | None], *xs: Any) -> Any:
        """The card's own batching, as one call that has the rule of each example."""
        rule = batched_rule(lambda *args: context.readable(getter(self))(*args), dims)
        return CardBatch(f"vmap({self})", lambda *values: own_vmap(self, dims, *values), rule)(*xs)

    return dict(zip(_REPLACED, (pull, push, batch, True), strict=True))


class CardBatch(VjpCall):
    """A batch of calls of a card whose rule was replaced."""

    def vjp(self, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        if not rules.transposing.get():
            return super().vjp(g, y, *xs)
        floats = [i for i, x in enumerate(xs) if has_derivative(dtype_of(x))]

        def of_floats(*values: Any) -> Any:
            found = dict(zip(floats, values, strict=True))
            return self.fn(*(found.get(i, x) for i, x in enumerate(xs)))

        _, pull = vjp(of_floats, *(wrap(xs[i]) for i in floats))
        found = dict(zip(floats, pull(*map(wrap, g)) if isinstance(g, tuple) else pull(wrap(g)), strict=True))
        return tuple(lift(found[i]) if i in found else ZERO for i in range(len(xs)))


def _has_float_results(cls: Any) -> bool:
    """Whether gradients can reach the results of a card; one that has a derivative of its own they reach."""
    if cls.differentiable:
        return True
    for op, xs in cls.samples(lambda *shape, **_: np.ones(shape)):
        spec = op.infer(*map(spec_of, xs))
        return any(is_inexact(s.dtype) for s in (spec if isinstance(spec, tuple) else (spec,)))
    return True


bprop_getters = BpropGetters()
