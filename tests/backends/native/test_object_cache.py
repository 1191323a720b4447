"""The object cache: only what is whole, ours and wanted comes out of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from adjoint.backends.native.runtime import object_cache
from adjoint.backends.native.runtime.object_cache import SUFFIX, Cache

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "objects")


@pytest.fixture
def fresh_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has not asked for the cache yet."""
    monkeypatch.setattr(object_cache, "_current", None)
    monkeypatch.setattr(object_cache, "_chosen", False)


def file_of(store: Cache, key: str) -> Path:
    return store.directory / (key + SUFFIX)


def test_what_goes_in_comes_out(store: Cache) -> None:
    assert store.get("a") is None
    store.put("a", b"code")
    store.put("b", b"")
    assert store.get("a") == b"code"
    assert store.get("b") == b""
    assert Cache(store.directory).get("a") == b"code"


@pytest.mark.parametrize(
    "harm",
    [
        lambda stored: stored[:-1],
        lambda stored: stored + b"x",
        lambda stored: stored[:-1] + bytes([stored[-1] ^ 1]),
        lambda stored: bytes([stored[0] ^ 1]) + stored[1:],
        lambda stored: b"",
    ],
    ids=["truncated", "longer", "altered", "another format", "empty"],
)
def test_a_damaged_file_is_ignored_and_replaced(store: Cache, harm) -> None:
    store.put("a", b"code")
    path = file_of(store, "a")
    path.write_bytes(harm(path.read_bytes()))
    assert store.get("a") is None
    assert not path.exists()
    store.put("a", b"code")
    assert store.get("a") == b"code"


def test_a_renamed_file_is_ignored(store: Cache) -> None:
    store.put("a", b"code")
    file_of(store, "a").rename(file_of(store, "b"))
    assert store.get("b") is None


@posix
def test_the_directory_is_private(store: Cache) -> None:
    assert store.directory.stat().st_mode & 0o777 == 0o700
    store.put("a", b"code")
    assert file_of(store, "a").stat().st_mode & 0o077 == 0


@posix
def test_an_open_directory_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with pytest.raises(PermissionError, match="chmod 700"):
        Cache(tmp_path)


@posix
def test_a_strangers_directory_is_refused(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: stranger)
    with pytest.raises(PermissionError, match="belongs to another user"):
        Cache(store.directory)


@posix
def test_a_strangers_file_is_ignored(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put("a", b"code")
    stranger = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: stranger)
    assert store.get("a") is None
    assert file_of(store, "a").exists()


@posix
def test_a_link_is_not_followed(store: Cache, tmp_path: Path) -> None:
    store.put("a", b"code")
    elsewhere = file_of(store, "a").rename(tmp_path / "elsewhere")
    file_of(store, "a").symlink_to(elsewhere)
    assert store.get("a") is None


def test_every_single_bit_counts(store: Cache) -> None:
    store.put("a", b"code")
    whole = file_of(store, "a").read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        assert object_cache.unpack("a", bytes(damaged)) is None
    for length in range(len(whole)):
        assert object_cache.unpack("a", whole[:length]) is None


@pytest.mark.parametrize("broken", ["write_new_file", "os.replace", "os.scandir", "os.utime"])
def test_a_full_or_read_only_disk_is_not_an_error(store: Cache, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"adjoint.backends.native.runtime.object_cache.{broken}", full)
        store.put("a", b"code")
        assert store.get("a") in (None, b"code")
    assert not [p for p in store.directory.iterdir() if p.suffix == object_cache.PARTIAL]
    store.put("a", b"code")
    assert store.get("a") == b"code"


