"""Checkpoint files: the safetensors format by the library of that name, whole or not at all, with a checksum of all they hold.

Nothing in such a file is ever executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from adjoint.core.errors import AdjointError, called_at
from adjoint.core.spec import bfloat16

LONGEST_HEADER = 100_000_000  # bytes, the limit that the format sets
VALUE = "value:"  # before the names of plain numbers and texts, among the texts of a file
FORMAT = {"format": "adjoint", "version": "2"}
_CHECKSUM = "checksum"
_FIELDS = {"dtype", "shape", "data_offsets"}
_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64",
}  # fmt: skip
_CODES = {name: code for code, name in _DTYPES.items()}
Stored = tuple[str, list[int], Any]  # the code of a dtype, a shape, and the bytes


class CheckpointError(AdjointError, ValueError):
    """A checkpoint that cannot be written or read, or does not fit the network."""


def write(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write arrays and texts. The file appears whole or not at all: an older one stays until the new one is on disk."""
    library, path = _library(), os.fsdecode(path)
    for name, array in arrays.items():
        if not isinstance(name, str) or name == "__metadata__":
            raise CheckpointError(f"{name!r} cannot be the name of an array in a file{called_at()}")
        if array.dtype.name not in _CODES:
            raise CheckpointError(f"'{name}' is {array.dtype}, which the file format does not have{called_at()}")
    plain = {name: _little(array) for name, array in arrays.items()}
    texts = {**metadata, **FORMAT}
    texts[_CHECKSUM] = checksum({name: _stored(array) for name, array in plain.items()}, texts)
    with _replacing(path) as temporary:
        try:
            library.numpy.save_file(plain, temporary, texts)
            _order_texts(temporary)
        except (library.SafetensorError, UnicodeEncodeError) as error:
            raise CheckpointError(f"{path} cannot be written: {error}{called_at()}") from None


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the texts of a file, whose checksum must fit if it has one."""
    library, path = _library(), os.fsdecode(path)
    try:
        with _opened(path) as file:
            content, names, metadata = _content(file)
        stored = {name: (said["dtype"], said["shape"], said["data"]) for name, said in library.deserialize(content)}
        found = metadata.pop(_CHECKSUM, None)
        if (found or _wants_checksum(metadata)) and found != checksum(stored, metadata):
            raise CheckpointError("the checksum does not fit: the file is damaged")
        arrays = {name: _array(name, *stored.pop(name)) for name in names}
    except (CheckpointError, library.SafetensorError) as error:
        raise CheckpointError(f"{path}: {error}{called_at()}") from None
    except MemoryError:
        raise CheckpointError(f"{path}: it does not fit into memory{called_at()}") from None
    return arrays, metadata


class ArrayFile:
    """A file of which single arrays are read, and nothing else. Whoever reads them knows their checksums: the file's own is of all of it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fsdecode(path)
        with self._reading() as file:
            lead, self.header = _checked_header(file)
        self.start = len(lead)

    def read(self, name: str) -> np.ndarray:
        """One array of the file."""
        with self._reading() as file:
            said = self.header.get(name)
            if said is None or name == "__metadata__":
                raise CheckpointError(f"there is no array {name!r}")
            first, end = said["data_offsets"]
            if type(first) is not int or not 0 <= first <= end:
                raise CheckpointError(f"{name[:100]!r} has data_offsets that are no range")
            file.seek(self.start + first)
            data = file.read(end - first)
            if len(data) != end - first:
                raise CheckpointError("the file is cut short")
            return _array(name, said["dtype"], said["shape"], data)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[BinaryIO]:
        try:
            with _opened(self.path) as file:
                yield file
        except FileNotFoundError:
            raise CheckpointError(f"{self.path} is missing{called_at()}") from None
        except CheckpointError as error:
            raise CheckpointError(f"{self.path}: {error}{called_at()}") from None


def checksum(stored: Mapping[str, Stored], metadata: Mapping[str, str]) -> str:
    """A digest of all that a file says: the texts; the names, dtypes, shapes and bytes of the arrays."""
    names = sorted(stored)
    said = [sorted(metadata.items()), [(name, *stored[name][:2]) for name in names]]
    digest = hashlib.sha256(json.dumps(said).encode())
    for name in names:
        digest.update(stored[name][2])
    return f"sha256:{digest.hexdigest()}"


def _library() -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError:
        raise ImportError(
            f'checkpoints need the package safetensors: pip install "adjoint[train]"{called_at()}'
        ) from None
    return safetensors


def _little(array: np.ndarray) -> np.ndarray:
    little = array.dtype if array.dtype.kind == "V" else array.dtype.newbyteorder("<")
    return np.asarray(array, little, order="C")


def _stored(array: np.ndarray) -> Stored:
    return _CODES[array.dtype.name], list(array.shape), array.reshape(-1).view(np.uint8)


