"""The rules of `Loop`: its derivatives and its batches are loops again.

Forward mode carries tangents beside the state. Reverse mode runs the loop once more, stacking what each iteration needs in the
backward pass (a stack that grows where the number of iterations is not known), and then runs a loop over these stacks from the
last iteration to the first. A batch is one loop for all of its examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core.absent import ZERO, instantiate
from adjoint.core.rules import derived
from adjoint.core.spec import Spec, bool_, dtype_of, shape_of
from adjoint.graph.derivatives import depends, jvp_graph, taylor_graph, vjp_graph, vmap_graph
from adjoint.graph.nested import float_positions, select, silent, spread_series
from adjoint.graph.node import Builder, Graph, Node, Pick
from adjoint.graph.python_results import noted, taking
from adjoint.graph.residuals import worth_keeping
from adjoint.graph.trace import trace
from adjoint.graph.untaken import batch_if_wanted
from adjoint.graph.walk import replay
from adjoint.ops.broadcast import batch_front
from adjoint.ops.language import any_of, broadcast_to, moveaxis
from adjoint.transforms.batch import Common

if TYPE_CHECKING:
    from adjoint.graph.control import Loop

Places = tuple[int, ...]


def _specs(graph: Graph) -> list[Spec]:
    return [p.spec.strong for p in graph.params]


# ---------------------------------------------------------------- forward mode


def loop_jvp(loop: Loop, ts: Sequence[Any], ys: Sequence[Any], xs: Sequence[Any]) -> tuple[Any, ...]:
    """The same loop on state and tangents side by side."""
    found = _beside(loop, [None if t is ZERO else [t] for t in ts], ys, xs, 1, whole=False)
    return tuple(ZERO if part is None else part[0] for part in found)


def loop_taylor(loop: Loop, order: int, series: Sequence[Any], ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    """The same loop on state and later coefficients side by side."""
    return _beside(loop, series, ys, xs, order, whole=True)


def _beside(
    loop: Loop, later: Sequence[Any], ys: Sequence[Any], xs: Sequence[Any], order: int, whole: bool
) -> list[Any]:
    """Those of each result (None where there are none) by the loop on state and derivatives: the first, or the `whole` series."""
    carry, stacked, constants = loop.parts(xs)
    ct, st, kt = loop.parts(later)
    c = float_positions(carry)
    s, k = (tuple(i for i, t in enumerate(part) if t is not None) for part in (st, kt))
    given = _with_derivatives(loop, c, s, k, order, whole)(
        *carry, *(instantiate(t, carry[i]) for i in c for t in ct[i] or [ZERO] * order),
        *stacked, *(ys[j] for _, j in _called(loop, whole)), *(instantiate(t, stacked[i]) for i in s for t in st[i]),
        *constants, *(instantiate(t, constants[i]) for i in k for t in kt[i]),
    )  # fmt: skip
    a, stacks = loop.carried, len(loop.body.outputs) - loop.carried
    n = a + len(c) * order
    places = (*c, *(a + i for i in float_positions(loop.body.specs[a:])))
    return spread_series([*given[a:n], *given[n + stacks :]], order, places, len(ys))


def _with_derivatives(loop: Loop, carry: Places, stacked: Places, constants: Places, order: int, whole: bool) -> Loop:
    """The loop on: carry, its derivatives, stacked, what calls of Python gave, their derivatives, constants, their derivatives."""
    rows = len(_called(loop, whole))
    test = None if loop.test is None or rows else _test_with_derivatives(loop, carry, constants, order)
    return loop.with_body(
        _body_with_derivatives(loop, carry, stacked, constants, order, whole),
        carried=loop.carried + len(carry) * order,
        stacked=loop.stacked + rows + len(stacked) * order,
        test=test,
        length=None if rows else loop.length,
    )


def _called(loop: Loop, whole: bool = False) -> list[tuple[Node, int]]:
    """Which results of calls of Python the loop has put out, and where; a `whole` series is computed with new calls."""
    return [] if whole else noted(silent(loop.body), loop.carried, "jvp")


def _test_with_derivatives(loop: Loop, carry_places: Places, constant_places: Places, order: int) -> Graph:
    """The loop's test on a longer carry and more constants, of which it needs the first ones."""
    test, a = loop.test, loop.carried
    assert test is not None
    carry, constants = _specs(test)[:a], _specs(test)[a:]
    n = a + len(carry_places) * order

    def decide(*xs: Any) -> list[Any]:
        return replay(test, [*xs[:a], *xs[n : n + len(constants)]])

    more = _times(order, carry, carry_places), _times(order, constants, constant_places)
    return trace(decide, [*carry, *more[0], *constants, *more[1]], replayed=True)[0]