def test_an_interrupt_leaves_nothing_behind(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.put("a", b"code")
    assert not list(store.directory.iterdir())


@posix
def test_a_disk_that_fills_up_while_an_object_is_written(tmp_path: Path) -> None:
    program = """if True:
        import resource, sys
        from adjoint.backends.native.runtime.object_cache import Cache
        store = Cache(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        store.put("a", bytes(5000))
        assert store.get("a") is None
        store.put("b", bytes(500))
        assert store.get("b") == bytes(500)
    """
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "objects")], check=True, timeout=60)
    assert [p.name for p in (tmp_path / "objects").iterdir()] == ["b" + SUFFIX]


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    store = Cache(tmp_path / "objects", limit_bytes=3500)
    store.put("a", bytes(1000))
    lost = store.directory / "lost.part"
    lost.touch()
    for path in (file_of(store, "a"), lost):
        os.utime(path, (4e9, 4e9))
    for i in range(20):
        store.put(str(i), bytes(1000))
        assert sum(p.stat().st_size for p in store.directory.iterdir()) <= 3500
    assert not lost.exists()


def test_a_file_is_not_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        Cache(tmp_path / "file")


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    store = Cache(tmp_path / "objects", limit_bytes=5000)
    for age, key in enumerate("abcd"):
        store.put(key, bytes(1000))
        os.utime(file_of(store, key), (1000 + age, 1000 + age))
    assert store.get("a") is not None  # now it is the youngest
    store.put("e", bytes(1000))
    assert [key for key in "abcde" if store.get(key) is not None] == ["a", "c", "d", "e"]
    for i in range(50):
        store.put(str(i), bytes(1000))
        assert sum(p.stat().st_size for p in store.directory.iterdir()) <= 6000


def test_abandoned_files_are_removed(tmp_path: Path) -> None:
    store = Cache(tmp_path / "objects", limit_bytes=0)
    old, young = store.directory / "old.part", store.directory / "young.part"
    old.touch()
    young.touch()
    os.utime(old, (1, 1))
    store.put("a", b"code")
    assert [p.name for p in store.directory.iterdir()] == ["young.part"]


def test_a_lost_directory_is_not_an_error(store: Cache) -> None:
    store.directory.rmdir()
    store.put("a", b"code")
    assert store.get("a") is None


@pytest.mark.parametrize("value", ["", "0"])
def test_the_environment_turns_it_off(value: str, fresh_choice: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOINT_CACHE", value)
    assert object_cache.current() is None


def test_the_environment_places_it(fresh_choice: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ADJOINT_CACHE", str(tmp_path / "here"))
    found = object_cache.current()
    assert found is not None and found.directory == (tmp_path / "here").resolve()
    assert object_cache.current() is found


@posix
def test_the_default_place(fresh_choice: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ADJOINT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = object_cache.current()
    assert found is not None and found.directory == (tmp_path / "adjoint").resolve()


@posix
def test_an_unusable_place_warns_and_turns_it_off(
    fresh_choice: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("ADJOINT_CACHE", str(tmp_path))
    with pytest.warns(RuntimeWarning, match="not kept on disk: .* open to other users"):
        assert object_cache.current() is None
    assert object_cache.current() is None


@posix
def test_several_threads_warn_once(fresh_choice: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("ADJOINT_CACHE", str(tmp_path))
    choose, together = object_cache._choose, threading.Barrier(4)
    monkeypatch.setattr(object_cache, "_choose", lambda: time.sleep(0.1) or choose())
    threads = [threading.Thread(target=lambda: (together.wait(), object_cache.current())) for _ in range(4)]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(seen) == 1


@posix
def test_a_warning_made_an_error_comes_once(
    fresh_choice: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("ADJOINT_CACHE", str(tmp_path))
    with pytest.raises(RuntimeWarning):
        object_cache.current()
    assert object_cache.current() is None


def test_set_cache(fresh_choice: None, tmp_path: Path) -> None:
    object_cache.set_cache(tmp_path / "mine", limit_bytes=10)
    found = object_cache.current()
    assert found is not None and found.limit_bytes == 10
    object_cache.set_cache(None)
    assert object_cache.current() is None


HAMMER = """
import sys
from adjoint.backends.native.runtime.object_cache import Cache
store = Cache(sys.argv[1], limit_bytes=30_000)
for i in range(400):
    key = str(i % 40)
    payload = key.encode() * 700
    found = store.get(key)
    assert found in (None, payload)
    store.put(key, payload)
"""


def test_several_processes_share_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HAMMER, str(tmp_path / "objects")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
