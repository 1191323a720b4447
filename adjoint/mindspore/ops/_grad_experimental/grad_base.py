"""mindspore.ops._grad_experimental.grad_base: derivative rules by primitive, or by its name.

>>> import adjoint.mindspore as mindspore
>>> from adjoint.mindspore.ops._grad_experimental.grad_base import bprop_getters
>>> class Triple(mindspore.ops.Primitive):
...     @mindspore.ops.prim_attr_register
...     def __init__(self):
...         pass
...     def __call__(self, x):
...         return 3 * x
>>> @bprop_getters.register(Triple)
... def get_bprop_triple(self):
...     def bprop(x, out, dout):
...         return (dout * 300,)
...     return bprop
>>> print(mindspore.grad(Triple())(mindspore.Tensor(1.0)))
300.0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

from adjoint import ops
from adjoint.api.replaced_rules import bprop_getters as _of_cards
from adjoint.core import rules
from adjoint.mindspore.ops._register_for_op import Registry
from adjoint.ops.card import Op


class BpropRegistry(Registry):
    """Derivative rules by primitive: functions compiled before a rule is entered use it from their next call on."""

    def enter(self, prim: Any, fn: Callable[..., Any]) -> None:
        """Set the rule of a class of primitives, of a class of Cells, or of a name."""
        if isinstance(prim, type) and (hasattr(prim, "construct") or issubclass(prim, Op)) and not _is_primitive(prim):
            _of_cards.register(prim)(fn)
            return
        if not isinstance(prim, str) and not _is_primitive(prim):
            raise TypeError(f"a rule is registered for a class of primitives or a name, not for {prim!r}")
        self[prim] = fn
        if not isinstance(prim, str):
            self[prim.__name__] = fn
        self._tell(prim if isinstance(prim, str) else prim.__name__, fn)
        rules.changed()

    def _tell(self, name: str, fn: Callable[..., Any]) -> None:
        """The op of the engine that has this name, and no attributes, has the rule too: functions are made of it."""
        if (card := _card(name)) is not None:
            _of_cards.register(card)(lambda op: self.rule(_primitive(name)))

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        if isinstance(key, str) and (card := _card(key)) is not None:
            _of_cards.restore(card)
        rules.changed()

    def rule(self, prim: Any) -> Any:
        """The rule `bprop(*inputs, out, dout)` of a primitive, or None."""
        getter = self.get(prim, None)
        return None if getter is None else getter(prim)


class _Plain(BpropRegistry):
    """Rules entered as they are, not by a function that gives them."""

    def rule(self, prim: Any) -> Any:
        return self.get(prim, None)


def _card(name: str) -> Any:
    """The op of the engine that has this name, no attributes, and derivatives; None if there is none."""
    card: Any = getattr(ops, name, None)
    plain = isinstance(card, type) and issubclass(card, Op) and is_dataclass(card) and not card.__dataclass_fields__
    return card if plain and card.differentiable else None


def _is_primitive(kind: Any) -> bool:
    from adjoint.mindspore.ops.primitive import Primitive

    return isinstance(kind, type) and issubclass(kind, Primitive)


def _primitive(name: str) -> Any:
    from adjoint.mindspore.ops.primitive import Primitive

    return Primitive(name)


bprop_getters = BpropRegistry()
bprops = _Plain()
taylor_fprop_getters = Registry()
taylor_fprops = Registry()


def get_bprop_fn(prim: Any, get_closure: bool = False) -> Any:
    """The rule registered for a primitive or a name, or None; with `get_closure`, the function that gives it."""
    getter = bprop_getters.get(prim, None)
    if getter is None:
        return bprops.get(prim, None)
    return getter if get_closure else getter(prim)


def get_taylor_fprop_fn(prim: Any) -> Any:
    """The function of power series registered for a primitive or a name, or None."""
    getter = taylor_fprop_getters.get(prim, None)
    return taylor_fprops.get(prim, None) if getter is None else getter(prim)


def dyn_fill(value_type: Any, shape: Any, value: Any) -> Any:
    """A Tensor of a shape, filled with a value.

    >>> import adjoint.mindspore as mindspore
    >>> print(dyn_fill(mindspore.float32, (2,), 7))
    [7. 7.]
    """
    sizes = tuple(shape.tolist()) if hasattr(shape, "tolist") else tuple(shape)
    return ops.full(sizes, value, dtype=value_type)


def dyn_ones(shape: Any, value_type: Any) -> Any:
    """A Tensor of a shape, filled with ones."""
    return dyn_fill(value_type, shape, 1)


def binop_grad_common(x: Any, y: Any, dx: Any, dy: Any) -> tuple[Any, Any]:
    """Gradients of two inputs that were broadcast together, summed to their shapes.

    >>> import adjoint.mindspore as mindspore
    >>> x, y = mindspore.ops.ones((2, 3)), mindspore.ops.ones((3,))
    >>> print(binop_grad_common(x, y, x, x)[1])
    [2. 2. 2.]
    """
    return _summed_to(dx, x), _summed_to(dy, y)


def _summed_to(g: Any, x: Any) -> Any:
    shape, extra = tuple(getattr(x, "shape", ())), len(g.shape) - len(getattr(x, "shape", ()))
    axes = [i for i, size in enumerate(g.shape) if i < extra or (shape[i - extra] == 1 and size != 1)]
    return ops.reshape(ops.sum(g, tuple(axes)), shape) if axes else g


def sum_grad_reduce_axis(x: Any, rx: Any, keep_dims: bool = False) -> Any:
    """The sum over these axes; over none, the Tensor itself."""
    axes = tuple(rx)
    return ops.sum(x, axes, keepdims=keep_dims) if axes else x
