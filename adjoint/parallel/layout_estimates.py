"""What a training step of a large transformer takes on many devices, for each way to lay it out: bytes sent, memory, and time by simulation.

Counts of parameters, operations and bytes are those of the graph of one layer (`layer_counts`). Times are modelled: rates of a `Machine`, rings for collectives, and an event-driven
simulation of the pipeline's schedule. Nothing here runs on devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.tables import Table
from adjoint.parallel.best_cut import best_cut
from adjoint.parallel.collectives import all_reduce_time, gather_time, sent_bytes
from adjoint.parallel.machines import H100, Machine
from adjoint.parallel.schedules import SCHEDULES, Timeline, check_positive, pipeline_schedule
from adjoint.parallel.transformer_counts import COLUMNS, LayerCounts, TransformerSize, layer_counts

RECOMPUTE = ("none", "attention", "layer")
#: Bytes for each parameter: the weight, and float32 copies of it and of the two means of Adam.
WEIGHT_BYTES, STATE_BYTES = 2, 12


@dataclass(frozen=True)
class DeviceLayout:
    """How a model lies on devices: copies (`data`) of pipelines of `pipeline` stages, each on `tensor` devices.

    Args:
        data: copies of the model, each with its share of the batch.
        tensor: devices that share every product of a stage, which are neighbours.
        pipeline: stages.
        zero: 0: each copy holds everything; 1: the copies share the optimiser's state; 2: the gradients too; 3: the weights too.
        micro_batch: sequences that go through a stage at once.
        schedule: "1f1b" or "gpipe".
        recompute: what the backward pass computes again: "none", "attention" (its matrices) or "layer" (all but the inputs of layers).
        joined: whether the cotangents of an input that several split products read are added before they are summed over devices, so that a layer takes two
            sums backward; if not, one for each of its five such products.
        gradient_bytes: bytes of each element of the gradients that are sent: 2, or 4 for float32.

    >>> DeviceLayout(data=16, tensor=8, pipeline=8).devices
    1024
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    zero: int = 0
    micro_batch: int = 1
    schedule: str = "1f1b"
    recompute: str = "attention"
    joined: bool = True
    gradient_bytes: int = 2

    def __post_init__(self) -> None:
        for name in ("data", "tensor", "pipeline", "micro_batch"):
            check_positive("DeviceLayout", name, getattr(self, name))
        for name, known in (
            ("zero", (0, 1, 2, 3)),
            ("schedule", SCHEDULES),
            ("recompute", RECOMPUTE),
            ("joined", (True, False)),
            ("gradient_bytes", (2, 4)),
        ):
            if getattr(self, name) not in known:
                raise ArgumentError(
                    f"DeviceLayout: {name} must be one of {', '.join(map(str, known))}, not {getattr(self, name)!r}{called_at()}"
                )

    @property
    def devices(self) -> int:
        """How many devices it takes."""
        return self.data * self.tensor * self.pipeline

    def __str__(self) -> str:
        zero = f", ZeRO-{self.zero}" if self.zero else ""
        again = {"none": ", all kept", "attention": "", "layer": ", layers again"}[self.recompute]
        order = "" if self.schedule == "1f1b" else f", {self.schedule}"
        sums = ("" if self.joined else ", sums apart") + (", float32" if self.gradient_bytes == 4 else "")
        return f"data {self.data} × tensor {self.tensor} × pipeline {self.pipeline}{zero}{again}{order}{sums}"


