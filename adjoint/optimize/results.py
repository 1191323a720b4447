"""What a solver gives back, and what it shows on its way."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import Value, wrap
from adjoint.core.progress import Progress
from adjoint.optimize.implicit import STATS

PATIENCE = 2.0  # seconds before progress is shown unasked


class OptimizeResult(dict[str, Any]):
    """The result of a solver, with its entries as attributes too: `result.x` is `result["x"]`.

    >>> import adjoint as ad
    >>> result = ad.optimize.minimize(lambda x: (x - 3.0) ** 2, 0.0)
    >>> print(result.x, result.success)
    3.0 True
    """

    not_summed = "result.x"  # a gradient is of one entry

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"OptimizeResult has no `{name}`; it has {', '.join(self)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        lines = [
            f"{name:>{width}}: {str(value).replace(chr(10), chr(10) + ' ' * (width + 2))}"
            for name, value in self.items()
        ]
        return "\n".join(lines)


class SolverRuns:
    """What SciPy gave in the last run of a solver, and how many runs there were."""

    def __init__(self) -> None:
        self.result: Any = None
        self.runs = 0

    def take(self, result: Any) -> None:
        """One more run."""
        self.result, self.runs = result, self.runs + 1


def is_untraced(values: Any) -> bool:
    """Whether no transform looks on: results are plain numbers."""
    return context.open_tape.get() is None and not any(isinstance(x, Value) and x.tracked for x in values)


def told(stats: Any, found: SolverRuns) -> dict[str, Any]:
    """Success, message and counts: those of SciPy, or Tensors where a batch or a graph is solved."""
    if found.runs == 1:
        counts = {name: int(found.result.get(name, 0)) for name in STATS[2:] if name in found.result}
        return {
            "success": bool(found.result.success), "status": int(found.result.get("status", 0)),
            "message": str(found.result.get("message", "")), **counts,
        }  # fmt: skip
    where = "inside a compiled function" if found.runs == 0 else "for each example of a batch"
    tensors = {name: wrap(stats)[i] for i, name in enumerate(STATS)}
    return {**tensors, "success": tensors["success"] > 0, "message": f"solved {where}: see success and status"}


def stats_of(result: Any, sound: bool) -> list[int]:
    """The counts of SciPy's result as integers, and whether it is a solution that has derivatives."""
    return [*(int(result.get(name, 0) or 0) for name in STATS), int(sound)]


class Stopped(BaseException):
    """Raised through SciPy when the user's callback ends the run."""


class Watch:
    """Counts iterations, calls the user's callback, and shows how far long work is."""

    def __init__(self, label: str, shape: Callable[[Any], Any], callback: Any, progress: bool | None) -> None:
        self.label, self.shape, self.callback, self.wanted = label, shape, callback, progress
        self.begun, self.iterations = 0.0, 0  # the time of the first iteration: what is compiled before does not count
        self.value = float("nan")  # of the function, where it was evaluated last
        self.x: np.ndarray | None = None
        self._progress: Progress | None = None

    def after(self, x: Any, *rest: Any) -> None:
        """An iteration is over, at such a point."""
        self.x = np.array(x, float)
        self.iterations += 1
        self.begun = self.begun or time.perf_counter()
        if self.wanted is not False:
            if self._progress is None and (self.wanted or time.perf_counter() - self.begun > PATIENCE):
                self._progress = Progress(self.wanted)
                self._progress.begin(self.label)
                self._progress.advance(self.iterations - 1)
            if self._progress is not None:
                self._progress.advance(1, self._words)
        if self.callback is not None:
            try:
                self.callback(OptimizeResult(x=self.shape(self.x), fun=self.value, nit=self.iterations))
            except StopIteration:
                raise Stopped from None

    def close(self) -> None:
        """The run is over."""
        if self._progress is not None:
            self._progress.end(self._words)
            self._progress.close()

    def _words(self) -> str:
        return f"value {self.value:.6g}"
