"""A training step as a pipeline: stages of a function's graph on devices of their own, micro-batches one behind another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.grad import check_weights
from adjoint.api.inputs import check_function, name_of
from adjoint.api.jit import jit
from adjoint.backends import checked, chosen
from adjoint.core import context, tree
from adjoint.core.dispatch import BOTTOM, Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, ShapeError, boundary, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import is_inexact, shape_of
from adjoint.graph.node import Node, Param
from adjoint.optim.batch_parts import check_reduction
from adjoint.optim.optimizer import Optimizer
from adjoint.parallel.device_mesh import Mesh
from adjoint.parallel.graph_stages import CutGraph, cut_graph, measured_seconds
from adjoint.parallel.machines import CPU_CORE, Machine
from adjoint.parallel.schedules import SCHEDULES, PipelineSchedule, check_positive, pipeline_schedule
from adjoint.parallel.sharded_state import ShardedRule
from adjoint.parallel.stage_derivatives import TrainedStage, trained_stages
from adjoint.parallel.stage_runs import StagePlace, StepRun, added, in_turn, like, on_threads
from adjoint.parallel.stage_updates import StageUpdates


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is made once for batches of one shape."""

    cut: CutGraph
    stages: list[TrainedStage]
    parameters: dict[Node, Parameter]
    homes: dict[Parameter, str]  # where each weight is changed: the device of the first stage that derives by it


