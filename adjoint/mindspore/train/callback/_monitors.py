"""mindspore.train: callbacks that print, remember, stop, and change the learning rate."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import between, bools, type_error
from adjoint.mindspore.common.parameter import Parameter
from adjoint.mindspore.train.callback._callback import EVENTS, Callback, RunContext, loss_of
from adjoint.mindspore.train.serialization import load_param_into_net

SMALLER_IS_BETTER = (
    "hausdorff_distance", "mae", "mse", "loss", "perplexity", "mean_surface_distance", "root_mean_square_distance",
    "eval_loss",
)  # fmt: skip


def _counts(**values: Any) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"The '{name}' must be an int, but got {value!r}.")
        if value < 0:
            raise ValueError(f"The '{name}' must be at least 0, but got {value}.")


class LossMonitor(Callback):
    """Print the loss every so many steps, and stop with an error when it is not finite."""

    def __init__(self, per_print_times: int = 1) -> None:
        super().__init__()
        _counts(per_print_times=per_print_times)
        self._per_print_times, self._last_print_time = per_print_times, 0

    def step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        epoch, loss = run.get("cur_epoch_num", 1), loss_of(run.net_outputs)
        step = (run.cur_step_num - 1) % run.batch_num + 1
        if isinstance(loss, float) and not math.isfinite(loss):
            raise ValueError(
                f"In epoch: {epoch} step: {step}, loss is NAN or INF, training process cannot continue, terminating training."
            )
        if run.cur_step_num < self._last_print_time:  # another run begins
            self._last_print_time = 0
        if self._per_print_times and run.cur_step_num - self._last_print_time >= self._per_print_times:
            self._last_print_time = run.cur_step_num
            print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if run.get("metrics"):
            print(f"Eval result: epoch {run.cur_epoch_num}, metrics: {run.get('metrics')}", flush=True)


class TimeMonitor(Callback):
    """Print how long each epoch took, and each of its steps."""

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        super().__init__()
        bools("TimeMonitor", data_time=data_time)
        self.data_size, self.data_time, self.epoch_time = data_size, data_time, time.time()

    def epoch_begin(self, run_context: RunContext) -> None:
        self.epoch_time = time.time()

    def epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        spent = (time.time() - self.epoch_time) * 1000
        steps = run.get("batch_num") or self.data_size
        if not isinstance(steps, int) or steps <= 0:
            raise ValueError(f"For 'TimeMonitor', the number of steps must be an int above 0, but got {steps}.")
        print(
            f"{run.get('mode', '').title()} epoch time: {spent:5.3f} ms, per step time: {spent / steps:5.3f} ms",
            flush=True,
        )


class LambdaCallback(Callback):
    """A callback from functions of the run context, each called at one event."""

    def __init__(
        self, on_train_epoch_begin: Any = None, on_train_epoch_end: Any = None, on_train_step_begin: Any = None,
        on_train_step_end: Any = None, on_train_begin: Any = None, on_train_end: Any = None,
        on_eval_epoch_begin: Any = None, on_eval_epoch_end: Any = None, on_eval_step_begin: Any = None,
        on_eval_step_end: Any = None, on_eval_begin: Any = None, on_eval_end: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        given = locals()
        for event in EVENTS:
            setattr(self, event, given[event] or (lambda run_context: None))


class LearningRateScheduler(Callback):
    """Set the learning rate after each step to `learning_rate_function(rate, step)`."""

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        super().__init__()
        self.learning_rate_function = learning_rate_function

    def step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        rate = float(run.optimizer.learning_rate.asnumpy())
        new = self.learning_rate_function(rate, run.cur_step_num)
        if not math.isclose(rate, new, rel_tol=1e-10):
            run.optimizer.learning_rate.set_data(Tensor(new, np.float32))


class History(Callback):
    """The loss and the metrics of each epoch, in `history`."""

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] = {}

    def begin(self, run_context: RunContext) -> None:
        self.epoch = {"epoch": []}

    def epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        self.epoch["epoch"].append(run.get("cur_epoch_num", 1))
        output = run.net_outputs[0] if isinstance(run.net_outputs, (tuple, list)) else run.net_outputs
        found = {"net_output": np.mean(output.asnumpy()) if isinstance(output, Tensor) else output}
        for name, value in {**found, **(run.get("metrics") or {})}.items():
            self.history.setdefault(name, []).append(value)


class _Watching(Callback):
    """Watches a number of each epoch for improvement."""

    def __init__(self, monitor: str, mode: str, min_delta: float, patience: int, verbose: bool) -> None:
        super().__init__()
        for name, value in (("monitor", monitor), ("mode", mode)):
            if not isinstance(value, str):
                raise type_error(type(self).__name__, name, "str", value)
        if isinstance(min_delta, bool) or not isinstance(min_delta, (float, int)):
            raise type_error(type(self).__name__, "min_delta", "float or int", min_delta)
        _counts(patience=patience)
        bools(type(self).__name__, verbose=verbose)
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"mode should be 'auto', 'min' or 'max', but got {mode}.")
        self.monitor, self.mode, self.patience, self.verbose = monitor, mode, patience, verbose
        self.min_delta, self.wait = abs(min_delta), 0
        self._falls = mode == "min" or (mode == "auto" and monitor in SMALLER_IS_BETTER)
        self.best: Any = np.inf if self._falls else -np.inf

    def is_improvement(self, a: Any, b: Any) -> bool:
        """Whether a number is better than another by more than `min_delta`."""
        return bool(a < b - self.min_delta if self._falls else a > b + self.min_delta)

    def on_train_begin(self, run_context: RunContext) -> None:
        self.wait, self.best = 0, np.inf if self._falls else -np.inf

    def watched(self, run: Any) -> Any:
        """The number of this epoch; None if it is not there."""
        value = (
            loss_of(run.get("net_outputs")) if self.monitor == "loss" else run.get("eval_results", {}).get(self.monitor)
        )
        if isinstance(value, np.ndarray) and value.shape != ():
            raise ValueError(f"{type(self).__name__} only supports scalar monitor now.")
        return np.array(value) if value else None


class EarlyStopping(_Watching):
    """End the run after `patience` epochs without improvement."""

    def __init__(
        self, monitor: str = "eval_loss", min_delta: float = 0, patience: int = 0, verbose: bool = False,
        mode: str = "auto", baseline: float | None = None, restore_best_weights: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(monitor, mode, min_delta, patience, verbose)
        bools("EarlyStopping", restore_best_weights=restore_best_weights)
        self.baseline, self.restore_best_weights = baseline, restore_best_weights
        self.stopped_epoch, self.best_weights_param_dict = 0, None

    def on_train_begin(self, run_context: RunContext) -> None:
        super().on_train_begin(run_context)
        self.stopped_epoch, self.best_weights_param_dict = 0, None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        current = self.watched(run)
        if current is None:
            return
        better = self.is_improvement(current, self.best)
        if self.restore_best_weights and (better or self.best_weights_param_dict is None):
            self.best_weights_param_dict = copy.deepcopy(run.train_network.parameters_dict())
        self.wait += 1
        if better:
            self.best = current
            if self.baseline is None or self.is_improvement(current, self.baseline):
                self.wait = 0
        if self.wait >= self.patience:
            self.stopped_epoch = run.get("cur_epoch_num")
            run_context.request_stop()
            if self.restore_best_weights:
                if self.verbose:
                    print("Restoring model weights from the end of the best epoch.")
                load_param_into_net(run.train_network, self.best_weights_param_dict)

    def on_train_end(self, run_context: RunContext) -> None:
        if self.stopped_epoch > 0 and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping")


class ReduceLROnPlateau(_Watching):
    """Multiply the learning rate by `factor` after `patience` epochs without improvement."""

    def __init__(
        self, monitor: str = "eval_loss", factor: float = 0.1, patience: int = 10, verbose: bool = False,
        mode: str = "auto", min_delta: float = 0.0001, cooldown: int = 0, min_lr: float = 0,
    ) -> None:  # fmt: skip
        super().__init__(monitor, mode, min_delta, patience, verbose)
        between("ReduceLROnPlateau", 0.0, 1.0, factor=factor)
        _counts(cooldown=cooldown)
        self.factor, self.cooldown, self.min_lr, self.cooldown_counter = factor, cooldown, min_lr, 0

    def on_train_begin(self, run_context: RunContext) -> None:
        super().on_train_begin(run_context)
        self.cooldown_counter = 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        rate = run.optimizer.learning_rate
        if not isinstance(rate, Parameter):
            raise ValueError("ReduceLROnPlateau does not support dynamic learning rate and group learning rate now.")
        current = self.watched(run)
        if current is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self.is_improvement(current, self.best):
            self.best, self.wait = current, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(run, rate)

    def _reduce(self, run: Any, rate: Parameter) -> None:
        old = float(rate.asnumpy())
        if old > self.min_lr:
            new = max(old * self.factor, self.min_lr)
            rate.set_data(Tensor(new, np.float32))
            if self.verbose:
                print(f"Epoch {run.cur_epoch_num:05d}: ReduceLROnPlateau reducing learning rate to {new}.")
        self.cooldown_counter, self.wait = self.cooldown, 0
