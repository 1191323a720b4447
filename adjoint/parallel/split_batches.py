"""Data parallelism: the batch is split over devices, Parameters and state lie as their layouts say, XLA adds what must be sent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.compiled import Entry, executable
from adjoint.api.inputs import name_of
from adjoint.api.jit import Jitted, jit
from adjoint.backends.memory_report import shown
from adjoint.core import context, tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import AdjointError, ArgumentError, ArgumentTypeError, ShapeError, boundary, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import shape_of
from adjoint.optim.step import CompiledStep
from adjoint.parallel.device_mesh import Mesh
from adjoint.parallel.device_mesh import mesh as make_mesh
from adjoint.parallel.examples_alone import check_examples_alone, check_parts_add_up
from adjoint.parallel.layouts_on_mesh import Layout, as_layout, put
from adjoint.parallel.parameter_layouts import parameters_of, place_parameter
from adjoint.parallel.process_group import agree
from adjoint.parallel.sharded_state import gradient_layouts

COLLECTIVE = re.compile(r" (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(")
AGREE_WITHIN = 60.0  # seconds between processes that come with batches of a new shape, having taken steps together


class DataParallel:
    """A function whose batch is split over the devices of a mesh. Made by `data_parallel`."""

    def __init__(
        self, step: Any, mesh: Mesh, axis: str | tuple[str, ...], batch: tuple[int, ...] | None, reduce_once: bool
    ) -> None:
        self.step = step if isinstance(step, (CompiledStep, Jitted)) else jit(step, backend="xla")
        self.mesh, self.axis, self._batch = mesh, axis, batch
        self._layout: Layout = as_layout("data_parallel", (axis,))
        self._parts = mesh.along(axis)
        self._compiled = -1  # how many graphs there were when the Parameters were last looked for
        self._agreed: set[str] = set()  # dtypes and shapes that all processes have given
        self._others: list[Parameter] = []  # Parameters that the optimiser does not train
        for run in self._runs():
            _check_backend(run)
        if isinstance(self.step, CompiledStep):
            self.step.placed = self._placed_gradients
        if reduce_once:
            _accumulating(self.step).lanes = self._parts

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the batch split along its first axis."""
        if (
            context.bindings.get() is not None
            or context.open_tape.get() is not None
            or context.tracer.get() is not None
        ):
            raise AdjointError(
                "data_parallel: call it outside of grad, vmap, jit and GradientTape; inside, split the batch by "
                f"parallel.constrain(x, ({self.axis!r},)){called_at()}"
            )
        args, kwargs = self._split(args, kwargs)
        if self.mesh.shared:
            self._agree(args, kwargs)
        with context.setting(context.backend, _set_backend()):
            self._place(args, kwargs)
            found = self.step(*args, **kwargs)
        if self._count() != self._compiled:
            self._check_arguments_stay()
        return found

    def _agree(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise for batches that are not alike in all processes, which would compute with different ones."""
        arrays = [x for x in tree.leaves((args, kwargs)) if _has_axes(x)]
        said = ", ".join(f"{np.dtype(x.dtype)}{list(shape_of(x))}" for x in arrays)
        if said not in self._agreed:
            agree("data_parallel: the batch", said, AGREE_WITHIN if self._agreed else 600.0)
            self._agreed.add(said)

    def _check_arguments_stay(self) -> None:
        """Refuse a function that writes to its arguments: the caller's are on the host, and would not change."""
        if any(e.written for e in self._entries()):
            raise ArgumentError(
                f"data_parallel: {self!r} writes to its argument, of which the devices have copies: return the new value instead{called_at()}"
            )

    def _entries(self) -> list[Entry]:
        return [e for run in self._runs() for held in run._entries.values() for e in held]

    def _count(self) -> int:
        """How many graphs were compiled."""
        return sum(len(run.compilations) for run in self._runs())

    def _runs(self) -> tuple[Jitted, ...]:
        step = self.step
        return (step.applying, step.collecting) if isinstance(step, CompiledStep) else (step,)

    # ------------------------------------------------------------ where values lie

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        chosen = range(len(args)) if self._batch is None else self._batch
        if wrong := [k for k in chosen if not 0 <= k < len(args)]:
            raise ArgumentError(
                f"data_parallel: batch names argument {wrong[0]}, and {len(args)} are given by position{called_at()}"
            )
        first = tuple(
            tree.map(lambda x, k=k: self._put(x, f"argument {k}"), arg) if k in chosen else self._whole(arg)
            for k, arg in enumerate(args)
        )
        if self._batch is not None:
            return first, {name: self._whole(arg) for name, arg in kwargs.items()}
        return first, {
            name: tree.map(lambda x, name=name: self._put(x, f"`{name}`"), arg) for name, arg in kwargs.items()
        }

    def _put(self, x: Any, what: str) -> Any:
        """An array of the batch in parts; numbers and other things as they are."""
        if not _has_axes(x):
            return x
        count = shape_of(x)[0]
        if count % self._parts:
            below = count - count % self._parts
            fitting = " or ".join(str(n) for n in (below, below + self._parts) if n)
            raise ShapeError(
                f"data_parallel: {what} has {count} examples, which do not make {self._parts} equal parts along {self.axis!r} of "
                f"{self.mesh!r}: give {fitting}, or leave out a last batch that is shorter, as "
                f"dataset.batch({below or self._parts}, drop_remainder=True) does{called_at()}"
            )
        return wrap(put(_array(x, what), self.mesh, self._layout))

    def _whole(self, arg: Any) -> Any:
        """Arrays that are no batch, whole on every device."""
        return tree.map(lambda x: wrap(put(_array(x, "an argument"), self.mesh, ())) if _has_axes(x) else x, arg)

    def _place(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Parameters and state that are not on the mesh yet, or not as they are to lie."""
        if isinstance(self.step, CompiledStep):
            for p in parameters_of("data_parallel", self.step.optimiser):
                place_parameter(p, self.mesh)
        if self._count() != self._compiled:
            if self._compiled < 0:
                self._trace(args, kwargs)
                self._check_arguments_stay()
            self._others = list({id(p): p for e in self._entries() for p in e.parameters}.values())
        for p in self._others:
            place_parameter(p, self.mesh)
        if self._compiled < 0 and isinstance(self.step, CompiledStep) and self.step.lanes > 1:
            check_parts_add_up(self.step, args)
        self._compiled = self._count()

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Build the graph of the first call, so that all of its Parameters are known before it runs."""
        if not isinstance(self.step, CompiledStep):
            self.step.graph(*args, **kwargs)
            return
        self.step.graph(*args)
        if self.step.lanes > 1:
            check_examples_alone(self._entries())

    def _placed_gradients(self, buffer: list[Any]) -> list[Any]:
        """Sums of gradients before the first batch, where they are to be collected."""
        assert isinstance(self.step, CompiledStep)
        layouts = gradient_layouts(self.step.optimiser, self.axis if self.step.lanes > 1 else None)
        return [wrap(put(x._value, self.mesh, layout)) for x, layout in zip(buffer, layouts, strict=True)]

    # ------------------------------------------------------------ looking inside

    def _executables(self) -> list[Any]:
        """What XLA made of the graphs, those that have run."""
        with context.setting(context.backend, _set_backend()):
            backend = self._runs()[0].backend
            found = [executable(e.at(size), backend) for e in self._entries() for size in (e.sizes or (None,))]
        return [x for x in found if x.made]

    def _programs(self) -> list[Any]:
        """XLA's own object for each, as it ran last."""
        return [list(x.made.values())[-1][0] for x in self._executables()]

    def collectives(self) -> dict[str, int]:
        """How many operations between devices the compiled programs have, by kind: "all-reduce", "all-gather", ..."""
        texts = [program.as_text() for program in self._programs()]
        return dict(Counter(kind for text in texts for kind in COLLECTIVE.findall(text)))

    def explain(self) -> str:
        """The mesh, what is sent between devices, and the memory of each device."""
        sent = ", ".join(f"{n} {kind}" for kind, n in sorted(self.collectives().items())) or "nothing"
        lines = [f"{self!r}: the batch in {self._parts} parts along {self.axis!r}", f"sent between devices: {sent}"]
        for program in self._programs():
            memory = program.memory_analysis()
            lines.append(
                f"each device: arguments {shown(memory.argument_size_in_bytes)}, results {shown(memory.output_size_in_bytes)}, "
                f"in between {shown(memory.temp_size_in_bytes)}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        what = "compiled_step" if isinstance(self.step, CompiledStep) else repr(self.step)
        return f"data_parallel({what}, {self.mesh!r})"


def data_parallel(
    step: Callable[..., Any],
    mesh: Mesh | None = None,
    axis: str | tuple[str, ...] = "data",
    *,
    batch: int | Sequence[int] | None = None,
    reduce_once: bool = False,
) -> DataParallel:
    """The same function, with its batch split over the devices along an axis of a mesh: the results are those of one device, to rounding.

    The arrays among its arguments are split along their first axes. Parameters, and the state of an optimiser, are placed on the mesh as
    their layouts say, whole on every device if they have none, and stay there. What the devices must tell each other, XLA finds and adds:
    gradients are summed over the whole batch, a BatchNorm takes its means over it, and random numbers are those of one device.

    Args:
        step: what `optim.compiled_step` gives, or a function (it is compiled by `jit` with backend="xla").
        mesh: the devices; if not given, all, along `axis`.
        axis: the axis of the mesh that batches are split along, or a tuple of several.
        batch: positions of the arguments that are split; if not given, all arrays are.
        reduce_once: for a step with a GradientAccumulation: each device keeps the sum of its own gradients, and they are summed over the devices
            once for each update, not for each batch. The loss must be the mean (or sum: `reduction=` of the step) of those of the examples;
            a network that takes means over the batch, or random samples, is refused, and so is a loss that is not that on the first batch.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([3.0]), name="w")
    >>> one = ad.optim.compiled_step(lambda x: ad.ops.mean((w * x - 1.0) ** 2), [w], ad.optim.SGD([w], learning_rate=0.25))
    >>> step = ad.parallel.data_parallel(one, ad.parallel.mesh(data=1))
    >>> print(*[float(step(ad.ops.ones(8))) for _ in range(2)])
    4.0 1.0
    """
    if not callable(step):
        raise ArgumentTypeError(f"data_parallel: expected a function or a compiled step, not {step!r}{called_at()}")
    if isinstance(step, DataParallel):
        raise ArgumentTypeError(f"data_parallel: {step!r} is split over devices already{called_at()}")
    if mesh is None:
        mesh = make_mesh({axis if isinstance(axis, str) else axis[0]: -1})
    if not isinstance(mesh, Mesh):
        raise ArgumentTypeError(f"data_parallel: mesh must be what parallel.mesh gives, not {mesh!r}{called_at()}")
    positions = None if batch is None else tuple(batch) if isinstance(batch, Sequence) else (batch,)
    if positions is not None and any(type(k) is not int for k in positions):
        raise ArgumentTypeError(
            f"data_parallel: batch must be positions of arguments, as (0, 1), not {batch!r}{called_at()}"
        )
    return DataParallel(step, mesh, axis, positions, reduce_once)


def _check_backend(run: Jitted) -> None:
    if run._backend is not None and not run._backend.startswith("xla"):
        raise ArgumentError(
            f'data_parallel: {name_of(run._fn)} is compiled for the backend {run._backend!r}; many devices are run by backend="xla"'
            f"{called_at()}"
        )


def _accumulating(step: Any) -> CompiledStep:
    if not isinstance(step, CompiledStep) or step.accumulation is None or step.has_aux:
        raise ArgumentError(
            "data_parallel: reduce_once is for what optim.compiled_step makes with a GradientAccumulation and without has_aux; without "
            f"one, gradients are summed over the devices once for each step anyway{called_at()}"
        )
    return step


def _set_backend() -> str:
    """The backend for what names none."""
    now = context.backend.get()
    return now if now is not None and now.startswith("xla") else "xla"


def _has_axes(x: Any) -> bool:
    return not isinstance(x, (Parameter, np.generic)) and hasattr(x, "dtype") and len(shape_of(x)) > 0


def _array(x: Any, what: str) -> Any:
    if not isinstance(x, Value):
        return x
    if x.tracked:
        raise AdjointError(f"data_parallel: {what} is tracked by a transform: detach it first{called_at()}")
    return x._value
