"""mindspore.train.ModelCheckpoint: saves the network while it is trained."""

from __future__ import annotations

import os
import time
from typing import Any

from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import bools
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.train.callback._callback import Callback, RunContext
from adjoint.mindspore.train.serialization import save_checkpoint

INFO = ("epoch_num", "step_num")


class CheckpointConfig:
    """When checkpoints are written, how many are kept, and what is in them besides the Parameters."""

    def __init__(
        self, save_checkpoint_steps: int | None = 1, save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5, keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True, async_save: Any = False, saved_network: Any = None, append_info: Any = None,
        enc_key: Any = None, enc_mode: str = "AES-GCM", exception_save: bool = False, crc_check: bool = False,
        remove_redundancy: bool = False, format: str = "ckpt", **kwargs: Any,
    ) -> None:  # fmt: skip
        counts = {
            "save_checkpoint_steps": save_checkpoint_steps, "save_checkpoint_seconds": save_checkpoint_seconds,
            "keep_checkpoint_max": keep_checkpoint_max, "keep_checkpoint_per_n_minutes": keep_checkpoint_per_n_minutes,
        }  # fmt: skip
        for name, value in counts.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise TypeError(f"For 'CheckpointConfig', the '{name}' must be an int, but got {value!r}.")
            if value is not None and value < 0:
                raise ValueError(f"For 'CheckpointConfig', the '{name}' must be at least 0, but got {value}.")
        if saved_network is not None and not isinstance(saved_network, Cell):
            raise TypeError(
                f"For 'CheckpointConfig', the type of 'saved_network' must be None or Cell, but got {type(saved_network)}."
            )
        if not any(counts.values()):
            raise ValueError(f"For 'CheckpointConfig', the input arguments {', '.join(counts)} can't be all None or 0.")
        bools("CheckpointConfig", exception_save=exception_save, integrated_save=integrated_save, crc_check=crc_check)
        if enc_key is not None:
            raise NotImplementedError("CheckpointConfig: encrypted files are not provided by adjoint.mindspore")
        self.save_checkpoint_steps = save_checkpoint_steps
        self.save_checkpoint_seconds = None if save_checkpoint_steps else save_checkpoint_seconds
        self.keep_checkpoint_max, self.keep_checkpoint_per_n_minutes = (
            keep_checkpoint_max,
            keep_checkpoint_per_n_minutes,
        )
        if keep_checkpoint_max:
            self.keep_checkpoint_per_n_minutes = None
        elif not keep_checkpoint_per_n_minutes:
            self.keep_checkpoint_max = 1
        self.integrated_save, self.async_save, self.saved_network = integrated_save, async_save, saved_network
        self.append_dict = _appended(append_info)
        self.enc_key, self.enc_mode, self.crc_check, self.format = enc_key, enc_mode, crc_check, format
        self.exception_save, self.remove_redundancy = exception_save, remove_redundancy
        self.map_param_inc = bool(kwargs.get("incremental", False))

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """When checkpoints are written and how many are kept."""
        names = (
            "save_checkpoint_steps", "save_checkpoint_seconds", "keep_checkpoint_max", "keep_checkpoint_per_n_minutes",
            "saved_network",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def _appended(append_info: Any) -> dict[str, Any] | None:
    if not append_info:
        return None
    if not isinstance(append_info, list):
        raise TypeError(f"For 'CheckpointConfig', the type of 'append_info' must be list, but got {type(append_info)}.")
    found: dict[str, Any] = {name: 0 for name in INFO if name in append_info}
    for element in append_info:
        if isinstance(element, str):
            if element not in INFO:
                raise ValueError(
                    f"For 'CheckpointConfig', the element in 'append_info' must be in {list(INFO)}, but got {element}."
                )
        elif isinstance(element, dict):
            for key, value in element.items():
                if not isinstance(key, str) or not isinstance(value, (int, float, bool, str, Tensor)):
                    raise TypeError(f"For 'CheckpointConfig', 'append_info' cannot hold {key!r}: {type(value)}.")
                found[key] = value
        else:
            raise TypeError(
                f"For 'CheckpointConfig', the type of 'append_info' element must be str or dict, but got {type(element)}."
            )
    return found


class ModelCheckpoint(Callback):
    """Write `prefix-epoch_step.ckpt` every so many steps, and keep the latest ones."""

    def __init__(self, prefix: Any = "CKP", directory: Any = None, config: CheckpointConfig | None = None) -> None:
        super().__init__()
        if not callable(prefix) and (not isinstance(prefix, str) or "/" in prefix):
            raise ValueError(
                "For 'ModelCheckpoint', the argument 'prefix' for checkpoint file name is invalid, it must be callable or "
                f"string that does not contain '/', but got {prefix}."
            )
        if config is not None and not isinstance(config, CheckpointConfig):
            raise TypeError(
                "For 'ModelCheckpoint', the type of argument 'config' should be 'CheckpointConfig', but got "
                f"{type(config)}."
            )
        self._prefix, self._directory, self._config = prefix, directory or os.getcwd(), config or CheckpointConfig()
        if not callable(self._directory):
            os.makedirs(self._directory, exist_ok=True)
            if not callable(prefix):
                self._prefix = _free_prefix(self._directory, prefix)
        self._latest_ckpt_file_name, self._last_triggered_step, self._last_time = "", 0, time.time()
        self._written: list[str] = []
        self._append = dict(self._config.append_dict or {})

    @property
    def latest_ckpt_file_name(self) -> str:
        """The file written last."""
        return self._latest_ckpt_file_name

    def step_end(self, run_context: RunContext) -> None:
        self._save(run_context.original_args())

    def end(self, run_context: RunContext) -> None:
        self._save(run_context.original_args(), last=True)

    def _due(self, run: Any, last: bool) -> bool:
        if self._config.save_checkpoint_steps:
            return last or run.cur_step_num >= self._last_triggered_step + self._config.save_checkpoint_steps
        if self._config.save_checkpoint_seconds:
            return last or time.time() - self._last_time > self._config.save_checkpoint_seconds
        return False

    def _save(self, run: Any, last: bool = False) -> None:
        if run.cur_step_num == self._last_triggered_step or not self._due(run, last):
            return
        folder = self._directory(run) if callable(self._directory) else self._directory
        if callable(self._prefix):
            name = f"{self._prefix(run)}.{self._config.format}"
        else:
            step = int((run.cur_step_num - 1) % run.batch_num + 1)
            name = f"{self._prefix}-{run.cur_epoch_num}_{step}.{self._config.format}"
        for key, value in (("epoch_num", run.cur_epoch_num), ("step_num", run.cur_step_num)):
            if key in self._append:
                self._append[key] = value
        path = os.path.join(folder, name)
        saved = self._config.saved_network if self._config.saved_network is not None else run.train_network
        save_checkpoint(saved, path, append_dict=self._append or None, format=self._config.format)
        self._latest_ckpt_file_name, self._last_triggered_step = path, run.cur_step_num
        self._last_time = time.time()
        self._written = [p for p in self._written if p != path] + [path]
        while self._config.keep_checkpoint_max and len(self._written) > self._config.keep_checkpoint_max:
            oldest = self._written.pop(0)
            if os.path.exists(oldest):
                os.remove(oldest)


def _free_prefix(folder: Any, prefix: str) -> str:
    """The prefix, with a number behind it if there are checkpoints of that name."""
    taken = [0]
    for file in os.listdir(folder):
        stem, kind = os.path.splitext(file)
        if kind in (".ckpt", ".safetensors") and stem.startswith(prefix) and "-" in stem:
            rest = stem[len(prefix) :].split("-")[0]
            if rest == "":
                taken.append(1)
            elif rest[0] == "_" and rest[1:].isdigit():
                taken.append(int(rest[1:]) + 1)
    return f"{prefix}_{max(taken)}" if max(taken) else prefix
