"""A graph as an executable of XLA's, compiled anew for each way in which its inputs lie on devices."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from adjoint.backends.memory_report import MemoryReport, combined, interpreted
from adjoint.backends.xla import fused_attention as fused_attention
from adjoint.backends.xla import lowered_cards as lowered_cards
from adjoint.backends.xla import matrix_products as matrix_products
from adjoint.backends.xla.branches_and_loops import grows
from adjoint.backends.xla.devices import device, jax, name_of, precise
from adjoint.backends.xla.failures import Tracing, number_in, too_short
from adjoint.backends.xla.host_steps import after_run, later_inside
from adjoint.backends.xla.lowering import run
from adjoint.backends.xla.own_kernels import with_own_kernels
from adjoint.backends.xla.preparing import prepared
from adjoint.backends.xla.python_calls import Journal
from adjoint.core.arrays import kept
from adjoint.core.errors import DeviceError, called_at
from adjoint.core.placement import HOST
from adjoint.graph.node import Graph

#: XLA may not leave out the rounding between two steps in half precision. It would keep, and write to memory, float32.
OPTIONS = {"xla_allow_excess_precision": False}
CAPACITY = 256  # rows of the first buffers of a loop whose length is known only on the device


def compile(graph: Graph, place: str | None = None) -> Executable:
    """A function from arrays to the arrays of the results, on a device or where the inputs are."""
    return Executable(graph, place)


def home(place: str | None) -> str | None:
    """The device that results stay on; None where they go back to the host, which is the same processor."""
    found = device(place)
    return None if place in (None, "cpu") and found.platform == "cpu" else name_of(found)


def memory(graph: Graph, _donated: Sequence[int] = ()) -> MemoryReport:
    """An estimate of what a call takes of memory, before XLA has made one of several steps."""
    return combined("xla", graph, [interpreted(graph)])


class Executable:
    """A graph on XLA."""

    def __init__(self, graph: Graph, place: str | None) -> None:
        self.graph, self.place = prepared(graph), place
        self.device, self.home = device(place), home(place)
        self.devices = {self.device}
        self.specs = [p.spec for p in graph.params]
        self.capacity = CAPACITY
        self.replaced: dict[int, int] | None = (
            None  # inputs whose places results take, by the result: they lie alike on many devices
        )
        self.made: dict[Any, tuple[Any, Tracing]] = {}  # by how the inputs lie and which are given up
        self.later_inside, self.grows = later_inside(graph), grows(graph)
        self.lock = Lock()
        self.short_way: tuple[Any, list[Any]] | None = (
            None  # what ran last, if nothing has to be looked at, and how its inputs lay
        )

    def __call__(self, *arrays: Any) -> list[Any]:
        if self.short_way is not None:
            compiled, lay = self.short_way
            if all(getattr(x, "sharding", None) == where for x, where in zip(arrays, lay, strict=True)):
                return compiled(*arrays)[0]  # type: ignore[no-any-return]
        return self._run(arrays, ())

    def giving_up(self, inputs: list[Any], donated: tuple[int, ...]) -> list[Any]:
        """The results; those donated inputs that are on the device may be overwritten."""
        again = self.grows  # with longer buffers, from the same inputs
        given = () if again else tuple(i for i in donated if isinstance(inputs[i], jax().Array))
        arrays = tuple(inputs)
        inputs.clear()
        return self._run(arrays, given)

    def direct(self, arrays: Sequence[Any], donated: Sequence[int], trusted: bool = False) -> Any:
        """What runs arrays that lie as these do, without another look at them; None where a run has to be looked at when it is
        over. `trusted` says that indices are in range."""
        with precise():
            compiled, tracing = self._compiled(arrays, tuple(donated), trusted)
        if not tracing.is_silent():
            return None

        there = type(jax().numpy.zeros(()))

        def run(*arrays: Any) -> Any:
            if {*map(type, arrays)} == {there}:  # JAX makes nothing of NumPy's arrays, whose dtypes it would change
                return compiled(*arrays)[0]
            with precise():
                return compiled(*arrays)[0]

        return run

    def put(self, x: Any, beside: Any) -> Any:
        """A number on the device of another array."""
        with precise():
            return jax().device_put(x, beside.sharding)

    def copied(self, x: Any) -> Any:
        """The same array in memory of its own."""
        with precise():
            return jax().numpy.copy(x)

    def explain(self) -> str:
        """How it runs."""
        lines = [f"xla on {name_of(self.device)}: {len(self.graph.calls)} steps in one executable"]
        kernels = with_own_kernels(self.graph, [self.device]).explain()
        return "\n".join([*lines, kernels] if kernels else lines)

    def _run(self, arrays: Sequence[Any], donated: tuple[int, ...]) -> list[Any]:
        with precise():
            stay = not self._gives_host_values(arrays)
            placed = [self._placed(x, spec) for x, spec in zip(arrays, self.specs, strict=True)]
            if stay:  # JAX goes on reading NumPy's arrays after it has returned
                placed = [kept(x) for x in placed]
            found = self._done(placed, donated)
        return found if stay else [np.asarray(y) for y in found]

    def _gives_host_values(self, arrays: Sequence[Any]) -> bool:
        return self.home is None and not any(map(_is_on_device, arrays))

    def _done(self, placed: Sequence[Any], donated: tuple[int, ...]) -> list[Any]:
        """The results, on the device; again with longer buffers where one was too short."""
        journal = None
        while True:
            compiled, tracing = self._compiled(placed, donated)
            if tracing.calls_python:
                journal = journal or Journal(tracing.bounded)
                with self.lock:
                    tracing.journal = journal.again()
                    found, extras, code = compiled(*placed)
                    failed = int(code)
            else:
                found, extras, code = compiled(*placed)
                failed = int(code) if tracing.sites else 0
            if failed and tracing.error(failed) is too_short:
                self.capacity *= 4
                continue
            after_run(tracing, extras, journal)
            if tracing.is_silent() and not donated and all(map(_is_on_device, placed)):
                self.short_way = compiled, [x.sharding for x in placed]
            if failed:
                raise tracing.error(failed)(number_in(failed))  # type: ignore[misc]
            return found  # type: ignore[no-any-return]

    def _placed(self, x: Any, spec: Any) -> Any:
        if not _is_on_device(x):
            return np.asarray(x, spec.dtype)
        elsewhere = self.place == HOST or x.sharding.device_set != self.devices
        if self.place is not None and elsewhere and len(x.devices()) == 1:
            here = self.home or HOST
            raise DeviceError(
                f'an input is on {name_of(x.device)} and the function is compiled for {here}: pass x.to("{here}"){called_at()}'
            )
        return x

    def _compiled(self, placed: Sequence[Any], donated: tuple[int, ...], trusted: bool = False) -> tuple[Any, Tracing]:
        shardings = tuple(x.sharding if _is_on_device(x) else None for x in placed)
        key = (shardings, donated, self.capacity, trusted)
        made = self.made.get(key)
        if made is None:
            everywhere = whole(shardings) or jax().sharding.SingleDeviceSharding(self.device)
            layouts = tuple(s or everywhere for s in shardings)
            known = (layouts, donated, self.capacity, trusted)
            made = self.made[key] = self.made.get(known) or self._make(layouts, donated, trusted)
            self.made[known] = made
        return made

    def _make(self, layouts: Sequence[Any], donated: tuple[int, ...], trusted: bool) -> tuple[Any, Tracing]:
        devices = max((len(s.device_set) for s in layouts), default=1)
        tracing = Tracing(self.capacity, name_of(self.device).partition(":")[0], devices)
        tracing.trusted = trusted
        tracing.mesh = next((s.mesh for s in layouts if hasattr(s, "mesh")), None)
        tracing.later_inside = self.later_inside
        graph = with_own_kernels(self.graph, list(layouts[0].device_set) if layouts else [self.device]).graph

        def program(*xs: Any) -> Any:
            tracing.begin()
            found = run(graph, tracing, xs)
            tracing.pulls.clear()
            code = None if tracing.is_silent() else jax().numpy.asarray(tracing.code)
            return [found[k] for k in order], tracing.extras, code

        structs = [
            jax().ShapeDtypeStruct(s.shape, s.dtype, sharding=where)
            for s, where in zip(self.specs, layouts, strict=True)
        ]
        order = self._order_of_results(donated)
        results: Any = None
        if tracing.mesh is not None:
            results = [self._layout_of_result(k, layouts) for k in order], None, None
        lowered = jax().jit(program, donate_argnums=donated, out_shardings=results).lower(*structs)
        return _in_order(lowered.compile(OPTIONS), order), tracing

    def _order_of_results(self, donated: tuple[int, ...]) -> list[int]:
        """The results in the order of the inputs whose places they take: of an input that is given up, JAX gives the memory to the
        first result of its shape and dtype, and another one would have to be copied there."""
        places, last = self.replaced or {}, len(self.specs)
        return sorted(range(len(self.graph.outputs)), key=lambda k: places.get(k, last) if donated else 0)

    def _layout_of_result(self, k: int, layouts: Sequence[Any]) -> Any:
        """That of the input whose place a result takes; None leaves it to XLA."""
        place = (self.replaced or {}).get(k)
        return layouts[place] if place is not None and self.specs[place] == self.graph.outputs[k].spec else None


def _in_order(compiled: Any, order: list[int]) -> Any:
    """What gives the results as the graph has them, made of what gives them in another order."""
    if order == sorted(order):
        return compiled
    back = sorted(range(len(order)), key=order.__getitem__)

    def run(*xs: Any) -> Any:
        found, *others = compiled(*xs)
        return [found[k] for k in back], *others

    run.as_text, run.memory_analysis = compiled.as_text, compiled.memory_analysis  # type: ignore[attr-defined]
    return run


def whole(shardings: Sequence[Any]) -> Any:
    """How what is on the host goes to where other inputs lie: whole to every device. None if there are no others."""
    known = [s for s in shardings if s is not None]
    if not known:
        return None
    if len({frozenset(s.device_set) for s in known}) > 1:
        places = " and ".join(dict.fromkeys(map(_place, known)))
        raise DeviceError(f"the inputs are on different devices, {places}: bring them to the same ones{called_at()}")
    meshed = next((s.mesh for s in known if hasattr(s, "mesh")), None)
    return known[0] if meshed is None else jax().sharding.NamedSharding(meshed, jax().sharding.PartitionSpec())


def _place(where: Any) -> str:
    """The name of a device, or of all of a mesh."""
    names = [name_of(d) if d.process_index == jax().process_index() else str(d) for d in where.device_set]
    return names[0] if len(names) == 1 else f"a mesh of {len(names)} devices"


def _is_on_device(x: Any) -> bool:
    return isinstance(x, jax().Array)