def _times(order: int, specs: Sequence[Spec], places: Places) -> list[Spec]:
    return [specs[i] for i in places for _ in range(order)]


@derived
def _body_with_derivatives(
    loop: Loop, carry: Places, stacked: Places, constants: Places, order: int, whole: bool
) -> Graph:
    body, a, s = silent(loop.body), loop.carried, loop.stacked  # the primal runs the effects
    active = (*carry, *(a + i for i in stacked), *(a + s + i for i in constants))
    kept = (*carry, *(a + i for i in float_positions(body.specs[a:])))
    called = [y for y, _ in _called(loop, whole)]
    pushed = taylor_graph(body, active, order, kept) if whole else jvp_graph(body, active, kept, tuple(called))
    primal = taking(body, called, a + s) if called else body
    c, x, k = _specs(body)[:a], _specs(body)[a : a + s], _specs(body)[a + s :]
    n = len(carry) * order

    def both(*xs: Any) -> list[Any]:
        it = iter(xs)
        take = lambda n: [next(it) for _ in range(n)]  # noqa: E731
        cs, cts = take(a), take(n)
        ss, rows, sts = take(s), take(len(called)), take(len(stacked) * order)
        ks, kts = take(len(k)), take(len(constants) * order)
        ys = replay(primal, [*cs, *ss, *rows, *ks])
        ts = replay(pushed, [*cs, *ss, *ks, *rows, *cts, *sts, *kts])
        return [*ys[:a], *ts[:n], *ys[a:], *ts[n:]]

    specs = [
        *c, *_times(order, c, carry), *x, *(y.spec.strong for y in called), *_times(order, x, stacked), *k, *_times(order, k, constants)
    ]  # fmt: skip
    return trace(both, specs, pushed.name, replayed=True)[0]


# ---------------------------------------------------------------- reverse mode


def loop_vjp(loop: Loop, gs: Sequence[Any], ys: Sequence[Any], xs: Sequence[Any]) -> tuple[Any, ...]:
    """Run again keeping the state of each iteration, then go through the iterations from the last to the first."""
    carry, stacked, constants = loop.parts(xs)
    a, s = loop.carried, loop.stacked
    cf, sf, kf = (float_positions(part) for part in (carry, stacked, constants))
    yf = tuple(i for i in float_positions(loop.body.specs[a:]) if gs[a + i] is not ZERO)
    found = pull_back(
        loop, xs, (cf, sf, kf, yf),
        [instantiate(gs[i], carry[i]) for i in cf], [instantiate(ZERO, constants[i]) for i in kf],
        [gs[a + i] for i in yf], ys,
    )  # fmt: skip
    result: list[Any] = [ZERO] * len(xs)
    places = [*cf, *(a + s + i for i in kf), *(a + i for i in sf)]
    for place, g in zip(places, found, strict=True):
        result[place] = g
    return tuple(result)


