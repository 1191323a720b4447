"""Primitives that do nothing on the way forward: InsertGradientOf, HookBackward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.api.custom import custom_vjp
from adjoint.core import context
from adjoint.core.dispatch import differentiable, is_tracked
from adjoint.mindspore.ops.gradient_pass import is_static
from adjoint.mindspore.ops.primitive import Primitive


def _check_hook(hook: Any) -> None:
    if not callable(hook):
        raise TypeError(f"Expected a callable hook function, but got {type(hook).__name__}.")


def _same(*xs: Any) -> Any:
    return tuple(x + 0 for x in xs)


class InsertGradientOf(Primitive):
    """The value itself, whose gradient goes through a function.

    >>> from adjoint.mindspore import Tensor, ops
    >>> tenfold = ops.InsertGradientOf(lambda g: g * 10)
    >>> print(ops.grad(lambda x: tenfold(x) * x)(Tensor([3.0])))
    [33.]
    """

    def __init__(self, f: Callable[[Any], Any]) -> None:
        super().__init__("InsertGradientOf")
        _check_hook(f)
        self.f = f
        self.add_prim_attr("side_effect_backprop", True)

    def __call__(self, x: Any) -> Any:
        """The value itself."""

        def rule(value: Any, out: Any, dout: Any) -> Any:
            return (context.readable(self.f)(dout),)

        return custom_vjp(lambda value: value + 0, rule)(x)


class HookBackward(Primitive):
    """The values themselves; in dynamic mode a function is called with the tuple of their gradients, and may replace them.

    >>> from adjoint.mindspore import Tensor, ops
    >>> hook = ops.HookBackward(lambda grads: (grads[0] * 10,))
    >>> print(ops.grad(lambda x: hook(x) * x)(Tensor([3.0])))
    [33.]
    """

    def __init__(self, hook_fn: Callable[[Any], Any], cell_id: str = "") -> None:
        super().__init__("HookBackward")
        _check_hook(hook_fn)
        self.hook_fn, self.cell_id = hook_fn, cell_id

    def __call__(self, *inputs: Any) -> Any:
        """The values themselves: bare if there is one."""
        if not is_static() and any(map(is_tracked, inputs)) and all(map(differentiable, inputs)):
            inputs = custom_vjp(_same, self._hooked)(*inputs)
        return inputs[0] if len(inputs) == 1 else inputs

    def _hooked(self, *args: Any) -> Any:
        grads = tuple(args[-1])
        found = self.hook_fn(grads)
        return grads if found is None else found if isinstance(found, tuple) else (found,)


__all__ = ["HookBackward", "InsertGradientOf"]
