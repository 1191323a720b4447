"""The iterations of a loop with linear steps, many at once: see `plan/linear_steps.py`.

The masks of the chain rule (0 times infinity is 0) are left out: such a product is NaN here, what is computed from NaN is NaN,
and an infinity ends as an infinity or NaN. So if all that has come out is finite, no mask was needed; else the plain loop
does all iterations again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.iteration_stack import IterationStack
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import in_register, literal
from adjoint.backends.native.plan.linear_steps import FREE, Form, LinearSteps, linear, only_added
from adjoint.graph.control import Loop
from adjoint.graph.node import Const, Node, Param

BLOCK = 64  # iterations whose A and b are kept


@dataclass(frozen=True)
class LanesDone:
    """Where the plain loop goes on, if all is `fine`."""

    fine: str
    done: str
    state: dict[int, str]


class LaneLoop:
    """Writes the iterations of a loop with linear steps in blocks: factors in lanes, the chain of states, sums in lanes."""

    def __init__(self, emitter: GraphEmitter, node: Node, steps: LinearSteps) -> None:
        self.emitter, self.node, self.steps = emitter, node, steps
        self.code = emitter.code
        self.loop: Loop = node.op
        self.dtype, self.kind = steps.dtype, in_register(steps.dtype)
        self.lanes = Lanes(self.code, emitter.shared.bits // (8 * self.dtype.itemsize))
        self.state = [k for k in range(self.loop.carried) if k in steps.chain]

    def run(
        self, iterations: Any, start: list[str], slices: list[str], fixed: list[str], stacks: Sequence[IterationStack]
    ) -> LanesDone:
        """Do as many iterations as fill vectors; gives the number of them and the state after them."""
        code, kind, width = self.code, self.kind, self.lanes.width
        wide, zero = self.lanes.type(self.dtype), literal(0, self.dtype)
        summed = {i for form in self.steps.sums.values() for i in form if i != FREE}
        self.rows = {n: self.emitter.scratch(BLOCK * n.spec.dtype.itemsize) for n in self.steps.factors.outputs}
        self.past = {k: self.emitter.scratch(BLOCK * self.dtype.itemsize) for k in self.state if k in summed}

        before, head, block, after = code.label, *(code.new_label(w) for w in ("blocks", "block", "most"))
        code.jump(head)
        code.begin(head)
        done, done_at = code.phi("i64", ("0", before))
        phis = [code.phi(kind, (x, before)) for x in (*(start[k] for k in self.state), zero)]  # the last one watches
        totals = [code.phi(wide, (self.lanes.number(0, self.dtype), before)) for _ in self.steps.sums]
        left = code.put(f"sub i64 {iterations}, {done}")
        code.branch(code.put(f"icmp sge i64 {left}, {width}"), block, after)

        code.begin(block)
        work = len(self.steps.factors.calls) + len(self.steps.values)
        self.emitter.shared.polls.poll_in_loop(done, work, BLOCK)
        whole = code.put(f"and i64 {left}, {-width}")
        size = code.put(f"select i1 {code.put(f'icmp slt i64 {whole}, {BLOCK}')}, i64 {whole}, i64 {BLOCK}")
        low = code.put(f"sub i64 {left}, {size}") if self.loop.backwards else done  # the first slice of this block
        with code.loop(0, size, width) as iteration:
            values = self._in_lanes(slices, fixed, code.add(low, iteration.i))
            for n, row in self.rows.items():
                code.store(values[n], code.element(row, iteration.i, n.spec.dtype), n.spec.dtype, width)
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
        return LanesDone(code.put(f"fcmp oeq {kind} {watch}, {zero}"), done, {**dict(enumerate(start)), **state})

    def _chained(
        self, size: str, low: str, carry: list[str], start: list[str], stacks: Sequence[IterationStack]
    ) -> list[str]:
        """The iterations of a block one after another: states, what is stacked, and what is added to arrays."""
        code, dtype = self.code, self.dtype
        last = code.put(f"sub i64 {size}, 1")
        with code.loop(0, size, 1, [(self.kind, x) for x in carry]) as iteration:
            at = code.put(f"sub i64 {last}, {iteration.i}") if self.loop.backwards else iteration.i
            *values, seen = iteration.values
            now = dict(zip(self.state, values, strict=True))
            for k, row in self.past.items():
                code.store(now[k], code.element(row, at, dtype), dtype)
            one = Lanes(code, 1)
            seen = self._added(one, at, now, start, seen)
            found = {k: self._at(one, form, at, now) for k, form in self.steps.chain.items()}
            for k, stack in enumerate(stacks, self.loop.carried):
                code.store(found[k], stack.at(code.add(low, at)), dtype)
                seen = self._watched(seen, found[k])
            iteration.next = [*(found[k] for k in self.state), seen]
        return iteration.results

    def _summed(self, size: str, totals: list[str]) -> list[str]:
        """What the iterations of a block add to sums, now that the states of all of them are known."""
        if not totals:
            return []
        code, kind, width = self.code, self.lanes.type(self.dtype), self.lanes.width
        with code.loop(0, size, width, [(kind, x) for x in totals]) as iteration:
            now = {
                k: code.load(code.element(row, iteration.i, self.dtype), self.dtype, width)
                for k, row in self.past.items()
            }
            for form, total in zip(self.steps.sums.values(), iteration.values, strict=True):
                iteration.next.append(code.put(f"fadd {kind} {total}, {self._at(self.lanes, form, iteration.i, now)}"))
        return iteration.results

    def _reduced(self, start: str, total: str) -> str:
        """All lanes added to what a sum began with, in order."""
        wide = self.lanes.type(self.dtype)
        name = f"@llvm.vector.reduce.fadd.v{self.lanes.width}f{8 * self.dtype.itemsize}"
        self.code.module.declare(f"{self.kind} {name}({self.kind}, {wide})")
        return self.code.put(f"call {self.kind} {name}({self.kind} {start}, {wide} {total})")

    def _in_lanes(self, slices: Sequence[str], fixed: Sequence[str], at: Any) -> dict[Node, str]:
        """All factors, from slices of neighbouring iterations and the same constants in each."""
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
        """The value of a form in an iteration, or in several side by side; what is only added comes last."""
        code, kind, total = self.code, lanes.type(self.dtype), ""
        for k, n in sorted(form.items(), key=lambda item: (only_added(*item), item[0])):
            if only_added(k, n):
                term = state[k]
            else:
                term = code.load(code.element(self.rows[n], at, self.dtype), self.dtype, lanes.width)
                term = term if k == FREE else code.put(f"fmul {kind} {term}, {state[k]}")
            total = code.put(f"fadd {kind} {total}, {term}") if total else term
        return total

    def _added(self, lanes: Lanes, at: str, state: Mapping[int, str], start: Sequence[str], seen: str) -> str:
        """Add what an iteration adds to arrays of the state."""
        code = self.code
        for k, form, place in self.steps.updates:
            value = self._at(lanes, form, at, state)
            where = code.load(code.element(self.rows[place], at, place.spec.dtype), place.spec.dtype)
            index = self.emitter.checked_index(where, place.spec.dtype, self.node.spec[k].shape[0])
            address = code.element(start[k], index, self.dtype)
            code.store(code.put(f"fadd {self.kind} {code.load(address, self.dtype)}, {value}"), address, self.dtype)
            seen = self._watched(seen, value)
        return seen

    def _watched(self, watch: str, value: str) -> str:
        """0 as long as all values are finite: x - x is NaN for the others."""
        return self.code.put(f"fadd {self.kind} {watch}, {self.code.put(f'fsub {self.kind} {value}, {value}')}")


def lane_loop(emitter: GraphEmitter, node: Node, iterations: Any) -> LaneLoop | None:
    """The writer of iterations in lanes, if the loop has linear steps and enough iterations."""
    steps = linear(node.op)
    if steps is None:
        return None
    writer = LaneLoop(emitter, node, steps)
    return None if isinstance(iterations, int) and iterations < 2 * writer.lanes.width else writer
