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
from adjoint.core.errors import ArgumentTypeError, HookError, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.stores import Bindings
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
    with_kwargs: set[int] = field(default_factory=set)  # the forward hooks that are given keyword arguments too
    always: set[int] = field(default_factory=set)  # the forward hooks that are called after an exception too

    def add(
        self,
        kind: str,
        hook: Any,
        changed: Callable[[], None],
        prepend: bool = False,
        with_kwargs: bool = False,
        always: bool = False,
    ) -> HookHandle:
        if not callable(hook):
            raise ArgumentTypeError(f"a hook must be a function, not {type(hook).__name__}{called_at()}")
        hooks, key = getattr(self, kind), _new_key()
        later = dict(hooks) if prepend else {}
        for old in later:
            del hooks[old]
        hooks[key] = hook
        hooks.update(later)
        self.with_kwargs |= {key} if with_kwargs else set()
        self.always |= {key} if always else set()
        changed()
        return HookHandle(hooks, key, changed)


def with_hooks(cell: Any, hooks: Hooks, compute: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a Cell between its hooks."""
    if not hooks.always:
        return _between(cell, hooks, compute, inputs, kwargs, set())
    called: set[int] = set()
    try:
        return _between(cell, hooks, compute, inputs, kwargs, called)
    except Exception:  # raised again, after the hooks that are to be called always
        for key in [k for k in hooks.forward if k in hooks.always and k not in called]:
            _after(cell, hooks, key, inputs, kwargs, None)
        raise


def _between(
    cell: Any, hooks: Hooks, compute: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]
) -> Any:
    """A call between hooks; the forward hooks that were called are noted."""
    for key, hook in list(hooks.forward_pre.items()):
        if key in hooks.with_kwargs:
            inputs, kwargs = _new_arguments(hook(cell, inputs, kwargs), inputs, kwargs)
        else:
            changed = hook(cell, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
    seen: dict[str, Any] = {}
    if hooks.backward:
        inputs = _on_the_way_back(inputs, _input_rule(cell, hooks, seen))
    out = compute(inputs, kwargs)
    for key in list(hooks.forward):
        called.add(key)
        out = _after(cell, hooks, key, inputs, kwargs, out)
    if hooks.backward or hooks.backward_pre:
        reached = any(map(is_tracked, tree.leaves(inputs)))
        out = _on_the_way_back(out, _output_rule(cell, hooks, seen, None if reached else inputs))
    return out


def _new_arguments(changed: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments that a hook before the call gives, or those there are."""
    if changed is None:
        return inputs, kwargs
    if not isinstance(changed, tuple) or len(changed) != 2:
        raise HookError(f"a forward pre hook with kwargs must return None or (inputs, kwargs), not {changed!r:.80}")
    return changed


def _after(cell: Any, hooks: Hooks, key: int, inputs: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
    """The output as a forward hook leaves it."""
    hook = hooks.forward[key]
    changed = hook(cell, inputs, kwargs, out) if key in hooks.with_kwargs else hook(cell, inputs, out)
    return out if changed is None else changed


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
        raise ArgumentTypeError(f"a backward hook returned {len(new)} gradients in place of {len(grads)}{called_at()}")
    return new


# ---------------------------------------------------------------- precision


class _Cast(Bindings):
    """Parameters stand for themselves in another precision; all else stays as it was."""

    def __init__(self, outer: Any, uncast: dict[Parameter, Any], dtype: Any) -> None:
        super().__init__({p: F.cast(v, dtype) if is_float(v) else v for p, v in uncast.items()})
        self.outer, self.uncast, self.dtype = outer, uncast, dtype

    def __contains__(self, p: object) -> bool:
        return dict.__contains__(self, p) or (self.outer is not None and p in self.outer)

    def __missing__(self, p: Parameter) -> Any:
        return self.outer[p]

    def store(self, p: Parameter, value: Any) -> None:
        """What is stored is the value itself, which stands for itself in the other precision too."""
        with context.setting(context.bindings, self.outer):
            p.set_data(value)
            if p in self.uncast:
                self.uncast[p] = resolve(p)
                self[p] = F.cast(self.uncast[p], self.dtype) if is_float(self.uncast[p]) else self.uncast[p]


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
