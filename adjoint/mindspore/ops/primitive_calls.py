"""What a call of a primitive computes: by a rule of derivatives that a program registered, by its Python function, by its name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.custom import custom_vjp
from adjoint.api.host_calls import HostCall
from adjoint.api.inputs import name_of
from adjoint.api.lenient import final
from adjoint.core import context, tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import called_at
from adjoint.core.spec import Spec
from adjoint.mindspore.common.types import TensorType
from adjoint.mindspore.ops._grad_experimental.grad_base import bprop_getters, bprops
from adjoint.mindspore.ops.vm_impl_registry import get_vm_impl_fn


def governed(compute: Callable[..., Any]) -> Callable[..., Any]:
    """The `__call__` of a primitive, with the derivative rule that is registered for it, if there is one."""

    @functools.wraps(compute)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if bprop_getters or bprops:
            rule = bprop_getters.rule(self) or bprops.rule(self)
            if rule is not None:
                return with_rule(self.name, functools.partial(compute, self, **kwargs), rule, args)
        return context.readable(compute)(self, *args, **kwargs)

    return __call__


def with_rule(name: str, compute: Callable[..., Any], rule: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The value of `compute`, with the derivative `rule(*inputs, out, dout)`."""

    def forward(*inputs: Any) -> Any:
        return context.readable(compute)(*inputs)

    forward.__name__ = forward.__qualname__ = name
    return _Ruled(forward, rule)(*args)


class _Ruled(custom_vjp):
    """A call with a rule as MindSpore's are: it may give more gradients than inputs, and anything for what is no number."""

    def _flat_rule(self, leaves: list[Any], rebuild: Any, spots: list[int]) -> Callable[..., Any]:
        def rule(*args: Any) -> list[Any]:
            *xs, out, dout = args
            filled = list(leaves)
            for i, x in zip(spots, xs, strict=True):
                filled[i] = x
            inputs = rebuild(filled)
            grads = context.readable(self.rule)(*inputs, out, dout)
            grads = tuple(grads) if isinstance(grads, (tuple, list)) else (grads,)
            if len(grads) < len(inputs):
                few = f"the bprop of {name_of(self.fn)} returned {len(grads)} gradients for {len(inputs)} inputs"
                raise final(IndexError(few))
            picked: list[Any] = []
            for g, x in zip(grads, inputs, strict=False):
                picked += _parts(g, x)
            return [picked[i] for i in spots]

        return rule


def _parts(g: Any, x: Any) -> list[Any]:
    """The gradients of the leaves of an input: None for what is no number, and for a zero that stands for all."""
    held = tree.leaves(x)
    if g is None or not any(isinstance(v, (Value, np.ndarray, float, complex)) for v in held):
        return [None] * len(held)
    if isinstance(g, (int, float)) and g == 0 and not isinstance(x, (float, complex)):
        return [None] * len(held)
    return tree.leaves_like(g, x)


# ---------------------------------------------------------------- primitives without a `__call__` of their own


def run(prim: Any, args: tuple[Any, ...]) -> Any:
    """What a primitive computes that does not say so itself: what it knows now, its Python function, or the operator of its name."""
    done, value = prim.check_elim(*args)
    if done:
        return value
    if hasattr(prim, "__check__"):
        prim.__check__(*map(described, args))
    kernel = getattr(prim, "vm_impl", None) or get_vm_impl_fn(prim)
    if kernel is None and hasattr(prim, "construct"):
        return context.readable(prim.construct)(*args)
    if kernel is None and (known := _named(prim)) is not None:
        return known(*args)
    if not hasattr(prim, "__infer__"):
        if kernel is None:
            raise RuntimeError(f"Operator '{prim.name}' is not known: it has no infer, and no kernel{called_at()}")
        return _outside_graphs(prim, kernel, args)
    inferred = prim.__infer__(*map(described, args))
    if inferred.get("value") is not None:
        return inferred["value"]
    return _called(prim.name, kernel, _result(prim.name, inferred.get("shape"), inferred.get("dtype")), args)