@dataclass(frozen=True)
class LayoutEstimate:
    """What one training step takes in a layout. Bytes and seconds are of the device that has most to do.

    `data_bytes`, `tensor_bytes` and `pipeline_bytes` are what it sends in a step for each kind of parallelism; `compute_seconds`, `tensor_seconds` and `data_seconds` the times
    for arithmetic and for two of them. `step_seconds` has the simulated pipeline and, after it, all traffic between copies; `overlapped_seconds` has as much of
    that traffic as fits hidden behind the computing.
    """

    layout: DeviceLayout
    machine: Machine
    micro_batches: int
    tokens: int
    model_flops: float
    weight_bytes: float
    gradient_bytes: float
    state_bytes: float
    activation_bytes: float
    data_bytes: float
    tensor_bytes: float
    pipeline_bytes: float
    compute_seconds: float
    tensor_seconds: float
    data_seconds: float
    pipeline_seconds: float
    overlapped_seconds: float
    bubble: float

    @property
    def memory_bytes(self) -> float:
        """The memory that a device needs."""
        return self.weight_bytes + self.gradient_bytes + self.state_bytes + self.activation_bytes

    @property
    def fits(self) -> bool:
        """Whether a device has that much."""
        return self.memory_bytes <= self.machine.memory

    @property
    def step_seconds(self) -> float:
        """The time of a step if nothing is hidden behind anything else."""
        return self.pipeline_seconds + self.data_seconds

    @property
    def utilisation(self) -> float:
        """The share of the peak of all devices that the operations of the model are, without what is computed again."""
        return self.model_flops / (self.step_seconds * self.layout.devices * self.machine.peak_flops)

    def row(self) -> tuple[str, ...]:
        """The cells of a table."""
        sent = (f"{b / 1e9:.1f}" for b in (self.data_bytes, self.tensor_bytes, self.pipeline_bytes))
        memory = f"{self.memory_bytes / 1e9:.0f}{'' if self.fits else ' !'}"
        times = f"{self.step_seconds:.1f}", f"{self.overlapped_seconds:.1f}"
        return str(self.layout), memory, *sent, f"{self.bubble:.0%}", *times, f"{self.utilisation:.0%}"


@dataclass(frozen=True)
class LayoutComparison:
    """Estimates side by side; printed, a table. Memory that a device does not have is marked with `!`."""

    estimates: tuple[LayoutEstimate, ...]

    def table(self) -> Table:
        """Memory and bytes sent in GB, times in seconds."""
        head = ("layout", "memory", "data", "tensor", "pipeline", "idle", "step", "hidden", "of peak")
        return Table(head, [e.row() for e in self.estimates])

    def best(self) -> LayoutEstimate:
        """The fastest that fits."""
        fitting = [e for e in self.estimates if e.fits]
        if not fitting:
            raise ArgumentError(f"none of {len(self.estimates)} layouts fits the memory of a device{called_at()}")
        return min(fitting, key=lambda e: e.step_seconds)

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def compare_layouts(
    size: TransformerSize,
    layouts: Sequence[DeviceLayout],
    *,
    batch: int = 1024,
    sequence: int = 4096,
    machine: Machine = H100,
) -> LayoutComparison:
    """The estimates of several layouts for one model and batch; see `estimate_layout`.

    >>> from adjoint.parallel import LLAMA_70B
    >>> found = compare_layouts(LLAMA_70B, [DeviceLayout(16, 8, 8, zero=1), DeviceLayout(1024, zero=3)])
    >>> [e.fits for e in found.estimates], found.best().layout.tensor
    ([True, False], 8)
    """
    return LayoutComparison(
        tuple([estimate_layout(size, x, batch=batch, sequence=sequence, machine=machine) for x in layouts])
    )


