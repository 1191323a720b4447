"""One training step through the stages of a pipeline: what each task computes, and where arrays go between them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.compiled import executable
from adjoint.graph.node import Node, Param
from adjoint.parallel.schedules import PipelineSchedule, Task
from adjoint.parallel.stage_derivatives import TrainedStage


@dataclass(frozen=True)
class StagePlace:
    """Where a stage runs: a backend of this process ("native"), or a device of XLA's ("xla:gpu:1")."""

    name: str

    @property
    def on_device(self) -> bool:
        return self.name.startswith("xla:")

    @property
    def device(self) -> str:
        """The name of the device: "cpu" for a backend of this process."""
        return self.name.partition(":")[2] if self.on_device else "cpu"

    def put(self, x: Any) -> Any:
        """An array where this place computes. Between devices nothing waits: the copy is made when it can be."""
        if not self.on_device:
            return np.asarray(x) if hasattr(x, "devices") else x
        from adjoint.backends.xla.devices import device, jax, precise

        with precise():
            return jax().device_put(x, device(self.name.partition(":")[2]))

    def prepare(self, *graphs: Any) -> None:
        """Compile what is going to run here, before any thread needs it."""
        for graph in graphs:
            if graph is not None:
                executable(graph, self.name)

    def run(self, graph: Any, inputs: Sequence[Any]) -> list[Any]:
        """The results of a graph."""
        return list(executable(graph, self.name)(*inputs))


def added(a: Any, b: Any) -> Any:
    """The sum of two arrays of one place."""
    if isinstance(a, (np.ndarray, np.generic)):
        return a + b
    from adjoint.backends.xla.devices import precise

    with precise():
        return a + b


def like(x: Any, value: Any) -> Any:
    """An array where another one is: on the host, or on its device."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(x)
    from adjoint.backends.xla.devices import jax, precise

    with precise():
        return jax().device_put(x, value.sharding)


class StepRun:
    """The values of one step while the tasks of a schedule are done."""

    def __init__(
        self,
        stages: Sequence[TrainedStage],
        places: Sequence[StagePlace],
        given: Callable[[int, int, Node], Any],
        loss: Node,
        seed: Any,
    ) -> None:
        self.stages, self.places = stages, places
        self.given = given  # of a stage and a micro-batch, the value of an input of the whole graph
        self.loss, self.seed = loss, seed
        self.readers: dict[Node, list[int]] = {}  # the stages that read what another one makes
        self.makers: dict[Node, int] = {}
        for s, trained in enumerate(stages):
            self.makers.update(dict.fromkeys(trained.stage.outputs, s))
            for n in trained.stage.inputs:
                if not isinstance(n.op, Param):
                    self.readers.setdefault(n, []).append(s)
        self.sent: dict[tuple[Node, int, int], Any] = {}  # by value, reading stage and micro-batch
        self.kept: dict[tuple[int, int], tuple[list[Any], list[Any]]] = {}  # inputs and results that backward reads
        self.cotangents: dict[tuple[Node, int], Any] = {}
        self.sums: list[list[Any]] = [
            [place.put(np.zeros(s.shape, s.dtype)) for s in trained.sums()]
            for trained, place in zip(stages, places, strict=True)
        ]
        self.losses: dict[int, Any] = {}
        self._lock = threading.Lock()

    def do(self, task: Task) -> None:
        """One micro-batch through one stage."""
        (self._forward if task.kind == "F" else self._backward)(task.stage, task.micro_batch)

    def needs(self, task: Task) -> list[Task]:
        """The tasks of other stages that must be done before."""
        s, k = task.stage, task.micro_batch
        trained = self.stages[s]
        if task.kind == "F":
            found = {self.makers[n] for n in trained.stage.inputs if not isinstance(n.op, Param)}
        else:
            found = {r for i in trained.active for r in self.readers.get(trained.stage.outputs[i], ())}
        return [Task(task.kind, t, k) for t in sorted(found)]

    def _forward(self, s: int, k: int) -> None:
        trained, place = self.stages[s], self.places[s]
        inputs = [
            self.given(s, k, n) if isinstance(n.op, Param) else self.sent.pop((n, s, k)) for n in trained.stage.inputs
        ]
        results = place.run(trained.forward, inputs)
        for n, y in zip(trained.stage.outputs, results, strict=False):
            if n is self.loss:
                self.losses[k] = y
            for reader in self.readers.get(n, ()):
                self.sent[n, reader, k] = self.places[reader].put(y)
        if trained.backward is not None:
            self.kept[s, k] = [inputs[i] for i in trained.reads], [results[i] for i in trained.recalls]

    def _backward(self, s: int, k: int) -> None:
        trained, place = self.stages[s], self.places[s]
        if trained.backward is None:
            return
        reads, recalls = self.kept.pop((s, k))
        pulled = [self._cotangent(trained.stage.outputs[i], place, k) for i in trained.active]
        found = place.run(trained.backward, [*reads, *recalls, *pulled, *self.sums[s]])
        count = len(trained.passed)
        self.sums[s] = found[count:]
        for i, g in zip(trained.passed, found, strict=False):
            n = trained.stage.inputs[i]
            if isinstance(n.op, Param):
                continue
            g = self.places[self.makers[n]].put(g)
            with self._lock:
                old = self.cotangents.get((n, k))
                self.cotangents[n, k] = g if old is None else added(old, g)

    def _cotangent(self, n: Node, place: StagePlace, k: int) -> Any:
        found = self.cotangents.pop((n, k), None)
        if n is self.loss:
            seed = place.put(self.seed)
            return seed if found is None else added(found, seed)
        return place.put(np.zeros(n.spec.shape, n.spec.dtype)) if found is None else found


def in_turn(run: StepRun, schedule: PipelineSchedule) -> None:
    """All tasks from one thread, in the order in which stages would begin them: devices of XLA's work on while others are told."""
    for task in schedule.issue_order():
        run.do(task)


def on_threads(run: StepRun, schedule: PipelineSchedule) -> None:
    """A thread for each stage. What goes wrong in one of them ends all, and is raised here."""
    done = {task: threading.Event() for order in schedule.orders for task in order}
    errors: list[BaseException] = []

    def work(order: Sequence[Task]) -> None:
        for task in order:
            for needed in run.needs(task):
                done[needed].wait()
            if errors:
                return
            try:
                run.do(task)
            except BaseException as error:
                errors.append(error)
                for event in done.values():
                    event.set()
                return
            done[task].set()

    threads = [threading.Thread(target=copy_context().run, args=(work, order)) for order in schedule.orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
