"""The safetensors file format: the length of a header in 8 bytes, the header in JSON, then the arrays as raw bytes.

Nothing in such a file is ever executed. Everything the header says is checked before any array is made.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoint.core.errors import AdjointError, called_at
from adjoint.core.spec import bfloat16

LONGEST_HEADER = 100_000_000  # bytes, the limit that the format sets
_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64",
}  # fmt: skip
_CODES = {name: code for code, name in _DTYPES.items()}


class CheckpointError(AdjointError, ValueError):
    """A checkpoint that cannot be written or read, or does not fit the network."""


def write(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write arrays and texts. The file appears whole or not at all: an older one stays until the new one is on disk."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    ordered = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))  # every array stays aligned
    start = 0
    for name in ordered:
        array = arrays[name]
        if array.dtype.name not in _CODES:
            raise CheckpointError(f"'{name}' is {array.dtype}, which the file format does not have{called_at()}")
        header[name] = {
            "dtype": _CODES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, start + array.nbytes],
        }
        start += array.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with _replacing(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in ordered:
            file.write(_little(arrays[name]).tobytes())


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the texts of a file."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            header, start = _header(file.read(8), file, size)
            metadata = header.pop("__metadata__", {})
            _check_metadata(metadata)
            entries = [_entry(name, said, size - start) for name, said in header.items()]
            _check_layout(entries, size - start)
        except CheckpointError as error:
            raise CheckpointError(f"{os.fspath(path)}: {error}{called_at()}") from None
        data = bytearray(size - start)
        if file.readinto(data) != len(data):
            raise CheckpointError(f"{os.fspath(path)}: the file changed while it was read{called_at()}")
    found = {}
    for name, dtype, shape, begin, end in entries:
        wire = dtype.newbyteorder("<") if dtype.kind != "V" else dtype
        found[name] = np.frombuffer(data, wire, count=math.prod(shape), offset=begin).reshape(shape).astype(dtype)
        assert found[name].nbytes == end - begin
    return found, metadata


def _little(array: np.ndarray) -> np.ndarray:
    little = array.dtype if array.dtype.kind == "V" else array.dtype.newbyteorder("<")
    return np.ascontiguousarray(array).astype(little, copy=False)


@contextlib.contextmanager
def _replacing(path: str | os.PathLike[str]) -> Any:
    """A temporary file beside `path`, which takes its place once all of it is on disk."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(path)}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # as a file opened in the ordinary way
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _settle(folder)


def _settle(folder: str) -> None:
    """Make the new name itself last, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _header(lead: bytes, file: Any, size: int) -> tuple[dict[str, Any], int]:
    """The header, and where the arrays begin."""
    if len(lead) < 8:
        raise CheckpointError("not a safetensors file: it is shorter than 8 bytes")
    (length,) = struct.unpack("<Q", lead)
    if length > min(LONGEST_HEADER, size - 8):
        raise CheckpointError(f"not a safetensors file, or cut short: a header of {length} bytes in a file of {size}")
    text = file.read(length)
    if not text.startswith(b"{"):
        raise CheckpointError("not a safetensors file: the header does not begin with '{'")
    try:
        header = json.loads(text.decode(), object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"the header is not JSON: {error}") from None
    return header, 8 + length


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise CheckpointError(f"the header names '{next(n for n in names if names.count(n) > 1)}' twice")
    return dict(pairs)


def _check_metadata(metadata: Any) -> None:
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise CheckpointError("__metadata__ must hold texts by name")


Entry = tuple[str, np.dtype, tuple[int, ...], int, int]


def _entry(name: str, said: Any, room: int) -> Entry:
    """One array as the header describes it."""
    if not isinstance(said, dict) or set(said) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"'{name}' must have a dtype, a shape and data_offsets")
    if not isinstance(said["dtype"], str) or said["dtype"] not in _DTYPES:
        raise CheckpointError(f"'{name}' has an unknown dtype {said['dtype']!r}")
    dtype = bfloat16() if said["dtype"] == "BF16" else np.dtype(_DTYPES[said["dtype"]])
    shape, offsets = said["shape"], said["data_offsets"]
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(type(n) is int and n >= 0 for n in numbers):
            raise CheckpointError(f"'{name}' has sizes or offsets that are not whole numbers")
    if len(offsets) != 2 or not offsets[0] <= offsets[1] <= room:
        raise CheckpointError(f"'{name}' lies at {offsets}, outside the {room} bytes of data: is the file cut short?")
    if len(shape) > 32 or math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise CheckpointError(
            f"'{name}' of shape {shape} and dtype {dtype} does not fit its {offsets[1] - offsets[0]} bytes"
        )
    return name, dtype, tuple(shape), offsets[0], offsets[1]


def _check_layout(entries: list[Entry], room: int) -> None:
    """Arrays must fill the file without overlap or gap, so that nothing can hide in it."""
    end = 0
    for name, _, _, begin, stop in sorted(entries, key=lambda e: (e[3], e[4])):
        if begin != end:
            raise CheckpointError(f"'{name}' begins at byte {begin} of the data, not at {end}: a gap or an overlap")
        end = stop
    if end != room:
        raise CheckpointError(f"the header accounts for {end} bytes of data, the file has {room}")