def estimate_layout(
    size: TransformerSize, layout: DeviceLayout, *, batch: int = 1024, sequence: int = 4096, machine: Machine = H100
) -> LayoutEstimate:
    """What a training step of a model takes in a layout: memory, bytes sent, and the time by simulation.

    Args:
        size: the model.
        layout: how it lies on the devices.
        batch: the sequences of a step, which the copies and micro-batches must divide.
        sequence: the length of each.
        machine: rates of devices, links and network.

    >>> from adjoint.parallel import LLAMA_70B
    >>> found = estimate_layout(LLAMA_70B, DeviceLayout(data=16, tensor=8, pipeline=8))
    >>> found.micro_batches, round(found.bubble, 2)
    (64, 0.13)
    """
    _check(size, layout, batch)
    counts = layer_counts(size, sequence, layout.micro_batch)
    parts = batch // (layout.data * layout.micro_batch)
    stages = _stages(size, layout, counts, machine, sequence)
    weights = max(s.parameters for s in stages)
    shared = _shared(layout, parts, weights, machine)
    timeline, overlapped = (_simulated(layout, stages, counts, parts, machine, shared, x) for x in (False, True))
    tensor = max(s.layers for s in stages) * parts * _sums(layout) * 2 * sent_bytes(layout.tensor, counts.reduced)
    between = 2 * parts * counts.input_bytes if layout.pipeline > 1 else 0.0
    seconds = max(s.compute for s in stages) * parts
    exposed = max(0.0, shared.once_seconds - (2 / 3) * seconds)  # what is longer than the backward passes
    head = 2 * sequence * layout.micro_batch * size.width * size.vocabulary
    return LayoutEstimate(
        layout=layout,
        machine=machine,
        micro_batches=parts,
        tokens=batch * sequence,
        model_flops=3.0 * (size.layers * counts.flops + head) * batch / layout.micro_batch,
        weight_bytes=_weights(layout, weights, counts.parameters),
        gradient_bytes=layout.gradient_bytes * weights / (layout.data if layout.zero >= 2 else 1),
        state_bytes=STATE_BYTES * weights / (layout.data if layout.zero >= 1 else 1),
        activation_bytes=_activations(size, layout, stages, counts, parts, sequence),
        data_bytes=shared.sent,
        tensor_bytes=tensor,
        pipeline_bytes=between,
        compute_seconds=seconds,
        tensor_seconds=max(s.reducing for s in stages) * parts,
        data_seconds=shared.once_seconds,
        pipeline_seconds=timeline.length,
        overlapped_seconds=overlapped.length + exposed,
        bubble=timeline.bubble,
    )


def _weights(layout: DeviceLayout, parameters: float, of_layer: int) -> float:
    """The bytes of weights on a device: where copies share them, its part and those of the layer that is computed and of the next."""
    if layout.zero < 3:
        return WEIGHT_BYTES * parameters
    return WEIGHT_BYTES * (parameters / layout.data + 2 * of_layer / layout.tensor)


def _check(size: TransformerSize, layout: DeviceLayout, batch: int) -> None:
    check_positive("estimate_layout", "batch", batch)
    if batch % (layout.data * layout.micro_batch):
        raise ArgumentError(
            f"estimate_layout: a batch of {batch} sequences is not divided by {layout.data} copies with micro-batches of "
            f"{layout.micro_batch}{called_at()}"
        )
    if layout.pipeline > size.layers:
        raise ArgumentError(
            f"estimate_layout: {size.layers} layers cannot be {layout.pipeline} stages of whole layers{called_at()}"
        )
    if (size.key_heads % layout.tensor and layout.tensor % size.key_heads) or size.heads % layout.tensor:
        raise ArgumentError(
            f"estimate_layout: {size.heads} heads cannot be shared by {layout.tensor} devices{called_at()}"
        )


@dataclass(frozen=True)
class _Stage:
    """One stage on one device, for one micro-batch: seconds are of forward and backward together."""

    layers: int
    parameters: float
    forward: float
    backward: float
    compute: float
    reducing: float


def _stages(
    size: TransformerSize, layout: DeviceLayout, counts: LayerCounts, machine: Machine, sequence: int
) -> list[_Stage]:
    """Whole layers, cut so that the longest stage is as short as can be; the last one has the product with the vocabulary too."""
    head = 2 * sequence * layout.micro_batch * size.width * size.vocabulary
    flops = [float(counts.flops)] * (size.layers - 1) + [float(counts.flops + head)]
    starts = best_cut(flops, [], layout.pipeline)
    found = []
    again = {"none": 0, "attention": counts.attention_flops, "layer": counts.flops}[layout.recompute]
    reduce = all_reduce_time(machine, layout.tensor, counts.reduced)
    for k, (a, b) in enumerate(zip([0, *starts], [*starts, size.layers], strict=True)):
        last, rate = b == size.layers, layout.tensor * machine.flops
        forward = ((b - a) * counts.flops + last * head) / rate
        backward = 2 * forward + (b - a) * again / rate
        ahead = 2 * (b - a) * reduce
        back = ahead * (_sums(layout) - 2) / 2
        table = size.vocabulary * size.width * ((k == 0) + last)
        parameters = ((b - a) * counts.parameters + table) / layout.tensor
        found.append(_Stage(b - a, parameters, forward + ahead, backward + back, forward + backward, ahead + back))
    return found