class Pipeline:
    """A function that computes a loss and its gradients stage by stage. Made by `pipeline`."""

    def __init__(
        self,
        fn: Callable[..., Any],
        weights: Sequence[Parameter],
        places: Sequence[StagePlace],
        schedule: PipelineSchedule,
        reduction: str,
        optimiser: Optimizer | None,
        recompute: bool,
        measure: bool,
        machine: Machine,
    ) -> None:
        self.fn, self.weights, self.places, self.schedule = fn, list(weights), tuple(places), schedule
        self.reduction, self.optimiser, self.machine = reduction, optimiser, machine
        self._recompute, self._measure = recompute, measure
        self._traced = jit(fn)
        self._plans: dict[Any, _Plan] = {}
        self._placed: dict[tuple[Parameter, int], tuple[Any, Any]] = {}  # what Parameters are on the device of a stage
        apart = optimiser is not None and any(p.on_device for p in places) and StageUpdates.can_take(optimiser)
        self._updates = StageUpdates(optimiser) if optimiser is not None and apart else None
        #: How the function was cut for the last batch; None before the first.
        self.cut: CutGraph | None = None

    @boundary
    def __call__(self, *batch: Any) -> Any:
        """The loss of a batch and the list of gradients; with an optimiser, a step of it, and the loss alone."""
        self._check_outside()
        parts = self._parts(batch)
        prepared = [self._traced._prepared(part, {})[:2] for part in parts]
        entry = prepared[-1][1]
        plan = self._plan(entry, prepared[0][0])
        self.cut = plan.cut
        inputs = []
        for made, _ in prepared:
            drawn = [] if entry.draws is None else entry.draws.begin()
            inputs.append(
                [*map(_array, made.numbers), *[None] * len(entry.parameters), *map(_array, entry.inputs()), *drawn]
            )
        loss, grads = self._run(plan, inputs)
        if self.optimiser is None:
            return loss, grads
        if self._updates is None:
            self.optimiser(grads)
        else:
            self._updates(grads, plan.homes)
        return loss

    def _check_outside(self) -> None:
        """Refuse to run inside a transform, which would not see the derivatives computed here."""
        if (
            context.bindings.get() is not None
            or context.open_tape.get() is not None
            or context.tracer.get() is not None
        ):
            raise ArgumentError(
                f"pipeline: it computes gradients itself, stage by stage, and cannot run inside grad, vmap, jit or a GradientTape: call it "
                f"outside{called_at()}"
            )

    def _parts(self, batch: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """The micro-batches."""
        leaves, rebuild = tree.flatten(batch)
        count, n = _examples(leaves), self.schedule.micro_batches
        if count % n:
            raise ShapeError(
                f"pipeline: {count} examples cannot be cut into {n} micro-batches of one size: choose a number that divides the "
                f"batch{called_at()}"
            )
        arrays, size = [_array(x) for x in leaves], count // n
        return [rebuild([_rows(x, k * size, (k + 1) * size) for x in arrays]) for k in range(n)]

    def _plan(self, entry: Any, made: Any) -> _Plan:
        known = self._plans.get(entry.graph)
        if known is not None:
            return known
        _check_program(self.fn, entry)
        graph = entry.graph
        parameters = dict(zip(graph.params[len(made.numbers) :], entry.parameters, strict=False))
        of = {p: node for node, p in parameters.items()}
        if unused := [p.name for p in self.weights if p not in of]:
            raise ArgumentError(
                f"pipeline: {name_of(self.fn)} does not use the Parameters {', '.join(unused)}: leave them out of the weights{called_at()}"
            )
        times = None
        if self._measure:
            values = [*map(_array, made.numbers), *(p._value for p in entry.parameters), *map(_array, entry.inputs())]
            drawn = [] if entry.draws is None else [np.int64(0), np.int64(0)]
            times = measured_seconds(graph, [*values, *drawn])
        cut = cut_graph(graph, len(self.places), times=times, machine=self.machine)
        stages = trained_stages(cut, [of[p] for p in self.weights], self._recompute)
        for trained, place in zip(stages, self.places, strict=True):
            place.prepare(trained.forward, trained.backward)
        homes = dict.fromkeys(self.weights, self.places[0].device)
        for trained, place in reversed(list(zip(stages, self.places, strict=True))):
            homes.update((parameters[trained.stage.inputs[i]], place.device) for i in trained.weighed)
        self._plans[graph] = plan = _Plan(cut, stages, parameters, homes)
        return plan

    def _run(self, plan: _Plan, inputs: list[list[Any]]) -> tuple[Any, list[Any]]:
        graph, n = plan.cut.graph, len(inputs)
        at = {p: i for i, p in enumerate(graph.params)}

        def given(s: int, k: int, node: Node) -> Any:
            p = plan.parameters.get(node)
            return self.places[s].put(inputs[k][at[node]]) if p is None else self._parameter(p, s)

        loss = graph.outputs[0]
        share = np.asarray(1.0 / n if self.reduction == "mean" else 1.0, loss.spec.dtype)
        run = StepRun(plan.stages, self.places, given, loss, share)
        (in_turn if len(self.places) == 1 else on_threads)(run, self.schedule)
        losses = [np.asarray(run.losses[k]) for k in range(n)]
        value = np.asarray(sum(losses[1:], losses[0]) * share, loss.spec.dtype)
        return wrap(value[()]), [wrap(g) for g in self._gradients(plan, run)]

    def _parameter(self, p: Parameter, s: int) -> Any:
        """The value of a Parameter where a stage runs; put there once for each value."""
        known = self._placed.get((p, s))
        if known is None or known[0] is not p._value:
            known = self._placed[p, s] = p._value, self.places[s].put(p._value)
        return known[1]

    def _gradients(self, plan: _Plan, run: StepRun) -> list[Any]:
        """The gradient of each weight; of one that several stages read, the sum over them."""
        found: dict[Parameter, tuple[int, Any]] = {}
        for s, trained in enumerate(plan.stages):
            for i, g in zip(trained.weighed, run.sums[s], strict=True):
                p = plan.parameters[trained.stage.inputs[i]]
                if p in found:
                    home, old = found[p]
                    found[p] = home, added(old, self.places[home].put(g))
                else:
                    found[p] = s, g
        grads = []
        for p in self.weights:
            g = found[p][1] if p in found else np.zeros(p.shape, p._value.dtype)
            g = like(g, p._value)
            grads.append(g if g.dtype == p._value.dtype else g.astype(p._value.dtype))
        return grads

    def __str__(self) -> str:
        where = ", ".join(f"{k}: {p.name}" for k, p in enumerate(self.places))
        cut = "not cut yet: call it with a batch" if self.cut is None else str(self.cut)
        return f"pipeline of {name_of(self.fn)} on {where}\n{cut}\n{self.schedule}"

    __repr__ = __str__


def pipeline(
    fn: Callable[..., Any],
    weights: Parameter | Sequence[Parameter],
    devices: int | Sequence[str] | Mesh,
    *,
    micro_batches: int = 4,
    schedule: str = "1f1b",
    reduction: str = "mean",
    optimiser: Optimizer | None = None,
    recompute: bool = False,
    measure: bool = False,
    machine: Machine = CPU_CORE,
) -> Pipeline:
    """The loss of a function and its gradients, computed as a pipeline: a stage of its graph on each device.

    The function is traced on a micro-batch and its graph cut by `cut_graph`. Each micro-batch goes forward through the stages and back through their
    derivatives; gradients are added up where the weights are. The result is what one device gives, to rounding: `pipe(*batch)` is the loss and the list of
    gradients, or, with an optimiser, takes its step and is the loss.

    Args:
        fn: a function or Cell of a batch that returns the loss, one number. Every array among its arguments has the examples along its first axis.
        weights: the Parameters to differentiate by, as `model.trainable_params()` gives.
        devices: names of XLA devices, one for each stage ("gpu:0", "gpu:1", …; one may occur several times), a mesh with one axis, or how many stages are
            run in threads of this process, as machine code.
        micro_batches: into how many parts each batch is cut; more of them leave the stages less idle. Their number must divide the batch.
        schedule: "1f1b" or "gpipe": see `pipeline_schedule`. Both add in the same order.
        reduction: "mean" or "sum": how the loss of a batch is made of those of its examples.
        optimiser: takes a step along the gradients in every call. On devices it does so where the stages are: weights and state move there
            with the first step and stay; `net.to("cpu")` brings a network back.
        recompute: whether a stage keeps its inputs alone and is computed again for its backward pass.
        measure: whether steps are measured, on the first micro-batch, to balance the stages; otherwise times are estimated from shapes.
        machine: what estimates and transfers are worked out with.

    Random numbers, and statistics of a batch as BatchNorm takes them, are those of micro-batches computed one after another, as in
    `optim.GradientAccumulation`. Functions that write to Parameters are refused.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([[2.0]]), name="w")
    >>> v = ad.Parameter(ad.Tensor([[3.0]]), name="v")
    >>> pipe = pipeline(lambda x: ad.ops.mean((ad.ops.tanh(x @ w) @ v) ** 2), [w, v], 2, micro_batches=2)
    >>> loss, (dw, dv) = pipe(ad.Tensor([[1.0], [2.0]]))
    >>> print(f"{float(loss):.4f} {float(dw[0, 0]):.4f} {float(dv[0, 0]):.4f}")
    8.6760 0.6371 5.7840
    """
    check_function("pipeline", fn)
    params = check_weights("pipeline", weights)
    if not params:
        raise ArgumentError(f"pipeline: there are no weights to differentiate by{called_at()}")
    check_reduction("pipeline", reduction)
    check_positive("pipeline", "micro_batches", micro_batches)
    if schedule not in SCHEDULES:
        raise ArgumentError(
            f"pipeline: there is no schedule {schedule!r}; there are {', '.join(SCHEDULES)}{called_at()}"
        )
    if optimiser is not None and not isinstance(optimiser, Optimizer):
        raise ArgumentTypeError(
            f"pipeline: the optimiser must be one of `optim` that takes gradients, not {type(optimiser).__name__}: a pipeline adds up its "
            f"micro-batches itself{called_at()}"
        )
    if optimiser is not None and isinstance(optimiser.rule, ShardedRule):
        raise ArgumentError(
            f"pipeline: the state of this optimiser is split by `parallel.zero`, which goes with `data_parallel`; a stage has the state of its own "
            f"weights: make an optimiser without it{called_at()}"
        )
    if optimiser is not None and [*map(id, optimiser.parameters)] != [*map(id, params)]:
        raise ArgumentError(
            f"pipeline: the weights must be the Parameters of the optimiser, in their order{called_at()}"
        )
    places = _places(devices)
    order = pipeline_schedule(schedule, len(places), micro_batches)
    return Pipeline(fn, params, places, order, reduction, optimiser, recompute, measure, machine)


def _places(devices: Any) -> list[StagePlace]:
    if isinstance(devices, int) and not isinstance(devices, bool):
        check_positive("pipeline", "devices", devices)
        return [StagePlace(chosen())] * devices
    if isinstance(devices, Mesh):
        if sum(n > 1 for n in devices.axes.values()) > 1:
            raise ArgumentError(
                f"pipeline: the stages go along one axis, and {devices!r} has several: give the names of the devices, one for each stage{called_at()}"
            )
        devices = devices.devices
    if isinstance(devices, str) or not isinstance(devices, (list, tuple)) or not devices:
        raise ArgumentTypeError(
            f'pipeline: devices must be a number of stages or a list of names like ["gpu:0", "gpu:1"], not {devices!r}{called_at()}'
        )
    found = []
    for name in devices:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"pipeline: a device is named by a text like 'gpu:0', not {name!r}{called_at()}")
        known = name in ("native", "interpreter") or name.startswith("xla:")
        found.append(StagePlace(checked(name if known else f"xla:{name}")))
    return found


