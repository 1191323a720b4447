"""Callbacks that follow a number from epoch to epoch: the end of a run, and smaller steps, when it gets no better."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.train.callbacks import Callback, RunContext, RunParams


class Best:
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
        """Whether this epoch is the best; None if it was not validated, though others are."""
        value = run.result(self.monitor)
        if value is None:
            if run.validates and not run.eval_results:
                return None
            known = ", ".join(["loss", *(f"eval_{name}" for name in run.eval_results)])
            hint = "" if run.validates else "; no epoch of this run is validated"
            raise ArgumentError(f"{self.what}: there is no {self.monitor!r} to follow, only {known}{hint}{called_at()}")
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
        self.best = Best("EarlyStopping", monitor, mode, min_delta, baseline)
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


class ReduceLROnPlateau(Callback):
    """Make the learning rates smaller when a number has not got better for `patience` epochs.

    A schedule goes on, each of its rates made smaller. Checkpoints do not hold the reductions.

    Args:
        monitor: "loss" for that of training, "eval_<metric>" for one of validation.
        factor: what the rates are multiplied by.
        patience: epochs without a better number that are put up with.
        verbose: print when the rates are reduced.
        mode: "min", "max", or "auto": larger is better for accuracies only.
        min_delta: how much better counts as better.
        cooldown: epochs after a reduction in which patience is not lost.
        min_lr: no rate is made smaller than this.

    >>> import adjoint as ad
    >>> optimiser = ad.optim.SGD([ad.Parameter(ad.Tensor([1.0]), name="w")], learning_rate=0.5)
    >>> run = RunParams(None, optimizer=optimiser)
    >>> plateau = ReduceLROnPlateau("loss", factor=0.5, patience=2)
    >>> for run.loss in (3.0, 2.0, 2.0, 2.0):
    ...     plateau.on_train_epoch_end(RunContext(run))
    >>> print(optimiser.get_lr())
    0.25
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
    ) -> None:
        if not 0 < factor < 1 or patience < 0 or cooldown < 0 or min_lr < 0:
            raise ArgumentError(
                "ReduceLROnPlateau: factor must lie between 0 and 1, patience, cooldown and min_lr be >= 0, not "
                f"{factor}, {patience}, {cooldown} and {min_lr}{called_at()}"
            )
        self.best = Best("ReduceLROnPlateau", monitor, mode, min_delta)
        self.factor, self.patience, self.cooldown, self.min_lr = factor, patience, cooldown, min_lr
        self.verbose = verbose
        self.wait, self.resting = 0, 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        found = self.best.look(run)
        if found is None:
            return
        if self.resting:
            self.resting -= 1
            self.wait = 0
        elif found:
            self.wait = 0
        else:
            self.wait += 1
        if self.wait and self.wait >= self.patience:
            self._reduce(run)
            self.wait, self.resting = 0, self.cooldown

    def _reduce(self, run: RunParams) -> None:
        optimiser = run.applied
        if not hasattr(optimiser, "reduce_lr"):
            raise ArgumentError(
                f"ReduceLROnPlateau: {type(optimiser).__name__} is no optimiser whose rates can be changed{called_at()}"
            )
        optimiser.reduce_lr(self.factor, self.min_lr)
        if self.verbose:
            rates = optimiser.get_lr()
            shown = ", ".join(f"{float(r):g}" for r in (rates if isinstance(rates, tuple) else (rates,)))
            print(f"Epoch {run.cur_epoch_num}: {self.best.monitor} got no better, learning rate {shown}", flush=True)
