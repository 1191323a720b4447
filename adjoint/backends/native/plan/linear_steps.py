"""Loops whose state is linear in the state before, as in the backward pass of every loop: what an iteration multiplies and adds.

An iteration takes the state c to A c + b, where A and b depend on what the iteration reads and not on the state. So A and b of
as many iterations as a vector has lanes can be computed together, and only A c + b is left to do one iteration after another.
This is the chain rule with the products of one iteration multiplied out first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adjoint.backends.native.node_facts import is_elementwise
from adjoint.core.spec import bool_
from adjoint.graph.control import Cond, Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Const, Graph, Node, Pick
from adjoint.graph.rewrite import Make, rebuild
from adjoint.ops.arithmetic import MaskedMul
from adjoint.ops.card import card
from adjoint.ops.casting import Cast
from adjoint.ops.compare import Where

MASKED = 4  # what a masked product costs, in plain ones
FREE = -1  # the place of b in a form

#: A value that is linear in the state: the factor of each part of the state, and what is added.
Form = dict[int, Node]


@dataclass(frozen=True, eq=False, repr=False)
class LinearSteps:
    """What an iteration does: its results that are numbers, and what it adds to arrays of the state."""

    dtype: np.dtype
    forms: dict[int, Form]  # by the result
    updates: list[tuple[int, Form, Node]]  # array, what is added, and where

    @cached_property
    def sums(self) -> dict[int, Form]:
        """What each iteration adds to the parts of the state that nothing else needs: they are added up in lanes too."""
        needed = {k for j, form in self.forms.items() for k in form if k != j}
        needed |= {k for _, form, _ in self.updates for k in form}
        own = {k: form for k, form in self.forms.items() if k in form and only_added(k, form[k]) and k not in needed}
        return {k: {i: n for i, n in form.items() if i != k} for k, form in own.items()}

    @property
    def chain(self) -> dict[int, Form]:
        """The results that need the iteration before."""
        return {k: form for k, form in self.forms.items() if k not in self.sums}

    @property
    def values(self) -> list[Form]:
        """All products and sums."""
        return [*self.chain.values(), *self.sums.values(), *(form for _, form, _ in self.updates)]

    @cached_property
    def factors(self) -> Graph:
        """All that is computed in lanes."""
        wanted = [n for form in self.values for k, n in form.items() if not only_added(k, n)]
        return Graph((), tuple(dict.fromkeys([*wanted, *(at for _, _, at in self.updates)])))

    @property
    def cost(self) -> float:
        """What is done iteration by iteration, and a share of what is done in lanes."""
        apart = [*self.chain.values(), *(form for _, form, _ in self.updates)]
        together = len(self.factors.calls) + sum(2 * len(form) for form in self.sums.values())
        return sum(2 * len(form) - 1 for form in apart) + together / 4


def only_added(k: int, factor: Node) -> bool:
    """Whether a part of the state goes into a form as it is."""
    return k != FREE and isinstance(factor.op, Const) and bool(factor.op.value == 1)


def linear(loop: Loop) -> LinearSteps | None:
    """The steps of a loop if they are linear in its state, and cheaper that way."""
    if loop.test is not None or loop.guarded or not loop.stacked:
        return None
    body = rebuild(loop.body, _both_sides)
    updates = [(k, n) for k in range(loop.carried) for n in _additions(body.outputs[k], body.params[k])]
    arrays = {k for k, _ in updates}
    inside = [n for k, n in enumerate(body.params) if k not in arrays]
    if any(n.shape for n in inside) or any(n.shape for k, n in enumerate(body.outputs) if k not in arrays):
        return None
    adding = {n for _, n in updates}
    calls = [n for n in body.calls if n not in adding]
    # Only a chain rule may be multiplied out in another way than it is written.
    if any(not is_elementwise(n) or n.shape for n in calls) or not any(isinstance(n.op, MaskedMul) for n in calls):
        return None
    found = _steps(body, loop.carried, arrays, updates)
    return found if found is not None and found.cost < sum(map(_cost, calls)) else None


def _cost(node: Node) -> int:
    return MASKED if isinstance(node.op, MaskedMul) else 1


def _both_sides(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """A result of a branch as a choice between both sides: iterations side by side may go different ways."""
    if not (isinstance(node.op, Pick) and isinstance(inputs[0].op, Cond)):
        return None
    cond, (chosen, *others) = inputs[0].op, inputs[0].inputs

    def typed(x: Node, dtype: np.dtype) -> Node:
        return x if x.spec.dtype == dtype else builder.build(card(Cast, dtype), (x,))

    results = []
    for side in (cond.true, cond.false):
        known = {p: typed(x, p.spec.dtype) for p, x in zip(side.params, others, strict=True)}
        for n in side.nodes:
            if n not in known:
                known[n] = builder.keep(n, n.op, tuple([known[i] for i in n.inputs]))
        results.append(known[side.outputs[node.op.index]])
    return builder.build(card(Where), (typed(chosen, bool_), *results))


def _additions(node: Node, array: Node) -> list[Node]:
    """The steps of a chain that adds numbers to an array's elements; none if it is something else."""
    found: list[Node] = []
    while isinstance(node.op, InPlace) and node.op.op.indexing == "add" and len(node.inputs) == 3:
        if node.ndim != 1 or any(n.shape for n in node.inputs[1:]):
            return []
        found.append(node)
        node = node.inputs[0]
    return found[::-1] if node is array else []


