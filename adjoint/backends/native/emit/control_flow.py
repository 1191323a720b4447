"""Branches and loops as branches and loops: state in registers, arrays in two places in turn, results of unknown number on
a stack that grows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from adjoint.backends.native.emit.linear_recurrence import quick
from adjoint.backends.native.emit.llvm_ir import in_register, is_known, literal
from adjoint.backends.native.plan.units import has_code, same_memory
from adjoint.backends.native.runtime import interrupt
from adjoint.core.spec import Spec, bool_, int64
from adjoint.graph.control import Cond, Loop
from adjoint.graph.node import Graph, Node, Pick

FIRST = 1 << 20  # bytes that a stack may begin with


def takes(node: Node) -> bool:
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
    from adjoint.backends.native.kernels import gather_scatter

    known = graph.__dict__.get("_native")
    if known is None:
        known = not graph.effects and all(has_code(n, gather_scatter) for n in graph.nodes)
        graph.__dict__["_native"] = known
    return known


def _from_loop(node: Node) -> bool:
    return isinstance(node.op, Pick) and isinstance(node.inputs[0].op, Loop)


def _size(spec: Any) -> int:
    return prod(spec.shape) * spec.dtype.itemsize


def _cast(frame: Any, value: str, old: Spec, new: Spec) -> str:
    from adjoint.backends.native.emit.lanes import Lanes

    return Lanes(frame.code, 1).cast(value, old.dtype, new.dtype)


def _sub(frame: Any, graph: Graph, inputs: Sequence[str], targets: dict[int, str], owned: frozenset[Node]) -> list[str]:
    return type(frame)(frame.shared, graph, inputs, targets, owned).run()


# ---------------------------------------------------------------- branches


def write_cond(frame: Any, node: Node) -> list[str]:
    op: Cond = node.op
    code = frame.code
    chosen, *others = node.inputs
    test = _cast(frame, frame.value(chosen), chosen.spec, Spec((), bool_))
    inputs = [frame.value(i) for i in others]
    places = {k: frame.shared.arena.take(_size(s)) for k, s in enumerate(node.spec) if s.shape}
    targets = {k: frame.shared.address(place) for k, place in places.items()}
    sides, after = [code.new_label("yes"), code.new_label("no")], code.new_label("join")
    code.branch(test, *sides)
    found, ends = [], []
    for label, graph in zip(sides, (op.true, op.false), strict=True):
        code.begin(label)
        given = [
            _cast(frame, x, i.spec, p.spec) if not i.shape else x
            for x, i, p in zip(inputs, others, graph.params, strict=True)
        ]
        values = _sub(frame, graph, given, targets, frozenset())
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
            frame.keep(node, k, places[k])
        else:
            pairs = ", ".join(f"[ {values[k]}, %{end} ]" for values, end in zip(found, ends, strict=True))
            results.append(code.put(f"phi {in_register(spec.dtype)} {pairs}"))
    return results


# ---------------------------------------------------------------- loops


class _Stack:
    """Memory for one result of each round: as much as is needed if the number of rounds is known, else it grows."""

    def __init__(self, frame: Any, spec: Spec, rounds: int | None) -> None:
        self.frame, self.dtype = frame, spec.dtype
        self.size = prod(spec.shape[1:])  # elements of a round
        self.place = None
        if rounds is not None:
            self.place = frame.shared.arena.take(rounds * self.size * self.dtype.itemsize)
            self.pointer = frame.shared.address(self.place)
        else:
            self.slot = frame.shared.heap_slot()

    def begin(self) -> str:
        """Where the stack is now."""
        return self.pointer if self.place is not None else self.frame.code.put(f"load ptr, ptr {self.slot}")

    def at(self, k: str) -> str:
        return self.frame.code.element(self.begin(), self.frame.code.mul(k, self.size), self.dtype)


def write_loop(frame: Any, node: Node) -> list[str]:
    loop: Loop = node.op
    code = frame.code
    carry, stacked, constants = loop.parts(node.inputs)
    body, a = loop.body, loop.carried
    rounds = _rounds(frame, loop, stacked)
    known = rounds if isinstance(rounds, int) else None
    stacks = [_Stack(frame, s, known if loop.test is None else None) for s in node.spec[a:]]
    capacity = frame.shared.alloca_zero("i64") if loop.test is not None and stacks else None
    if loop.test is None and known is None:
        _make_room(frame, stacks, rounds)
    arrays = [k for k in range(a) if node.spec[k].shape]
    first, spare, places = _places(frame, node, carry, arrays)
    start = [
        first[k] if k in arrays else _cast(frame, frame.value(c), c.spec, body.outputs[k].spec)
        for k, c in enumerate(carry)
    ]
    fixed = [frame.value(c) for c in constants]
    slices = [frame.value(s) for s in stacked]

    begin, start = _most_rounds(frame, node, rounds, start, slices, fixed, stacks)
    before, head, inside, after = code.label, *(code.new_label(w) for w in ("head", "round", "after"))
    code.jump(head)
    code.begin(head)
    count, count_at = code.phi("i64", (begin, before))
    state, state_at = [], []
    for k in range(a):
        kind = "ptr" if k in arrays else in_register(node.spec[k].dtype)
        name, place = code.phi(kind, (start[k], before))
        state.append(name)
        state_at.append(place)
    spares: dict[int, str] = {}
    spares_at: dict[int, int] = {}
    for k in arrays:
        spares[k], spares_at[k] = code.phi("ptr", (spare[k], before))
    if loop.test is not None:
        assert loop.test is not None
        going = _sub(
            frame,
            loop.test,
            _given(frame, loop.test, [*state, *fixed], [*_specs(node, a), *_of(constants)]),
            {},
            frozenset(),
        )[0]
        going = _cast(frame, going, loop.test.outputs[0].spec, Spec((), bool_))
    else:
        going = code.put(f"icmp slt i64 {count}, {rounds}")
    code.branch(going, inside, after)

    code.begin(inside)
    one = interrupt.weight(body)
    interrupt.poll_in_loop(frame, count, one)
    frame.shared.polls.depth += 1
    if capacity is not None:
        _grow(frame, stacks, capacity, count)
    at = count
    if loop.backwards:
        at = code.put(f"sub i64 {code.add(rounds, -1)}, {count}")
    round_values = [_slice(code, pointer, s.spec, at) for pointer, s in zip(slices, stacked, strict=True)]
    skip = None
    if loop.guarded:
        skip, go = code.new_label("skip"), code.new_label("live")
        code.branch(round_values[0], go, skip)
        code.begin(go)
    specs = [*_specs(node, a), *(Spec(s.spec.shape[1:], s.spec.dtype) for s in stacked), *_of(constants)]
    given = _given(frame, body, [*state, *round_values, *fixed], specs)
    targets = {k: spares[k] for k in arrays}
    targets |= {a + j: stack.at(at) for j, stack in enumerate(stacks) if body.outputs[a + j].shape}
    owned = frozenset(body.params[k] for k in arrays)
    values = _sub_loop(frame, body, given, targets, owned, arrays, state)
    for j, stack in enumerate(stacks):
        value = values[a + j]
        if not body.outputs[a + j].shape:
            code.store(value, stack.at(at), stack.dtype)
        elif value != targets[a + j]:
            code.copy(targets[a + j], value, _size(body.outputs[a + j].spec))
    new_state, new_spare = list(values[:a]), dict(spares)
    for k in arrays:
        if values[k] == state[k]:  # updated where it was
            continue
        if values[k] != spares[k]:
            code.copy(spares[k], values[k], _size(body.outputs[k].spec))
        new_state[k], new_spare[k] = spares[k], state[k]
    end = code.label
    if skip is not None:
        joined = code.new_label("next")
        code.jump(joined)
        code.begin(skip)
        for j, stack in enumerate(stacks):
            if body.outputs[a + j].shape:
                code.zero(stack.at(at), _size(body.outputs[a + j].spec))
            else:
                code.store(literal(0, stack.dtype), stack.at(at), stack.dtype)
        skip_end = code.label
        code.jump(joined)
        code.begin(joined)
        either = partial(_either, code, end, skip_end)
        kinds = ["ptr" if k in arrays else in_register(node.spec[k].dtype) for k in range(a)]
        new_state = [either(*values) for values in zip(kinds, new_state, state, strict=True)]
        new_spare = {k: either("ptr", new_spare[k], spares[k]) for k in arrays}
        end = joined
    following = code.put(f"add nsw i64 {count}, 1")
    code.jump(head)
    code.arrive(count_at, following, end)
    for place, value in zip(state_at, new_state, strict=True):
        code.arrive(place, value, end)
    for k in arrays:
        code.arrive(spares_at[k], new_spare[k], end)
    code.begin(after)
    frame.shared.polls.depth -= 1
    if frame.shared.polls.depth:
        interrupt.poll_after_loop(frame, count, one)
    for k in arrays:
        for place in places[k]:
            frame.keep(node, k, place)
    for j, stack in enumerate(stacks):
        if stack.place is not None:
            frame.keep(node, a + j, stack.place)
        frame.lengths[node, a + j] = count
    return [*state, *(stack.begin() for stack in stacks)]


def _either(code: Any, new_from: str, old_from: str, kind: str, new: str, old: str) -> str:
    """One of two values, by the block we come from."""
    return new if new == old else code.put(f"phi {kind} [ {new}, %{new_from} ], [ {old}, %{old_from} ]")


def _most_rounds(
    frame: Any, node: Node, rounds: Any, start: list[str], slices: list[str], fixed: list[str], stacks: list[_Stack]
) -> tuple[str, list[str]]:
    """Do the rounds that can be done many at once; gives their number, and the state after them.

    If not all is finite then, nothing has been done: arrays are again what they were.
    """
    writer = quick(frame, node, rounds)
    if writer is None:
        return "0", start
    code = frame.code
    ran = writer.run(rounds, start, slices, fixed, stacks)
    again, go_on = code.new_label("again"), code.new_label("rest")
    most = code.label
    code.branch(ran.fine, go_on, again)
    code.begin(again)
    for k, c in enumerate(node.inputs[: node.op.carried]):
        if c.shape:
            code.copy(start[k], frame.value(c), _size(c.spec))
    code.jump(go_on)
    code.begin(go_on)
    either = partial(_either, code, most, again)
    state = [either(in_register(node.spec[k].dtype), ran.state[k], old) for k, old in enumerate(start)]
    return either("i64", ran.done, "0"), state


def _sub_loop(
    frame: Any,
    body: Graph,
    given: list[str],
    targets: dict[int, str],
    owned: frozenset[Node],
    arrays: list[int],
    state: list[str],
) -> list[str]:
    """The body, which may overwrite the state it is given; results of arrays are where `targets` say or in the state's place."""
    inner = type(frame)(frame.shared, body, given, targets, owned)
    # A state updated in place keeps its place: it is not copied to the target.
    for k in arrays:
        if inner.updates_in_place(body.outputs[k], body.params[k]):
            inner.targets.pop(same_memory(body.outputs[k]), None)
    return inner.run()