def pull_back(
    loop: Loop,
    xs: Sequence[Any],
    places: tuple[Places, Places, Places, Places],
    carry_cotangents: Sequence[Any],
    sums: Sequence[Any],
    stack_cotangents: Sequence[Any],
    ys: Sequence[Any] = (),
) -> tuple[Any, ...]:
    """The cotangents of the carry, those of the constants added to `sums`, and those of the stacked inputs. `places` say which
    of the carry, the stacked inputs, the constants and the stacked results have one. `ys` are the results of the loop, among them those
    of calls of Python."""
    carry, stacked, constants = loop.parts(xs)
    cf, sf, kf, yf = places
    body = _keeping(loop)
    rows = [ys[k] for _, k in noted(silent(loop.body), loop.carried)]
    again = loop.with_body(body)
    if rows:  # as many iterations as the calls of Python were noted for
        again = replace(again, stacked=loop.stacked + len(rows), test=None, length=None)
    took_place, *kept = again(*carry, *stacked, *rows, *constants)[len(loop.body.outputs) :]
    kept += rows
    back = replace(
        loop, body=_back_body(loop, cf, sf, kf, yf), carried=len(cf) + len(kf), test=None, length=None,
        stacked=1 + len(kept) + loop.stacked + len(yf), backwards=not loop.backwards, guarded=True,
    )  # fmt: skip
    found: tuple[Any, ...] = back(*carry_cotangents, *sums, took_place, *kept, *stacked, *stack_cotangents, *constants)
    return found


@derived
def _keeping(loop: Loop) -> Graph:
    """The body that also puts out that this iteration took place, the state it began with, and what is expensive to compute again.

    What calls of Python gave are more slices that it takes.
    """
    body = silent(loop.body)
    took_place = Builder().const(np.bool_(True))
    called = [y for y, _ in noted(body, loop.carried)]
    whole = replace(body, outputs=(*body.outputs, took_place, *body.params[: loop.carried], *_worth_keeping(loop)))
    return taking(whole, called, loop.carried + loop.stacked) if called else whole


def _worth_keeping(loop: Loop) -> tuple[Node, ...]:
    """What is kept of each iteration beside what calls of Python gave."""
    body = silent(loop.body)
    called = {y.inputs[0] for y, _ in noted(body, loop.carried)}
    return tuple(n for n in worth_keeping(body, loop.carried) if not (isinstance(n.op, Pick) and n.inputs[0] in called))


@derived
def _back_body(loop: Loop, cf: Places, sf: Places, kf: Places, yf: Places) -> Graph:
    body, a, s = silent(loop.body), loop.carried, loop.stacked
    wanted = (*cf, *(a + s + i for i in kf), *(a + i for i in sf))
    active = (*cf, *(a + i for i in yf))
    kept = (*_worth_keeping(loop), *(y for y, _ in noted(body, a)))
    pull = vjp_graph(body, wanted, active, kept)
    specs = _specs(body)
    c, x, k = specs[:a], specs[a : a + s], specs[a + s :]
    outs = [o.spec.strong for o in body.outputs]

    def back(*xs: Any) -> list[Any]:
        it = iter(xs)
        take = lambda n: [next(it) for _ in range(n)]  # noqa: E731
        gc, gk = take(len(cf)), take(len(kf))
        _, cs, rs, ss, gy, ks = next(it), take(a), take(len(kept)), take(s), take(len(yf)), take(len(k))
        found = replay(pull, [*cs, *ss, *ks, *rs, *gc, *gy])
        n, m = len(cf), len(cf) + len(kf)
        sums = [old + new for old, new in zip(gk, found[n:m], strict=True)]
        return [*found[:n], *sums, *found[m:]]

    inputs = [
        *(c[i] for i in cf), *(k[i] for i in kf),
        Spec((), bool_), *c, *(n.spec.strong for n in kept), *x, *(outs[a + i] for i in yf), *k,
    ]  # fmt: skip
    return trace(back, inputs, f"vjp of {body.name}", replayed=True)[0]


# ---------------------------------------------------------------- batches