def _array(x: Any) -> Any:
    """The array of a Tensor that no transform follows."""
    if isinstance(x, Parameter):
        return x._value
    if isinstance(x, Value):
        if x._trace not in BOTTOM:
            raise ArgumentError(
                "pipeline: a batch that grad, vmap, jit or backward() follows cannot be given to a pipeline: it computes its own "
                f"derivatives; pass plain arrays{called_at()}"
            )
        return x._value
    return x


def _rows(x: Any, start: int, end: int) -> Any:
    """Some examples of an array, on the host or on its device."""
    return wrap(x[start:end]) if isinstance(x, np.ndarray) else wrap(x)[start:end]


def _examples(leaves: Sequence[Any]) -> int:
    shapes = [shape_of(x) for x in leaves]
    if not shapes or any(not s for s in shapes) or len({s[0] for s in shapes}) > 1:
        shown = ", ".join(map(str, dict.fromkeys(shapes))) or "none"
        raise ShapeError(
            f"pipeline: a batch is arrays whose first axes are equally long, the examples; these have the shapes {shown}{called_at()}"
        )
    if not shapes[0][0]:
        raise ShapeError(f"pipeline: the batch has no example{called_at()}")
    return int(shapes[0][0])


def _check_program(fn: Any, entry: Any) -> None:
    """What a pipeline cannot do exactly as the function does, it does not do."""
    if entry.stored:
        names = ", ".join(p.name for p in entry.stored)
        raise ArgumentError(
            f"pipeline: {name_of(fn)} writes to the Parameters {names}, which micro-batches would do in turn: use a layer without statistics of "
            f"the batch, such as LayerNorm or GroupNorm{called_at()}"
        )
    if entry.written:
        raise ArgumentError(
            f"pipeline: {name_of(fn)} writes into its arguments: let it return what it makes{called_at()}"
        )
    if entry.draws is not None and entry.draws.count is None:
        raise ArgumentError(
            f"pipeline: {name_of(fn)} samples in a loop or a branch, so that the number of its samples is not known: sample before it{called_at()}"
        )
    loss = entry.graph.outputs
    if (
        len(loss) != 1
        or loss[0].spec.shape != ()
        or not is_inexact(loss[0].spec.dtype)
        or loss[0].spec.dtype.kind == "c"
    ):
        shown = ", ".join(str(n.spec) for n in loss)
        raise ShapeError(
            f"pipeline: {name_of(fn)} must return the loss, one real number, the mean or the sum over the examples; it returns {shown}{called_at()}"
        )
    if isinstance(loss[0].op, Param):
        raise ArgumentError(
            f"pipeline: {name_of(fn)} returns one of its inputs: there is nothing to derive{called_at()}"
        )
