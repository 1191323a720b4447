"""A progress bar: loss, speed and time left."""

from __future__ import annotations

import time
from typing import TextIO

import numpy as np

from adjoint.core.progress import Progress
from adjoint.train.callbacks import Callback, RunContext, RunParams


def clock(seconds: float) -> str:
    """A time as minutes and seconds, with hours where there are any.

    >>> clock(75), clock(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class ProgressBar(Callback):
    """A bar for each epoch with the loss, the samples a second and the time left of the run, drawn by tqdm.

    It is written to stderr. Where that is neither a terminal nor a notebook, or tqdm is not installed, there is a line every
    ten seconds, fewer the longer the run is, and one at the end instead. `show` False shows nothing, True
    a bar wherever it is.

    >>> ProgressBar(show=False).on_train_end(RunContext(RunParams(None)))
    """

    def __init__(self, show: bool | None = None, stream: TextIO | None = None, every: float = 0.1) -> None:
        self.show, self.stream, self.every = show, stream, every  # `every`: seconds between two pictures
        self._progress = Progress(False)
        self._start = self._epoch_start = 0.0
        self._samples = self._first = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self._progress.close()  # of a run that was cut off
        self._progress = Progress(self.show, self.stream, self.every)
        self._start = time.perf_counter()
        self._first = run_context.original_args().cur_epoch_num

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        self._epoch_start, self._samples = time.perf_counter(), 0
        self._progress.begin(f"epoch {run.cur_epoch_num}/{run.epoch_num}", run.batch_num)

    def on_train_step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        self._samples += run.batch_size
        self._progress.advance(
            1, lambda: self._words(run, float(np.mean(np.asarray(run.net_outputs))), self._left(run))
        )

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        results = [f"{name} {value:.4f}" for name, value in run.eval_results.items()]
        self._progress.end(lambda: self._words(run, run.loss, *results, clock(time.perf_counter() - self._start)))

    def on_train_end(self, run_context: RunContext) -> None:
        self._progress.close()

    def _words(self, run: RunParams, loss: float, *more: str) -> str:
        speed = self._samples / max(time.perf_counter() - self._epoch_start, 1e-9)
        return "  ".join(word for word in (f"loss {loss:.4f}", f"{speed:,.0f} samples/s", *more) if word)

    def _left(self, run: RunParams) -> str:
        if not run.batch_num:
            return ""
        done = (run.cur_epoch_num - 1 - self._first) * run.batch_num + run.step_in_epoch
        total = (run.epoch_num - self._first) * run.batch_num
        return f"{clock((time.perf_counter() - self._start) / done * (total - done))} left"
