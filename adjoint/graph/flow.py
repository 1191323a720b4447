"""Building control flow from Python functions: each is run once on graph values, and becomes a graph of a Cond or a Loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np

from adjoint.core import context, views
from adjoint.core.dispatch import Value
from adjoint.core.errors import AdjointError, ShapeError
from adjoint.core.spec import Number, Spec, dtype_of, number_of, sample, shape_of, spec_of
from adjoint.graph.bounds import Mark, bounds, joined, over_iterations
from adjoint.graph.control import Cond, Control, Loop
from adjoint.graph.loop_checkpoints import applied
from adjoint.graph.node import Builder, Const, Graph, Node, Param
from adjoint.graph.number_types import either_kind, mark_of_kinds, needs
from adjoint.graph.numbers import MANY, check_exact, marked, unbounded
from adjoint.graph.rounded import is_exact, node_of, note_rounded
from adjoint.graph.trace import identity, traced
from adjoint.ops.card import card
from adjoint.ops.casting import Cast
from adjoint.ops.families import Elementwise, Reduction
from adjoint.ops.language import cast
from adjoint.ops.movement import Movement

#: Whether a branch or a loop is being traced around this one, whose bounds are then worked out there.
_inside: ContextVar[bool] = ContextVar("inside", default=False)


class MismatchError(AdjointError, TypeError):
    """A variable that has another shape or dtype after a branch or an iteration than it should have."""

    def __init__(self, index: int, left: Any, right: Any) -> None:
        super().__init__(f"value {index} is {left} on one way and {right} on the other")
        self.index, self.left, self.right = index, left, right


def _traced_all(
    fns: Sequence[Callable[..., Sequence[Any]]],
    specs: Sequence[Spec],
    numbers: Sequence[Mark] = (),
    branch: bool = False,
    layouts: Sequence[Any] = (),
) -> tuple[list[Graph], list[Any], list[list[Spec]], list[list[str]]]:
    """Graphs of several functions of the same inputs, with the values that any of them takes from outside as further inputs;
    the specs of their results, which are weak where they are Python numbers, and what kinds of number these may be."""
    with context.setting(_inside, True):
        found = [traced(fn, specs, branch=branch, numbers=numbers, layouts=layouts) for fn in fns]
    outside: dict[Any, Any] = {identity(x): x for _, values, _ in found for x in values}
    n = len(specs)
    common, kinds, types = [], [], []
    for graph, values, marks in found:
        own = dict(zip(map(identity, values), graph.params[n:], strict=True))
        extra = [
            own[i] if i in own else Node(Param(n + k), (), spec_of(x).strong)
            for k, (i, x) in enumerate(outside.items())
        ]
        common.append(replace(graph, params=(*graph.params[:n], *extra)))
        kinds.append([replace(s, weak=m is not None) for s, m in zip(graph.specs, marks, strict=True)])
        types.append([_types(m, s) for s, m in zip(graph.specs, marks, strict=True)])
    return common, list(outside.values()), kinds, types


def _types(mark: Mark, spec: Spec) -> str:
    """The kinds that a number may be of; nothing for an array."""
    return "" if mark is None else mark.kinds or spec.dtype.kind


def _cast_outputs(graph: Graph, targets: Sequence[Spec]) -> Graph:
    pairs = zip(graph.outputs, targets, strict=True)
    outputs = tuple([y if y.spec == t else Builder().build(card(Cast, t.dtype), [y]) for y, t in pairs])
    return graph if outputs == graph.outputs else replace(graph, outputs=outputs)


# ---------------------------------------------------------------- branches


def branches(
    pred: Any, true_fn: Callable[..., Sequence[Any]], false_fn: Callable[..., Sequence[Any]], given: Sequence[Any] = ()
) -> list[Any]:
    """The results of one of two functions of the values given. Both must return values of the same shapes and dtypes; a Python
    number on one way takes the dtype of an array on the other."""
    specs = [spec_of(x).strong for x in given]
    graphs, outside, kinds, types = _traced_all([true_fn, false_fn], specs, branch=not given)
    if len(graphs[0].outputs) != len(graphs[1].outputs):
        raise ShapeError("the two branches return different numbers of values")
    targets = [_unified(i, *pair) for i, pair in enumerate(zip(*kinds, strict=True))]
    sides = [_cast_outputs(g, [t.strong for t in targets]) for g in graphs]
    found = Cond(*sides)(pred, *given, *outside)
    _note_rounded(found, graphs, kinds, targets)
    if not any(t.weak for t in targets):
        return list(found)
    inputs = [None] * len(given) + [number_of(x) for x in outside]
    marks: list[Mark] = [
        joined(a, b) or Number() for a, b in zip(*(bounds(side, inputs) for side in sides), strict=True)
    ]
    if not _inside.get():
        marks = [unbounded(m, t) for m, t in zip(marks, targets, strict=True)]
    either = [either_kind(a, b) for a, b in zip(*types, strict=True)]
    for graph in graphs if any(len(k) > 1 for k in either) else ():
        check_exact(m for m, k in zip(bounds(graph, inputs), either, strict=True) if m is not None and len(k) > 1)
    return [_marked(y, m, t, k) for y, m, t, k in zip(found, marks, targets, either, strict=True)]


def _note_rounded(
    found: Sequence[Any], graphs: Sequence[Graph], kinds: Sequence[Sequence[Spec]], targets: Sequence[Spec]
) -> None:
    """Note which results are numbers of Python's on one way that were rounded to the dtype of the array on the other."""
    for i, (y, target) in enumerate(zip(found, targets, strict=True)):
        ends = [(g.outputs[i], k[i].weak and not target.weak) for g, k in zip(graphs, kinds, strict=True)]
        inexact = [end for end, weak in ends if weak and not is_exact(end, target.dtype)]
        if target.dtype.kind in "iu" and any(isinstance(end.op, Const) for end in inexact):
            raise MismatchError(i, *(k[i] for k in kinds))
        if target.dtype.kind in "fc" and (inexact or any(end.rounded for end, _ in ends)):
            note_rounded(node_of(y))


