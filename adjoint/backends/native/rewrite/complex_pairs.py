"""Complex numbers as pairs of real ones: compiled code has no others.

Every complex value of a graph becomes two real ones, in loops and branches too. A complex argument or result is the same memory as
an array of real numbers with one more axis, of two, and the graph takes and gives that. What has no form in real numbers stays as
it is, between a step that joins the parts and steps that take them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from adjoint.backends.native.rewrite.complex_functions import Complex, as_complex, real_dtype
from adjoint.backends.native.rewrite.complex_rules import rule_of
from adjoint.backends.native.rewrite.fourier_steps import FOURIER
from adjoint.backends.native.rewrite.real_numbers import RealNumber
from adjoint.core import context
from adjoint.core.spec import Spec
from adjoint.graph.control import Cond, Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.nested import Control
from adjoint.graph.node import Builder, Const, Graph, Node, Pick, Structural, stands_for
from adjoint.ops.card import card
from adjoint.ops.complex_parts import Imag
from adjoint.ops.complex_parts import real as real_part
from adjoint.ops.slicing import part_along
from adjoint.ops.stacking import Stack

Value = Node | Complex


@dataclass(frozen=True)
class JoinedParts(Structural):
    """The complex number with these parts, for a step that is left to the interpreter."""

    dtype: np.dtype
    weak: bool = False  # whether it is a Python number

    opaque: ClassVar[bool] = False

    def infer(self, re: Spec, im: Spec) -> Spec:
        return Spec(re.shape, self.dtype, self.weak)

    def eval(self, xp: Any, re: Any, im: Any) -> Any:
        z = xp.empty(np.shape(re), self.dtype)
        z.real, z.imag = re, im
        return z.item() if self.weak else z


@dataclass(frozen=True)
class Borders:
    """Which arguments and results of a graph in real numbers are complex to the caller: the same memory, with one axis less."""

    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()

    def specs(self, specs: Sequence[Spec], places: Sequence[int]) -> list[Spec]:
        """Specs as the caller knows them."""
        return [_as_complex(s) if k in places else Spec(s.shape, s.dtype) for k, s in enumerate(specs)]

    def given(self, arrays: Sequence[Any], params: Sequence[Node]) -> list[Any]:
        """The caller's arguments as the graph takes them."""
        if not self.inputs:
            return list(arrays)
        return [
            _in_parts(x, p.spec) if k in self.inputs else x for k, (x, p) in enumerate(zip(arrays, params, strict=True))
        ]

    def taken(self, results: Sequence[Any]) -> list[Any]:
        """The graph's results as the caller takes them."""
        return [_joined(y) if k in self.outputs else y for k, y in enumerate(results)]


PLAIN = Borders()


def _as_complex(spec: Spec) -> Spec:
    return Spec(spec.shape[:-1], np.result_type(spec.dtype, np.complex64))


def _in_parts(x: Any, spec: Spec) -> np.ndarray:
    """A complex array as real numbers, with an axis for the parts."""
    array = np.asarray(x, _as_complex(spec).dtype, order="C")
    return array.reshape(*spec.shape[:-1], 1).view(spec.dtype)


def _joined(y: np.ndarray) -> np.ndarray:
    """An array of parts as one of complex numbers."""
    array = np.ascontiguousarray(y)
    return array.view(np.result_type(array.dtype, np.complex64)).reshape(array.shape[:-1])


def in_pairs(graph: Graph, compiles: Callable[[Graph], bool]) -> tuple[Graph, Borders]:
    """The graph in real numbers. Loops and branches are rewritten whole, if they can be compiled then, or not at all."""
    if not mentions_complex(graph) or any(is_complex(n.spec) and not n.spec.dtype.isnative for n in graph.nodes):
        return graph, Borders()  # no code knows another order of bytes
    builder = Builder()
    rewriting = _Rewriting(builder, compiles)
    params = []
    for p in graph.params:
        if not is_complex(p.spec):
            param = builder.param(p.spec, p.op.name)
            rewriting.found[p] = param
        else:
            param = builder.param(Spec((*p.shape, 2), real_dtype(p.dtype)), p.op.name)
            halves = [builder.build(part_along(p.ndim, k), [param]) for k in (0, 1)]
            rewriting.found[p] = _complex(builder, *halves)
        stands_for(param, p)
        params.append(param)
    rewriting.run(graph)
    outputs = [rewriting.found[n] for n in graph.outputs]
    results = [
        builder.build(card(Stack, z.re.node.ndim), [z.re.node, z.im.node]) if isinstance(z, Complex) else z
        for z in outputs
    ]
    effects = tuple([rewriting.node(n) for n in graph.effects])
    complex_inputs = tuple([k for k, p in enumerate(graph.params) if is_complex(p.spec)])
    complex_results = tuple([k for k, z in enumerate(outputs) if isinstance(z, Complex)])
    return Graph(tuple(params), tuple(results), graph.name, effects), Borders(complex_inputs, complex_results)


