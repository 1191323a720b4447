"""Loops that take their state from round to round by linear steps, as every way back does: many rounds at once.

A round takes the state c to A c + b, where A and b depend on what the round reads and not on the state. So A and b of as many
rounds as a vector has lanes are computed together, and only A c + b is left to do one round after another. This is the chain
rule with the products of one round multiplied out first.

The masks of the chain rule (0 times infinity is 0) are left out: such a product is NaN here, what is computed from NaN is NaN,
and an infinity ends as an infinity or NaN. So if all that has come out is finite, no mask was needed; else the plain loop
does all rounds again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.backends.native.emit.lanes import Lanes, can_lower
from adjoint.backends.native.emit.llvm_ir import Code, in_register, literal
from adjoint.backends.native.runtime import interrupt
from adjoint.core.spec import bool_
from adjoint.graph.control import Cond, Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Const, Graph, Node, Param, Pick
from adjoint.graph.rewrite import rebuild
from adjoint.ops.arithmetic import Add, Cast, Div, MaskedMul, Mul, Neg, Sub
from adjoint.ops.card import card
from adjoint.ops.compare import Where
from adjoint.ops.index import ScatterAdd

BLOCK = 64  # rounds whose A and b are kept
MASKED = 4  # what a masked product costs, in plain ones
FREE = -1  # the place of b in a form

#: A value that is linear in the state: the factor of each part of the state, and what is added.
Form = dict[int, Node]


@dataclass(frozen=True, eq=False, repr=False)
class Linear:
    """What a round does: its results that are numbers, and what it adds to arrays of the state."""

    dtype: np.dtype
    forms: dict[int, Form]  # by the result
    updates: list[tuple[int, Form, Node]]  # array, what is added, and where

    @cached_property
    def sums(self) -> dict[int, Form]:
        """What each round adds to the parts of the state that nothing else needs: they are added up in lanes too."""
        needed = {k for j, form in self.forms.items() for k in form if k != j}
        needed |= {k for _, form, _ in self.updates for k in form}
        own = {k: form for k, form in self.forms.items() if k in form and _only_added(k, form[k]) and k not in needed}
        return {k: {i: n for i, n in form.items() if i != k} for k, form in own.items()}

    @property
    def chain(self) -> dict[int, Form]:
        """The results that need the round before."""
        return {k: form for k, form in self.forms.items() if k not in self.sums}

    @property
    def values(self) -> list[Form]:
        """All products and sums."""
        return [*self.chain.values(), *self.sums.values(), *(form for _, form, _ in self.updates)]

    @cached_property
    def factors(self) -> Graph:
        """All that is computed in lanes."""
        wanted = [n for form in self.values for k, n in form.items() if not _only_added(k, n)]
        return Graph((), tuple(dict.fromkeys([*wanted, *(at for _, _, at in self.updates)])))

    @property
    def cost(self) -> float:
        """What is done round by round, and a share of what is done in lanes."""
        apart = [*self.chain.values(), *(form for _, form, _ in self.updates)]
        together = len(self.factors.calls) + sum(2 * len(form) for form in self.sums.values())
        return sum(2 * len(form) - 1 for form in apart) + together / 4


def _only_added(k: int, factor: Node) -> bool:
    """Whether a part of the state goes into a form as it is."""
    return k != FREE and isinstance(factor.op, Const) and bool(factor.op.value == 1)


# ---------------------------------------------------------------- linear steps


def linear(loop: Loop) -> Linear | None:
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
    if any(not can_lower(n) or n.shape for n in calls) or not any(isinstance(n.op, MaskedMul) for n in calls):
        return None
    found = _steps(body, loop.carried, arrays, updates)
    return found if found is not None and found.cost < sum(map(_price, calls)) else None


def _price(node: Node) -> int:
    return MASKED if isinstance(node.op, MaskedMul) else 1


def _both_sides(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """A result of a branch as a choice between both sides: rounds side by side may go different ways."""
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
    while isinstance(node.op, InPlace) and isinstance(node.op.op, ScatterAdd) and len(node.inputs) == 3:
        if node.ndim != 1 or any(n.shape for n in node.inputs[1:]):
            return []
        found.append(node)
        node = node.inputs[0]
    return found[::-1] if node is array else []


def _steps(body: Graph, a: int, arrays: set[int], updates: list[tuple[int, Node]]) -> Linear | None:
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
    return Linear(dtype, {k: of(body.outputs[k]) for k in numbers}, added)


def _free(builder: Builder, n: Node, dtype: np.dtype) -> Form:
    return {FREE: n if n.spec.dtype == dtype else builder.build(card(Cast, dtype), (n,))}


def _form(builder: Builder, node: Node, forms: Mapping[Node, Form]) -> Form | None:
    """The form of a node that depends on the state; None if it is not linear in it."""

    def of(n: Node) -> Form:
        return forms[n] if n in forms else _free(builder, n, node.spec.dtype)

    def each(op: Any, form: Form, *others: Node) -> Form:
        return {k: builder.build(op, (x, *others)) for k, x in form.items()}

    x, y = node.inputs[0], node.inputs[-1]
    match node.op:
        case Neg():
            return each(node.op, of(x))
        case Add() | Sub():
            left, right = of(x), of(y)
            alone = right if isinstance(node.op, Add) else each(card(Neg), right)
            both = {k: builder.build(node.op, (left[k], right[k])) for k in left if k in right}
            return {**alone, **left, **both}
        case Mul() | MaskedMul() if x not in forms or y not in forms:
            return each(card(Mul), of(x), y) if x in forms else each(card(Mul), of(y), x)
        case Div() if y not in forms:
            return each(node.op, of(x), y)
        case Where() if x not in forms:
            zero = builder.const(np.zeros((), node.spec.dtype))
            left, right = of(node.inputs[1]), of(y)
            keys = dict.fromkeys((*left, *right))
            return {k: builder.build(node.op, (x, left.get(k, zero), right.get(k, zero))) for k in keys}
    return None


# ---------------------------------------------------------------- code


@dataclass(frozen=True)
class Begin:
    """Where the plain loop goes on, if all is `fine`."""

    fine: str
    done: str
    state: dict[int, str]


class Quick:
    """Writes the rounds of a loop with linear steps in blocks: factors in lanes, the chain of states, sums in lanes."""

    def __init__(self, frame: Any, node: Node, steps: Linear) -> None:
        self.frame, self.node, self.steps = frame, node, steps
        self.code: Code = frame.code
        self.loop: Loop = node.op
        self.dtype, self.kind = steps.dtype, in_register(steps.dtype)
        self.lanes = Lanes(self.code, frame.shared.bits // (8 * self.dtype.itemsize))
        self.state = [k for k in range(self.loop.carried) if k in steps.chain]

    def run(self, rounds: Any, start: list[str], slices: list[str], fixed: list[str], stacks: Sequence[Any]) -> Begin:
        """Do as many rounds as there are whole vectors of; gives the number of them and the state after them."""
        code, kind, width = self.code, self.kind, self.lanes.width
        wide, zero = self.lanes.type(self.dtype), literal(0, self.dtype)
        summed = {i for form in self.steps.sums.values() for i in form if i != FREE}
        self.rows = {n: self.frame.scratch(BLOCK * n.spec.dtype.itemsize) for n in self.steps.factors.outputs}
        self.past = {k: self.frame.scratch(BLOCK * self.dtype.itemsize) for k in self.state if k in summed}

        before, head, block, after = code.label, *(code.new_label(w) for w in ("blocks", "block", "most"))
        code.jump(head)
        code.begin(head)
        done, done_at = code.phi("i64", ("0", before))
        phis = [code.phi(kind, (x, before)) for x in (*(start[k] for k in self.state), zero)]  # the last one watches
        totals = [code.phi(wide, (self.lanes.number(0, self.dtype), before)) for _ in self.steps.sums]
        left = code.put(f"sub i64 {rounds}, {done}")
        code.branch(code.put(f"icmp sge i64 {left}, {width}"), block, after)

        code.begin(block)
        interrupt.poll_in_loop(self.frame, done, len(self.steps.factors.calls) + len(self.steps.values), BLOCK)
        whole = code.put(f"and i64 {left}, {-width}")
        size = code.put(f"select i1 {code.put(f'icmp slt i64 {whole}, {BLOCK}')}, i64 {whole}, i64 {BLOCK}")
        low = code.put(f"sub i64 {left}, {size}") if self.loop.backwards else done  # the first slice of this block
        with code.loop(0, size, width) as turn:
            values = self._in_lanes(slices, fixed, code.add(low, turn.i))
            for n, row in self.rows.items():
                code.store(values[n], code.element(row, turn.i, n.spec.dtype), n.spec.dtype, width)
        states = self._chained(size, low, [name for name, _ in phis], start, stacks)
        sums = self._summed(size, [name for name, _ in totals])
        code.arrive(done_at, code.put(f"add i64 {done}, {size}"), code.label)
        for (_, place), value in zip([*phis, *totals], [*states, *sums], strict=True):
            code.arrive(place, value, code.label)
        code.jump(head)

        code.begin(after)
        *found, watch = [name for name, _ in phis]
        state = dict(zip(self.state, found, strict=True))
        for k, (total, _) in zip(self.steps.sums, totals, strict=True):
            state[k] = self._reduced(start[k], total)
        for value in state.values():
            watch = self._watched(watch, value)
        return Begin(code.put(f"fcmp oeq {kind} {watch}, {zero}"), done, {**dict(enumerate(start)), **state})

    def _chained(self, size: str, low: str, carry: list[str], start: list[str], stacks: Sequence[Any]) -> list[str]:
        """The rounds of a block one after another: states, what is stacked, and what is added to arrays."""
        code, dtype = self.code, self.dtype
        last = code.put(f"sub i64 {size}, 1")
        with code.loop(0, size, 1, [(self.kind, x) for x in carry]) as turn:
            at = code.put(f"sub i64 {last}, {turn.i}") if self.loop.backwards else turn.i
            *values, seen = turn.values
            now = dict(zip(self.state, values, strict=True))
            for k, row in self.past.items():
                code.store(now[k], code.element(row, at, dtype), dtype)
            one = Lanes(code, 1)
            seen = self._added(one, at, now, start, seen)
            found = {k: self._at(one, form, at, now) for k, form in self.steps.chain.items()}
            for k, stack in enumerate(stacks, self.loop.carried):
                code.store(found[k], stack.at(code.add(low, at)), dtype)
                seen = self._watched(seen, found[k])
            turn.next = [*(found[k] for k in self.state), seen]
        return turn.results

    def _summed(self, size: str, totals: list[str]) -> list[str]:
        """What the rounds of a block add to sums, now that the states of all of them are known."""
        if not totals:
            return []
        code, kind, width = self.code, self.lanes.type(self.dtype), self.lanes.width
        with code.loop(0, size, width, [(kind, x) for x in totals]) as turn:
            now = {
                k: code.load(code.element(row, turn.i, self.dtype), self.dtype, width) for k, row in self.past.items()
            }
            for form, total in zip(self.steps.sums.values(), turn.values, strict=True):
                turn.next.append(code.put(f"fadd {kind} {total}, {self._at(self.lanes, form, turn.i, now)}"))
        return turn.results

    def _reduced(self, start: str, total: str) -> str:
        """All lanes added to what a sum began with, in order."""
        wide = self.lanes.type(self.dtype)
        name = f"@llvm.vector.reduce.fadd.v{self.lanes.width}f{8 * self.dtype.itemsize}"
        self.code.module.declare(f"{self.kind} {name}({self.kind}, {wide})")
        return self.code.put(f"call {self.kind} {name}({self.kind} {start}, {wide} {total})")

    def _in_lanes(self, slices: Sequence[str], fixed: Sequence[str], at: Any) -> dict[Node, str]:
        """All factors, from slices of neighbouring rounds and the same constants in each."""
        lanes, values = self.lanes, {}
        _, stacked, constants = self.loop.parts(self.node.inputs)
        _, slice_params, constant_params = self.loop.parts(self.loop.body.params)
        for pointer, source, param in zip(slices, stacked, slice_params, strict=True):
            dtype = source.spec.dtype
            value = lanes.code.load(lanes.code.element(pointer, at, dtype), dtype, lanes.width)
            values[param] = lanes.cast(value, dtype, param.spec.dtype)
        for value, source, param in zip(fixed, constants, constant_params, strict=True):
            values[param] = lanes.cast(lanes.spread(value, source.spec.dtype), source.spec.dtype, param.spec.dtype)
        for node in self.steps.factors.nodes:
            if isinstance(node.op, Const):
                values[node] = lanes.number(node.op.value, node.spec.dtype)
            elif not isinstance(node.op, Param):
                values[node] = lanes.apply(node, [values[i] for i in node.inputs])
        return values

    def _at(self, lanes: Lanes, form: Form, at: str, state: Mapping[int, str]) -> str:
        """The value of a form in a round, or in several side by side; what is only added comes last."""
        code, kind, total = self.code, lanes.type(self.dtype), ""
        for k, n in sorted(form.items(), key=lambda item: (_only_added(*item), item[0])):
            if _only_added(k, n):
                term = state[k]
            else:
                term = code.load(code.element(self.rows[n], at, self.dtype), self.dtype, lanes.width)
                term = term if k == FREE else code.put(f"fmul {kind} {term}, {state[k]}")
            total = code.put(f"fadd {kind} {total}, {term}") if total else term
        return total

    def _added(self, lanes: Lanes, at: str, state: Mapping[int, str], start: Sequence[str], seen: str) -> str:
        """Add what a round adds to arrays of the state."""
        from adjoint.backends.native.kernels.gather_scatter import checked_index

        code = self.code
        for k, form, place in self.steps.updates:
            value = self._at(lanes, form, at, state)
            where = code.load(code.element(self.rows[place], at, place.spec.dtype), place.spec.dtype)
            index = checked_index(self.frame, where, place.spec.dtype, self.node.spec[k].shape[0])
            address = code.element(start[k], index, self.dtype)
            code.store(code.put(f"fadd {self.kind} {code.load(address, self.dtype)}, {value}"), address, self.dtype)
            seen = self._watched(seen, value)
        return seen

    def _watched(self, watch: str, value: str) -> str:
        """0 as long as all values are finite: x - x is NaN for the others."""
        return self.code.put(f"fadd {self.kind} {watch}, {self.code.put(f'fsub {self.kind} {value}, {value}')}")


def quick(frame: Any, node: Node, rounds: Any) -> Quick | None:
    """The writer of quick rounds, if the loop has linear steps and enough rounds."""
    steps = linear(node.op)
    if steps is None:
        return None
    writer = Quick(frame, node, steps)
    return None if isinstance(rounds, int) and rounds < 2 * writer.lanes.width else writer