def loop_vmap(loop: Loop, dims: Sequence[int | None], xs: Sequence[Any]) -> tuple[Any, ...]:
    """One loop for the whole batch; an example that is done keeps its state while others go on.

    What no example changes in its own way, such as the counter, stays one for all of them.
    """
    size = next(shape_of(x)[d] for x, d in zip(xs, dims, strict=True) if d is not None)
    carry, stacked, constants = loop.parts(xs)
    cd, sd, kd = loop.parts(dims)
    flags, own, masked = _own_parts(loop, tuple(d is not None for d in dims))
    whole = [
        x if not yes else broadcast_to(x, (size, *shape_of(x))) if d is None else batch_front(x, d)
        for x, d, yes in zip(carry, cd, flags, strict=False)
    ]
    # The stacking axis stays in front, the batch comes second, so that a slice has the batch in front.
    slices = [x if d is None else moveaxis(batch_front(x, d), 0, 1) for x, d in zip(stacked, sd, strict=True)]
    shared = [x if d is None else batch_front(x, d) for x, d in zip(constants, kd, strict=True)]
    batched = _masked_loop(loop, flags, size) if masked else _common_loop(loop, flags, size)
    found = batched(*whole, *slices, *shared)
    a = loop.carried
    results = (*found[:a], *(moveaxis(y, 1, 0) if yes else y for y, yes in zip(found[a:], own[a:], strict=True)))
    return tuple([y if yes else Common(y) for y, yes in zip(results, own, strict=True)])


@derived
def _own_parts(loop: Loop, flags: tuple[bool, ...]) -> tuple[tuple[bool, ...], tuple[bool, ...], bool]:
    """Which inputs and which results of a loop have a batch axis, if these inputs are given with one; and whether examples
    may differ in their iterations."""
    a, s = loop.carried, loop.stacked
    every = (*(True,) * a, *flags[a:])
    while True:
        own = depends(loop.body, flags)
        grown = (*(was or now for was, now in zip(flags[:a], own, strict=False)), *flags[a:])
        if grown == flags:
            break
        flags = grown
    masked = loop.guarded and flags[a]
    if loop.test is not None:
        masked = masked or depends(loop.test, (*flags[:a], *flags[a + s :]))[0]
    return (every, (True,) * len(own), True) if masked else (flags, (*flags[:a], *own[a:]), False)


@derived
def _common_loop(loop: Loop, flags: tuple[bool, ...], size: int) -> Loop:
    """The loop of a batch whose examples go through the same iterations."""
    a, s = loop.carried, loop.stacked
    own = (*flags[:a], *depends(loop.body, flags)[a:])  # a state may begin with a batch, and go on without
    common = frozenset(k for k, yes in enumerate(own) if not yes)
    body = vmap_graph(loop.body, flags, size, common)
    if loop.test is None:
        return loop.with_body(body)
    return loop.with_body(body, test=vmap_graph(loop.test, (*flags[:a], *flags[a + s :]), size, frozenset({0})))


@derived
def _masked_loop(loop: Loop, flags: tuple[bool, ...], size: int) -> Loop:
    """The loop of a batch whose examples have iterations of their own: the others keep their state."""
    a, s = loop.carried, loop.stacked
    specs = _specs(vmap_graph(loop.body, flags, size))

    def masked(going: Any, xs: Sequence[Any]) -> list[Any]:
        ys = batch_if_wanted(loop.body, flags, size, xs, going)
        kept = [select(going, new, old) for new, old in zip(ys[:a], xs[:a], strict=True)]
        return [*kept, *(select(going, y, np.zeros((), dtype_of(y))) for y in ys[a:])]

    if loop.test is None:
        return loop.with_body(trace(lambda *xs: masked(xs[a], xs), specs, replayed=True)[0], guarded=False)
    test = vmap_graph(loop.test, (*flags[:a], *flags[a + s :]), size)

    def guarded(*xs: Any) -> list[Any]:
        return masked(replay(test, [*xs[:a], *xs[a + s :]])[0], xs)

    def any_going(*xs: Any) -> list[Any]:
        return [any_of(replay(test, xs)[0])]

    return loop.with_body(
        trace(guarded, specs, replayed=True)[0], test=trace(any_going, [*specs[:a], *specs[a + s :]], replayed=True)[0]
    )
