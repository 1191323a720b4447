"""Python called by a program, in both modes: `ad.host_callback`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.custom import custom_jvp, custom_vjp
from adjoint.api.host_calls import HostCall
from adjoint.api.inputs import name_of
from adjoint.api.residual_rules import computed_again
from adjoint.core import context, tree
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import Value, make, wrap
from adjoint.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    CutGradientError,
    DtypeError,
    NoRuleError,
    ShapeError,
    boundary,
    called_at,
)
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import Spec, is_inexact, shape_of
from adjoint.core.tree_matching import beside
from adjoint.frontend.region import when
from adjoint.graph.trace import is_graph_value
from adjoint.ops.broadcast import batch_front

_NUMBERS = (Value, np.ndarray, np.generic, bool, int, float, complex)


class HostEffect(HostCall):
    """A call that takes place each time and in the program's order: `HostEffect(...)(takes_place, *arrays)` gives a tuple.

    The results are of known shapes and dtypes, or, where no graph is built, what the function gives. A call that does not take place,
    in a branch that an example of a batch does not take, gives zeros.
    """

    effect = True
    calls_python = True

    def __init__(self, name: str, fn: Callable[..., Sequence[Any]], result: tuple[Spec, ...] | None) -> None:
        super().__init__(name, fn, result or ())
        self.known = result is not None
        self.differentiable = not self.known or any(is_inexact(s.dtype) for s in result or ())  # type: ignore[misc]

    def infer(self, *specs: Spec) -> Any:
        return self.result if self.result else Spec((), np.dtype(bool))

    def eval(self, xp: Any, takes_place: Any, *xs: Any) -> Any:
        results: Sequence[Spec] = self.result  # type: ignore[assignment]
        if not takes_place:
            found = tuple(np.zeros(s.shape, s.dtype) for s in results)
        else:
            found = tuple(self.fn(*(np.array(x) for x in xs)))
        return found if found else np.bool_(True)

    def vjp(self, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        raise self._no_rule("bprop")

    def jvp(self, ts: Sequence[Any], y: Any, *xs: Any) -> Any:
        if self.differentiable:
            raise self._no_rule("jvp")
        return (ZERO,) * len(y) if isinstance(y, tuple) else ZERO

    def _no_rule(self, mode: str) -> NoRuleError:
        return NoRuleError(
            f"host_callback({self.name})",
            mode,
            "host_callback does not see what it computes: give vjp= or jvp=, or ops.stop_gradient its arguments.",
        )

    def vmap(self, dims: Sequence[int | None], *xs: Any) -> Any:
        fronted = [x if d is None else batch_front(x, d) for x, d in zip(xs, dims, strict=True)]
        size = next(shape_of(x)[0] for x, d in zip(fronted, dims, strict=True) if d is not None)
        return BatchOfCalls(self, tuple(d is not None for d in dims), size)(*fronted)


class BatchOfCalls(HostEffect):
    """The calls of one function for each example of a batch, in their order."""

    def __init__(self, one: HostEffect, batched: tuple[bool, ...], size: int) -> None:
        results: Any = one.result
        stacked = tuple(Spec((size, *s.shape), s.dtype) for s in results) if one.known else None
        super().__init__(f"vmap({one.name})", one.fn, stacked)
        self.one, self.batched, self.size = one, batched, size

    def infer(self, *specs: Spec) -> Any:
        return self.result if self.result else Spec((self.size,), np.dtype(bool))

    def eval(self, xp: Any, *xs: Any) -> Any:
        rows = [
            self.one.eval(np, *(x[k] if b else x for x, b in zip(xs, self.batched, strict=True)))
            for k in range(self.size)
        ]
        if rows and isinstance(rows[0], tuple):
            return tuple(np.stack(column) for column in zip(*rows, strict=True))
        results: Any = self.result
        return tuple(np.zeros(s.shape, s.dtype) for s in results) if results else np.ones(self.size, bool)


@boundary
def host_callback(
    fn: Callable[..., Any],
    result: Any,
    *args: Any,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
) -> Any:
    """Call a Python function on NumPy arrays, when the program runs: in a compiled function too, in loops and branches, on a device.

    Args:
        fn: a function of NumPy arrays; what is no number among the arguments it gets as it is. It is called once for each call, in the
            program's order, whether or not its result is used; what it raises comes out as it is. Under `vmap` it is called for each example.
        result: what it returns: an array or a Tensor of that shape and dtype, a pair `(shape, dtype)`, or a tree of those; () for nothing.
            None: as it comes, which in a compiled function cannot be.
        args: arrays, numbers, or trees of them.
        vjp: the derivative as `custom_vjp` has it: `vjp(*args, out, dout)` returns a gradient for each argument.
        jvp: or as `custom_jvp` has it: `jvp(args, tangents)` returns `(out, tangent)`; `out` may be None.

    Without a rule, a derivative that needs one is refused. What a call gave is kept for the derivative, in loops, branches and checkpoints
    too: no call is made again.

    >>> import adjoint as ad, numpy as np
    >>> def sort(x):
    ...     return np.sort(x)
    >>> f = ad.jit(lambda x: ad.host_callback(sort, x, x) * 2)
    >>> print(f(ad.Tensor([3.0, 1.0])))
    [2. 6.]
    """
    if not callable(fn):
        raise ArgumentTypeError(
            f"host_callback: the first argument must be a function, not {type(fn).__name__}{called_at()}"
        )
    if vjp is not None and jvp is not None:
        raise ArgumentError(f"host_callback: give vjp or jvp: the other mode follows from it{called_at()}")
    if (what := computed_again.get()) is not None:
        raise CutGradientError(
            f"host_callback: the fwd of {what}, which calls {name_of(fn)}, is computed again for the derivative of a loop, a branch, a checkpoint "
            f"or a compiled function, and the call would be made twice. Give {what} a rule of its result, f.defvjp(rule) with "
            f"rule(*inputs, out, dout), or give host_callback the derivative, vjp={called_at()}"
        )
    specs = None if result is None else _Announced(result)
    takes_place, recorder = when(), context.tracer.get()
    if takes_place is True and recorder is not None:  # also of what is known now: it is called when the graph runs
        takes_place = make(recorder.node(np.bool_(True)), recorder)
    if vjp is None and jvp is None:
        return _called(fn, specs, args, takes_place)

    def call(takes: Any, *inputs: Any) -> Any:
        return _called(fn, specs, inputs, takes)

    # A condition around the call is an argument: a rule sees nothing but its arguments.
    def back(_: Any, *rest: Any) -> Any:
        grads = context.readable(vjp)(*rest)
        return (None, *(grads if isinstance(grads, (tuple, list)) else (grads,)))

    def ahead(inputs: Any, tangents: Any) -> Any:
        return context.readable(jvp)(tuple(inputs)[1:], tuple(tangents)[1:])

    back.users, ahead.users = vjp, jvp  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = name_of(fn)
    return (custom_vjp(call, back) if vjp is not None else custom_jvp(call, ahead))(takes_place, *args)


class _Announced:
    """The results that were announced: their Specs, and the structure."""

    def __init__(self, result: Any) -> None:
        self.like = _specs(result, "the result")
        found, self.rebuild = tree.flatten(self.like)
        self.specs: list[Spec] = [x.spec for x in found]

    def arrays(self, name: str, found: Any) -> list[np.ndarray]:
        """What the function gave, as arrays of the shapes and dtypes that were announced."""
        if not self.specs:
            return []
        given = beside(found, self.like, f"what {name} gave", "what was announced")
        return [self._checked(name, x, s) for x, s in zip(given, self.specs, strict=True)]

    def _checked(self, name: str, x: Any, spec: Spec) -> np.ndarray:
        array = np.asarray(x.asnumpy() if isinstance(x, Value) else x)
        if array.shape != spec.shape:
            raise ShapeError(f"{name} gave a result of shape {array.shape}, announced was {spec.shape}{called_at()}")
        if array.dtype.hasobject or not np.can_cast(array.dtype, spec.dtype, "same_kind"):
            raise DtypeError(f"{name} gave a result of dtype {array.dtype}, announced was {spec.dtype}{called_at()}")
        return np.array(array, spec.dtype)


class _Result:
    """One result, as a leaf of a tree."""

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.spec = Spec(tuple(shape), np.dtype(dtype))


def _specs(result: Any, path: str) -> Any:
    """The tree of results that a description of results stands for."""
    if isinstance(result, (bool, int, float, complex)):
        return _Result((), np.asarray(result).dtype)
    if hasattr(result, "shape") and hasattr(result, "dtype"):
        return _Result(result.shape, result.dtype)
    pair = isinstance(result, (tuple, list)) and len(result) == 2 and _is_shape(result[0])
    if pair and isinstance(result[1], (str, np.dtype, type)):
        return _Result(*result)
    found = tree.named_children(result)
    if found is None:
        raise ArgumentTypeError(
            f"host_callback: {path} is a {type(result).__name__}; a result is announced by an array like it, or by a pair (shape, dtype)"
            f"{called_at()}"
        )
    children, rebuild = found
    return rebuild([_specs(child, path + name) for name, child in children])


def _is_shape(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in x)


def _called(fn: Callable[..., Any], announced: _Announced | None, args: tuple[Any, ...], takes_place: Any) -> Any:
    name = name_of(fn)
    leaves, rebuild = tree.flatten(args)
    spots = [i for i, x in enumerate(leaves) if isinstance(x, _NUMBERS)]
    made: list[Callable[[list[Any]], Any]] = [] if announced is None else [announced.rebuild]
    counts = [0 if announced is None else len(announced.specs)]  # a call without results gives a truth value

    def on_arrays(*xs: Any) -> list[np.ndarray]:
        filled = list(leaves)
        for i, x in zip(spots, xs, strict=True):
            filled[i] = x
        found = fn(*rebuild(filled))
        if announced is not None:
            return announced.arrays(name, found)
        ys, again = tree.flatten(found)
        made[:], counts[:] = [again], [len(ys)]
        return [np.asarray(y.asnumpy() if isinstance(y, Value) else y) for y in ys]

    xs = [resolve(x) if isinstance(x, Parameter) else x for x in (leaves[i] for i in spots)]
    traced = any(map(is_graph_value, (takes_place, *xs)))
    if announced is None and traced:
        raise ArgumentError(
            f"host_callback: in a compiled function the shapes and dtypes of what {name} gives must be announced, by arrays like them or pairs "
            f"(shape, dtype){called_at()}"
        )
    op = HostEffect(name, on_arrays, None if announced is None else tuple(announced.specs))
    ys = op(takes_place, *xs)
    results = list(ys) if isinstance(ys, tuple) else [ys]
    return made[0](list(map(wrap, results[: counts[0]])))