def _specs(node: Node, a: int) -> list[Spec]:
    return list(node.spec[:a])


def _of(nodes: Sequence[Node]) -> list[Spec]:
    return [n.spec for n in nodes]


def _given(frame: Any, graph: Graph, values: Sequence[str], specs: Sequence[Spec]) -> list[str]:
    """Values in the dtypes that the graph's inputs have."""
    return [
        _cast(frame, v, s, p.spec) if not s.shape else v for v, s, p in zip(values, specs, graph.params, strict=True)
    ]


def _rounds(frame: Any, loop: Loop, stacked: Sequence[Node]) -> Any:
    if loop.test is not None:
        return None
    if loop.length is not None:
        return loop.length
    n = stacked[0].spec.shape[0]
    if n >= 0:
        return n
    return frame.lengths[stacked[0].inputs[0], stacked[0].op.index]


def _slice(code: Any, pointer: str, spec: Spec, at: str) -> str:
    address = code.element(pointer, code.mul(at, prod(spec.shape[1:])), spec.dtype)
    return address if spec.shape[1:] else code.load(address, spec.dtype)


def _places(frame: Any, node: Node, carry: Sequence[Node], arrays: Sequence[int]) -> tuple[dict, dict, dict]:
    """Two places for each array of the state, the first filled with what it begins with."""
    first, spare, places = {}, {}, {}
    for k in arrays:
        pair = [frame.shared.arena.take(_size(node.spec[k])) for _ in range(2)]
        places[k] = pair
        first[k], spare[k] = (frame.shared.address(p) for p in pair)
        frame.code.copy(first[k], frame.value(carry[k]), _size(node.spec[k]))
    return first, spare, places