def _marked(y: Any, mark: Mark, spec: Spec, kinds: str) -> Any:
    """A result of a branch or a loop, marked as the number that it is to Python; that number itself where it is known by now."""
    if spec.weak and not isinstance(y, Value):
        if len(kinds) > 1:
            raise needs("this loop or branch leaves a number that may be of several types, as the run decides")
        return np.asarray(y).item()
    return marked(y, mark_of_kinds(mark or Number(), kinds, spec.dtype) if spec.weak else None)


def harmless(graph: Graph) -> bool:
    """Whether a graph may be computed though its results are not wanted: it cannot fail, does nothing else and takes no time."""
    cheap = (Param, Const, Elementwise, Reduction, Movement, Cast)
    return not graph.effects and all(isinstance(n.op, cheap) for n in graph.nodes)


def _unified(i: int, a: Spec, b: Spec) -> Spec:
    """What a value is after branches that leave these."""
    if a.shape != b.shape or (not a.weak and not b.weak and a.dtype != b.dtype):
        raise MismatchError(i, a, b)
    if a.weak and b.weak:
        return a if a.dtype == b.dtype else _wider(a, b)
    strong, weak = (b, a) if a.weak else (a, b)
    if weak.dtype.kind != "b" and np.result_type(sample(weak), strong.dtype) != strong.dtype:
        raise MismatchError(i, a, b)
    return strong


def _wider(a: Spec, b: Spec) -> Spec:
    """The kind of Python number that holds both."""
    return Spec(a.shape, np.result_type(a.dtype, b.dtype), weak=True)


def cond(pred: Any, true_fn: Callable[[], Sequence[Any]], false_fn: Callable[[], Sequence[Any]]) -> list[Any]:
    """The results of one of two functions, by a truth value of a graph. Both must return values of the same shapes and dtypes."""
    if shape_of(pred) != ():
        raise ShapeError(
            f"a condition must be one truth value, not shape {shape_of(pred)}; use .any(), .all() or ops.where"
        )
    return branches(pred, true_fn, false_fn)


# ---------------------------------------------------------------- loops


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Sequence[Any]],
    init: Sequence[Any],
    length: int | None = None,
    counter: Number | None = None,
    limits: Mapping[int, int] | None = None,
) -> list[Any]:
    """Repeat a function on its state while a condition holds; each part of the state keeps its shape and dtype.

    What the function returns beyond the state is stacked, iteration by iteration, and follows the state. A Python number that becomes
    an array takes its dtype from the start; `length` iterations are sure to take place, so that it must not be seen there. `counter`
    are the bounds of the first part, if that counts the iterations; `limits` say of integers among the others that the body checks
    their sizes.
    """
    specs = [spec_of(x) for x in init]
    start = [number_of(x) for x in init]
    seen: tuple[tuple[int, Spec, Spec], list[str]] | None = None
    types = [_types(m, s) for m, s in zip(start, specs, strict=True)]
    for _ in range(6):
        numbers = [mark_of_kinds(Number(), k, s.dtype) if s.weak else None for s, k in zip(specs, types, strict=True)]
        if counter is not None:
            numbers[0] = counter
        graphs, outside, kinds, (_, after) = _traced_all(
            [lambda *s: [cond_fn(*s)], body_fn],
            [s.strong for s in specs],
            numbers,
            layouts=list(map(views.layout, init)),
        )
        test, body = graphs
        known, types = types, [either_kind(a, b) for a, b in zip(types, after)]
        if seen is not None and list(map(str, graphs)) != seen[1]:
            raise MismatchError(*seen[0])
        fresh = [_joined(i, s, b, length is not None) for i, (s, b) in enumerate(zip(specs, kinds[1]))]
        if specs == fresh and types == known:
            break
        seen = None if length is None else _first_iteration(graphs, specs, fresh)
        specs = fresh
    inputs = [number_of(x) for x in outside]
    final = _final(body, start, specs, inputs, length, counter, limits or {})
    body = _cast_outputs(body, [s.strong for s in (*specs, *body.specs[len(specs) :])])
    init = [x if dtype_of(x) == s.dtype else cast(x, s.dtype) for x, s in zip(init, specs, strict=True)]
    loop = Loop(body, len(init), 0, None if length is not None else test, length)
    found = applied(loop, [*init, *outside])
    ends = after if length else types  # a loop that surely has an iteration leaves what that leaves
    return [*map(_marked, found, final, specs, ends), *found[len(final) :]]


