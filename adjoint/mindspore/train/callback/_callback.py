"""mindspore.train.Callback: what happens at the beginning and the end of a run, an epoch and a step."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from adjoint import train
from adjoint.core.tensor import Tensor

EVENTS = [
    f"on_{phase}_{where}" for phase in ("train", "eval")
    for where in ("begin", "epoch_begin", "epoch_end", "step_begin", "step_end", "end")
]  # fmt: skip


class InternalCallbackParam(dict):
    """Where a run stands: a dict whose keys are attributes too."""

    def __getattr__(self, key: str) -> Any:
        return self[key]

    def __setattr__(self, key: str, value: Any) -> None:
        self[key] = value


class RunContext(train.RunContext):
    """What callbacks are given: `original_args()` says where the run stands, `request_stop()` ends it.

    >>> context = RunContext(InternalCallbackParam(cur_epoch_num=2))
    >>> context.request_stop()
    >>> context.original_args().cur_epoch_num, context.get_stop_requested()
    (2, True)
    """

    def __init__(self, original_args: Any) -> None:
        if not isinstance(original_args, dict):
            raise TypeError(
                f"The argument 'original_args' of RunContext should be dict type, but got {type(original_args)}."
            )
        super().__init__(cast(Any, original_args))

    def original_args(self) -> Any:
        """Where the run stands: a dict in MindSpore."""
        return self.params


class Callback:
    """Base of callbacks: overwrite what you need. The older names (`step_end`, ...) serve training and evaluation."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> Any:
        return None

    def begin(self, run_context: RunContext) -> None:
        """Before a run."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After an epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before a step."""

    def step_end(self, run_context: RunContext) -> None:
        """After a step."""

    def end(self, run_context: RunContext) -> None:
        """After a run."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Before training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch of training."""
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """After an epoch of training."""
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Before a step of training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """After a step of training."""
        self.step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """After training."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Before evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Before the pass of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """After the pass of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Before a batch of an evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """After a batch of an evaluation."""
        self.step_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """After evaluation."""
        self.end(run_context)


def transformed(callbacks: Any) -> list[Callback]:
    """Callbacks as a list."""
    found = [] if callbacks is None else [callbacks] if isinstance(callbacks, Callback) else callbacks
    if not isinstance(found, (list, tuple)):
        raise TypeError("The 'callbacks' is not a Callback or a list of Callback.")
    if not all(isinstance(one, Callback) for one in found):
        raise TypeError("When the 'callbacks' is a list, the elements in 'callbacks' must be Callback functions.")
    return list(found)


def loss_of(outputs: Any) -> Any:
    """The loss among the outputs of a step: its mean, as a number."""
    if isinstance(outputs, (tuple, list)):
        outputs = outputs[0]
    return float(np.mean(outputs.asnumpy())) if isinstance(outputs, Tensor) else outputs
