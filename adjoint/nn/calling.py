"""What may surround a call of a Cell: hooks, another precision, and computing again instead of keeping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from adjoint.api.checkpointing import recompute
from adjoint.api.custom import custom_vjp
from adjoint.core import context, tree
from adjoint.core.dispatch import is_float, is_tracked
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.nn import layer_state
from adjoint.ops import language as F

_new_key = count().__next__


# ---------------------------------------------------------------- hooks


class HookHandle:
    """A hook that was registered; `remove()` takes it off again.

    >>> import adjoint as ad
    >>> net = ad.nn.ReLU()
    >>> handle = net.register_forward_hook(lambda cell, inputs, output: output * 10)
    >>> print(net(ad.Tensor([2.0])))
    [20.]
    >>> handle.remove()
    >>> print(net(ad.Tensor([2.0])))
    [2.]
    """

    def __init__(self, hooks: dict[int, Any], key: int, changed: Callable[[], None]) -> None:
        self._hooks, self._key, self._changed = hooks, key, changed

    def remove(self) -> None:
        """Take the hook off; a second time does nothing."""
        if self._hooks.pop(self._key, None) is not None:
            self._changed()


@dataclass
class Hooks:
    """The hooks of a Cell, in the order in which they run."""

    forward_pre: dict[int, Any] = field(default_factory=dict)
    forward: dict[int, Any] = field(default_factory=dict)
    backward_pre: dict[int, Any] = field(default_factory=dict)
    backward: dict[int, Any] = field(default_factory=dict)

    def add(self, kind: str, hook: Any, changed: Callable[[], None]) -> HookHandle:
        if not callable(hook):
            raise ArgumentTypeError(f"a hook must be a function, not {type(hook).__name__}{called_at()}")
        hooks, key = getattr(self, kind), _new_key()
        hooks[key] = hook
        changed()
        return HookHandle(hooks, key, changed)


def with_hooks(cell: Any, hooks: Hooks, compute: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a Cell between its hooks."""
    for hook in list(hooks.forward_pre.values()):
        changed = hook(cell, inputs)
        if changed is not None:
            inputs = changed if isinstance(changed, tuple) else (changed,)
    seen: dict[str, Any] = {}
    if hooks.backward:
        inputs = _on_the_way_back(inputs, _input_rule(cell, hooks, seen))
    out = compute(inputs, kwargs)
    for hook in list(hooks.forward.values()):
        changed = hook(cell, inputs, out)
        out = out if changed is None else changed
    if hooks.backward or hooks.backward_pre:
        reached = any(map(is_tracked, tree.leaves(inputs)))
        out = _on_the_way_back(out, _output_rule(cell, hooks, seen, None if reached else inputs))
    return out


def _on_the_way_back(value: Any, rule: Callable[[tuple[Any, ...]], Any]) -> Any:
    """The value itself, whose gradients go through `rule`, all together, in the backward pass."""
    leaves, rebuild = tree.flatten(value)
    spots = [i for i, x in enumerate(leaves) if is_float(x)]
    if not spots:
        return value

    def same(*xs: Any) -> Any:
        return tuple(x + 0 for x in xs)

    found = custom_vjp(same, lambda *args: rule(tuple(args[-1])))(*(leaves[i] for i in spots))
    for i, x in zip(spots, found, strict=True):
        leaves[i] = x
    return rebuild(leaves)


def _output_rule(cell: Any, hooks: Hooks, seen: dict[str, Any], inputs: Any) -> Callable[..., Any]:
    def rule(grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(hooks.backward_pre.values()):
            grads = _replaced(grads, hook(cell, grads))
        seen["grads"] = grads
        if inputs is not None:  # the gradient goes no further back than the Cell's Parameters
            for hook in list(hooks.backward.values()):
                hook(cell, (None,) * len(inputs), grads)
        return grads

    return rule


def _input_rule(cell: Any, hooks: Hooks, seen: dict[str, Any]) -> Callable[..., Any]:
    def rule(grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(hooks.backward.values()):
            grads = _replaced(grads, hook(cell, grads, seen.get("grads")))
        return grads

    return rule


def _replaced(grads: tuple[Any, ...], new: Any) -> tuple[Any, ...]:
    """What a backward hook makes of gradients: others, or None for no change."""
    if new is None:
        return grads
    new = tuple(new) if isinstance(new, (tuple, list)) else (new,)
    if len(new) != len(grads):
        raise ArgumentError(f"a backward hook returned {len(new)} gradients in place of {len(grads)}{called_at()}")
    return new


# ---------------------------------------------------------------- precision


class _Cast(dict):
    """Parameters stand for themselves in another precision; all else stays as it was."""

    def __init__(self, outer: Any, uncast: dict[Parameter, Any], dtype: Any) -> None:
        super().__init__({p: F.cast(v, dtype) if is_float(v) else v for p, v in uncast.items()})
        self.outer, self.uncast = outer, uncast

    def __contains__(self, p: object) -> bool:
        return dict.__contains__(self, p) or (self.outer is not None and p in self.outer)

    def __missing__(self, p: Parameter) -> Any:
        return self.outer[p]


def in_precision(cell: Any, dtype: Any, compute: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with its floating-point inputs and the Cell's Parameters cast to `dtype`."""
    outer = context.bindings.get()
    before = outer.uncast if isinstance(outer, _Cast) else {}  # a Cell inside starts from the uncast numbers again
    uncast = {p: before[p] if p in before else resolve(p) for p in cell.get_parameters()}

    def cast(value: Any) -> Any:
        return tree.map(lambda x: F.cast(x, dtype) if is_float(x) else x, value)

    with context.setting(context.bindings, _Cast(outer, uncast, dtype)):
        return compute(cast(inputs), cast(kwargs))


# ---------------------------------------------------------------- one around another


class Around:
    """Something around the calls of a Cell; a lower rank is further in."""

    rank = 0

    def call(self, cell: Any, compute: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the Cell's result, by way of `compute(inputs, kwargs)`."""
        raise NotImplementedError


class Precision(Around):
    """Calls in another precision."""

    rank = 0

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype

    def call(self, cell: Any, compute: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return in_precision(cell, self.dtype, compute, inputs, kwargs)


class Recompute(Around):
    """Calls that are made again for their derivative; a compiled graph chooses itself what it keeps."""

    rank = 1

    def call(self, cell: Any, compute: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if layer_state.traced():
            return compute(inputs, kwargs)
        return recompute(compute, inputs, kwargs)


class Hooked(Around):
    """Calls between hooks."""

    rank = 2

    def call(self, cell: Any, compute: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return with_hooks(cell, cell._hooks, compute, inputs, kwargs)


def surrounded(cell: Any, wrapper: Around, compute: Any) -> Any:
    """The computation of a Cell with a wrapper around it."""

    def call(inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return wrapper.call(cell, compute, inputs, kwargs)

    return call
