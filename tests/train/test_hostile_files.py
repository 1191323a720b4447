"""Damaged and hostile checkpoint files: every one is refused by CheckpointError, soon and without the memory it asks for."""

from __future__ import annotations

import contextlib
import json
import os
import random
import struct
import subprocess
import sys

import numpy as np
import pytest

from adjoint.testing.fuzz import alarm
from adjoint.train import CheckpointError, load_checkpoint, save_checkpoint


def raw(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "shorter than 8"),
        (b"\x80\x04\x95abc" * 9, "cut short"),  # a pickle
        (struct.pack("<Q", 2**63) + b"{}", "cut short"),
        (raw(b"[1, 2]"), "does not begin"),
        (raw(b'{"a": '), "not JSON"),
        (raw(b'{"a": \xff}'), "not JSON"),
        (raw(b'{"a":' * 50_000), "not JSON"),
        (raw(b'{"a":' + b"[" * 50_000), "not JSON"),
        (raw(b'{"a": NaN}'), "must have a dtype"),
        (raw(b'{"a": {"dtype": "F32", "shape": [NaN], "data_offsets": [0, 0]}}'), "invalid JSON"),
        (raw(b'{"a": ' + b"9" * 100_000 + b"}"), "not JSON"),
        (raw(b'{"a": 1e999}'), "must have a dtype"),
        (raw(b'{}{"a": 1}'), "not JSON"),
        (raw(b"{}\0"), "not JSON"),
        (raw(b" {}"), "does not begin"),
        (raw(b'{"\\ud800": ' + json.dumps(entry()).encode() + b"}", bytes(8)), "JSON"),
        (raw(b'{"a": 1, "a": 2}'), "'a' twice"),
        (raw(b'{"__metadata__": {"a": "1", "a": "2"}}'), "'a' twice"),
        (raw({"a": 5}), "must have a dtype"),
        (raw({"a": {**entry(), "code": "import os"}}, bytes(8)), "must have a dtype"),
        (raw({"a": entry(dtype="O")}, bytes(8)), "unknown variant `O`"),
        (raw({"a": entry(dtype=["F32"])}, bytes(8)), "not JSON|invalid JSON"),
        (raw({"a": entry(shape=(-2,))}, bytes(8)), "integer `-2`"),
        (raw({"a": entry(shape=(2.0,))}, bytes(8)), "floating point `2.0`"),
        (raw({"a": entry(shape=(True, 2))}, bytes(8)), "boolean `true`"),
        (raw({"a": entry(shape=(1,) * 65, offsets=(0, 4))}, bytes(4)), "65 axes"),
        (raw({"a": entry(shape=(2**62, 4))}, bytes(8)), "overflow"),
        (raw({"a": entry(shape=(2**63, 2))}, bytes(8)), "overflow"),
        (raw({"a": entry(shape=(0, 2**63), offsets=(0, 0))}), "no array has"),
        (raw({"a": entry(shape=(0, 2**62, 2**62), offsets=(0, 0))}), "no array has"),
        (raw({"a": entry(shape=(3,))}, bytes(8)), "info|shape"),
        (raw({"a": entry()}, bytes(7)), "cut short"),
        (raw({"a": entry("F8_E4M3", (8,))}, bytes(8)), "a dtype that NumPy has not"),
        (raw({"a": entry(offsets=(8, 0))}, bytes(8)), "accounts for 0 bytes"),
        (raw({"a": entry(offsets=(16, 8))}, bytes(8)), "invalid offset"),
        (raw({"a": entry(offsets=(-8, 0))}), "`-8`"),
        (raw({"a": entry(offsets=(0, 8, 8))}, bytes(8)), "two integers"),
        (raw({"a": entry(offsets=(0, 8.0))}, bytes(8)), "two integers"),
        (raw({"a": entry(offsets=(0, 2**80))}, bytes(8)), "accounts for"),
        (raw({"a": entry()}, bytes(9)), "accounts for 8 bytes"),
        (raw({"a": entry(offsets=(4, 12))}, bytes(12)), "invalid offset"),
        (raw({"a": entry(), "b": entry(offsets=(4, 12))}, bytes(12)), "invalid offset"),
        (raw({"a": entry(), "b": entry(offsets=(12, 20))}, bytes(20)), "invalid offset"),
        (raw({"__metadata__": {"a": 1}}), "expected a string"),
        (raw({"__metadata__": []}), "expected a map"),
        (raw({"__metadata__": 0}), "expected a map"),
        (raw({"__metadata__": {"version": "2"}}), "checksum does not fit"),
        (raw({"__metadata__": {"checksum": "sha256:0"}}), "checksum does not fit"),
        (raw({"__metadata__": {"value:a": "[1"}}), "cannot be read"),
        (raw({"__metadata__": {"value:a": "[1]"}}), "neither a number"),
    ],
)
def test_hostile_and_damaged_files(tmp_path, content, words):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(CheckpointError, match=words):
        load_checkpoint(tmp_path / "a")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A file with arrays of several kinds and texts, and how to load a changed one."""
    path = tmp_path_factory.mktemp("small") / "whole"
    arrays = {"w": np.array([1.0, 2.0], "float32"), "v": np.array(3), "e": np.zeros((0, 3)), "t": np.array([True])}
    save_checkpoint(arrays, path, append_dict={"epoch": 1, "note": "x"})
    content, changed = path.read_bytes(), path.with_name("changed")

    def load(damaged):
        changed.write_bytes(damaged)
        return load_checkpoint(changed)

    assert load(content)["epoch"] == 1
    return content, load


def test_every_single_bit_is_watched(small):
    content, load = small
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CheckpointError):
            load(damaged)


def test_a_file_cut_anywhere_or_longer_is_refused(small):
    content, load = small
    for n in range(len(content)):
        with pytest.raises(CheckpointError):
            load(content[:n])
    for more in (b"\0", b" ", content):
        with pytest.raises(CheckpointError):
            load(content + more)


def test_random_damage_is_refused(small):
    """Bytes overwritten, left out, doubled: in the header, in its length and in the data."""
    content, load = small
    generator = random.Random(0)
    for _ in range(1500):
        a, b = sorted(generator.sample(range(len(content) + 1), 2))
        piece = generator.choice([b"", content[a:b] * 2, bytes(b - a), generator.randbytes(b - a), b"0", b"[", b'"'])
        damaged = content[:a] + piece + content[b:]
        if damaged != content:
            with pytest.raises(CheckpointError):
                load(damaged)


TOKENS = ["{", "}", "[", "]", ":", ",", '"a"', '"b"', '"dtype"', '"shape"', '"data_offsets"', '"__metadata__"', '"F32"', '"F64"',
    '"BF16"', '"BOOL"', '"I64"', '"U9"', "0", "1", "2", "4", "8", "16", "-1", "-0", "1.5", "1e3", "NaN", "Infinity", "null", "true",
    str(2**31), str(2**63), str(2**64), "9" * 5000, '"\\ud800"', '"\\u0061"', '"\0"', " ", '"checksum"', '"version"', '"value:a"']  # fmt: skip


def test_headers_of_random_tokens_load_or_are_refused(small):
    """Grown from headers that are right, so that each check is reached."""
    _, load = small
    generator = random.Random(1)
    right = json.dumps({"__metadata__": {"value:a": "1"}, "a": entry(), "b": entry("U8", (3,), (8, 11))})
    loaded = 0
    for _ in range(3000):
        text = right
        for _ in range(generator.randint(1, 3)):
            a = generator.randrange(len(text) + 1)
            text = text[:a] + generator.choice(TOKENS) + text[a + generator.choice([0, 1, 1, 3]) :]
        content = raw(text.encode("utf-8", "surrogatepass"), bytes(generator.choice([11, 11, 11, 0, 12])))
        with contextlib.suppress(CheckpointError):
            loaded += bool(load(content))
    assert loaded < 1500


@pytest.mark.skipif(os.name != "posix", reason="files of POSIX")
@pytest.mark.parametrize("kind", ["directory", "fifo", "device", "link to a fifo"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / "a"
    if kind == "directory":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(tmp_path / "fifo")
        path = tmp_path / "fifo" if kind == "fifo" else path
        if kind != "fifo":
            path.symlink_to(tmp_path / "fifo")
    with alarm(20), pytest.raises(CheckpointError, match="directory, a pipe or a device"):
        load_checkpoint(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "a")


def test_many_names_are_looked_through_in_linear_time(tmp_path):
    names = [f'"{i}":{json.dumps(entry(shape=(0,), offsets=(0, 0)))}' for i in range(200_000)]
    (tmp_path / "a").write_bytes(raw(f"{{{','.join([*names, names[-1]])}}}".encode()))
    with alarm(30), pytest.raises(CheckpointError, match="'199999' twice"):
        load_checkpoint(tmp_path / "a")


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_huge_file_that_lies_costs_no_memory(tmp_path):
    """A terabyte by its size, of which nothing is on disk: refused by the header, before anything of that size is made."""
    program = """if True:
        import resource, struct, sys
        from adjoint.train import CheckpointError, load_checkpoint
        resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
        for length, end in ((99_000_000, 0), (2, 0), (2**40 - 8, 0), (100, 2**40 - 108)):
            with open(sys.argv[1], "wb") as file:
                said = '{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (end, end) if end else "{}"
                file.write(struct.pack("<Q", length) + said.encode().ljust(length if end else 2))
                file.truncate(2**40)
            try:
                load_checkpoint(sys.argv[1])
            except CheckpointError as error:
                print(str(error).splitlines()[0])
    """
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a")], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0 and len(run.stdout.splitlines()) == 4, run.stdout + run.stderr
    assert run.stdout.endswith("it does not fit into memory\n")
