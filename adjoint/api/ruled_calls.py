"""Calls of functions with a derivative rule of their own, as ops.

A function with its own rule is called as one op. Its kernel runs the function; in a graph it is a graph of its own. Its missing
mode is derived: a rule that is linear in the tangent is transposed by reverse mode, and the other way round, so one rule
serves both modes. A rule that is not linear has no transpose, and is refused in the other mode.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from adjoint.api.batching import vmap
from adjoint.api.grad import vjp
from adjoint.core import context, random_counters, rules, tree
from adjoint.core.absent import ZERO, instantiate
from adjoint.core.arrays import kept
from adjoint.core.dispatch import BOTTOM, Value, beside, lift, wrap
from adjoint.core.errors import PACKAGE, ArgumentError, CutGradientError, NoRuleError, called_at
from adjoint.core.spec import Spec, dtype_of, has_derivative, shape_of, spec_of
from adjoint.frontend.calls import call, traceable
from adjoint.frontend.files import is_users
from adjoint.frontend.reads import recorder
from adjoint.graph.ruled import Ruled, outside
from adjoint.graph.steps import steps
from adjoint.graph.trace import NeedsNumberError, Tracer, trace
from adjoint.graph.walk import replay
from adjoint.ops.card import Op, innermost
from adjoint.ops.language import cast, moveaxis, sum_axes, zeros_like


class CustomCall(Op):
    """One call of a user's function on flat inputs; subclasses hold the user's rule.

    `known` holds the Specs for which the rule was seen to be linear.
    """

    opaque = True

    def __init__(
        self, name: str, fn: Callable[..., Any], rule: Callable[..., Any], known: set[Any] | None = None
    ) -> None:
        self.name, self.fn, self.rule = name, fn, rule
        self.rebuild: Callable[[list[Any]], Any] = lambda ys: ys[0]
        self.known: set[Any] = set() if known is None else known
        self.users_rule: Any = None  # what the user wrote, behind `rule`

    def __repr__(self) -> str:
        return self.name

    def infer(self, *specs: Spec) -> Any:
        y = self.eval(np, *(np.zeros(s.shape, s.dtype) for s in specs))
        return tuple(map(spec_of, y)) if isinstance(y, tuple) else spec_of(y)

    def __call__(self, *xs: Any) -> Any:
        around = innermost(xs)
        return self._in_graph(around, xs) if isinstance(around, Tracer) else super().__call__(*xs)

    def _in_graph(self, around: Tracer, xs: tuple[Any, ...]) -> Any:
        """The function as a graph of its own, in the graph being built."""
        scope: Any = context.bindings.get()
        before, stored = {} if scope is None else dict(scope.stored), dict[Any, Any]()

        def run(*ys: Any) -> list[Any]:
            leaves = self._leaves(ys)
            if scope is not None:
                stored.update({p: scope.stored[p] for p in scope.since(before)})
                scope.back_to(before)
            return [*leaves, *stored.values()]

        inner, captured = trace(run, list(map(spec_of, xs)), self.name)
        if any(x._trace.level > around.level for x in captured):
            raise CutGradientError(outside(self.name))
        read = context.reader.get()
        note_reads(self.users_rule, recorder.get())
        n = len(inner.outputs) - len(stored)
        ys = Ruled(replace(inner, outputs=inner.outputs[:n]), self, len(xs), None if read is None else _read)(
            *xs, *captured
        )
        if stored:  # no derivative flows into them: the rule has no say
            values = replay(replace(inner, outputs=inner.outputs[n:], effects=()), [*xs, *captured])
            for p, value in zip(stored, values, strict=True):
                scope.store(p, value)
        return ys if len(ys) > 1 else ys[0]

    def _leaves(self, xs: Sequence[Any]) -> list[Any]:
        """The results of the function."""
        out = context.readable(self.fn)(*(x if isinstance(x, (float, complex)) else wrap(x) for x in xs))
        leaves, self.rebuild = tree.flatten(out)
        if not leaves:
            raise ArgumentError(f"{self.name} returned nothing (did you forget `return`?){called_at()}")
        return leaves

    def eval(self, xp: Any, *xs: Any) -> Any:
        # Plain values: an open tape, and a batch, have seen the call as a whole.
        with context.setting(context.open_tape, None), context.setting(random_counters.batches, ()):
            leaves = self._leaves(xs)
        for y in leaves:
            if isinstance(y, Value) and y._trace not in BOTTOM:
                raise CutGradientError(outside(self.name))
        values = tuple(lift(y) if isinstance(y, Value) else kept(np.asarray(y)) for y in leaves)
        return values if len(values) > 1 else values[0]

    def output(self, ys: Any) -> Any:
        """The function's output in its own structure."""
        return self.rebuild(list(ys) if isinstance(ys, tuple) else [ys])

    def batched(self, dims: Sequence[int | None]) -> CustomCall:
        """The call for a batch, with the rule of one example."""
        raise NotImplementedError

    def vmap(self, dims: Sequence[int | None], *xs: Any) -> Any:
        batched = self.batched(dims)
        with context.setting(
            random_counters.batches,
            tuple(b for b in random_counters.batches.get() if isinstance(b, random_counters.InGraph)),
        ):
            ys = batched(*xs)
        self.rebuild = batched.rebuild
        return ys

    @classmethod
    def samples(cls, draw: Any) -> Any:
        yield from ()

    def __hash__(self) -> int:
        return id(self)


