"""Branches and loops as branches and loops: state in registers, arrays in two places in turn, results of unknown number on
a stack that grows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from adjoint.backends.native.dtypes import is_known
from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.iteration_stack import IterationStack, grow, make_room
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.linear_recurrence import lane_loop
from adjoint.backends.native.emit.llvm_ir import Code, in_register, literal
from adjoint.backends.native.kernel_registry import KernelRule, kernel_of
from adjoint.backends.native.node_facts import same_memory
from adjoint.backends.native.plan.arena_places import Place
from adjoint.backends.native.plan.units import has_code
from adjoint.backends.native.plan.work_estimate import graph_work
from adjoint.core.spec import Spec, bool_
from adjoint.graph.control import Cond, Loop
from adjoint.graph.node import Graph, Node, Pick


def fits(node: Node) -> bool:
    """Whether everything inside can be compiled."""
    known = all(is_known(s.dtype) for s in (*node.spec, *(i.spec for i in node.inputs)))
    lead = [s.shape[1:] if s.shape[:1] == (-1,) else s.shape for s in (*node.spec, *(i.spec for i in node.inputs))]
    if not known or any(n < 0 for shape in lead for n in shape):
        return False
    if any(i.spec.shape[:1] == (-1,) and not _from_loop(i) for i in node.inputs):
        return False
    return all(_can_plan(graph) for graph in node.op.graphs().values())


def _can_plan(graph: Graph) -> bool:
    """Whether a graph inside control flow can be compiled; found out once."""
    known = graph.__dict__.get("_native")
    if known is None:
        known = not graph.effects and all(has_code(n) for n in graph.nodes)
        graph.__dict__["_native"] = known
    return known


def _from_loop(node: Node) -> bool:
    return isinstance(node.op, Pick) and isinstance(node.inputs[0].op, Loop)


def _size(spec: Any) -> int:
    return prod(spec.shape) * spec.dtype.itemsize


def _cast(code: Code, value: str, old: Spec, new: Spec) -> str:
    return Lanes(code, 1).cast(value, old.dtype, new.dtype)


def _cast_inputs(code: Code, graph: Graph, values: Sequence[str], specs: Sequence[Spec]) -> list[str]:
    """Values in the dtypes that the graph's inputs have."""
    return [
        _cast(code, v, s, p.spec) if not s.shape else v for v, s, p in zip(values, specs, graph.params, strict=True)
    ]


def _either(code: Code, new_from: str, old_from: str, kind: str, new: str, old: str) -> str:
    """One of two values, by the block we come from."""
    return new if new == old else code.put(f"phi {kind} [ {new}, %{new_from} ], [ {old}, %{old_from} ]")


# ---------------------------------------------------------------- branches


def write_cond(emitter: GraphEmitter, node: Node, op: Cond) -> list[str]:
    """A branch: the code of both sides, and values by the side that ran."""
    code = emitter.code
    chosen, *others = node.inputs
    test = _cast(code, emitter.value(chosen), chosen.spec, Spec((), bool_))
    inputs = [emitter.value(i) for i in others]
    places = {k: emitter.shared.arena.take(_size(s), node, f"result {k}") for k, s in enumerate(node.spec) if s.shape}
    targets = {k: emitter.shared.address(place) for k, place in places.items()}
    sides, after = [code.new_label("yes"), code.new_label("no")], code.new_label("join")
    code.branch(test, *sides)
    found, ends = [], []
    for label, graph in zip(sides, (op.true, op.false), strict=True):
        code.begin(label)
        given = _cast_inputs(code, graph, inputs, [i.spec for i in others])
        values = emitter.inner(graph, given, targets).run()
        for k, target in targets.items():
            if values[k] != target:
                code.copy(target, values[k], _size(node.spec[k]))
        found.append(values)
        ends.append(code.label)
        code.jump(after)
    code.begin(after)
    results = []
    for k, spec in enumerate(node.spec):
        if spec.shape:
            results.append(targets[k])
            emitter.keep(node, k, places[k])
        else:
            pairs = ", ".join(f"[ {values[k]}, %{end} ]" for values, end in zip(found, ends, strict=True))
            results.append(code.put(f"phi {in_register(spec.dtype)} {pairs}"))
    return results