def _sums(layout: DeviceLayout) -> int:
    """How many sums over the devices of a stage a layer takes: two forward, two or more backward, and two to compute it again."""
    if layout.tensor == 1:
        return 0
    return 2 + (2 if layout.joined else len(COLUMNS)) + (2 if layout.recompute == "layer" else 0)


@dataclass(frozen=True)
class _Shared:
    """The traffic between copies: what a device sends in a step, the seconds of it once a step, and those of each micro-batch forward and backward."""

    sent: float
    once_seconds: float
    each_seconds: tuple[float, float]


def _shared(layout: DeviceLayout, parts: int, parameters: float, machine: Machine) -> _Shared:
    n, stride = layout.data, layout.tensor
    gradients, weights = layout.gradient_bytes * parameters, WEIGHT_BYTES * parameters
    sent_g, sent_w = sent_bytes(n, gradients), sent_bytes(n, weights)
    time_g, time_w = (gather_time(machine, n, b, stride) for b in (gradients, weights))
    if layout.zero == 0:
        return _Shared(2 * sent_g, 2 * time_g, (0.0, 0.0))
    if layout.zero == 1:  # gradients are scattered, new weights gathered, once
        return _Shared(sent_g + sent_w, time_g + time_w, (0.0, 0.0))
    if layout.zero == 2:  # no device has room for all gradients: they are scattered after each micro-batch
        return _Shared(parts * sent_g + sent_w, time_w, (0.0, time_g))
    return _Shared(parts * (sent_g + 2 * sent_w), 0.0, (time_w, time_w + time_g))


def _simulated(
    layout: DeviceLayout,
    stages: Sequence[_Stage],
    counts: LayerCounts,
    parts: int,
    machine: Machine,
    shared: _Shared,
    overlap: bool,
) -> Timeline:
    """When each stage does what; with `overlap` the traffic of each micro-batch between copies goes on beside the computing."""
    far = layout.tensor * layout.data >= machine.devices_per_node  # whether the next stage is on another node
    delay = machine.transfer(counts.input_bytes, far)
    schedule = pipeline_schedule(layout.schedule, layout.pipeline, parts)
    forward, backward = ([s.forward for s in stages], [s.backward for s in stages])
    for times, beside in ((forward, shared.each_seconds[0]), (backward, shared.each_seconds[1])):
        times[:] = [max(t, beside) if overlap else t + beside for t in times]
    return schedule.simulate(forward, backward, [delay] * (layout.pipeline - 1))


def _activations(
    size: TransformerSize,
    layout: DeviceLayout,
    stages: Sequence[_Stage],
    counts: LayerCounts,
    parts: int,
    sequence: int,
) -> float:
    """The bytes of activations on the device that holds most: of the layers of its stage, for the micro-batches in flight."""
    whole, split, square = counts.kept_whole, counts.kept_split, counts.kept_attention
    layer = counts.input_bytes + whole + (split + (square if layout.recompute == "none" else 0)) / layout.tensor
    each = counts.input_bytes if layout.recompute == "layer" else layer
    flight = pipeline_schedule(layout.schedule, layout.pipeline, parts).in_flight()
    held = np.array([s.layers for s in stages]) * np.array(flight) * float(each)
    held[-1] += 4.0 * sequence * layout.micro_batch * size.vocabulary / layout.tensor  # what the loss is made of
    working = layer if layout.recompute == "layer" else 0.0  # of the layer that is computed again
    matrices = square / layout.tensor if layout.recompute != "none" else 0.0
    return float(held.max() + working + matrices)
