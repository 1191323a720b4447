"""Looking inside a compiled function: its graph, what compiling did, and the memory of a call."""

from __future__ import annotations

from typing import Any

from adjoint.api.arguments import CallArguments, Signature
from adjoint.api.compiled import Compilation, Entry, executable, memory_of
from adjoint.api.device_choice import backend_for
from adjoint.api.written import replaced
from adjoint.backends.memory_report import MemoryReport, shown
from adjoint.core.errors import boundary
from adjoint.graph.node import Graph
from adjoint.passes import schedule


class Reports:
    """What a compiled function says of itself; the rest of it is in `Jitted`."""

    _backend: str | None
    _donate: frozenset[str]
    _memory: int | None
    _signature: Signature
    #: Arguments whose places the last results take, in this order: on devices these lie as those did.
    replacing: tuple[str, ...] = ()
    compilations: list[Compilation]
    notes: list[str]

    @property
    def backend(self) -> str:
        raise NotImplementedError

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CallArguments, Entry, int | None]:
        raise NotImplementedError

    @boundary
    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph for these arguments."""
        _, entry, size = self._prepared(args, kwargs)
        return entry.at(size)

    @boundary
    def explain(self, *args: Any, **kwargs: Any) -> str:
        """What compiling for these arguments did: why, each pass with its time, the backend's units of work, and the graph.

        The graph before and after one pass: `print(f.compilations[-1].reports[0].shown())`.
        """
        _, entry, size = self._prepared(args, kwargs)
        made = next(c for c in reversed(self.compilations) if c.graph is entry.graph)
        budget = [] if self._memory is None else [f"within {shown(self._memory)} beyond the arguments"]
        run = executable(entry.at(size), self.backend)
        lines = [
            f"{self!r}: {made.reason}; {made.seconds * 1e3:.2f} ms",
            *budget,
            *self.notes,
            *map(str, made.reports),
            run.explain() if hasattr(run, "explain") else f"backend {self.backend!r}",
            schedule(entry.graph).summary(),
            str(entry.at(size)),
        ]
        return "\n".join(lines)

    @boundary
    def memory(self, *args: Any, **kwargs: Any) -> MemoryReport:
        """What a call with these arguments will take of memory, without running anything: see `MemoryReport`.

        >>> import adjoint as ad
        >>> f = ad.jit(lambda x: ad.ops.sum(ad.ops.exp(x) @ ad.ops.sin(x)))
        >>> report = f.memory(ad.ops.ones((512, 512), ad.float32))
        >>> report.argument_bytes, report.result_bytes, report.peak_bytes >= 3 * 512 * 512 * 4
        (1048576, 4, True)
        """
        made, entry, size = self._prepared(args, kwargs)
        return memory_of(entry.at(size), self.backend, self._donated(made))  # type: ignore[no-any-return]

    def _keep_layouts(self, made: CallArguments, entry: Entry, graph: Graph, inputs: list[Any]) -> None:
        """Tell XLA which results take the place of which inputs, so that what lies on many devices stays as it lies."""
        runs = backend_for(self._backend, inputs)
        if not runs.startswith("xla"):
            return
        run = executable(graph, runs)
        if getattr(run, "replaced", ()) is not None:
            return
        pairs = replaced(entry.written, entry.stored, entry.parameters, len(made.numbers))
        names = [frozenset((name,)) for name in self.replacing]
        places = [k for name in names for k, path in enumerate(made.paths()) if self._signature.belongs(path, name)]
        first = len(graph.outputs) - len(places)
        run.replaced = {**pairs, **{first + n: k for n, k in enumerate(places)}}

    def _donated(self, made: CallArguments) -> tuple[int, ...]:
        """Which numbers may be overwritten."""
        return tuple([k for k, path in enumerate(made.paths()) if self._signature.belongs(path, self._donate)])
