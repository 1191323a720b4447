"""Callbacks: what happens at the beginning and the end of a run, an epoch and a step."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.train.checkpoint import save_checkpoint


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
            raise ValueError(f"{where}. Invalid loss ({loss}), training ends.")
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


class _Best:
    """The best of the numbers seen so far."""

    def __init__(
        self, what: str, monitor: str, mode: str, min_delta: float = 0.0, baseline: float | None = None
    ) -> None:
        if mode not in ("auto", "min", "max"):
            raise ArgumentError(f"{what}: mode must be 'auto', 'min' or 'max', not {mode!r}{called_at()}")
        upward = ("acc", "accuracy", "top_", "f1", "recall", "precision")
        grows = any(word in monitor for word in upward) if mode == "auto" else mode == "max"
        self.what, self.monitor, self.min_delta, self.value = what, monitor, abs(min_delta), baseline
        self.sign = 1.0 if grows else -1.0

    def look(self, run: RunParams) -> bool | None:
        """Whether this epoch is the best; None if it was not validated."""
        value = run.result(self.monitor)
        if value is None:
            if run.eval_results:
                known = ", ".join(["loss", *(f"eval_{name}" for name in run.eval_results)])
                raise ArgumentError(f"{self.what}: there is no {self.monitor!r} to follow, only {known}{called_at()}")
            return None
        # Not a number is never better, and anything is better than that.
        if self.value is not None and not math.isnan(self.value) and not self._better(value, self.value):
            return False
        self.value = value
        return not math.isnan(value)

    def _better(self, value: float, than: float) -> bool:
        return self.sign * (value - than) > self.min_delta


class EarlyStopping(Callback):
    """End the run when a number has not got better for `patience` epochs.

    Args:
        monitor: "loss" for that of training, "eval_<metric>" for one of validation.
        min_delta: how much better counts as better.
        patience: epochs without a better number that are put up with.
        verbose: print when the run is ended.
        mode: "min", "max", or "auto": larger is better for accuracies only.
        baseline: a number that must be beaten from the start.
        restore_best_weights: give the network back the Parameters of its best epoch.

    >>> EarlyStopping(monitor="eval_accuracy", patience=2).best.sign
    1.0
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0.0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        if patience < 0:
            raise ArgumentError(f"EarlyStopping: patience must be >= 0, not {patience}{called_at()}")
        self.best = _Best("EarlyStopping", monitor, mode, min_delta, baseline)
        self.patience, self.verbose, self.restore_best_weights = patience, verbose, restore_best_weights
        self.wait, self.best_epoch, self.stopped_epoch = 0, 0, 0
        self._weights: list[tuple[Any, np.ndarray]] = []

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        found = self.best.look(run)
        if found is None:
            return
        if found:
            self.wait, self.best_epoch = 0, run.cur_epoch_num
            if self.restore_best_weights:
                self._weights = [(p, p.asnumpy()) for p in run.network.get_parameters()]
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = run.cur_epoch_num
            run_context.request_stop()

    def on_train_end(self, run_context: RunContext) -> None:
        for parameter, value in self._weights:
            parameter.set_data(value)
        if self.verbose and self.stopped_epoch:
            print(f"Stopped after epoch {self.stopped_epoch}: {self.best.monitor} was best in epoch {self.best_epoch}")


class ModelCheckpoint(Callback):
    """Save the network and its optimiser at the end of epochs.

    Args:
        prefix, directory: files are named `<prefix>-<epoch>.safetensors` in this directory, which is made if need be.
        every: epochs between two files.
        keep: how many files to keep; the oldest are removed.
        monitor, mode: save only when this number is the best so far; see EarlyStopping.

    >>> import adjoint as ad, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saver = ModelCheckpoint("net", folder, keep=1)
    ...     for epoch in (1, 2):
    ...         saver.on_train_epoch_end(RunContext(RunParams(ad.nn.Cell(), cur_epoch_num=epoch)))
    ...     os.listdir(folder)
    ['net-2.safetensors']
    """

    def __init__(
        self,
        prefix: str = "model",
        directory: str | os.PathLike[str] = ".",
        every: int = 1,
        keep: int = 5,
        monitor: str | None = None,
        mode: str = "auto",
    ) -> None:
        if every < 1 or keep < 1:
            raise ArgumentError(f"ModelCheckpoint: every and keep must be at least 1{called_at()}")
        self.prefix, self.directory, self.every, self.keep = prefix, os.fspath(directory), every, keep
        self.best = None if monitor is None else _Best("ModelCheckpoint", monitor, mode)
        self.files: list[str] = []

    @property
    def latest(self) -> str | None:
        """The file written last."""
        return self.files[-1] if self.files else None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if run.cur_epoch_num % self.every or (self.best is not None and not self.best.look(run)):
            return
        os.makedirs(self.directory, exist_ok=True)
        path = os.path.join(self.directory, f"{self.prefix}-{run.cur_epoch_num}.safetensors")
        parts = [run.network, run.optimizer] if hasattr(run.optimizer, "parameters_dict") else [run.network]
        save_checkpoint(parts, path, append_dict={"epoch": run.cur_epoch_num, "step": run.cur_step_num})
        self.files = [*(f for f in self.files if f != path), path]
        for old in self.files[: -self.keep]:
            if os.path.exists(old):
                os.unlink(old)
        self.files = self.files[-self.keep :]
