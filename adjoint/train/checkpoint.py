"""Saving and loading networks and optimisers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.random_counters import PROGRAM
from adjoint.core.tensor import Tensor
from adjoint.nn.cell import Cell
from adjoint.train import safetensors
from adjoint.train.safetensors import VALUE, CheckpointError

RANDOM = "random"  # where the random counter stands


def save_checkpoint(
    save_obj: Any,
    ckpt_file_name: str | os.PathLike[str],
    append_dict: Mapping[str, Any] | None = None,
    choice_func: Callable[[str], bool] | None = None,
    *,
    save_random: bool = False,
) -> None:
    """Write the Parameters of networks and optimisers to a safetensors file, whole or not at all.

    Args:
        save_obj: a Cell or optimiser; a dict of arrays by name; a list of `{"name": ..., "data": ...}`; or a list of
            these, such as `[network, optimiser]`.
        ckpt_file_name: the file. An older one of that name stays until the new one is on disk.
        append_dict: numbers and texts to keep too, such as the epoch; `load_checkpoint` gives them back.
        choice_func: which names to save.
        save_random: keep where the random counter stands too, for `load_checkpoint(restore_random=True)`.

    >>> import adjoint as ad, os, tempfile
    >>> from adjoint.train import load_checkpoint, save_checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save_checkpoint({"w": ad.Tensor([1.0, 2.0])}, path, append_dict={"epoch": 3})
    ...     found = load_checkpoint(path)
    >>> print(found["w"].asnumpy(), found["epoch"])
    [1. 2.] 3
    """
    arrays = {n: _array(v) for n, v in named_values(save_obj).items() if choice_func is None or choice_func(n)}
    metadata = {}
    more = {**(append_dict or {}), **({RANDOM: PROGRAM.state()} if save_random else {})}
    for name, value in more.items():
        if name in arrays:
            raise ArgumentError(f"save_checkpoint: '{name}' of append_dict is the name of a Parameter too{called_at()}")
        if isinstance(value, (bool, int, float, str)):
            metadata[VALUE + name] = json.dumps(value)
        else:
            arrays[name] = _array(value)
    safetensors.write(ckpt_file_name, arrays, metadata)


def load_checkpoint(
    ckpt_file_name: str | os.PathLike[str],
    net: Any = None,
    strict_load: bool = False,
    filter_prefix: str | tuple[str, ...] = (),
    *,
    restore_random: bool = False,
) -> dict[str, Any]:
    """The Parameters of a safetensors file by name, and the numbers and texts kept with them.

    With `net` they are put into it too, as `load_param_into_net` does. Names that begin with `filter_prefix` are left out.
    Any file of the format can be read, whoever wrote it; nothing in it is executed, and in a file of ours every bit is
    watched by a checksum. With `restore_random` samples go on from where the random counter stood when the file was written, by ModelCheckpoint
    or with `save_random`.

    >>> import adjoint as ad, os, tempfile
    >>> from adjoint.train import load_checkpoint, save_checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save_checkpoint({"w": ad.Tensor([1.0]), "moment.w": ad.Tensor([0.5])}, path)
    ...     list(load_checkpoint(path, filter_prefix="moment"))
    ['w']
    """
    arrays, metadata = safetensors.read(ckpt_file_name)
    skip = filter_prefix if isinstance(filter_prefix, str) else tuple(filter_prefix)
    numbers = {n.removeprefix(VALUE): _plain(n, text) for n, text in metadata.items() if n.startswith(VALUE)}
    counter = _counter(ckpt_file_name, numbers) if restore_random else None
    wanted = {} if net is None else named_values(net)
    frozen = {n for n, p in wanted.items() if isinstance(p, Parameter) and not p.requires_grad}
    found: dict[str, Any] = {
        n: Parameter(a, n, requires_grad=a.dtype.kind in "fcV" and n not in frozen)
        for n, a in arrays.items()
        if not (skip and n.startswith(skip))
    }
    if net is not None:
        load_param_into_net(net, found, strict_load)
    if counter is not None:
        PROGRAM.resume(counter)
    return {**found, **numbers}


def load_param_into_net(
    net: Any, parameter_dict: Mapping[str, Any], strict_load: bool = False
) -> tuple[list[str], list[str]]:
    """Put loaded values into the Parameters of the same names; all of them or, after an error, none.

    Returns the names that the network has and the values have not, and the other way round. With `strict_load` either is
    an error; shapes that differ always are, and so are values none of which has a name of the network, or that are the
    state of another kind of optimiser. One error lists everything that does not fit.

    >>> import adjoint as ad
    >>> from adjoint.train import load_param_into_net
    >>> net = ad.nn.Cell()
    >>> net.w = ad.Parameter(ad.Tensor([0.0]))
    >>> load_param_into_net(net, {"w": ad.Tensor([5.0]), "v": ad.Tensor([1.0])})
    ([], ['v'])
    >>> print(net.w.asnumpy())
    [5.]
    """
    wanted = named_values(net)
    given = {n: _array(v) for n, v in parameter_dict.items() if not isinstance(v, (bool, int, float, str))}
    missing = [n for n in wanted if n not in given]
    unexpected = [n for n in given if n not in wanted]
    pairs = [(p, given[n]) for n, p in wanted.items() if n in given]
    problems = [f"'{p.name}' has shape {p.shape}, the value {a.shape}" for p, a in pairs if p.shape != a.shape]
    problems += [f"'{p.name}' is {p.dtype}, the value {a.dtype}" for p, a in pairs if not _fits(a.dtype, p.dtype)]
    problems += [text for part in _parts(net) if (text := _other_kind(part, given))]
    if problems or (wanted and not pairs) or (strict_load and (missing or unexpected)):
        problems += [f"'{n}' is missing" for n in missing] + [f"'{n}' is not in the network" for n in unexpected]
        shown = "\n  ".join(problems)
        raise CheckpointError(f"load_param_into_net: nothing was loaded, since\n  {shown}{called_at()}")
    for parameter, array in pairs:
        parameter.set_data(array)
    return missing, unexpected


def named_values(obj: Any) -> dict[str, Any]:
    """The Parameters or arrays of whatever can be saved, by name."""
    if isinstance(obj, Mapping):
        return dict(obj)
    if isinstance(obj, (list, tuple)):
        found: dict[str, Any] = {}
        for part in obj:
            if isinstance(part, Mapping) and set(part) == {"name", "data"}:
                part = {part["name"]: part["data"]}
            elif isinstance(part, Parameter):
                part = {part.name: part}
            for name, value in named_values(part).items():
                if found.setdefault(name, value) is not value:
                    raise ArgumentError(f"two different values are named '{name}'{called_at()}")
        return found
    if isinstance(obj, Cell):
        return named_values(list(obj.get_parameters()))
    if hasattr(obj, "parameters_dict"):  # an optimiser
        return obj.parameters_dict()
    raise ArgumentError(
        f"expected a Cell, an optimiser, a dict of arrays, or a list of these, not {type(obj).__name__}{called_at()}"
    )


def _counter(path: str | os.PathLike[str], numbers: Mapping[str, Any]) -> int:
    """Where the random counter stood when a file was written."""
    counter = numbers.get(RANDOM)
    if type(counter) is not int or not 0 <= counter < 2**63:
        raise CheckpointError(
            f"{os.fsdecode(path)} does not say where the random counter stood: {RANDOM!r} is {counter!r}{called_at()}"
        )
    return counter


def _parts(obj: Any) -> Sequence[Any]:
    return obj if isinstance(obj, (list, tuple)) else [obj]


def _other_kind(part: Any, given: Mapping[str, Any]) -> str:
    """What is wrong if the values hold the state of an optimiser for these Parameters, but of another kind."""
    mine = None if isinstance(part, Cell) else getattr(part, "slots", None)
    if mine is None or not (names := [p.name for p in part.parameters]):
        return ""
    candidates = [n.removesuffix(f".{names[0]}") for n in given if n.endswith(f".{names[0]}")]
    saved = [slot for slot in candidates if all(f"{slot}.{name}" in given for name in names)]
    if not saved or not set(saved).isdisjoint(mine):
        return ""
    has = f"{type(part).__name__} has {', '.join(mine) or 'none'}"
    return f"the state is that of another optimiser: it holds {', '.join(saved)} of each Parameter, {has}"


def _array(value: Any) -> np.ndarray:
    return value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)


def _fits(source: np.dtype, target: np.dtype) -> bool:
    """Whether values may be converted: not from fractions to integers, nor from complex to real."""
    rank = {"b": 0, "u": 1, "i": 1, "V": 2, "f": 2, "c": 3}
    return rank[source.kind] <= rank[target.kind]


def _plain(name: str, text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise CheckpointError(f"the value of {name!r} cannot be read: {text[:50]!r}{called_at()}") from None
    if not isinstance(value, (bool, int, float, str)):
        raise CheckpointError(f"the value of {name!r} is neither a number nor a text{called_at()}")
    return value
