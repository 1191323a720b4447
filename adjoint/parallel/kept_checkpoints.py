"""The last checkpoints of a run in a folder, to go on from."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, MutableMapping
from typing import Any

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.parallel.named_state import is_container
from adjoint.parallel.process_group import barrier, rank
from adjoint.parallel.sharded_checkpoint import INDEX, load, save
from adjoint.train.callbacks import Callback, RunContext
from adjoint.train.safetensors import CheckpointError


class Checkpoints(Callback):
    """A folder with the last checkpoints of a run, one for each step that is saved. A program that begins with `restore` can be started again at any time.

    Among the callbacks of `Model.fit` it saves the network and its optimiser after every epoch, by the number of epochs that are complete:
    `initial_epoch=checkpoints.restore([net, optimiser]) or 0` goes on.

    Args:
        directory: where they are; it is made if need be. Several processes need a file system that all of them see.
        keep: how many to keep; older ones are removed after a new one is complete.

    >>> import adjoint as ad, tempfile
    >>> from adjoint import parallel
    >>> net = ad.nn.Dense(3, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = parallel.Checkpoints(folder, keep=2)
    ...     first = checkpoints.restore(net)
    ...     for step in (10, 20, 30):
    ...         checkpoints.save(step, net)
    ...     print(first, checkpoints.steps(), checkpoints.restore(net))
    None [20, 30] 30
    """

    def __init__(self, directory: str | os.PathLike[str], keep: int = 3) -> None:
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
            raise ArgumentError(f"Checkpoints: keep must be an integer, at least 1, not {keep!r}{called_at()}")
        self.directory, self.keep = os.path.abspath(os.fsdecode(directory)), keep

    def steps(self) -> list[int]:
        """The steps that are saved, complete, in order."""
        names = os.listdir(self.directory) if os.path.isdir(self.directory) else []
        found = [int(m[1]) for m in map(re.compile(r"step-(\d+)").fullmatch, names) if m]
        return sorted(step for step in found if os.path.isfile(os.path.join(self.path(step), INDEX)))

    def path(self, step: int) -> str:
        """The folder of a step."""
        return os.path.join(self.directory, f"step-{step:08d}")

    def save(self, step: int, state: Any) -> None:
        """Save a state as `parallel.save` does, and remove what is more than `keep`. All processes must call it."""
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise ArgumentError(f"Checkpoints: a step is an integer, not below 0, not {step!r}{called_at()}")
        save(self.path(step), state)
        if rank() == 0:
            for old in self.steps()[: -self.keep]:
                self._remove(old)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Save what `Model.fit` trains."""
        run = run_context.original_args()
        trained = [run.network, run.applied] if hasattr(run.applied, "parameters_dict") else [run.network]
        self.save(run.cur_epoch_num, trained)

    def restore(self, state: Any, step: int | None = None) -> int | None:
        """Load the last checkpoint, or that of a step, into networks and optimisers, and set the random counter.

        Arrays, Tensors, numbers and texts in a dict are replaced there by those that were saved. Gives the step; None, and nothing is changed, if none is saved yet. A damaged checkpoint is an error, which says what there is besides.
        """
        _check_fillable(state)
        there = self.steps()
        chosen = (there[-1] if there else None) if step is None else step
        barrier(f"the checkpoint to restore is {chosen}", 120.0)  # processes that see another one must not go on
        if chosen is None:
            return None
        try:
            found = load(self.path(chosen), state, restore_random=True)
        except (CheckpointError, OSError) as error:
            others = [s for s in there if s != chosen]
            hint = (
                f"there are also the steps {', '.join(map(str, others))}: restore(state, step={others[-1]})"
                if others
                else "there is no other"
            )
            raise CheckpointError(f"step {chosen} cannot be restored: {error}\n{hint}") from None
        _fill(state, found)
        return chosen

    def _remove(self, step: int) -> None:
        """Remove a checkpoint, under another name: half of one must not be taken for one."""
        path = self.path(step)
        gone = os.path.join(self.directory, f".{os.path.basename(path)}.removed")
        shutil.rmtree(gone, ignore_errors=True)
        os.rename(path, gone)
        shutil.rmtree(gone, ignore_errors=True)


def _check_fillable(state: Any) -> None:
    """Refuse a dict that nobody can write to, before anything is loaded."""
    if isinstance(state, Mapping) and not isinstance(state, MutableMapping):
        raise ArgumentTypeError(
            f"restore: the values of a {type(state).__name__} cannot be replaced: give a dict, or take the result of parallel.load{called_at()}"
        )
    for part in state.values() if isinstance(state, Mapping) else state if isinstance(state, (list, tuple)) else ():
        _check_fillable(part)


def _fill(state: Any, found: Any) -> None:
    """Put what was loaded into the dicts of a state; networks, optimisers and Parameters have theirs."""
    if isinstance(state, (list, tuple)):
        for part, loaded in zip(state, found, strict=True):
            _fill(part, loaded)
    elif isinstance(state, MutableMapping):
        for key, value in list(state.items()):
            if is_container(value):
                _fill(value, found[key])
            elif not isinstance(value, Parameter):
                state[key] = found[key]