def is_complex(spec: Any) -> bool:
    return not isinstance(spec, tuple) and spec.dtype.kind == "c"


def mentions_complex(graph: Graph) -> bool:
    """Whether there is a complex number in a graph, if only in the midst of a transform, or in one inside; found out once."""
    known = graph.__dict__.get("_complex")
    if known is None:
        known = graph.__dict__["_complex"] = any(
            type(n.op) in FOURIER
            or any(is_complex(s) for s in (n.spec if isinstance(n.spec, tuple) else (n.spec,)))
            or (isinstance(n.op, Control) and any(mentions_complex(g) for g in n.op.graphs().values()))
            for n in graph.nodes
        )
    return known


def _complex(builder: Builder, re: Node, im: Node) -> Complex:
    return Complex(RealNumber(builder, re), RealNumber(builder, im))


class _Rewriting:
    """Rewrites the nodes of one graph."""

    def __init__(self, builder: Builder, compiles: Callable[[Graph], bool]) -> None:
        self.builder, self.compiles = builder, compiles
        self.whole = True  # whether no step has been left as it is
        self.found: dict[Node, Any] = {}  # a node or a complex number; of calls with several results, a list of them

    def run(self, graph: Graph) -> None:
        with context.setting(context.place, None):
            for node in graph.nodes:
                if node not in self.found:
                    context.place.set(node.place)
                    self.found[node] = self._rewritten(node)

    def _rewritten(self, node: Node) -> Any:
        if isinstance(node.op, Pick) and isinstance(self.found[node.inputs[0]], list):
            return self.found[node.inputs[0]][node.op.index]
        if isinstance(node.op, Const) and is_complex(node.spec):
            value = np.asarray(node.op.value)
            return _complex(self.builder, *(self.builder.const(np.array(x)) for x in (value.real, value.imag)))
        inputs = [self.found[i] for i in node.inputs]
        if isinstance(node.op, Control) and not isinstance(node.op, InPlace):
            found = self._control(node, inputs)
        elif is_complex(node.spec) or type(node.op) in FOURIER or any(isinstance(x, Complex) for x in inputs):
            rule = rule_of(node.op)
            found = None if rule is None else rule(self.builder, node, inputs)
            found = found if _is_result_of(node, found) else None
        else:
            found = self.builder.keep(node, node.op, tuple(inputs))
        return self._left(node) if found is None else found

    def _left(self, node: Node) -> Value:
        """A node that stays as it is, with its result in parts."""
        self.whole = False
        kept = self.builder.keep(node, node.op, tuple([self.node(i) for i in node.inputs]))
        if not is_complex(node.spec):
            return kept
        return _complex(self.builder, self.builder.build(real_part, [kept]), self.builder.build(Imag(), [kept]))

    def node(self, node: Node) -> Node:
        """What a node of the old graph is in the new one, as one node."""
        found = self.found[node]
        if not isinstance(found, Complex):
            return found
        return self.builder.build(JoinedParts(node.spec.dtype, node.spec.weak), [found.re.node, found.im.node])

    # ------------------------------------------------------------ loops and branches

    def _control(self, node: Node, inputs: list[Any]) -> Any:
        """A loop or branch, rewritten whole; None if it is to stay as it is."""
        op = node.op
        if not any(mentions_complex(g) for g in op.graphs().values()):
            return None if any(isinstance(x, Complex) for x in inputs) else self.builder.keep(node, op, tuple(inputs))
        if not isinstance(op, (Cond, Loop)):
            return None
        new = self._cond(op) if isinstance(op, Cond) else self._loop(op)
        if new is None or not all(map(self.compiles, new.graphs().values())):
            return None
        lead, params = ([inputs[0]], op.true.params) if isinstance(op, Cond) else ([], op.body.params)
        given = self._given(inputs[len(lead) :], params)
        return None if given is None else self._results(node, self.builder.build(new, [*lead, *given]))

    def _cond(self, op: Cond) -> Cond | None:
        pairs, kinds = _complex_ones([p.spec for p in op.true.params]), _complex_ones(op.true.specs)
        true, false = (self._inner(side, pairs, kinds) for side in (op.true, op.false))
        return None if true is None or false is None else Cond(true, false)

    def _loop(self, op: Loop) -> Loop | None:
        pairs, kinds = _complex_ones([p.spec for p in op.body.params]), _complex_ones(op.body.specs)
        body, test = self._inner(op.body, pairs, kinds), op.test
        if test is not None:
            test = self._inner(test, pairs[: op.carried] + pairs[op.carried + op.stacked :], [False])
        if body is None or (test is None) != (op.test is None) or pairs[: op.carried] != kinds[: op.carried]:
            return None
        places = (0, op.carried, op.carried + op.stacked)
        carried, stacked = (sum(1 + pair for pair in pairs[i:j]) for i, j in pairwise(places))
        return op.with_body(body, test=test, carried=carried, stacked=stacked)

    def _inner(self, graph: Graph, pairs: list[bool], kinds: list[bool]) -> Graph | None:
        """A graph inside, with two inputs in place of those that are pairs, and two results in place of complex ones.

        None if it is not to have just these, or cannot be rewritten whole.
        """
        if graph.effects or _complex_ones([p.spec for p in graph.params]) != pairs:
            return None
        builder = Builder()
        rewriting = _Rewriting(builder, self.compiles)
        for p in graph.params:
            spec = Spec(p.shape, real_dtype(p.dtype)) if is_complex(p.spec) else p.spec
            parts = [builder.param(spec, p.op.name) for _ in range(1 + is_complex(p.spec))]
            for part in parts:
                stands_for(part, p)
            rewriting.found[p] = _complex(builder, *parts) if len(parts) == 2 else parts[0]
        rewriting.run(graph)
        outputs = [rewriting.found[n] for n in graph.outputs]
        if not rewriting.whole or [isinstance(z, Complex) for z in outputs] != kinds:
            return None
        return Graph(tuple(builder.params), tuple([n for z in outputs for n in _parts(z)]), graph.name)

    def _given(self, inputs: Sequence[Any], params: Sequence[Node]) -> list[Node] | None:
        """Inputs of a loop or branch, as pairs where it takes pairs; None if it takes a real number where one is complex."""
        given: list[Node] = []
        for x, p in zip(inputs, params, strict=True):
            if is_complex(p.spec):
                z = as_complex(self.builder, x, real_dtype(p.dtype))
                given += [part.shaped(z.re.shape).node for part in (z.re, z.im)]
            elif isinstance(x, Complex):
                return None
            else:
                given.append(x)
        return given

    def _results(self, node: Node, call: Node) -> list[Value]:
        places = iter(range(len(call.spec)))
        return [
            _complex(self.builder, *(self.builder.pick(call, next(places)) for _ in range(2)))
            if is_complex(spec)
            else self.builder.pick(call, next(places))
            for spec in node.spec
        ]


def _complex_ones(specs: Sequence[Spec]) -> list[bool]:
    return [is_complex(s) for s in specs]


def _is_result_of(node: Node, found: Any) -> bool:
    """Whether what a rule has made has the shape and dtype of the node's result."""
    if isinstance(found, list):
        return all(_has_spec(s, z) for s, z in zip(node.spec, found, strict=True))
    return found is not None and not isinstance(node.spec, tuple) and _has_spec(node.spec, found)


def _has_spec(spec: Spec, found: Value) -> bool:
    wanted = spec.shape, real_dtype(spec.dtype)
    return is_complex(spec) == isinstance(found, Complex) and all((n.shape, n.dtype) == wanted for n in _parts(found))


def _parts(z: Value) -> list[Node]:
    return [z.re.node, z.im.node] if isinstance(z, Complex) else [z]
