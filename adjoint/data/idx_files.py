"""Files of samples: the IDX format of MNIST, and the digits that come with the package."""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from importlib import resources
from pathlib import Path
from typing import IO, Any

import numpy as np

from adjoint.core.errors import AdjointError, called_at
from adjoint.data.dataset import ArrayDataset

_KINDS = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_LARGEST = 2**40  # bytes; a header that asks for more is damaged


class FileFormatError(AdjointError, ValueError):
    """A file that is not in the format it should be in."""


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """The array in an IDX file, the format of MNIST; a file whose name ends in .gz is decompressed.

    >>> import os, tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "labels.idx.gz")
    ...     write_idx(path, np.array([7, 2, 1], np.uint8))
    ...     read_idx(path)
    array([7, 2, 1], dtype=uint8)
    """
    opened: Any = gzip.open if os.fspath(path).endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            return _parsed(file, os.fspath(path))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(f"{os.fspath(path)}: damaged gzip file: {error}{called_at()}") from error


def _parsed(file: IO[bytes], path: str) -> np.ndarray:
    head = file.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _KINDS:
        raise FileFormatError(f"{path}: not an IDX file: it begins with {head.hex(' ') or 'nothing'}{called_at()}")
    dtype, ndim = np.dtype(_KINDS[head[2]]), head[3]
    sizes = file.read(4 * ndim)
    if len(sizes) < 4 * ndim:
        raise FileFormatError(f"{path}: the file ends within its header{called_at()}")
    shape = struct.unpack(f">{ndim}I", sizes)
    needed = math.prod(shape) * dtype.itemsize
    if needed > _LARGEST:
        raise FileFormatError(f"{path}: the header asks for {needed} bytes, shape {shape}{called_at()}")
    data = file.read(needed + 1)  # no more than that, whatever a compressed file would grow to
    if len(data) != needed:
        found = "more" if len(data) > needed else len(data)
        raise FileFormatError(
            f"{path}: shape {shape} of {dtype.name} needs {needed} bytes, there are {found}{called_at()}"
        )
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def write_idx(path: str | os.PathLike[str], array: Any) -> None:
    """Write an array as an IDX file; compressed if the name ends in .gz.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.idx")
    ...     write_idx(path, [[1.5], [2.5]])
    ...     print(read_idx(path).tolist())
    [[1.5], [2.5]]
    """
    array = np.asarray(array)
    big = array.dtype.newbyteorder(">").str.replace("|", ">")
    code = {kind: code for code, kind in _KINDS.items()}.get(big)
    if code is None:
        raise FileFormatError(
            f"write_idx: the format has no {array.dtype}; it has uint8, int8, int16, int32, float32, float64"
        )
    head = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    body = head + array.astype(big).tobytes()
    Path(path).write_bytes(gzip.compress(body, mtime=0) if os.fspath(path).endswith(".gz") else body)


def load_mnist(folder: str | os.PathLike[str]) -> tuple[ArrayDataset, ArrayDataset]:
    """The training and the test set of MNIST, or of a set with its file names, from a folder of IDX files.

    >>> import os, tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part, n in (("train", 3), ("t10k", 2)):
    ...         write_idx(os.path.join(folder, f"{part}-images-idx3-ubyte.gz"), np.zeros((n, 28, 28), np.uint8))
    ...         write_idx(os.path.join(folder, f"{part}-labels-idx1-ubyte.gz"), np.zeros(n, np.uint8))
    ...     [len(part) for part in load_mnist(folder)]
    [3, 2]
    """

    def found(name: str) -> np.ndarray:
        for path in (Path(folder, name), Path(folder, name + ".gz")):
            if path.exists():
                return read_idx(path)
        raise FileNotFoundError(f"load_mnist: neither {name} nor {name}.gz is in {os.fspath(folder)}{called_at()}")

    train, test = (
        ArrayDataset(found(f"{part}-images-idx3-ubyte"), found(f"{part}-labels-idx1-ubyte").astype(np.int32))
        for part in ("train", "t10k")
    )
    return train, test


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Real handwritten digits: 1,797 images of 8 by 8 pixels between 0 and 16, and which digit each one is.

    They are the test set of UCI's "Optical Recognition of Handwritten Digits" (CC BY 4.0, see digits.txt).

    >>> images, labels = load_digits()
    >>> images.shape, images.dtype, labels[:5].tolist()
    ((1797, 8, 8), dtype('uint8'), [0, 1, 2, 3, 4])
    """
    file = resources.files("adjoint.data").joinpath("digits.npz")
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return arrays["images"], arrays["labels"].astype(np.int32)
