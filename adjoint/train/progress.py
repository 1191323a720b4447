"""A progress bar: loss, speed and time left, on the terminal only."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

import numpy as np

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
    """A bar for each epoch with the loss, the samples a second and the time left of the run.

    It is written to stderr, and only if that is a terminal, unless `show` says otherwise.

    >>> ProgressBar(show=False).on_train_end(RunContext(RunParams(None)))
    """

    def __init__(self, show: bool | None = None, stream: TextIO | None = None, every: float = 0.1) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.show = self.stream.isatty() if show is None else show
        self.every = every  # seconds between two pictures
        self._start = self._epoch_start = self._drawn = 0.0
        self._samples = self._first = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self._start = time.perf_counter()
        self._first = run_context.original_args().cur_epoch_num

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self._epoch_start, self._samples, self._drawn = time.perf_counter(), 0, 0.0

    def on_train_step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        self._samples += run.batch_size
        if self.show and time.perf_counter() - self._drawn >= self.every:
            self._drawn = time.perf_counter()
            self._write(run)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        if self.show:
            self._write(run_context.original_args(), last=True)

    def _write(self, run: RunParams, last: bool = False) -> None:
        now = time.perf_counter()
        loss = run.loss if last else float(np.mean(np.asarray(run.net_outputs)))
        words = [f"epoch {run.cur_epoch_num}/{run.epoch_num}", "", f"loss {loss:.4f}"]
        words.append(f"{self._samples / max(now - self._epoch_start, 1e-9):,.0f} samples/s")
        if last:
            words += [f"{name} {value:.4f}" for name, value in run.eval_results.items()]
            words.append(clock(now - self._start))
        elif run.batch_num:
            done = (run.cur_epoch_num - 1 - self._first) * run.batch_num + run.step_in_epoch
            total = (run.epoch_num - self._first) * run.batch_num
            words.append(f"{clock((now - self._start) / done * (total - done))} left")
        width = shutil.get_terminal_size((100, 24)).columns - 1
        room = width - len("  ".join(words)) - len(f" {run.batch_num}/{run.batch_num}")
        words[1] = self._bar(run, min(max(room, 4), 24))  # the bar gives way to the numbers
        line = "  ".join(w for w in words if w)
        self.stream.write("\r" + line[:width].ljust(width) + ("\n" if last else ""))
        self.stream.flush()

    def _bar(self, run: RunParams, width: int) -> str:
        if not run.batch_num:
            return f"step {run.step_in_epoch}"
        full = round(width * run.step_in_epoch / run.batch_num)
        done, rest = "━─" if "utf" in (getattr(self.stream, "encoding", None) or "utf-8").lower() else "#."
        return f"{done * full}{rest * (width - full)} {run.step_in_epoch}/{run.batch_num}"
