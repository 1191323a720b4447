"""IDX files, and the digits of the package."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

import adjoint.data
from adjoint.data import load_digits, load_mnist, read_idx, write_idx


@pytest.mark.parametrize("suffix", ["idx", "idx.gz"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "float32", "float64"])
def test_round_trip(tmp_path, dtype, suffix):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    write_idx(tmp_path / f"a.{suffix}", array)
    found = read_idx(tmp_path / f"a.{suffix}")
    assert found.dtype == array.dtype and found.dtype.isnative and np.array_equal(found, array)


def test_a_file_written_byte_by_byte(tmp_path):
    """The layout of MNIST's label file, spelt out."""
    (tmp_path / "labels").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]))
    assert read_idx(tmp_path / "labels").tolist() == [5, 0, 4]
    (tmp_path / "big").write_bytes(bytes([0, 0, 0x0B, 1, 0, 0, 0, 1, 1, 2]))
    assert read_idx(tmp_path / "big").tolist() == [258]


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "nothing"),
        (b"PK\3\4", "not an IDX file"),
        (b"\0\0\x07\1", "not an IDX file"),
        (b"\0\0\x08\3\0\0\0\1", "ends within its header"),
        (struct.pack(">HBBI", 0, 8, 1, 5) + b"abc", "needs 5 bytes, there are 3"),
        (struct.pack(">HBBI", 0, 8, 1, 2) + b"abc", "there are more"),
        (struct.pack(">HBB4I", 0, 8, 4, *[2**32 - 1] * 4), "asks for"),
    ],
)
def test_damaged_files(tmp_path, content, words):
    (tmp_path / "a.idx").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_idx(tmp_path / "a.idx")


def test_damaged_gzip_files(tmp_path):
    path = tmp_path / "a.idx.gz"
    whole = gzip.compress(struct.pack(">HBBI", 0, 8, 1, 1000) + bytes(range(250)) * 4)
    for content in (b"no gzip at all", whole[: len(whole) // 2], whole[:-8] + bytes(4) + whole[-4:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="damaged gzip"):
            read_idx(path)


def test_a_small_file_that_would_grow_without_end_is_not_unpacked(tmp_path):
    (tmp_path / "a.idx.gz").write_bytes(gzip.compress(struct.pack(">HBBI", 0, 8, 1, 4) + bytes(10**8), 1))
    with pytest.raises(ValueError, match="there are more"):
        read_idx(tmp_path / "a.idx.gz")


def test_unknown_dtypes_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="complex"):
        write_idx(tmp_path / "a.idx", np.zeros(2, complex))
    assert not list(tmp_path.iterdir())


def test_missing_mnist_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte"):
        load_mnist(tmp_path)


def test_digits():
    images, labels = load_digits()
    assert images.shape == (1797, 8, 8) and (images.min(), images.max()) == (0, 16)
    # How often each digit occurs, and the first image, as published with the data.
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert images[0, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert hashlib.sha256(images.tobytes()).hexdigest().startswith("8f26b2bd9d135c25")


def test_digits_are_small_and_say_where_they_come_from():
    folder = Path(adjoint.data.__file__).parent
    assert (folder / "digits.npz").stat().st_size < 100_000
    assert "CC BY 4.0" in (folder / "digits.txt").read_text()
