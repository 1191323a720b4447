"""mindspore.train.serialization: checkpoints, in MindSpore's own format or in safetensors."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import bools, type_error
from adjoint.mindspore.common.parameter import Parameter
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.train import ckpt_files
from adjoint.train import safetensors

FORMATS = ("ckpt", "safetensors")


def save_checkpoint(
    save_obj: Any, ckpt_file_name: str, integrated_save: bool = True, async_save: Any = False,
    append_dict: Mapping[str, Any] | None = None, enc_key: Any = None, enc_mode: str = "AES-GCM",
    choice_func: Callable[[str], bool] | None = None, crc_check: bool = False, format: str = "ckpt", **kwargs: Any,
) -> None:  # fmt: skip
    """Write the Parameters of a Cell, a dict, or a list of `{"name": ..., "data": ...}` to a file.

    >>> import os, tempfile
    >>> import adjoint.mindspore as mindspore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "net.ckpt")
    ...     mindspore.save_checkpoint([{"name": "w", "data": mindspore.Tensor([1.0])}], path, append_dict={"epoch": 3})
    ...     found = mindspore.load_checkpoint(path)
    >>> print(found["w"].asnumpy(), found["epoch"].asnumpy())
    [1.] 3
    """
    if enc_key is not None or enc_mode != "AES-GCM":
        raise NotImplementedError("save_checkpoint: encrypted files are not provided by adjoint.mindspore")
    bools("save_checkpoint", integrated_save=integrated_save, crc_check=crc_check)
    name = _file_name("save_checkpoint", ckpt_file_name, format)
    values = {n: v for n, v in _values(save_obj).items() if choice_func is None or choice_func(n)}
    for key, value in _appended(append_dict).items():
        values[key] = value
    if format == "safetensors":
        safetensors.write(name, {n: v for n, v in values.items() if not isinstance(v, str)}, {})
        return
    folder = os.path.dirname(os.path.abspath(name))
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        for part in ckpt_files.encode(values):
            file.write(part)
    os.replace(file.name, name)  # whole or not at all


def _file_name(what: str, name: Any, format: str) -> str:
    if not isinstance(name, (str, os.PathLike)):
        raise type_error(what, "ckpt_file_name", "str", name)
    if format not in FORMATS:
        raise ValueError(f"For '{what}', the argument 'format' must be one of {FORMATS}, but got {format!r}.")
    text = os.fspath(name)
    return text if text.endswith(f".{format}") else f"{text}.{format}"


def _values(obj: Any) -> dict[str, Any]:
    if isinstance(obj, Cell):
        return {p.name: p.asnumpy() for p in obj.get_parameters()}
    if isinstance(obj, dict):
        return {str(n): _plain(v) for n, v in obj.items()}
    if isinstance(obj, (list, tuple)):
        if not all((isinstance(x, dict) and {"name", "data"} <= set(x)) or isinstance(x, Parameter) for x in obj):
            raise TypeError("For 'save_checkpoint', a list must hold dicts with the keys 'name' and 'data'.")
        return {
            x.name if isinstance(x, Parameter) else x["name"]: _plain(x if isinstance(x, Parameter) else x["data"])
            for x in obj
        }
    raise TypeError(
        f"For 'save_checkpoint', the argument 'save_obj' should be nn.Cell, dict or list, but got {type(obj)}."
    )


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return np.array(value)
    if isinstance(value, float):
        return np.array(value, np.float32)
    return value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)


def _appended(append_dict: Any) -> dict[str, Any]:
    if append_dict is None:
        return {}
    if not isinstance(append_dict, dict):
        raise type_error("save_checkpoint", "append_dict", "dict", append_dict)
    for key, value in append_dict.items():
        if not isinstance(key, str) or not isinstance(value, (int, float, bool, str, Tensor, Cell)):
            raise TypeError(
                f"For 'save_checkpoint', the value of 'append_dict' must be int, float, bool, str, Parameter or Tensor, but got "
                f"{key!r}: {type(value)}."
            )
    return {key: _plain(value) for key, value in append_dict.items()}


def load_checkpoint(
    ckpt_file_name: str, net: Any = None, strict_load: bool = False, filter_prefix: Any = None, dec_key: Any = None,
    dec_mode: str = "AES-GCM", specify_prefix: Any = None, choice_func: Callable[[str], bool] | None = None,
    crc_check: bool = False, remove_redundancy: bool = False, format: str = "ckpt",
) -> dict[str, Any]:  # fmt: skip
    """The Parameters of a checkpoint file by name; with `net` they are put into it too."""
    if dec_key is not None:
        raise NotImplementedError("load_checkpoint: encrypted files are not provided by adjoint.mindspore")
    path = _existing(ckpt_file_name, format)
    drop, keep = _prefixes("filter_prefix", filter_prefix), _prefixes("specify_prefix", specify_prefix)
    found: dict[str, Any] = {}
    for name, value in _read(path, format).items():
        unwanted = drop and any(name == p or name.startswith(f"{p}.") for p in drop)
        if unwanted or (keep and not name.startswith(keep)) or (choice_func is not None and not choice_func(name)):
            continue
        found[name] = value if isinstance(value, str) else Parameter(Tensor(value), name=name)
    if not found:
        raise ValueError(f"The loaded parameter dict is empty after filter or specify, please check the file {path}.")
    if net is not None:
        load_param_into_net(net, found, strict_load, remove_redundancy)
    return found


def _existing(name: Any, format: str) -> str:
    if not isinstance(name, (str, os.PathLike)):
        raise type_error("load_checkpoint", "ckpt_file_name", "str", name)
    text = os.fspath(name)
    if not text.endswith(f".{format}"):
        raise ValueError(
            "For 'load_checkpoint', the checkpoint file format must same with 'format', but got "
            f"file_name:'{text}', format:'{format}'"
        )
    if not os.path.exists(text):
        raise ValueError(f"For 'load_checkpoint', the checkpoint file: {text} does not exist.")
    if os.path.getsize(text) == 0:
        raise ValueError(f"For 'load_checkpoint', the checkpoint file {text} is empty.")
    return text


def _read(path: str, format: str) -> dict[str, Any]:
    if format == "safetensors":
        return dict(safetensors.read(path)[0])
    with open(path, "rb") as file:
        content = file.read()
    try:
        return ckpt_files.decode(content)
    except safetensors.CheckpointError as error:
        raise ValueError(
            f"For 'load_checkpoint', failed to read the checkpoint file {path}, may not have permission to read it or the file "
            f"is not correct: {error}"
        ) from None


def _prefixes(name: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    prefixes = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, (list, tuple)) else None
    if prefixes is None or not all(isinstance(p, str) for p in prefixes):
        raise type_error("load_checkpoint", name, "str, or list or tuple of str", given)
    if not prefixes or not all(prefixes):
        raise ValueError(
            f"For 'load_checkpoint', the '{name}' can't be empty when it is list or tuple, nor its elements."
        )
    return prefixes


def load_param_into_net(
    net: Any, parameter_dict: Any, strict_load: bool = False, remove_redundancy: bool = False
) -> tuple[list[str], list[str]]:
    """Put loaded values into the Parameters of the same names: what the network misses, and what it has no place for."""
    if not isinstance(net, Cell):
        raise TypeError(f"For 'load_param_into_net', the argument 'net' should be a Cell, but got {type(net)}.")
    if not isinstance(parameter_dict, dict):
        raise TypeError(
            f"For 'load_param_into_net', the argument 'parameter_dict' should be a dict, but got {type(parameter_dict)}."
        )
    for key, value in parameter_dict.items():
        if not isinstance(key, str) or not isinstance(value, (Parameter, str, list)):
            raise TypeError(
                "For 'load_param_into_net', the element in the argument 'parameter_dict' should be a 'str' and 'Parameter', "
                f"but got {type(key)} and {type(value)}."
            )
    bools("load_param_into_net", strict_load=strict_load, remove_redundancy=remove_redundancy)
    mine = {p.name: p for p in net.get_parameters()}
    given = {n: v for n, v in parameter_dict.items() if isinstance(v, Parameter)}
    for name, p in mine.items():
        if name in given:
            _check_fits(name, p, given[name], strict_load)
    for name, p in mine.items():
        if name in given:
            p.set_data(given[name].asnumpy().astype(p.dtype))
    missing = [n for n in mine if n not in given]
    if missing and not strict_load:
        missing = _by_prefix(mine, given, missing)
    return missing, [n for n in parameter_dict if n not in mine or n not in given]


def _check_fits(name: str, p: Any, value: Any, strict: bool) -> None:
    if p.shape != value.shape:
        raise RuntimeError(
            f"For 'load_param_into_net', {name} in the argument 'net' should have the same shape as {name} in the argument "
            f"'parameter_dict'. But got its shape {p.shape} in the argument 'net' and shape {value.shape} in the argument "
            "'parameter_dict'."
        )
    alike = {_kind(p.dtype), _kind(value.dtype)} in ({"float"}, {"int"})
    if p.dtype != value.dtype and (strict or not alike):
        raise RuntimeError(
            f"For 'load_param_into_net', {name} in the argument 'net' should have the same type as {name} in the argument "
            f"'parameter_dict'. but got its type {p.dtype} in the argument 'net' and type {value.dtype} in the argument "
            "'parameter_dict'."
        )


def _kind(dtype: Any) -> str:
    return {"i": "int", "u": "int", "f": "float", "V": "float"}.get(dtype.kind, dtype.name)


def _by_prefix(mine: dict[str, Any], given: dict[str, Any], missing: list[str]) -> list[str]:
    """Values whose names only have a prefix too many are loaded too; what is still missing."""
    while missing:
        prefixes = [n.removesuffix(m) for m in missing for n in given if n.endswith(m)]
        if not prefixes:
            return missing
        for name in [m for m in missing if prefixes[0] + m in given]:
            value = given[prefixes[0] + name]
            _check_fits(name, mine[name], value, False)
            mine[name].set_data(value.asnumpy().astype(mine[name].dtype))
            missing = [m for m in missing if m != name]
    return missing


def load_checkpoint_async(
    ckpt_file_name: str, net: Any = None, strict_load: bool = False, filter_prefix: Any = None, dec_key: Any = None,
    dec_mode: str = "AES-GCM", specify_prefix: Any = None, choice_func: Any = None,
) -> Future:  # fmt: skip
    """As `load_checkpoint`, its result in a Future."""
    found: Future = Future()
    try:
        found.set_result(
            load_checkpoint(
                ckpt_file_name, net, strict_load, filter_prefix, dec_key, dec_mode, specify_prefix, choice_func
            )
        )
    except Exception as error:
        found.set_exception(error)
    return found


def async_ckpt_thread_status() -> bool:
    """Whether a checkpoint is being written just now: never, since each call writes it whole."""
    return False


def ckpt_to_safetensors(
    file_path: str,
    save_path: str | None = None,
    name_map: Any = None,
    file_name_regex: Any = None,
    processes_num: int = 1,
) -> None:
    """A checkpoint file in the safetensors format."""
    _converted(file_path, save_path, name_map, "ckpt", "safetensors")


def safetensors_to_ckpt(
    file_path: str,
    save_path: str | None = None,
    name_map: Any = None,
    file_name_regex: Any = None,
    processes_num: int = 1,
) -> None:
    """A safetensors file as a checkpoint file."""
    _converted(file_path, save_path, name_map, "safetensors", "ckpt")


def _converted(file_path: str, save_path: str | None, name_map: Any, old: str, new: str) -> None:
    values = {(name_map or {}).get(n, n): v for n, v in _read(_existing(file_path, old), old).items()}
    name = os.path.basename(file_path).removesuffix(f".{old}") + f".{new}"
    save_checkpoint(values, os.path.join(save_path or os.path.dirname(file_path), name), format=new)


def load_distributed_checkpoint(*args: Any, **kwargs: Any) -> Any:
    """Not provided: there is one process."""
    raise NotImplementedError("mindspore.load_distributed_checkpoint is not provided by adjoint.mindspore")