def note_reads(rule: Any, reads: Any) -> None:
    """What a rule reads is read by the graph's derivatives: a change of it makes the graph anew."""
    if reads is None or not isinstance(rule, FunctionType) or rule.__code__.co_filename.startswith(PACKAGE):
        return
    if is_users(rule.__code__.co_filename) and "_ad" not in rule.__code__.co_freevars:  # else it is made in the trace
        reads.sweep(rule)


def _read(fn: Any) -> Any:
    """A rule as it is called on graph values, outside of any trace of a whole function."""
    return traceable(fn) if isinstance(fn, FunctionType) else functools.partial(call, fn)


def _flat(ys: Any) -> tuple[Any, ...]:
    return ys if isinstance(ys, tuple) else (ys,)


def given_back(what: str, grads: Any, xs: Sequence[Any]) -> list[Any]:
    """A rule's results, one for each input, as values one level below; None counts as zero."""
    grads = list(grads) if isinstance(grads, (tuple, list)) else [grads]
    if len(grads) != len(xs):
        raise ArgumentError(f"{what} returned {len(grads)} gradients for {len(xs)} inputs{called_at()}")
    result = []
    for i, (g, x) in enumerate(zip(grads, xs, strict=True)):
        if g is None or not has_derivative(dtype_of(x)):
            result.append(ZERO)
            continue
        if shape_of(g) != shape_of(x):
            raise ArgumentError(
                f"{what} returned a gradient of shape {shape_of(g)} for input {i} of shape {shape_of(x)}{called_at()}"
            )
        result.append(lift(kept(g) if dtype_of(g) == dtype_of(x) else cast(g, dtype_of(x))))
    return result


# ---------------------------------------------------------------- the other mode: the transpose of a linear rule


_PROBES = ((1.7, -0.6), (300.0, -170.0), (-2e-3, 5e-3), (2e6, 3e6))


def check_linear(what: str, function: Callable[..., Any], likes: Sequence[Any], known: set[Any]) -> None:
    """Refuse a rule that is not linear in its cotangents or tangents: its transpose would be another derivative."""
    specs = tuple(Spec(shape_of(v), dtype_of(v)) for v in likes)
    if specs in known:
        return
    try:
        graph, captured = trace(lambda *gs: list(_flat(function(*gs))), specs, what)
    except NeedsNumberError as error:
        raise NoRuleError(what, "transpose", f"It takes numbers out of Tensors: {error}\n{_ADVICE}") from None
    draw = np.random.default_rng(0)
    others = [_probe(draw, spec_of(x), 0.7) for x in captured]
    run = steps(graph)
    for a, b in _PROBES:
        left, right = ([_probe(draw, s, scale) for s in specs] for scale in (a, b))
        both = [x + y for x, y in zip(left, right, strict=True)]
        parts, total = [run(*gs, *others) for gs in (left, right)], run(*both, *others)
        for x, y, z in zip(*parts, total, strict=True):
            size = np.abs(np.asarray(x, complex)) + np.abs(np.asarray(y, complex))
            with np.errstate(all="ignore"):
                if np.any(np.abs(x + y - np.asarray(z, complex)) > 1e-2 * size):
                    raise NoRuleError(what, "transpose", f"It is not linear. {_ADVICE}")
    known.add(specs)


_ADVICE = (
    "Use the mode that the rule is for (custom_vjp: grad, jacrev; custom_jvp: jvp, jacfwd), or give a linear rule."
)


def _probe(draw: np.random.Generator, spec: Spec, scale: float) -> Any:
    """Some value of such a shape and dtype."""
    if not has_derivative(spec.dtype):
        return np.zeros(spec.shape, spec.dtype)
    return np.asarray(scale * draw.uniform(0.5, 1.0, spec.shape), spec.dtype)


