"""Derivatives of the user's own: custom_vjp, custom_jvp, and replacing a card's rule."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.inputs import name_of
from adjoint.api.residual_rules import ResidualCall
from adjoint.api.ruled_calls import CustomCall, JvpCall, VjpCall
from adjoint.core import context, rules, tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, NoRuleError, boundary, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.tree_matching import beside
from adjoint.ops.language import add, zeros_like

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class _Custom:
    """A function with a derivative rule of its own."""

    kind: type[CustomCall]
    setter: str

    def __new__(cls, fn: Any = None, *args: Any, **options: Any) -> Any:
        """Without a function a decorator: `@custom_vjp(nondiff_argnums=(0,))`."""
        return functools.partial(cls, **options) if fn is None and options else object.__new__(cls)

    def __init__(
        self,
        fn: Callable[..., Any],
        rule: Callable[..., Any] | None = None,
        *,
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        if not callable(fn):
            raise ArgumentTypeError(f"{type(self).__name__}: a function is needed, not {type(fn).__name__}")
        self.fn, self.rule = fn, rule
        self.nondiff = _fixed_positions(type(self).__name__, fn, nondiff_argnums, nondiff_argnames)
        self._linear: set[Any] = set()  # Specs for which the rule was seen to be linear
        functools.update_wrapper(self, fn)

    def _define(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(rule):
            raise ArgumentTypeError(
                f"{self.setter} of {name_of(self.fn)} takes a function, not {rule!r:.60}{called_at()}"
            )
        if self.rule is not None:  # without one it has not been called
            rules.changed()
        self.rule, self._linear = rule, set()
        return rule

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.rule is None:
            raise NoRuleError(name_of(self.fn), self.setter[3:], f"Give it one with @{name_of(self.fn)}.{self.setter}.")
        args, kwargs = self._in_order(args, kwargs)
        given = _Given(args, self.nondiff)

        def on_arrays(*xs: Any) -> Any:
            return context.readable(self.fn)(*given.arguments(xs), **kwargs)

        call = self._call(on_arrays, given)
        call.users_rule = getattr(self.rule, "users", self.rule)  # behind one of ours, as in host_callback
        return call.output(wrap(call(*given.numbers())))

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position, where the rule counts positions."""
        return self._by_position(args, kwargs) if self.nondiff else (args, kwargs)

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position, with the defaults of those that were not given."""
        try:
            bound = inspect.signature(self.fn).bind(*args, **kwargs)
        except ValueError:  # a function of another language, without a signature
            return args, kwargs
        except TypeError as error:
            raise ArgumentTypeError(f"{name_of(self.fn)}: {error}{called_at()}") from None
        for word, p in bound.signature.parameters.items():
            if p.kind in _POSITIONAL and p.default is not p.empty:
                bound.arguments.setdefault(word, p.default)
        bound.arguments = {n: bound.arguments[n] for n in bound.signature.parameters if n in bound.arguments}
        return bound.args, bound.kwargs

    def _call(self, on_arrays: Callable[..., Any], given: _Given) -> CustomCall:
        return self.kind(
            name_of(self.fn), on_arrays, self._flat_rule(given.leaves, given.rebuild, given.spots), self._linear
        )

    def _flat_rule(self, leaves: list[Any], rebuild: Any, spots: list[int]) -> Callable[..., Any]:
        raise NotImplementedError


class _Given:
    """The arguments of a call: the numbers taken out, the ones without derivatives held apart."""

    def __init__(self, args: tuple[Any, ...], nondiff: frozenset[int]) -> None:
        self.fixed = {i: x for i, x in enumerate(args) if i in nondiff}
        self.leaves, self.rebuild = tree.flatten(tuple(x for i, x in enumerate(args) if i not in nondiff))
        kinds = (Value, np.ndarray, np.generic, float, complex)
        self.spots = [i for i, x in enumerate(self.leaves) if isinstance(x, kinds)]

    def numbers(self) -> list[Any]:
        return [resolve(x) if isinstance(x, Parameter) else x for x in (self.leaves[i] for i in self.spots)]

    def inputs(self, xs: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments that have derivatives, with other numbers."""
        filled = list(self.leaves)
        for i, x in zip(self.spots, xs, strict=True):
            filled[i] = x
        return tuple(self.rebuild(filled))

    def arguments(self, xs: Sequence[Any]) -> list[Any]:
        """All arguments in their order, with other numbers."""
        rest = list(self.inputs(xs))
        count = len(rest) + len(self.fixed)
        return [self.fixed[i] if i in self.fixed else rest.pop(0) for i in range(count)]


