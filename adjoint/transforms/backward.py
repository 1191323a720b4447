"""PyTorch's manner: `requires_grad`, `backward()`, `.grad` and hooks. Tensor's methods reach these functions by `core.autograd`.

One tape, which never ends, records the ops on Tensors with `requires_grad`; `backward()` sweeps it from one result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import finalize

from adjoint.core import context
from adjoint.core.dispatch import EAGER, Value, lift, make, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, EndedTransformError, NotDifferentiableError, called_at
from adjoint.core.parameter import Parameter, plain
from adjoint.core.spec import is_inexact
from adjoint.core.tensor import Tensor
from adjoint.transforms.seeds import checked, unit
from adjoint.transforms.tape import AMBIENT, Leaf, Record, sweep


class Handle:
    """Removes a hook."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook

    def remove(self) -> None:
        """Take the hook off; a second time does nothing."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)


def _leaf_node(x: Any) -> Any:
    if isinstance(x, Parameter):
        if x._extra is None:
            x._extra = Leaf(None)
        return x._extra
    return x._extra if x._trace is AMBIENT else None


def parameter_leaf(p: Parameter) -> Any:
    """A Parameter as an input of the tape that serves backward()."""
    if context.muted_below.get() > AMBIENT.level:
        return plain(p)
    return make(lift(p._value), AMBIENT, _leaf_node(p))


def requires_grad(x: Any) -> bool:
    if x._trace.deferred:
        return bool(x.tracked)
    return isinstance(x._extra, Record)


def set_requires_grad(x: Tensor, wanted: bool) -> None:
    if wanted == requires_grad(x):
        return
    if not wanted:
        if not is_leaf(x):
            raise ArgumentError(f"requires_grad=False on a computed Tensor; use x.detach(){called_at()}")
        x._rebind(wrap(x._value))
        return
    if x.tracked:
        raise ArgumentError(f"requires_grad=True inside a transform, which tracks its inputs anyway{called_at()}")
    if not is_inexact(x.dtype):
        raise NotDifferentiableError(f"requires_grad needs floating-point values, not {x.dtype}{called_at()}")
    value = x._value if x._trace is EAGER else make(x._value, x._trace)
    x._value, x._trace, x._extra = value, AMBIENT, Leaf(value)


def get_accumulated(x: Any) -> Any:
    """The same Tensor each time, so that what is written to it is kept."""
    node = _leaf_node(x)
    accumulated = getattr(node, "grad", None)
    if accumulated is not None and not isinstance(accumulated, Value):
        node.grad = accumulated = wrap(accumulated)
    return accumulated


def set_accumulated(x: Any, value: Any) -> None:
    node = _leaf_node(x)
    if not isinstance(node, Leaf):
        raise ArgumentError(f"only a Tensor with requires_grad=True has a .grad to set{called_at()}")
    if value is None or value is not node.grad:  # `x.grad *= 2` sets what it has written to
        node.grad = None if value is None else checked("the .grad to set", value, x)


def backward(y: Tensor, gradient: Any, retain_graph: bool) -> None:
    if y._trace is not AMBIENT:
        raise ArgumentError(
            "backward() on a Tensor that was not computed from one with requires_grad=True. Set it on the inputs, or "
            f"use ad.grad(fn){called_at()}"
        )
    if gradient is None and y.size != 1:
        raise ArgumentError(
            f"backward() needs a scalar, this Tensor has shape {y.shape}: sum it, or pass the gradient of its elements"
            f"{called_at()}"
        )
    node = y._extra
    if node.op is None and node.parents == () and node.xs is None:
        raise EndedTransformError(
            f"backward() a second time through the same computation: pass retain_graph=True the first time{called_at()}"
        )
    seed = unit(y) if gradient is None else checked("backward: the gradient", gradient, y)
    for leaf, g in sweep([(node, seed)]).items():
        assert isinstance(leaf, Leaf)
        if isinstance(g, Value):  # one Tensor may be the gradient of several leaves
            g = make(g._value, g._trace, g._extra)
        old = leaf.grad
        old = old._value if isinstance(old, Value) and old._trace is EAGER else old
        leaf.grad = g if old is None else old + g
    if not retain_graph and node.parents:
        node.op, node.parents, node.xs = None, (), None


#: The hooks of Tensors that nothing tracks yet, by the Tensors' ids: for transforms that are given them as inputs.
_waiting: dict[int, list[Any]] = {}


def hooks_wait() -> bool:
    """Whether any Tensor has hooks that no transform has seen."""
    return bool(_waiting)


def waiting_hooks(x: Any) -> list[Any] | None:
    """The hooks that were registered on a Tensor before a transform tracked it."""
    return _waiting.get(id(x)) if _waiting else None


def register_hook(x: Any, hook: Callable[[Any], Any]) -> Handle:
    if not callable(hook):
        raise ArgumentTypeError(f"a hook must be a callable function, not {type(hook).__name__}{called_at()}")
    if x._trace.deferred:
        x.settled()
    node = _leaf_node(x) if isinstance(x, Parameter) else x._extra
    if not isinstance(node, Record) and not x.tracked and is_inexact(x.dtype):
        if id(x) not in _waiting:
            _waiting[id(x)] = []
            finalize(x, _waiting.pop, id(x), None)
        _waiting[id(x)].append(hook)
        return Handle(_waiting[id(x)], hook)
    if not isinstance(node, Record):
        raise ArgumentError(
            f"register_hook: no gradient will reach this Tensor; set requires_grad=True or use it inside ad.grad{called_at()}"
        )
    if node.hooks is None:
        node.hooks = []
    node.hooks.append(hook)
    return Handle(node.hooks, hook)


def is_muted() -> bool:
    """Whether backward() records nothing just now."""
    return context.muted_below.get() > AMBIENT.level


def set_leaf(x: Tensor, new: Any) -> None:
    """Give a Tensor with requires_grad another value, as `w -= rate * w.grad` under no_grad does."""
    x._value = x._extra.y = lift(new)


def is_leaf(x: Any) -> bool:
    """Whether a Tensor is an input that backward() accumulates for."""
    return x._trace is AMBIENT and isinstance(x._extra, Record) and x._extra.op is None and not x._extra.parents


def is_of_parameters(x: Any) -> bool:
    """Whether all that backward() would accumulate for are Parameters: their leaves hold no value of their own."""
    if x._trace is not AMBIENT:
        return False
    seen: set[int] = set()
    stack = [x._extra]
    while stack:
        record = stack.pop()
        if record.order in seen:
            continue
        seen.add(record.order)
        if isinstance(record, Leaf) and record.y is not None:
            return False
        stack += [parent for parent in record.parents if parent is not None]
    return True