def _final(
    body: Graph,
    start: list[Mark],
    specs: list[Spec],
    inputs: list[Mark],
    length: int | None,
    counter: Mark,
    limits: Mapping[int, int],
) -> list[Mark]:
    """The marks of the state after the loop. The integers in it are shown to fit into 64 bits in every iteration."""
    known = [m if s.weak else None for m, s in zip(start, specs, strict=True)]
    if not any(s.weak for s in specs):
        return known
    known = [Number() if m is not None and s.dtype.kind not in "bi" else m for m, s in zip(known, specs, strict=True)]
    if not _inside.get():
        known, inputs = [unbounded(m, s) for m, s in zip(known, specs, strict=True)], list(inputs)
    first = 0 if counter is None else 1
    checked = {i - first: Number(-limit, limit) for i, limit in limits.items()}
    known = [checked.get(i - first, m) for i, m in enumerate(known)]

    def step(state: list[Mark]) -> list[Mark]:
        after = bounds(body, [*known_counter, *state, *inputs])[first : len(specs)]
        weak = [m if s.weak else None for m, s in zip(after, specs[first:], strict=True)]
        return [checked.get(i, m) for i, m in enumerate(weak)]

    known_counter = [] if counter is None else [counter]
    iterations = length if length is not None else MANY if counter is None or counter.high is None else counter.high + 1
    after = over_iterations(step, known[first:], iterations)
    ends = [] if counter is None or counter.high is None else [Number(0, counter.high + 1)]
    return [*ends, *after]


def _first_iteration(graphs: list[Graph], before: list[Spec], after: list[Spec]) -> Any:
    """A number that becomes an array must do in the first iteration what the array would do: all its uses cast it; or, where their
    dtypes are the same, the graphs are the same, which are returned to be compared."""
    same = None
    for i, (s, f) in enumerate(zip(before, after, strict=True)):
        if not s.weak or f.weak:
            continue
        if s.dtype == f.dtype:
            same = i, s, f
        elif not all(_only_cast(g, g.params[i], f.dtype) for g in graphs):
            raise MismatchError(i, s, f)
    return None if same is None else (same, list(map(str, graphs)))


def _only_cast(graph: Graph, param: Node, dtype: np.dtype) -> bool:
    """Whether all that becomes of an input is that it takes a dtype: then it may have taken it before."""
    for node in graph.nodes:
        if param not in node.inputs or (isinstance(node.op, Cast) and node.op.dtype == dtype):
            continue
        if not isinstance(node.op, Control):
            return False
        first = 1 if isinstance(node.op, Cond) else 0
        places = [i - first for i, x in enumerate(node.inputs) if x is param]
        if any(i < 0 for i in places) or (isinstance(node.op, Loop) and any(i < node.op.carried for i in places)):
            return False
        inner = [(g, _shifted(node.op, g, i)) for g in node.op.graphs().values() for i in places]
        if not all(_only_cast(g, g.params[i], dtype) for g, i in inner):
            return False
    return param not in graph.outputs or not any(y is param for y in graph.outputs)


def _shifted(op: Any, graph: Graph, place: int) -> int:
    """The place of a loop's input among those of its condition, which takes no slices."""
    return place - op.stacked if isinstance(op, Loop) and graph is op.test else place


def _joined(i: int, before: Spec, after: Spec, sure: bool) -> Spec:
    """What a part of the state is, given what it was before an iteration and after it."""
    if before.shape != after.shape:
        raise MismatchError(i, before, after)
    if before.weak and after.weak:
        return before if before.dtype == after.dtype else _wider(before, after)
    if before.weak and np.result_type(sample(before), after.dtype) == after.dtype:
        return after.strong
    if after.weak and not sure and np.result_type(sample(after), before.dtype) == before.dtype:
        return before
    if before == after:
        return before
    raise MismatchError(i, before, after)


def for_loop(
    count: Any,
    body_fn: Callable[..., Sequence[Any]],
    init: Sequence[Any],
    limits: Mapping[int, int] | None = None,
) -> list[Any]:
    """Repeat `body_fn(i, *state)` for i below `count`, a number or a graph value."""

    def body(i: Any, *state: Any) -> list[Any]:
        return [i + 1, *body_fn(i, *state)]

    known = isinstance(count, (int, np.integer))
    length = int(count) if known else None
    counter = Number(0, max(0, int(count) - 1) if known else MANY - 1)
    return while_loop(lambda i, *state: i < count, body, [0, *init], length, counter, limits)[1:]