def _fixed_positions(what: str, fn: Any, argnums: Any, argnames: Any) -> frozenset[int]:
    """The positions of the arguments without derivatives."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if not numbers and not names:
        return frozenset()
    if wrong := [n for n in numbers if not isinstance(n, int) or isinstance(n, bool)]:
        raise ArgumentTypeError(f"{what}: nondiff_argnums are positions, not {wrong[0]!r:.60}{called_at()}")
    of = inspect.signature(fn).parameters
    if unknown := [n for n in names if n not in of]:
        raise ArgumentError(f"{what}: {name_of(fn)} has no argument {unknown[0]!r}{called_at()}")
    known = [n for n, p in of.items() if p.kind in _POSITIONAL]
    if by_keyword := [n for n in names if n not in known]:
        raise ArgumentError(f"{what}: {by_keyword[0]!r} of {name_of(fn)} has no position{called_at()}")
    endless = any(p.kind is p.VAR_POSITIONAL for p in of.values())
    if outside := [n for n in numbers if n < -len(known) or (n >= len(known) and not endless)]:
        raise ArgumentError(
            f"{what}: nondiff_argnums names position {outside[0]}, but {name_of(fn)} has {len(known)} arguments{called_at()}"
        )
    return frozenset([n % len(known) if n < 0 else n for n in numbers] + [known.index(n) for n in names])


def _picked(what: str, grads: Any, inputs: Sequence[Any], spots: list[int]) -> list[Any]:
    """The gradients that a rule gives for its inputs, leaf by leaf; None where there is none."""
    grads = tuple(grads) if isinstance(grads, (tuple, list)) else (grads,)
    if len(grads) != len(inputs):
        raise ArgumentError(f"{what} returned {len(grads)} gradients for {len(inputs)} inputs{called_at()}")
    picked: list[Any] = []
    for k, (g, x) in enumerate(zip(grads, inputs, strict=True)):
        picked += beside(g, x, f"{what}: the gradient of input {k}", "the input") if tree.leaves(x) else []
    return [picked[i] for i in spots]


class custom_vjp(_Custom):
    """A function whose reverse derivative is the user's: `rule(*inputs, out, dout)` returns one gradient per input.

    Forward mode and higher orders follow from the rule. Give the rule as a second argument or with `@f.defvjp`; or, as in JAX, with
    `f.defvjp(fwd, bwd)`, two functions: `fwd(*inputs)` gives `(output, residuals)`, and `bwd(residuals, dout)` a gradient for each input.
    `nondiff_argnums` are arguments without derivatives, which `bwd` gets first.

    >>> import adjoint as ad
    >>> @ad.custom_vjp
    ... def clipped(x):
    ...     return x * 10
    >>> @clipped.defvjp
    ... def clipped_vjp(x, out, dout):
    ...     return (ad.ops.clamp(dout * 10, -1, 1),)
    >>> print(ad.grad(clipped)(3.0))
    1.0
    >>> sine = ad.custom_vjp(lambda x: ad.ops.sin(x))
    >>> sine.defvjp(lambda x: (ad.ops.sin(x), ad.ops.cos(x)), lambda cosine, g: (cosine * g,))
    >>> print(ad.grad(sine)(0.0), ad.jit(ad.grad(sine))(0.0))
    1.0 1.0
    """

    kind, setter = VjpCall, "defvjp"
    fwd: Callable[..., Any] | None = None  # with residuals: `rule` is then the function back

    def defvjp(self, rule: Callable[..., Any], bwd: Callable[..., Any] | None = None) -> Any:
        """Set the rule, `rule(*inputs, out, dout)`; usable as a decorator. Two functions are `fwd` and `bwd`."""
        if bwd is None:
            self.fwd = None
            return self._define(rule)
        if not callable(rule):
            raise ArgumentTypeError(f"defvjp of {name_of(self.fn)} takes functions, not {rule!r:.60}{called_at()}")
        self._define(bwd)
        self.fwd = rule
        return None

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self.fwd is None:
            return args, kwargs
        args, kwargs = self._by_position(args, kwargs)
        if kwargs:
            raise ArgumentTypeError(
                f"{name_of(self.fn)}: {next(iter(kwargs))!r} can be given by keyword only, and fwd and bwd take positions{called_at()}"
            )
        return args, {}

    def _call(self, on_arrays: Callable[..., Any], given: _Given) -> CustomCall:
        if self.fwd is None:
            return super()._call(on_arrays, given)
        what = f"the bwd of {name_of(self.fn)}"
        fixed = [given.fixed[i] for i in sorted(given.fixed)]
        inputs = given.inputs([given.leaves[i] for i in given.spots])

        def fwd(*xs: Any) -> Any:
            return context.readable(self.fwd)(*given.arguments(xs))

        def bwd(residuals: Any, dout: Any) -> list[Any]:
            return _picked(what, context.readable(self.rule)(*fixed, residuals, dout), inputs, given.spots)

        fwd.users = self.fwd  # type: ignore[attr-defined]
        return ResidualCall(name_of(self.fn), on_arrays, fwd, bwd, self._linear)

    def _flat_rule(self, leaves: list[Any], rebuild: Any, spots: list[int]) -> Callable[..., Any]:
        if self.nondiff:
            raise ArgumentError(
                f"custom_vjp: nondiff_argnums goes with f.defvjp(fwd, bwd); a rule (*inputs, out, dout) returns None for them{called_at()}"
            )

        def rule(*args: Any) -> list[Any]:
            *xs, out, dout = args
            filled = list(leaves)
            for i, x in zip(spots, xs, strict=True):
                filled[i] = x
            inputs = rebuild(filled)
            what = f"the vjp rule of {name_of(self.fn)}"
            return _picked(what, context.readable(self.rule)(*inputs, out, dout), inputs, spots)

        return rule


class custom_jvp(_Custom):
    """A function whose forward derivative is the user's: `rule(inputs, tangents)` returns `(output, tangent)`.

    Reverse mode and higher orders follow from the rule. Give the rule as a second argument or with `@f.defjvp`; `f.defjvps(...)` takes a
    function for each input. `nondiff_argnums` are arguments without derivatives, which the rule gets first.

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

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a function `jvp(t, out, *inputs)` for each input: the tangent of the output is their sum; None for no derivative.

        >>> import adjoint as ad
        >>> @ad.custom_jvp
        ... def product(x, y):
        ...     return x * y
        >>> product.defjvps(lambda t, out, x, y: t * y, lambda t, out, x, y: x * t)
        >>> print(*ad.grad(product, (0, 1))(2.0, 3.0))
        3.0 2.0
        """
        if self.nondiff:
            raise ArgumentError(f"defjvps does not go with nondiff_argnums: use defjvp{called_at()}")

        def summed(inputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
            if len(jvps) != len(inputs):
                raise ArgumentError(
                    f"defjvps of {name_of(self.fn)} has {len(jvps)} functions for {len(inputs)} inputs{called_at()}"
                )
            out = self(*inputs)
            parts = [context.readable(f)(t, out, *inputs) for f, t in zip(jvps, tangents, strict=True) if f is not None]
            if not parts:
                return out, tree.map(zeros_like, out)
            return out, functools.reduce(lambda a, b: tree.map(add, a, b), parts)

        self._define(summed)

    def _call(self, on_arrays: Callable[..., Any], given: _Given) -> CustomCall:
        fixed = [given.fixed[i] for i in sorted(given.fixed)]

        def rule(inputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
            moved: list[Any] = [0 if isinstance(x, int) else None for x in given.leaves]  # an integer has none
            for i, t in zip(given.spots, tangents, strict=True):
                moved[i] = t
            return context.readable(self.rule)(*fixed, given.inputs(inputs), tuple(given.rebuild(moved)))

        return JvpCall(name_of(self.fn), on_arrays, rule, self._linear)
