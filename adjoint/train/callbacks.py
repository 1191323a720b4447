"""Callbacks: what happens at the beginning and the end of a run, an epoch and a step."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.core.errors import AdjointError, ArgumentError, called_at


class InvalidLossError(AdjointError, ValueError):
    """The loss of a training step is infinite or not a number."""


@dataclass
class RunParams:
    """Where a run stands. Epochs and steps are counted from 1."""

    network: Any
    train_network: Any = None
    optimizer: Any = None
    epoch_num: int = 0
    batch_num: int | None = None  # steps in an epoch, where known
    cur_epoch_num: int = 0
    cur_step_num: int = 0  # over all epochs
    step_in_epoch: int = 0
    batch_size: int = 0
    net_outputs: Any = None  # the loss of the last step
    loss: float = math.nan  # the mean loss of the epoch so far
    eval_results: dict[str, float] = field(default_factory=dict)
    validates: bool = False  # whether an epoch of this run ends with validation

    @property
    def applied(self) -> Any:
        """The optimiser itself, also where a GradientAccumulation holds it."""
        return getattr(self.optimizer, "optimiser", self.optimizer)

    def result(self, name: str) -> float | None:
        """A number of this epoch: `loss` in training, `eval_<metric>` or `<metric>` in validation; None if not yet there."""
        if name == "loss":
            return self.loss
        return self.eval_results.get(name.removeprefix("eval_"))


class RunContext:
    """What callbacks are given: `original_args()` says where the run stands, `request_stop()` ends it."""

    def __init__(self, params: RunParams) -> None:
        self.params, self.stop_requested = params, False

    def original_args(self) -> RunParams:
        """Where the run stands."""
        return self.params

    def request_stop(self) -> None:
        """End the run after this step."""
        self.stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether the run is to end."""
        return self.stop_requested


class Callback:
    """Base of callbacks: overwrite what you need. MindSpore's older names (`step_end`, ...) are called too.

    >>> class Steps(Callback):
    ...     def on_train_step_end(self, run_context):
    ...         print(run_context.original_args().cur_step_num)
    >>> Steps().on_train_step_end(RunContext(RunParams(network=None, cur_step_num=7)))
    7
    """

    def begin(self, run_context: RunContext) -> None: ...

    def end(self, run_context: RunContext) -> None: ...

    def epoch_begin(self, run_context: RunContext) -> None: ...

    def epoch_end(self, run_context: RunContext) -> None: ...

    def step_begin(self, run_context: RunContext) -> None: ...

    def step_end(self, run_context: RunContext) -> None: ...

    def on_train_begin(self, run_context: RunContext) -> None:
        self.begin(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        self.end(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.step_end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None: ...

    def on_eval_end(self, run_context: RunContext) -> None: ...


class LossMonitor(Callback):
    """Print the loss every so many steps, and stop with an error when it is not finite.

    >>> LossMonitor().on_train_step_end(RunContext(RunParams(None, cur_epoch_num=1, cur_step_num=2, step_in_epoch=2,
    ...                                                      net_outputs=0.25)))
    epoch: 1 step: 2, loss is 0.25
    """

    def __init__(self, per_print_times: int = 1) -> None:
        if per_print_times < 0:
            raise ArgumentError(f"LossMonitor: per_print_times must be >= 0, not {per_print_times}{called_at()}")
        self.per_print_times = per_print_times

    def on_train_step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        loss = float(np.mean(np.asarray(run.net_outputs)))
        where = f"epoch: {run.cur_epoch_num} step: {run.step_in_epoch}"
        if not math.isfinite(loss):
            raise InvalidLossError(f"{where}. Invalid loss ({loss}), training ends.")
        if self.per_print_times and run.cur_step_num % self.per_print_times == 0:
            print(f"{where}, loss is {loss:.7g}", flush=True)


class TimeMonitor(Callback):
    """Print how long each epoch took, and each of its steps.

    >>> TimeMonitor().seconds
    []
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []  # of each epoch
        self._start = 0.0

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self._start = time.perf_counter()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        spent = time.perf_counter() - self._start
        self.seconds.append(spent)
        each = spent / max(run_context.original_args().step_in_epoch, 1)
        print(f"Train epoch time: {spent * 1e3:.3f} ms, per step time: {each * 1e3:.3f} ms", flush=True)


class History(Callback):
    """The loss and the validation results of each epoch, in `history`; the loss of each step, in `steps`.

    >>> History().history
    {}
    """

    def __init__(self) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[float]] = {}
        self.steps: list[float] = []

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.steps.append(float(np.mean(np.asarray(run_context.original_args().net_outputs))))

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        self.epoch.append(run.cur_epoch_num)
        found = {"loss": run.loss, **{f"eval_{name}": value for name, value in run.eval_results.items()}}
        for name, value in found.items():
            self.history.setdefault(name, []).append(value)