# ---------------------------------------------------------------- loops


def write_loop(emitter: GraphEmitter, node: Node, op: Loop) -> list[str]:
    """A loop, and before it what the kernels in its body would make in every iteration."""
    constants = op.parts(node.inputs)[2]
    outer = dict(zip(op.body.params[len(op.body.params) - len(constants) :], constants, strict=True))
    prepared: set[str] = set()
    for n in op.body.nodes:
        rule = kernel_of(n)
        address = rule.prepare(emitter, n, outer) if rule and rule.prepare else None
        prepared |= {address} if address else set()
    results = _LoopWriter(emitter, node, op).write()
    for address in prepared:
        emitter.shared.packed.pop(address, None)
    return results


class _LoopWriter:
    """Writes a loop: `head` tests whether to go on, `iteration` is the body, `after` what follows the loop."""

    def __init__(self, emitter: GraphEmitter, node: Node, loop: Loop) -> None:
        self.emitter, self.node, self.loop, self.code = emitter, node, loop, emitter.code
        self.body, self.carried = loop.body, loop.carried
        self.carry, self.stacked, self.constants = loop.parts(node.inputs)
        self.arrays = [k for k in range(self.carried) if node.spec[k].shape]
        self.kinds = ["ptr" if k in self.arrays else in_register(node.spec[k].dtype) for k in range(self.carried)]
        self.still = {k for k in self.arrays if emitter.updates_in_place(self.body.outputs[k], self.body.params[k])}
        self.iterations = self._iterations()
        known = self.iterations if isinstance(self.iterations, int) and loop.test is None else None
        self.stacks = [IterationStack(emitter, node, s, known) for s in node.spec[self.carried :]]
        self.capacity = emitter.shared.slots.alloca_zero("i64") if loop.test is not None and self.stacks else None
        if loop.test is None and known is None:
            make_room(emitter, node, self.stacks, self.iterations)

    def _iterations(self) -> Any:
        """How many iterations there are: a number, a register, or None if a test decides."""
        if self.loop.test is not None:
            return None
        if self.loop.length is not None:
            return self.loop.length
        n = self.stacked[0].spec.shape[0]
        if n >= 0:
            return n
        return self.emitter.lengths[self.stacked[0].inputs[0], self.stacked[0].op.index]

    def write(self) -> list[str]:
        """The loop; gives the values of its results."""
        code, emitter = self.code, self.emitter
        start, spare = self._begin_state()
        self.fixed = [emitter.value(c) for c in self.constants]
        self.slices = [emitter.value(s) for s in self.stacked]
        first, start = self._iterations_in_lanes(start)

        before, head, inside, after = code.label, *(code.new_label(w) for w in ("head", "iteration", "after"))
        code.jump(head)
        code.begin(head)
        count, count_at = code.phi("i64", (first, before))
        phis = [code.phi(kind, (x, before)) for kind, x in zip(self.kinds, start, strict=True)]
        spare_phis = {k: code.phi("ptr", (at, before)) for k, at in spare.items()}
        state, spares = [name for name, _ in phis], {k: name for k, (name, _) in spare_phis.items()}
        code.branch(self._going_on(count, state), inside, after)

        code.begin(inside)
        work = graph_work(self.body)
        emitter.shared.polls.poll_in_loop(count, work)
        emitter.shared.polls.depth += 1
        new_state, new_spares, end = self._iteration(count, state, spares)
        following = code.put(f"add nsw i64 {count}, 1")
        code.jump(head)
        code.arrive(count_at, following, end)
        for (_, place), value in zip(phis, new_state, strict=True):
            code.arrive(place, value, end)
        for k, (_, place) in spare_phis.items():
            code.arrive(place, new_spares[k], end)

        code.begin(after)
        emitter.shared.polls.depth -= 1
        if emitter.shared.polls.depth:
            emitter.shared.polls.poll_after_loop(count, work)
        self._keep_memory(count)
        return [*state, *(stack.begin() for stack in self.stacks)]

    def _begin_state(self) -> tuple[list[str], dict[int, str]]:
        """The state that the loop begins with, and a second place for each array of it that is not updated where it is."""
        emitter, spec = self.emitter, self.node.spec
        first: dict[int, str] = {}
        spare: dict[int, str] = {}
        self.places: dict[int, list[Place]] = {}
        for k in self.arrays:
            if k in self.still and (place := self._given_up(k)) is not None:
                self.places[k], first[k] = [place], emitter.value(self.carry[k])
                continue
            count = 1 if k in self.still else 2
            self.places[k] = [emitter.shared.arena.take(_size(spec[k]), self.node, f"state {k}") for _ in range(count)]
            first[k], *second = (emitter.shared.address(p) for p in self.places[k])
            spare |= dict(zip((k,), second, strict=False))
            self.code.copy(first[k], emitter.value(self.carry[k]), _size(spec[k]))
        start = [
            first[k] if k in self.arrays else _cast(self.code, emitter.value(c), c.spec, self.body.outputs[k].spec)
            for k, c in enumerate(self.carry)
        ]
        return start, spare

    def _given_up(self, k: int) -> Place | None:
        """The place of what a part of the state begins with, if nothing else needs it: the loop may go on there."""
        memory = same_memory(self.carry[k])
        alone = sum(same_memory(x) is memory for x in self.node.inputs) == 1
        places = self.emitter.places.get(memory, [])
        if not alone or len(places) != 1 or self.carry[k].spec != memory.spec or not self.emitter.dies_here(memory):
            return None
        if lane_loop(self.emitter, self.node, self.iterations) is not None:  # it may have to begin again
            return None
        return self.emitter.places.pop(memory)[0]

    def _iterations_in_lanes(self, start: list[str]) -> tuple[str, list[str]]:
        """Do the iterations that can be done many at once; gives their number, and the state after them.

        If not all is finite then, nothing has been done: arrays are again what they were.
        """
        code = self.code
        writer = lane_loop(self.emitter, self.node, self.iterations)
        if writer is None:
            return "0", start
        ran = writer.run(self.iterations, start, self.slices, self.fixed, self.stacks)
        again, go_on = code.new_label("again"), code.new_label("rest")
        most = code.label
        code.branch(ran.fine, go_on, again)
        code.begin(again)
        for k, c in enumerate(self.carry):
            if c.shape:
                code.copy(start[k], self.emitter.value(c), _size(c.spec))
        code.jump(go_on)
        code.begin(go_on)
        either = partial(_either, code, most, again)
        state = [either(in_register(self.node.spec[k].dtype), ran.state[k], old) for k, old in enumerate(start)]
        return either("i64", ran.done, "0"), state

    def _going_on(self, count: str, state: list[str]) -> str:
        """Whether there is another iteration."""
        code, test = self.code, self.loop.test
        if test is None:
            return code.put(f"icmp slt i64 {count}, {self.iterations}")
        specs = [*self.node.spec[: self.carried], *(c.spec for c in self.constants)]
        given = _cast_inputs(code, test, [*state, *self.fixed], specs)
        return _cast(code, self.emitter.inner(test, given, {}).run()[0], test.outputs[0].spec, Spec((), bool_))

    def _iteration(self, count: str, state: list[str], spares: dict[int, str]) -> tuple[list[str], dict[int, str], str]:
        """One iteration: the new state, the places that are free then, and the label at its end."""
        code = self.code
        if self.capacity is not None:
            grow(self.emitter, self.node, self.stacks, self.capacity, count)
        at = code.put(f"sub i64 {code.add(self.iterations, -1)}, {count}") if self.loop.backwards else count
        slices = [self._slice(pointer, s.spec, at) for pointer, s in zip(self.slices, self.stacked, strict=True)]
        skip = None
        if self.loop.guarded:
            skip, go = code.new_label("skip"), code.new_label("live")
            code.branch(slices[0], go, skip)
            code.begin(go)
        values = self._body(at, state, slices, spares)
        new_state, new_spares = list(values[: self.carried]), dict(spares)
        for k in self.arrays:
            if k in self.still or values[k] == state[k]:  # updated where it was
                continue
            if values[k] != spares[k]:
                code.copy(spares[k], values[k], _size(self.body.outputs[k].spec))
            new_state[k], new_spares[k] = spares[k], state[k]
        for k in self.still:
            if values[k] != state[k]:  # something else still had to be read
                code.copy(state[k], values[k], _size(self.body.outputs[k].spec))
                new_state[k] = state[k]
        if skip is None:
            return new_state, new_spares, code.label
        return self._or_skipped(skip, at, (new_state, new_spares), (state, spares))

    def _slice(self, pointer: str, spec: Spec, at: str) -> str:
        """What an iteration reads of a stacked input."""
        address = self.code.element(pointer, self.code.mul(at, prod(spec.shape[1:])), spec.dtype)
        return address if spec.shape[1:] else self.code.load(address, spec.dtype)

    def _body(self, at: str, state: list[str], slices: list[str], spares: dict[int, str]) -> list[str]:
        """The results of the body, those that are stacked on their stacks."""
        code, body, a = self.code, self.body, self.carried
        specs = [
            *self.node.spec[:a],
            *(Spec(s.spec.shape[1:], s.spec.dtype) for s in self.stacked),
            *(c.spec for c in self.constants),
        ]
        given = _cast_inputs(code, body, [*state, *slices, *self.fixed], specs)
        targets = {k: spares.get(k, state[k]) for k in self.arrays}
        targets |= {a + j: stack.at(at) for j, stack in enumerate(self.stacks) if body.outputs[a + j].shape}
        inner = self.emitter.inner(body, given, targets, frozenset(body.params[k] for k in self.arrays))
        for k in self.arrays:  # a state updated in place keeps its place: it is not copied to the target
            if inner.updates_in_place(body.outputs[k], body.params[k]):
                inner.targets.pop(same_memory(body.outputs[k]), None)
        values = inner.run()
        for j, stack in enumerate(self.stacks):
            value = values[a + j]
            if not body.outputs[a + j].shape:
                code.store(value, stack.at(at), stack.dtype)
            elif value != targets[a + j]:
                code.copy(targets[a + j], value, _size(body.outputs[a + j].spec))
        return values

    def _or_skipped(
        self,
        skip: str,
        at: str,
        new: tuple[list[str], dict[int, str]],
        old: tuple[list[str], dict[int, str]],
    ) -> tuple[list[str], dict[int, str], str]:
        """The end of an iteration that may be skipped: then the state stays, and zeros are stacked."""
        code = self.code
        end, joined = code.label, code.new_label("next")
        code.jump(joined)
        code.begin(skip)
        for j, stack in enumerate(self.stacks):
            result = self.body.outputs[self.carried + j]
            if result.shape:
                code.zero(stack.at(at), _size(result.spec))
            else:
                code.store(literal(0, stack.dtype), stack.at(at), stack.dtype)
        skip_end = code.label
        code.jump(joined)
        code.begin(joined)
        either = partial(_either, code, end, skip_end)
        state = [either(*values) for values in zip(self.kinds, new[0], old[0], strict=True)]
        return state, {k: either("ptr", new[1][k], old[1][k]) for k in old[1]}, joined

    def _keep_memory(self, count: str) -> None:
        """The memory of the results is theirs from now on; stacks are as long as there were iterations."""
        for k in self.arrays:
            for place in self.places[k]:
                self.emitter.keep(self.node, k, place)
        for j, stack in enumerate(self.stacks, self.carried):
            if stack.place is not None:
                self.emitter.keep(self.node, j, stack.place)
            self.emitter.lengths[self.node, j] = count


KERNELS: dict[type, KernelRule] = {Cond: KernelRule(write_cond, fits), Loop: KernelRule(write_loop, fits)}