def described(x: Any) -> dict[str, Any]:
    """What `infer` is told of an input: its shape, its dtype, and its value where that is known when a graph is built."""
    if isinstance(x, (Value, np.ndarray)):
        known = context.tracer.get() is not None and getattr(getattr(x, "_trace", None), "level", 0) < 2
        return {"shape": list(x.shape), "dtype": TensorType(x.dtype), "value": x if known else None}
    if isinstance(x, (tuple, list)):
        parts = [described(v) for v in x]
        return {key: type(x)(p[key] for p in parts) for key in ("shape", "dtype", "value")}
    from adjoint.mindspore.common.dtype import pytype_to_dtype

    try:
        kind = pytype_to_dtype(type(x))
    except NotImplementedError:
        kind = type(x)
    return {"shape": [], "dtype": kind, "value": x}


def call_python(name: str, fn: Callable[..., Any], shape: Any, dtype: Any, args: tuple[Any, ...]) -> Any:
    """A call of a function on arrays whose results have these shapes and dtypes."""
    return _called(name, fn, _result(name, shape, dtype), args, np.asarray)


def _result(name: str, shape: Any, dtype: Any) -> Any:
    if shape is None or dtype is None:
        raise RuntimeError(f"the infer of '{name}' gives no {'shape' if shape is None else 'dtype'}{called_at()}")
    if isinstance(dtype, (tuple, list)):
        return tuple(_spec(s, d) for s, d in zip(shape, dtype, strict=True))
    return _spec(shape, dtype)


def _spec(shape: Any, dtype: Any) -> Spec:
    return Spec(tuple(shape), np.dtype(dtype.dtype if isinstance(dtype, TensorType) else dtype))


def _called(
    name: str, kernel: Callable[..., Any] | None, result: Any, args: tuple[Any, ...], given: Callable[[Any], Any] = wrap
) -> Any:
    """A call of a Python function; without one, an error when the value is needed, which in a graph it may not be."""
    leaves, rebuild = tree.flatten(args)
    spots = [i for i, x in enumerate(leaves) if isinstance(x, (Value, np.ndarray))]

    def on_arrays(*xs: Any) -> Any:
        if kernel is None:
            raise RuntimeError(f"Unsupported op [{name}]: it has no kernel")
        filled = list(leaves)
        for i, x in zip(spots, xs, strict=True):
            filled[i] = given(x)
        y = kernel(*rebuild(filled))
        return tuple(map(_array, y)) if isinstance(y, (tuple, list)) else _array(y)

    return wrap(HostCall(name, on_arrays, result)(*(leaves[i] for i in spots)))


def _array(y: Any) -> Any:
    return y.asnumpy() if hasattr(y, "asnumpy") else np.asarray(y)


def _outside_graphs(prim: Any, kernel: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """A Python function whose results are not announced: it is run, which in a graph it cannot be."""
    from adjoint.graph.trace import is_graph_value

    if any(is_graph_value(x) for x in tree.leaves(args)):
        raise RuntimeError(f"'{prim.name}' has no infer, which a graph needs{called_at()}")
    return kernel(*args)


def _named(prim: Any) -> Callable[..., Any] | None:
    """The operator that is provided under a primitive's name, with its attributes."""
    from adjoint.mindspore.ops import operations
    from adjoint.mindspore.ops.primitive import Primitive

    kind = vars(operations).get(prim.name)
    if not (isinstance(kind, type) and issubclass(kind, Primitive)) or isinstance(prim, kind):
        return None
    known = object.__new__(kind)
    defaults = inspect.signature(kind.__init__).parameters
    for name, parameter in list(defaults.items())[1:]:
        known.__dict__[name] = parameter.default
    known.__dict__.update(prim.__dict__)
    return known