def transposed_vjp(call: Any, name: str, known: set[Any], ts: Sequence[Any], y: Any, xs: Sequence[Any]) -> Any:
    """Tangents taken forward by a rule that takes cotangents back."""
    active = [i for i, t in enumerate(ts) if t is not ZERO]

    def pulled(*gs: Any) -> tuple[Any, ...]:
        back = call.vjp(gs if isinstance(y, tuple) else gs[0], y, *xs)
        found = [back[i]() if callable(back[i]) else back[i] for i in active]
        zeros = [beside(np.zeros(shape_of(xs[i]), dtype_of(xs[i])), xs[i]) for i in active]
        return tuple(z if g is ZERO else g for g, z in zip(found, zeros, strict=True))

    floats = [i for i, v in enumerate(_flat(y)) if has_derivative(dtype_of(v))]
    still = [beside(np.zeros(shape_of(v), dtype_of(v)), v) for v in _flat(y)]

    def of_floats(*gs: Any) -> tuple[Any, ...]:
        filled = list(still)
        for i, g in zip(floats, gs, strict=True):
            filled[i] = g
        return pulled(*filled)

    likes = [_flat(y)[i] for i in floats]
    check_linear(f"the vjp rule of {name}", of_floats, likes, known)
    _, push = vjp(of_floats, *(wrap(beside(np.ones(shape_of(v), dtype_of(v)), v)) for v in likes))
    result: list[Any] = [ZERO] * len(_flat(y))
    with context.setting(rules.transposing, True):
        pushed = push(*(wrap(ts[i]) for i in active))
    for i, t in zip(floats, pushed, strict=True):
        result[i] = lift(t)
    return tuple(result) if isinstance(y, tuple) else result[0]


class VjpCall(CustomCall):
    """A call whose reverse rule the user gave: rule(*inputs, out, dout) -> one gradient for each input."""

    def vjp(self, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        dout = self.output(tuple(map(wrap, g)) if isinstance(g, tuple) else wrap(g))
        out = self.output(tuple(map(wrap, y)) if isinstance(y, tuple) else wrap(y))
        return tuple(given_back(f"the vjp rule of {self.name}", self.rule(*map(wrap, xs), out, dout), xs))

    def jvp(self, ts: Sequence[Any], y: Any, *xs: Any) -> Any:
        """The rule is linear in its cotangent; its transpose takes tangents forward."""
        return transposed_vjp(self, self.name, self.known, ts, y, xs)

    def batched(self, dims: Sequence[int | None]) -> VjpCall:
        fn, dims = vmap(self.fn, in_axes=tuple(dims)), tuple(dims)
        call = VjpCall(f"vmap({self.name})", fn, batched_rule(self.rule, dims))
        call.rebuild = self.rebuild
        return call


def batched_rule(rule: Callable[..., Any], dims: Sequence[int | None]) -> Callable[..., Any]:
    """The reverse rule for a batch: the rule of each example; an input that all share gets the sum."""

    def filled(*args: Any) -> list[Any]:
        return [zeros_like(x) if g is None else g for g, x in zip(rule(*args), args, strict=False)]

    def whole(*args: Any) -> list[Any]:
        grads = vmap(filled, in_axes=(*dims, 0, 0))(*args)
        return [_to_axis(g, d) for g, d in zip(grads, dims, strict=True)]

    return whole


def _to_axis(g: Any, d: int | None) -> Any:
    """A batched gradient in the place of its input's batch axis; summed for an input that all examples share."""
    return sum_axes(g, (0,)) if d is None else moveaxis(g, 0, d)


class JvpCall(CustomCall):
    """A call whose forward rule the user gave: rule(inputs, tangents) -> (out, tangent)."""

    def jvp(self, ts: Sequence[Any], y: Any, *xs: Any) -> Any:
        vectors = [instantiate(t, x) for t, x in zip(ts, xs, strict=True)]
        found = self.rule(tuple(map(wrap, xs)), tuple(map(wrap, vectors)))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise ArgumentError(f"the jvp rule of {self.name} must return (output, tangent){called_at()}")
        leaves = tree.leaves_like(found[1], self.output(y))
        if [shape_of(t) for t in leaves] != [shape_of(v) for v in _flat(y)]:
            shapes = ", ".join(str(shape_of(t)) for t in leaves)
            raise ArgumentError(f"the jvp rule of {self.name} returned tangents of shape {shapes}{called_at()}")
        pushed = tuple(
            lift(kept(t) if dtype_of(t) == dtype_of(v) else cast(t, dtype_of(v)))
            for t, v in zip(leaves, _flat(y), strict=True)
        )
        return pushed if isinstance(y, tuple) else pushed[0]

    def vjp(self, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        """The rule is linear in its tangents; its transpose takes cotangents back."""
        active = [i for i, x in enumerate(xs) if has_derivative(dtype_of(x))]

        def pushed(*ts: Any) -> Any:
            full: list[Any] = [ZERO] * len(xs)
            for i, t in zip(active, ts, strict=True):
                full[i] = t
            return self.jvp(full, y, *xs)

        check_linear(f"the jvp rule of {self.name}", pushed, [xs[i] for i in active], self.known)
        _, pull = vjp(pushed, *(wrap(instantiate(ZERO, xs[i])) for i in active))
        with context.setting(rules.transposing, True):
            pulled = pull(*map(wrap, _flat(g)))
        result: list[Any] = [ZERO] * len(xs)
        for i, c in zip(active, pulled, strict=True):
            result[i] = lift(c)
        return tuple(result)

    def batched(self, dims: Sequence[int | None]) -> JvpCall:
        dims = tuple(dims)
        fn, rule = vmap(self.fn, in_axes=dims), vmap(self.rule, in_axes=(dims, dims))
        call = JvpCall(f"vmap({self.name})", fn, rule)
        call.rebuild = self.rebuild
        return call
