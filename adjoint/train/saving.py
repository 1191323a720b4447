"""Checkpoints in the course of a run."""

from __future__ import annotations

import os

from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.random_counters import PROGRAM
from adjoint.train.callbacks import Callback, RunContext, RunParams
from adjoint.train.checkpoint import RANDOM, save_checkpoint
from adjoint.train.monitors import Best


class ModelCheckpoint(Callback):
    """Save the network and its optimiser at the end of epochs, or every so many steps.

    A file holds the numbers `epoch` (epochs that are complete, for `Model.fit(initial_epoch=...)`), `step` and `random`
    (where the random counter stands, for `load_checkpoint(restore_random=True)`) too. To have both the last files and the best
    one, give a run two of these, with prefixes of their own.

    Args:
        prefix, directory: files are named `<prefix>-<epoch>.safetensors`, or `<prefix>-<epoch>_<step>.safetensors` with
            `every_steps`, in this directory, which is made if need be.
        every: epochs between two files.
        keep: how many files to keep; the oldest are removed.
        monitor, mode: save only when this number is the best so far; see EarlyStopping. With `keep=1`, the best stays.
        every_steps: steps between two files, in place of epochs.

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
        every_steps: int | None = None,
    ) -> None:
        if every < 1 or keep < 1 or (every_steps is not None and every_steps < 1):
            raise ArgumentError(f"ModelCheckpoint: every, every_steps and keep must be at least 1{called_at()}")
        if every_steps is not None and monitor is not None:
            raise ArgumentError(
                f"ModelCheckpoint: a number to follow is known once an epoch, not each step{called_at()}"
            )
        self.prefix, self.directory, self.every, self.keep = prefix, os.fspath(directory), every, keep
        self.every_steps = every_steps
        self.best = None if monitor is None else Best("ModelCheckpoint", monitor, mode)
        self.files: list[str] = []

    @property
    def latest(self) -> str | None:
        """The file written last."""
        return self.files[-1] if self.files else None

    def on_train_step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if self.every_steps is not None and run.cur_step_num % self.every_steps == 0:
            complete = run.cur_epoch_num - (run.step_in_epoch != run.batch_num)
            self._save(run, f"{run.cur_epoch_num}_{run.step_in_epoch}", complete)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if self.every_steps is not None or run.cur_epoch_num % self.every:
            return
        if self.best is None or self.best.look(run):
            self._save(run, str(run.cur_epoch_num), run.cur_epoch_num)

    def _save(self, run: RunParams, name: str, complete: int) -> None:
        os.makedirs(self.directory, exist_ok=True)
        path = os.path.join(self.directory, f"{self.prefix}-{name}.safetensors")
        parts = [run.network, run.applied] if hasattr(run.applied, "parameters_dict") else [run.network]
        numbers = {"epoch": complete, "step": run.cur_step_num, RANDOM: PROGRAM.state()}
        save_checkpoint(parts, path, append_dict=numbers)
        self.files = [*(f for f in self.files if f != path), path]
        for old in self.files[: -self.keep]:
            if os.path.exists(old):
                os.unlink(old)
        self.files = self.files[-self.keep :]