def _grow(frame: Any, stacks: Sequence[_Stack], capacity: str, count: str) -> None:
    """Make room for one more round."""
    code = frame.code
    room = code.load(capacity, int64)
    more, enough = code.new_label("more"), code.new_label("enough")
    code.branch(code.put(f"icmp slt i64 {count}, {room}"), enough, more)
    code.begin(more)
    each = sum(stack.size * stack.dtype.itemsize for stack in stacks)
    few = max(min(FIRST // max(each, 1), 64), 1)
    new = code.put(f"mul i64 {code.put(f'add i64 {room}, {few}')}, 2")
    _make_room(frame, stacks, new)
    code.store(new, capacity, int64)
    code.jump(enough)
    code.begin(enough)


def _make_room(frame: Any, stacks: Sequence[_Stack], rounds: str) -> None:
    """Give every stack memory for so many rounds; what is on it stays. Where there is none, the kernel ends with MemoryError."""
    code = frame.code
    frame.shared.module.declare("ptr @realloc(ptr, i64)")
    for stack in stacks:
        old = code.put(f"load ptr, ptr {stack.slot}")
        size = code.put(f"mul i64 {code.put(f'add i64 {rounds}, 1')}, {stack.size * stack.dtype.itemsize}")
        new = code.put(f"call ptr @realloc(ptr {old}, i64 {size})")
        none, some = code.new_label("none"), code.new_label("some")
        code.branch(code.put(f"icmp eq ptr {new}, null"), none, some)
        code.begin(none)
        interrupt.no_memory(frame, size)
        code.begin(some)
        code.do(f"store ptr {new}, ptr {stack.slot}")
