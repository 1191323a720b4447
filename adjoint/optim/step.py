"""A training step compiled whole: loss, gradients and update as one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from adjoint import backends, ops
from adjoint.api.batching import vmap
from adjoint.api.grad import value_and_grad
from adjoint.api.gradient_checkpoint import checked_policy
from adjoint.api.inputs import binding
from adjoint.api.jit import Jitted, jit
from adjoint.backends.memory_report import MemoryReport
from adjoint.core import context, tree
from adjoint.core.checkpoint_policy import CheckpointPolicy
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import shape_of
from adjoint.graph.node import Graph
from adjoint.ops.functional.creation import zeros_beside
from adjoint.optim.accumulate import GradientAccumulation
from adjoint.optim.batch_parts import accumulated, check_reduction
from adjoint.optim.device_steps import DeviceSteps, steps_on_device
from adjoint.optim.memory import is_large, unfollowed
from adjoint.optim.optimizer import Optimizer
from adjoint.optim.rule import State, working_dtype

Gradients = Callable[[list[Any]], Sequence[Any]]


class CompiledStep:
    """A step that runs as one graph. Made by `compiled_step`."""

    def __init__(
        self,
        loss_fn: Callable[..., Any],
        optimiser: Optimizer,
        accumulation: GradientAccumulation | None,
        has_aux: bool,
        gradients: Gradients | None,
        backend: str | None,
        parts: int,
        reduction: str,
        checkpoint: CheckpointPolicy | None,
        memory: int | str | None,
        dynamic: bool = False,
    ) -> None:
        self.optimiser, self.accumulation = optimiser, accumulation
        self.loss_fn, self._gradients = loss_fn, gradients
        self._loss = evaluated(loss_fn, optimiser.parameters, has_aux, parts, reduction, checkpoint)
        self._buffer: list[Any] = []
        self.placed: Callable[[list[Any]], list[Any]] = list  # puts new sums of gradients where they are to be
        self._on_device: DeviceSteps | None = None  # what runs the next steps, if Parameters are on a device by now
        self.reduction, self.has_aux = reduction, has_aux
        self.lanes = 1  # parts of a batch whose gradients are kept apart until the update: those of devices, which then send less
        self.dynamic = dynamic
        self._overwriting = is_large(optimiser.parameters) and not dynamic
        given = ("buffer", "state", "params") if self._overwriting else ()
        #: The compiled functions, whose `compilations` and `explain` say what was made and why.
        free = "batch" if dynamic else ()
        self.applying: Jitted = jit(self._apply, backend=backend, donate=given, memory=memory, dynamic=free)
        self.collecting: Jitted = jit(self._collect, backend=backend, donate=given[:1], memory=memory, dynamic=free)
        self.applying.exclusive = True
        self.applying.replacing, self.collecting.replacing = ("params", "state"), ("buffer",)

    @boundary
    def __call__(self, *batch: Any) -> Any:
        """Take one step on a batch and return the loss; with `has_aux`, all that the function returned."""
        alone = context.autocast.get() is None  # what runs on a device asks for no more than arrays
        if alone and self._on_device is not None and (out := self._on_device(batch)) is not NotImplemented:
            return out
        self._on_device = None
        with context.no_grad():
            if self.accumulation is not None:
                self._begin(self.accumulation)
            if self._overwriting:
                batch = tree.map(unfollowed, batch)
            if alone and self.accumulation is None and not self.dynamic:
                self._on_device = steps_on_device(self.optimiser, self.applying, batch)
                if self._on_device is not None and (out := self._on_device(batch)) is not NotImplemented:
                    return out
            state, params, rates = self.optimiser.inputs(self._overwriting)
            if self.accumulation is not None:
                if self.accumulation.count + 1 < self.accumulation.accumulation_steps:
                    out, self._buffer = self.collecting(self._buffer, params, batch)
                    self.accumulation.count += 1
                    return out
                self.accumulation.reset()
            out, new, state = self.applying(self._buffer, state, params, rates, batch)
            self.optimiser.store(new, state)
            return out

    def memory(self, *batch: Any) -> MemoryReport:
        """What a step on this batch will take of memory beyond Parameters, state and batch, without running anything."""
        with context.no_grad():
            return self.applying.memory(*self._inputs(), batch)

    def graph(self, *batch: Any) -> Graph:
        """The optimised graph of a step on this batch, without running anything."""
        with context.no_grad():
            return self.applying.graph(*self._inputs(), batch)

    def _inputs(self) -> tuple[Any, ...]:
        """Sums of gradients, state, Parameters and learning rates, as a step may find them."""
        buffer = [] if self.accumulation is None else self._zeros()
        return (buffer, *self.optimiser.inputs(False))

    def _zeros(self) -> list[Any]:
        lanes = () if self.lanes == 1 else (self.lanes,)
        return [zeros_beside(p, (*lanes, *p.shape), working_dtype(p.dtype)) for p in self.optimiser.parameters]

    def _begin(self, accumulation: GradientAccumulation) -> None:
        """Empty sums, if a new mean begins."""
        if accumulation.count == 0:
            self._buffer = self.placed(self._zeros())

    def _apply(
        self, buffer: list[Any], state: State, params: list[Any], rates: tuple[Any, ...], batch: tuple[Any, ...]
    ) -> Any:
        out, buffer = self._collect(buffer, params, batch)
        if self.lanes > 1:
            buffer = list(self.optimiser.rule.collected([self.over_lanes(b) for b in buffer]))
        grads = buffer if self._gradients is None else list(context.readable(self._gradients)(buffer))
        return out, *context.readable(self.optimiser.rule.update)(grads, state, params, *rates)

    def _collect(self, buffer: list[Any], params: list[Any], batch: tuple[Any, ...]) -> Any:
        """The loss, and the buffer with the gradients in it; the gradients themselves if there is no buffer."""
        rule = self.optimiser.rule
        if self.lanes > 1:
            out, grads = self._in_lanes(rule.read(params), batch)
        else:
            out, grads = self._loss(rule.read(params), batch)
            grads = rule.collected(grads)
        if self.accumulation is None:
            return out, list(grads)
        steps = self.accumulation.accumulation_steps
        return out, [b + g / steps for b, g in zip(buffer, grads, strict=True)]

    def _in_lanes(self, params: Sequence[Any], batch: tuple[Any, ...]) -> Any:
        """The loss, and the gradients of each part of the batch."""
        out, grads = self._by_lane(lambda *part: self._loss(params, part), batch)
        return self.over_lanes(out), grads

    def losses_in_lanes(self, *batch: Any) -> Any:
        """The loss of each part of the batch."""
        return self._by_lane(self.loss_fn, batch)

    def _by_lane(self, fn: Callable[..., Any], batch: tuple[Any, ...]) -> Any:
        parts = tree.map(lambda x: _cut(x, self.lanes), batch)
        axes = tuple(tree.map(lambda x: 0 if shape_of(x) else None, part) for part in batch)
        return vmap(fn, axes)(*parts)

    def over_lanes(self, x: Any) -> Any:
        """The mean, or sum, over the parts of a batch."""
        return ops.mean(x, 0) if self.reduction == "mean" else ops.sum(x, 0)


def _cut(x: Any, lanes: int) -> Any:
    shape = shape_of(x)
    return ops.reshape(x, (lanes, shape[0] // lanes, *shape[1:])) if shape else x


def compiled_step(
    loss_fn: Callable[..., Any],
    params: Iterable[Parameter],
    optimiser: Optimizer | GradientAccumulation,
    *,
    has_aux: bool = False,
    gradients: Gradients | None = None,
    backend: str | None = None,
    device: str | None = None,
    parts: int = 1,
    reduction: str = "mean",
    checkpoint: str | CheckpointPolicy | None = None,
    memory: int | str | None = None,
    dynamic: bool = False,
) -> CompiledStep:
    """A function `step(*batch)` that computes the loss and its gradients, and changes the Parameters: in one graph.

    Parameters and state are inputs and results of the graph, which writes over large ones. Learning rates are inputs too, so that a schedule does not
    compile anew.

    Args:
        loss_fn: a function of the batch that returns the loss and uses the Parameters.
        params: the Parameters to train: those of the optimiser.
        optimiser: what changes them; a GradientAccumulation takes a step every so many batches.
        has_aux: `loss_fn` returns more than the loss; all of it is returned.
        gradients: applied to the list of gradients before the update, for example to clip them.
        backend: "native" for machine code, "interpreter" for one NumPy call an op, "xla"; by default what `set_context` says.
        device: where XLA runs it, as in `jit`; Parameters and state stay there from the first step on.
        parts: into how many parts each batch is cut, one after another, to take the memory of one: see
            `GradientAccumulation.value_and_grad`. All arguments of `loss_fn` are then arrays with the examples along their first axis.
        reduction: "mean" or "sum": how the loss of a batch is made of those of its examples, if it is cut.
        checkpoint: what is kept for the backward pass and what is computed again there, as in `grad`.
        memory: what a step may take beyond Parameters, state and batch, such as "200MB": see `jit`.
        dynamic: the batch may have any size, the same along the first axis of all its arrays: one graph serves every size above
            one, and a size that comes again and again gets machine code of its own. Each step computes what a step made for
            that size alone would. A program that is another one for another size is compiled for each, and `applying.notes` says why.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([3.0]), name="w")
    >>> step = ad.optim.compiled_step(lambda x: ((w * x - 1.0) ** 2).sum(), [w], ad.optim.SGD([w], learning_rate=0.25))
    >>> print(step(ad.Tensor([1.0])), step(ad.Tensor([1.0])), w)
    4.0 1.0 [1.5]
    """
    accumulation = optimiser if isinstance(optimiser, GradientAccumulation) else None
    inner = optimiser.applied() if isinstance(optimiser, GradientAccumulation) else optimiser
    given = list(params)
    if len(given) != len(inner.parameters) or {id(p) for p in given} != {id(p) for p in inner.parameters}:
        raise ArgumentError(f"compiled_step: the optimiser trains other Parameters than those given{called_at()}")
    policy = checked_policy("compiled_step", checkpoint)
    runs = backends.on_device(backend, device)
    if dynamic and (parts != 1 or memory is not None or (runs or "").startswith("xla")):
        raise ArgumentError(
            f"compiled_step: dynamic=True is for whole batches on the host: leave out parts=, memory= and the backend 'xla'{called_at()}"
        )
    return CompiledStep(
        loss_fn, inner, accumulation, has_aux, gradients, runs, parts, reduction, policy, memory, bool(dynamic)
    )


def evaluated(
    loss_fn: Callable[..., Any],
    params: Sequence[Parameter],
    has_aux: bool = False,
    parts: int = 1,
    reduction: str = "mean",
    checkpoint: CheckpointPolicy | None = None,
) -> Callable[..., Any]:
    """A function of the Parameters' values and a batch: the loss and its gradients by the Parameters."""
    if type(parts) is not int or parts < 1:
        raise ArgumentError(f"compiled_step: parts must be an integer above zero, not {parts!r}{called_at()}")
    check_reduction("compiled_step", reduction)
    if parts == 1:
        run = value_and_grad(loss_fn, None, weights=list(params), has_aux=has_aux)
    else:
        run = accumulated("compiled_step", parts, loss_fn, None, list(params), has_aux, None, reduction)

    def loss_and_gradients(values: Sequence[Any], batch: Sequence[Any]) -> Any:
        policy = checkpoint or context.checkpointing.get()
        with binding(dict(zip(params, values, strict=True))), context.setting(context.checkpointing, policy):
            return run(*batch)

    return loss_and_gradients