# ---------------------------------------------------------------- writing


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[str]:
    """The name of a file to write, which takes the place of `path` once all of it is on disk."""
    folder, name = os.path.split(os.path.abspath(path))
    workshop = tempfile.mkdtemp(dir=folder, prefix=f".{name[:100]}.", suffix=".part")
    try:
        temporary = os.path.join(workshop, "new")
        yield temporary
        os.chmod(temporary, _mode(path, workshop))
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    _settle(folder)


def _order_texts(path: str) -> None:
    """Put the texts of a header in the order of their names, which the library leaves to chance: equal runs, equal files."""
    with open(path, "rb+") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode().ljust(length)
        if len(text) == length:
            file.seek(8)
            file.write(text)


def _mode(path: str, workshop: str) -> int:
    """The permissions of the file that is replaced, or else of one opened in the ordinary way."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(os.stat(path).st_mode)
    with open(os.path.join(workshop, "ordinary"), "wb") as file:
        return stat.S_IMODE(os.fstat(file.fileno()).st_mode)


def _settle(folder: str) -> None:
    """Make the new name itself last, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---------------------------------------------------------------- reading


def _opened(path: str) -> BinaryIO:
    """A plain file opened; a directory, a pipe or a device is refused, without waiting for it."""
    _require_plain(os.stat(path))
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    file = os.fdopen(handle, "rb")
    try:
        _require_plain(os.fstat(handle))
    except CheckpointError:
        file.close()
        raise
    return file


def _require_plain(info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise CheckpointError("not a safetensors file: it is a directory, a pipe or a device")


def _content(file: BinaryIO) -> tuple[bytes, list[str], dict[str, str]]:
    """All bytes of a file, the names of its arrays, and its texts. The bytes are read once the header accounts for them."""
    lead, header = _checked_header(file)
    metadata = header.pop("__metadata__", None)
    size = os.fstat(file.fileno()).st_size
    file.seek(0)
    content = file.read(size)
    if len(content) != size or not content.startswith(lead):
        raise CheckpointError("the file changed while it was read")
    return content, list(header), metadata or {}


def _checked_header(file: BinaryIO) -> tuple[bytes, dict[str, Any]]:
    """The bytes before the data, and the header in them, which must account for all of the file."""
    size = os.fstat(file.fileno()).st_size
    lead = file.read(8)
    length = int.from_bytes(lead, "little")
    if len(lead) < 8:
        raise CheckpointError("not a safetensors file: it is shorter than 8 bytes")
    if length > min(LONGEST_HEADER, size - 8):
        raise CheckpointError(f"not a safetensors file, or cut short: a header of {length} bytes in a file of {size}")
    text = file.read(length)
    header = _header(text)
    arrays = {name: said for name, said in header.items() if name != "__metadata__"}
    room, end = size - 8 - length, max((_end(name, said) for name, said in arrays.items()), default=0)
    if end != room:
        raise CheckpointError(f"the header accounts for {end} bytes of data, the file has {room}: is it cut short?")
    return lead + text, header


def _wants_checksum(metadata: Mapping[str, str]) -> bool:
    """Whether a file without a checksum must have lost it: it is ours, and not of the first version, which had none."""
    ours = metadata.get("format") == FORMAT["format"] or any(name.startswith(VALUE) for name in metadata)
    return "version" in metadata or (ours and not all(name == "format" or name.startswith(VALUE) for name in metadata))


def _header(text: bytes) -> dict[str, Any]:
    """The header, in which no name may stand twice: the library would take one of them and say nothing."""
    if not text.startswith(b"{"):
        raise CheckpointError("not a safetensors file: the header does not begin with '{'")
    try:
        return json.loads(text.decode(), object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"the header is not JSON: {error}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise CheckpointError(f"the header names {twice[:100]!r} twice")
    return found


def _end(name: str, said: Any) -> int:
    """Where an array ends. The library looks at the rest."""
    if not isinstance(said, dict) or set(said) != _FIELDS:
        raise CheckpointError(f"{name[:100]!r} must have a dtype, a shape and data_offsets")
    offsets = said["data_offsets"]
    if not isinstance(offsets, list) or len(offsets) != 2 or type(offsets[1]) is not int:
        raise CheckpointError(f"{name[:100]!r} has data_offsets that are not two integers")
    return offsets[1]


def _array(name: str, code: str, shape: list[int], data: Any) -> np.ndarray:
    """One array, of the bytes that the library found for it."""
    if code not in _DTYPES:
        raise CheckpointError(f"{name[:100]!r} has a dtype that NumPy has not: {code}")
    dtype = bfloat16() if code == "BF16" else np.dtype(_DTYPES[code])
    if code == "BOOL":
        flat = np.frombuffer(data, np.uint8) != 0  # another writer may say true by 255
    else:
        flat = np.frombuffer(data, dtype if dtype.kind == "V" else dtype.newbyteorder("<")).astype(dtype, copy=False)
    try:
        return flat.reshape(shape)
    except (ValueError, OverflowError):  # such as 65 axes, or (0, 2**63)
        raise CheckpointError(
            f"{name[:100]!r} has a shape that no array has: {len(shape)} axes, {shape[:4]}..."
        ) from None
