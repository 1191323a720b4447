"""mindspore.common._grad_function: functions with a forward and a backward of their own, in dynamic mode."""

from __future__ import annotations

import inspect
from typing import Any

from adjoint.api.custom import custom_vjp
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import Value, differentiable, is_tracked
from adjoint.core.parameter import Parameter, resolve
from adjoint.ops import zeros_like


class FunctionContext:
    """What `forward` leaves for `backward`."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep Tensors for `backward`, as `saved_tensors`."""
        self.saved_tensors = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs `forward` changes."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which results have no derivative."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether gradients that are not there come as zeros, or as None."""
        self.materialize_grads = value


class _Function:
    """A function whose derivative is its method `backward(ctx, *gradients)`; it is called by `apply`.

    >>> from adjoint.mindspore import Tensor, ops
    >>> class Square(_Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return 2 * ctx.saved_tensors[0] * grad
    >>> print(ops.grad(Square.apply)(Tensor([3.0])))
    [6.]
    """

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """The value: to be written by each class."""
        raise NotImplementedError("forward function should be customized.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient for each input: to be written by each class."""
        raise NotImplementedError("backward function should be customized.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """What is kept, where `forward` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        apart = cls.setup_context is not _Function.setup_context
        if apart:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        made: list[FunctionContext] = []
        inputs = [resolve(x) if isinstance(x, Parameter) else x for x in args]
        wanted = tuple(isinstance(x, Value) and is_tracked(x) and differentiable(x) for x in inputs)

        def forward(*xs: Any) -> Any:
            ctx = FunctionContext(wanted)
            out = cls.forward(*xs, **kwargs) if apart else cls.forward(ctx, *xs, **kwargs)
            if apart:
                cls.setup_context(ctx, xs, out)
            made.append(ctx)
            return tuple(out) if isinstance(out, list) else out

        def rule(*given: Any) -> Any:
            *xs, out, dout = given
            if any(isinstance(x, Value) and is_tracked(x) for x in xs):
                forward(*xs)  # a derivative of the derivative goes through what it keeps
            grads = cls.backward(made[-1], *_each(dout, out))
            grads = grads if isinstance(grads, (tuple, list)) else (grads,)
            if len(grads) < len(xs):
                raise RuntimeError(
                    f"Function backward return a wrong number of gradients, expect: {len(xs)}, but got: {len(grads)}"
                )
            return [g if wanted[i] else None for i, g in enumerate(grads[: len(xs)])]

        forward.__name__ = cls.__name__
        return custom_vjp(forward, rule)(*inputs) if any(wanted) else forward(*inputs)


def _each(dout: Any, out: Any) -> tuple[Any, ...]:
    """The gradient of each result, zeros where none has come."""
    if not isinstance(dout, (tuple, list)):
        return (dout,)
    return tuple(zeros_like(y) if g is None or g is ZERO else g for g, y in zip(dout, out, strict=True))
