"""Which files and directories the object cache refuses: those that others could write or replace, and what is no plain file."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from adjoint.backends.native.runtime.object_cache import SUFFIX, Cache
from adjoint.testing.fuzz import alarm

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "objects")


def file_of(store: Cache, key: str) -> Path:
    return store.directory / (key + SUFFIX)


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o722])
def test_a_file_that_others_can_write_is_ignored_and_replaced(store: Cache, mode: int) -> None:
    store.put("a", b"code")
    file_of(store, "a").chmod(mode)
    assert store.get("a") is None
    store.put("a", b"code")
    assert store.get("a") == b"code"


@posix
def test_a_file_with_a_second_name_is_ignored_and_replaced(store: Cache, tmp_path: Path) -> None:
    store.put("a", b"code")
    os.link(file_of(store, "a"), tmp_path / "second")
    assert store.get("a") is None
    store.put("a", b"code")
    assert store.get("a") == b"code" and (tmp_path / "second").exists()


def fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def listener(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


STRANGE = {
    "fifo": fifo,
    "socket": listener,
    "directory": lambda path: path.mkdir(0o700),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to itself": lambda path: path.symlink_to(path),
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "unreadable": lambda path: path.touch(0o000),
    "huge and sparse": lambda path: (path.touch(0o600), os.truncate(path, 2**40)),
}


@posix
@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_object_does_not_block_or_harm(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as short:  # a socket's path must be
        store = Cache(Path(short) / "objects")
        STRANGE[kind](file_of(store, "a"))
        with alarm(20):
            assert store.get("a") is None
            store.put("a", b"code")
            assert store.get("a") == (None if kind == "directory" else b"code")
            assert [p.name for p in store.directory.iterdir()] == ["a" + SUFFIX]


@posix
def test_a_device_is_not_opened(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """To open one may do something, such as rewind a tape."""
    store.put("a", b"code")
    real_stat, real_open, opened = os.stat, os.open, []

    def stat_of(path: object, **options: object) -> os.stat_result:
        found = real_stat(path, **options)  # type: ignore[arg-type, call-overload]
        return os.stat_result((stat.S_IFCHR | 0o600, *found[1:10])) if path == "a" + SUFFIX else found

    monkeypatch.setattr(os, "stat", stat_of)
    monkeypatch.setattr(
        os, "open", lambda path, *more, **options: opened.append(path) or real_open(path, *more, **options)
    )
    assert store.get("a") is None
    assert opened == [store.directory]


@posix
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_parent_that_all_can_write_is_refused_unless_sticky(tmp_path: Path, depth: int) -> None:
    place = tmp_path / "a" / "b" / "c" / "objects"
    Cache(place)
    parent = place.parents[depth]
    parent.chmod(0o777)
    with pytest.raises(PermissionError, match=f"replaced by other users.*chmod o-w {parent}"):
        Cache(place)
    parent.chmod(0o1777)
    Cache(place)


@posix
def test_a_parent_of_a_stranger_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat

    def seen(path: object, **options: object) -> os.stat_result:
        found = real(path, **options)  # type: ignore[arg-type, call-overload]
        strange = str(path) == str(tmp_path)
        return os.stat_result((*found[:4], os.getuid() + 7, *found[5:10])) if strange else found

    monkeypatch.setattr(os, "stat", seen)
    with pytest.raises(PermissionError, match="another user, who owns"):
        Cache(tmp_path / "objects")


@posix
def test_parents_are_made_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = Cache(tmp_path / "x" / "y" / "objects")
        store.put("a", b"code")
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o700
    assert store.get("a") == b"code"


@posix
def test_a_link_to_a_directory_is_refused_and_one_above_it_is_settled(tmp_path: Path) -> None:
    Cache(tmp_path / "real" / "objects")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "objects")
    with pytest.raises(PermissionError, match="is a link. Name what it stands for"):
        Cache(tmp_path / "link")
    (tmp_path / "above").symlink_to(tmp_path / "real")
    store = Cache(tmp_path / "above" / "objects")
    assert store.directory == (tmp_path / "real" / "objects").resolve()


@posix
def test_a_directory_replaced_or_opened_later_is_not_used(store: Cache, tmp_path: Path) -> None:
    store.put("a", b"code")
    store.directory.chmod(0o777)
    assert store.get("a") is None
    store.put("b", b"code")
    assert not file_of(store, "b").exists()
    store.directory.chmod(0o700)
    assert store.get("a") == b"code"
    moved = store.directory.rename(tmp_path / "moved")
    store.directory.symlink_to(moved)
    assert store.get("a") is None
    store.put("b", b"code")
    assert sorted(p.name for p in moved.iterdir()) == ["a" + SUFFIX]
