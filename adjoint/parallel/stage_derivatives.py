"""The forward and the backward graph of each stage of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from adjoint.core import context
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import Spec, float32, has_derivative, is_half
from adjoint.graph.derivatives import vjp_graph
from adjoint.graph.nested import silent
from adjoint.graph.node import Const, Graph, Node, Param
from adjoint.graph.trace import trace
from adjoint.graph.walk import interpret, uses
from adjoint.ops.language import cast
from adjoint.parallel.graph_stages import CutGraph, Stage, held
from adjoint.passes import optimise
from adjoint.passes.forward_items import read_by_backward


@dataclass(frozen=True, eq=False)
class TrainedStage:
    """A stage with its derivative.

    `forward` gives the results of the stage and then what its backward pass reads. `backward` takes some of the inputs of `forward` (`reads`), some of its
    results (`recalls`), the cotangents of the results `active`, and the sums of gradients so far; it gives the cotangents of the inputs `passed`, which
    come from other stages, and the sums for the weights `weighed`, both as places among the inputs. It is None where nothing is to be derived.
    """

    stage: Stage
    forward: Graph
    backward: Graph | None
    reads: tuple[int, ...] = ()
    recalls: tuple[int, ...] = ()
    active: tuple[int, ...] = ()
    passed: tuple[int, ...] = ()
    weighed: tuple[int, ...] = ()

    def sums(self) -> list[Spec]:
        """The sums of gradients, one for each of `weighed`."""
        return [summed(self.stage.inputs[i].spec) for i in self.weighed]


def summed(spec: Spec) -> Spec:
    """In what the gradients of a weight are added up: half precision in float32."""
    return Spec(spec.shape, float32 if is_half(spec.dtype) else spec.dtype)


def trained_stages(cut: CutGraph, weights: Sequence[Node], recompute: bool) -> list[TrainedStage]:
    """The stages with their derivatives by the weights, which are inputs of the whole graph; its first result is the loss.

    With `recompute` a backward graph computes its stage again from the inputs of the stage; otherwise what it reads is kept.
    """
    moves = _moving(cut.graph, weights)
    leads = _leading(cut.graph.outputs[0])
    return [_trained(stage, moves, leads, set(weights), recompute) for stage in cut.stages]


def _moving(graph: Graph, weights: Sequence[Node]) -> set[Node]:
    """The nodes that may have a derivative by a weight."""
    found = set(weights)
    for node in graph.nodes:
        if any(i in found for i in node.inputs):
            found.add(node)
    return found


def _leading(loss: Node) -> set[Node]:
    """The nodes that the loss depends on."""
    return set(Graph((), (loss,)).nodes)


def _trained(stage: Stage, moves: set[Node], leads: set[Node], weights: set[Node], recompute: bool) -> TrainedStage:
    wanted = _places(stage.inputs, moves)
    active = _places(stage.outputs, moves & leads)
    if not wanted or not active:
        return TrainedStage(stage, stage.graph, None)
    kept = () if recompute else _kept(stage.graph, wanted)
    given = {n: i for i, n in reversed(list(enumerate(stage.graph.outputs)))}
    more = [n for n in kept if n not in given]
    given.update((n, len(stage.outputs) + k) for k, n in enumerate(more))
    forward = replace(stage.graph, outputs=(*stage.graph.outputs, *more))
    passed = tuple(i for i in wanted if stage.inputs[i] not in weights)
    weighed = tuple(i for i in wanted if stage.inputs[i] in weights)
    pull = _accumulating(stage.graph, passed, weighed, active, kept)
    backward, reads, recalls = _without_unread(pull, len(stage.inputs), len(kept))
    return TrainedStage(
        stage, forward, backward, reads, tuple(given[kept[i]] for i in recalls), active, passed, weighed
    )


def _places(nodes: Sequence[Node], among: set[Node]) -> tuple[int, ...]:
    return tuple(i for i, n in enumerate(nodes) if n in among and has_derivative(n.spec.dtype))


def _kept(graph: Graph, wanted: tuple[int, ...]) -> tuple[Node, ...]:
    """The values of a stage that its backward pass reads, beside its inputs; of views, what they show."""
    quiet = silent(graph)
    needed = map(held, read_by_backward(quiet, wanted)[0])
    read = {n for n in needed if not isinstance(n.op, (Param, Const)) and not isinstance(n.spec, tuple)}
    both = set(graph.nodes)  # a branch that prints is another one without its print: it is computed again
    return tuple(n for n in quiet.nodes if n in read and n in both)


def _accumulating(
    graph: Graph, passed: tuple[int, ...], weighed: tuple[int, ...], active: tuple[int, ...], kept: tuple[Node, ...]
) -> Graph:
    """The derivative graph that adds the gradients of the weights to the sums that it is given."""
    pull = vjp_graph(graph, (*passed, *weighed), active, kept)
    count = len(graph.params) + len(kept) + len(active)
    if len(pull.params) > count:
        raise ArgumentError(
            "pipeline: a derivative rule inside the function reads a Parameter or a Tensor that is no input of the function with the "
            f"rule: make it one{called_at()}"
        )
    sums = [summed(graph.params[i].spec) for i in weighed]

    def added(*xs: Any) -> list[Any]:
        found = interpret(pull, xs[:count])
        grads = found[len(passed) :]
        return [*found[: len(passed)], *(s + _as(g, s) for s, g in zip(xs[count:], grads, strict=True))]

    specs = [*(p.spec for p in pull.params), *sums]
    with context.setting(context.open_tape, None):
        whole = trace(added, specs, f"backward of {graph.name}", "pipeline", replayed=True)[0]
    return optimise(whole)[0]


def _as(gradient: Any, total: Any) -> Any:
    return gradient if gradient.dtype == total.dtype else cast(gradient, total.dtype)


def _without_unread(graph: Graph, inputs: int, kept: int) -> tuple[Graph, tuple[int, ...], tuple[int, ...]]:
    """The graph without those of the first inputs and kept values that it does not read; and which ones are left."""
    count = uses(graph)
    left = [i for i, p in enumerate(graph.params) if i >= inputs + kept or count[p]]
    reads = tuple(i for i in left if i < inputs)
    recalls = tuple(i - inputs for i in left if inputs <= i < inputs + kept)
    return replace(graph, params=tuple(graph.params[i] for i in left)), reads, recalls
