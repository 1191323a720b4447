"""Checkpoints in pieces: each process writes what its devices hold, and any number of devices reads what it needs.

A checkpoint is a folder: a safetensors file of each process, and `index.json`, which says where each piece of each array is and what its
bytes sum up to. It appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax, precise
from adjoint.core.errors import called_at
from adjoint.core.parameter import Parameter
from adjoint.core.random_counters import PROGRAM
from adjoint.core.spec import bfloat16
from adjoint.core.tensor import Tensor
from adjoint.parallel.named_state import (
    Bounds,
    array_of,
    bounds,
    is_container,
    is_plain,
    named_state,
    on_devices,
    overlap,
    own_pieces,
    within,
)  # fmt: skip
from adjoint.parallel.process_group import barrier, processes, rank
from adjoint.train import safetensors
from adjoint.train.safetensors import CheckpointError

INDEX = "index.json"
FORMAT = "adjoint sharded checkpoint 1"


def save(path: str | os.PathLike[str], state: Any, *, timeout: float = 600.0) -> None:
    """Write a checkpoint in pieces, each process those that its devices hold. All processes of the run must call it.

    The folder appears when all of it is on disk; an older one of that name stays until then. Several processes need a file system that
    all of them see. Where the random counter stands is kept too.

    Args:
        path: the folder.
        state: networks, optimisers, Tensors, arrays, numbers and texts: one, a list, or a dict with names of your own.
        timeout: seconds to wait for the other processes.

    >>> import adjoint as ad, os, tempfile
    >>> from adjoint import parallel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parallel.save(os.path.join(folder, "last"), {"w": ad.Tensor([1.0, 2.0]), "step": 7})
    ...     found = parallel.load(os.path.join(folder, "last"))
    >>> print(found["w"], found["step"])
    [1. 2.] 7
    """
    path = os.path.abspath(os.fsdecode(path))
    named = named_state("save", state)
    values = {name: value for name, value in named.items() if is_plain(value)}
    arrays = {name: array_of("save", name, value) for name, value in named.items() if name not in values}
    name, work = os.path.basename(path), _beside(path, "saving")
    if rank() == 0:
        _check_target(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
    barrier(f"the checkpoint {name} is begun", timeout)
    _write_own(work, arrays, values)
    barrier(f"the checkpoint {name} is written", timeout)
    if rank() == 0:
        _write_index(work, arrays, values)
        _put_in_place(work, path)
    barrier(f"the checkpoint {name} is complete", timeout)


def load(path: str | os.PathLike[str], like: Any = None, *, restore_random: bool = False) -> Any:
    """Read a checkpoint that `save` wrote, on any number of devices and processes; each reads the pieces that it needs.

    Args:
        path: the folder.
        like: what to load: networks, optimisers and Parameters get their values, in the layout that they have, and all of them or,
            after an error, none. For arrays, Tensors and numbers in a dict the result has new ones, on the devices and in the layout of those given.
            Without it the result is a dict of all arrays, whole, and of all numbers and texts.
        restore_random: whether samples go on from where the random counter stood.

    Returns:
        A state as `like`.

    >>> import adjoint as ad, os, tempfile
    >>> from adjoint import parallel
    >>> net, other = ad.nn.Dense(3, 2), ad.nn.Dense(3, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parallel.save(os.path.join(folder, "last"), {"net": net, "step": 7})
    ...     found = parallel.load(os.path.join(folder, "last"), like={"net": other, "step": 0})
    >>> found["step"], bool((other.weight == net.weight).all())
    (7, True)
    """
    opened = Pieces(_existing(os.path.abspath(os.fsdecode(path))))
    if like is None:
        found: dict[str, Any] = {name: opened.whole(name) for name in opened.arrays} | opened.values
    else:
        wanted = named_state("load", like)
        _check_fits(opened, wanted)
        found = {name: opened.as_in(name, value) for name, value in wanted.items()}
        for name, value in wanted.items():
            if isinstance(value, Parameter):
                _set(value, found[name])
        found = _rebuilt(like, found, "")
    if restore_random:
        PROGRAM.resume(opened.random)
    return found


class Pieces:
    """A checkpoint that is read piece by piece."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        index = _read_index(folder)
        self.arrays: dict[str, Any] = index["arrays"]
        self.values: dict[str, Any] = index["values"]
        self.random = int(index["random"])
        self._files: dict[str, safetensors.ArrayFile] = {}

    def whole(self, name: str) -> np.ndarray:
        """An array from all of its pieces."""
        shape = tuple(self.arrays[name]["shape"])
        return self.part(name, (tuple(0 for _ in shape), shape), {})

    def as_in(self, name: str, like: Any) -> Any:
        """A value of the kind, dtype and layout of another one."""
        if is_plain(like):
            return self.values[name]
        target, seen = array_of("load", name, like), {}  # type: ignore[var-annotated]
        shape, dtype = tuple(self.arrays[name]["shape"]), target.dtype
        if not on_devices(target):
            array: Any = self.whole(name).astype(dtype, copy=False)
        else:

            def piece(index: Any) -> np.ndarray:
                return self.part(name, bounds(index, shape), seen).astype(dtype, copy=False)

            with precise():
                array = jax().make_array_from_callback(shape, target.sharding, piece)
        return Tensor(array) if isinstance(like, Tensor) and not isinstance(like, Parameter) else array

    def part(self, name: str, wanted: Bounds, seen: dict[int, np.ndarray]) -> np.ndarray:
        """A part of an array, put together from the pieces that hold some of it; `seen` are those that were read before."""
        said = self.arrays[name]
        result = np.empty([b - a for a, b in zip(*wanted, strict=True)], _dtype(said["dtype"]))
        for k, piece in enumerate(said["pieces"]):
            held = tuple(piece["start"]), tuple(piece["stop"])
            common = overlap(wanted, held)
            if common is not None:
                if k not in seen:
                    seen[k] = self._read(name, piece, said["dtype"])
                result[within(common, wanted)] = seen[k][within(common, held)]
        return result

    def _read(self, name: str, piece: Mapping[str, Any], dtype: str) -> np.ndarray:
        path = os.path.join(self.folder, piece["file"])
        if path not in self._files:
            self._files[path] = safetensors.ArrayFile(path)
        array = self._files[path].read(piece["key"])
        shape = tuple(b - a for a, b in zip(piece["start"], piece["stop"], strict=True))
        if array.shape != shape or array.dtype.name != dtype or _digest(array) != piece["sha256"]:
            raise CheckpointError(
                f"{path}: the piece of '{name}' in it is not the one that was saved: the file is damaged{called_at()}"
            )
        return array


# ---------------------------------------------------------------- writing


def _write_own(work: str, arrays: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Write the pieces of this process, and a list of them. Arrays of the host are written by rank 0; the others say what they have."""
    if not os.path.isdir(work):
        raise CheckpointError(
            f"save: rank {rank()} does not see {work}, which rank 0 has made: checkpoints of several processes need a file system "
            f"that all of them share{called_at()}"
        )
    file = f"rank-{rank():05d}.safetensors"
    pieces: dict[str, np.ndarray] = {}
    listed: dict[str, list[dict[str, Any]]] = {name: [] for name in arrays}
    for name, array in arrays.items():
        for (start, stop), piece in own_pieces(array):
            key = f"{name}@{','.join(map(str, start))}"
            if on_devices(array) or rank() == 0:
                pieces[key] = piece
            listed[name].append({"file": file, "key": key, "start": start, "stop": stop, "sha256": _digest(piece)})
    if pieces:
        safetensors.write(os.path.join(work, file), pieces, {})
    _write_text(os.path.join(work, _list_of(rank())), json.dumps({"arrays": listed, "values": dict(values)}))


def _write_index(work: str, arrays: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Put the lists of all processes together; every element of every array must be in one piece."""
    pieces: dict[str, dict[Any, Any]] = {name: {} for name in arrays}
    for k in range(processes()):
        listed = _read_list(work, k)
        _check_same_names(k, {*listed["arrays"], *listed["values"]}, {*arrays, *values})
        for name, value in values.items():
            if json.dumps(listed["values"][name]) != json.dumps(value):
                raise CheckpointError(
                    f"save: '{name}' is {value!r} on rank 0 and {listed['values'][name]!r} on rank {k}{called_at()}"
                )
        for name, found in listed["arrays"].items():
            for piece in found:
                first = pieces[name].setdefault((*piece["start"], *piece["stop"]), piece)
                if first["sha256"] != piece["sha256"]:
                    raise CheckpointError(
                        f"save: rank {k} holds other values of '{name}' than {first['file'].partition('.')[0]}: what is not split "
                        f"must be the same in all processes{called_at()}"
                    )
    said = {
        name: {"shape": list(array.shape), "dtype": np.dtype(array.dtype).name, "pieces": list(pieces[name].values())}
        for name, array in arrays.items()
    }
    for name, one in said.items():
        held = sum(math.prod(b - a for a, b in zip(p["start"], p["stop"], strict=True)) for p in one["pieces"])
        if held != math.prod(one["shape"]):
            raise CheckpointError(
                f"save: the pieces of '{name}' hold {held} elements of {math.prod(one['shape'])}{called_at()}"
            )
    body = json.dumps({"arrays": said, "values": dict(values), "random": PROGRAM.state()})
    digest = hashlib.sha256(body.encode()).hexdigest()
    _write_text(os.path.join(work, INDEX), json.dumps({"format": FORMAT, "sha256": digest, "body": body}))


def _read_list(work: str, k: int) -> dict[str, Any]:
    """What a process says that it has; the file is not needed afterwards."""
    path = os.path.join(work, _list_of(k))
    try:
        with open(path, encoding="utf-8") as file:
            listed = json.load(file)
        os.unlink(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"save: {path} of rank {k} cannot be read: {error}{called_at()}") from None
    return dict(listed)


def _check_same_names(k: int, found: set[str], wanted: set[str]) -> None:
    if differing := sorted(found ^ wanted):
        who = f"rank {k}" if differing[0] in found else "rank 0"
        raise CheckpointError(f"save: of ranks 0 and {k}, only {who} has '{differing[0]}' in its state{called_at()}")


def _write_text(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _check_target(path: str) -> None:
    if os.path.lexists(path) and not os.path.isfile(os.path.join(path, INDEX)):
        raise CheckpointError(
            f"save: {path} is there and is no checkpoint: remove it, or choose another name{called_at()}"
        )


def _put_in_place(work: str, path: str) -> None:
    old = _beside(path, "old")
    if os.path.isdir(path):
        shutil.rmtree(old, ignore_errors=True)
        os.rename(path, old)
    os.rename(work, path)
    shutil.rmtree(old, ignore_errors=True)


def _beside(path: str, word: str) -> str:
    """A hidden neighbour of a checkpoint."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{word}")


def _list_of(rank: int) -> str:
    return f"rank-{rank:05d}.json"


def _digest(array: np.ndarray) -> str:
    data: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------- reading


def _existing(path: str) -> str:
    """The folder of a checkpoint; the one before it if the program ended while the new one took its place."""
    old = _beside(path, "old")
    return old if not os.path.exists(path) and os.path.isfile(os.path.join(old, INDEX)) else path


def _read_index(folder: str) -> dict[str, Any]:
    path = os.path.join(folder, INDEX)
    if not os.path.isfile(path):
        raise CheckpointError(f"{folder} is no checkpoint of parallel.save: it has no {INDEX}{called_at()}")
    try:
        with open(path, encoding="utf-8") as file:
            said = json.load(file)
        good = said["format"] == FORMAT and hashlib.sha256(said["body"].encode()).hexdigest() == said["sha256"]
        index = json.loads(said["body"]) if good else {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        index = {}
    if not {"arrays", "values", "random"} <= set(index):
        raise CheckpointError(f"{path} is damaged, or of another version{called_at()}")
    return dict(index)


def _check_fits(opened: Pieces, wanted: Mapping[str, Any]) -> None:
    """One error with all that does not fit."""
    problems = []
    for name, value in wanted.items():
        if is_plain(value):
            problems += [] if name in opened.values else [f"'{name}' is no number or text in it"]
            continue
        array, said = array_of("load", name, value), opened.arrays.get(name)
        if said is None:
            problems.append(f"'{name}' is not in it")
        elif tuple(said["shape"]) != tuple(array.shape):
            problems.append(f"'{name}' has shape {tuple(array.shape)}, in it {tuple(said['shape'])}")
        elif not np.can_cast(_dtype(said["dtype"]), array.dtype, "same_kind"):
            problems.append(f"'{name}' is {np.dtype(array.dtype)}, in it {said['dtype']}")
    if problems:
        shown = "\n  ".join(problems)
        raise CheckpointError(f"load: nothing was loaded from {opened.folder}, since\n  {shown}{called_at()}")


def _set(parameter: Parameter, array: Any) -> None:
    if on_devices(array):
        parameter._value = array  # in the layout that it had
    else:
        parameter.set_data(array)


def _rebuilt(like: Any, found: Mapping[str, Any], prefix: str) -> Any:
    """The state with what was loaded; networks, optimisers and Parameters are those that were given."""
    if isinstance(like, (list, tuple)):
        return [_rebuilt(part, found, prefix) for part in like]
    if not isinstance(like, Mapping):
        return like
    if set(like) == {"name", "data"} and isinstance(like["name"], str) and f"{prefix}{like['name']}" in found:
        return {"name": like["name"], "data": found[f"{prefix}{like['name']}"]}
    return {
        key: _rebuilt(value, found, f"{prefix}{key}/")
        if is_container(value)
        else value
        if isinstance(value, Parameter)
        else found[f"{prefix}{key}"]
        for key, value in like.items()
    }


def _dtype(name: str) -> np.dtype:
    return np.dtype(bfloat16()) if name == "bfloat16" else np.dtype(name)