def _steps(body: Graph, a: int, arrays: set[int], updates: list[tuple[int, Node]]) -> LinearSteps | None:
    """The forms of all results and of what is added to arrays; None if one of them has none."""
    numbers = [k for k in range(len(body.outputs)) if k not in arrays]
    dtypes = {body.outputs[k].spec.dtype for k in numbers} | {n.spec.dtype for _, n in updates}
    state = {k: p for k, p in enumerate(body.params[:a]) if k not in arrays}
    dtypes |= {p.spec.dtype for p in state.values()}
    if len(dtypes) != 1 or (dtype := dtypes.pop()).kind != "f":
        return None
    builder = Builder()
    forms: dict[Node, Form] = {p: {k: builder.const(np.ones((), dtype))} for k, p in state.items()}
    done = {n for _, n in updates}
    for node in body.nodes:
        if node not in done and any(i in forms for i in node.inputs):
            form = _form(builder, node, forms)
            if form is None or any(n.spec.dtype != dtype for n in form.values()):
                return None
            forms[node] = form

    def of(n: Node) -> Form:
        return forms[n] if n in forms else _free(builder, n, dtype)

    if any(n.inputs[2] in forms for _, n in updates):
        return None
    added = [(k, of(n.inputs[1]), n.inputs[2]) for k, n in updates]
    return LinearSteps(dtype, {k: of(body.outputs[k]) for k in numbers}, added)


def _free(builder: Builder, n: Node, dtype: np.dtype) -> Form:
    return {FREE: n if n.spec.dtype == dtype else builder.build(card(Cast, dtype), (n,))}


def _form(builder: Builder, node: Node, forms: Mapping[Node, Form]) -> Form | None:
    """The form of a node that depends on the state; None if it is not linear in it."""

    op, inputs = node.op, node.inputs
    active = {i for i, x in enumerate(inputs) if x in forms}
    group = next((g for g in op.linear_in if active.issubset(g)), None)
    if group is None:
        return None
    found = {i: forms[inputs[i]] if inputs[i] in forms else _free(builder, inputs[i], node.spec.dtype) for i in group}
    terms = {k: [found[i].get(k) if i in found else None for i in range(len(inputs))] for i in group for k in found[i]}
    return {k: op.linear_part(Make(builder), ts, *inputs) for k, ts in terms.items()}
