"""Compiled objects on disk: private, named by content, verified before use, the least recently used evicted."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import secrets
import stat
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"adjoint object 1\n"
DIGEST = hashlib.sha256().digest_size
HEADER = len(MAGIC) + 8 + DIGEST
SUFFIX, PARTIAL = ".obj", ".part"
SYSTEM = (0, 65534)  # root; and what root of the machine is called inside a user namespace
LIMIT = 512 * 2**20
ABANDONED = 3600.0  # seconds after which a half-written file has no writer any more


class Cache:
    """A directory of objects, shared by every process of one user.

    A directory that others could write to or replace is refused: what lies in it becomes machine code of this process.
    Whatever goes wrong later costs a compilation, never an error: a get finds nothing, a put stores nothing.
    """

    def __init__(self, directory: str | os.PathLike[str], limit_bytes: int = LIMIT) -> None:
        self.directory = place_of(Path(directory).expanduser())
        self.limit_bytes = limit_bytes
        self._unchecked = 0  # bytes that may still be written before the directory is measured again
        make_private(self.directory)
        require_safe_parents(self.directory)
        with self._opened():
            pass

    def get(self, key: str) -> bytes | None:
        """The object stored under `key`, or None when there is none that can be trusted."""
        try:
            with self._opened() as folder:
                stored = read_own_file(folder, key + SUFFIX, self.limit_bytes)
                payload = unpack(key, stored)
                with contextlib.suppress(OSError):  # another process may have evicted it meanwhile
                    if payload is None:
                        os.unlink(folder.at(key + SUFFIX), dir_fd=folder.handle)
                    else:
                        os.utime(folder.at(key + SUFFIX), dir_fd=folder.handle)
                return payload
        except (OSError, MemoryError):
            return None

    def put(self, key: str, payload: bytes) -> None:
        """Store an object. A full or read-only disk costs the next process a compilation, never this one its result."""
        with contextlib.suppress(OSError, MemoryError), self._opened() as folder:
            partial = f"{key}.{secrets.token_hex(8)}{PARTIAL}"
            try:
                write_new_file(folder, partial, pack(key, payload))
                os.replace(
                    folder.at(partial), folder.at(key + SUFFIX), src_dir_fd=folder.handle, dst_dir_fd=folder.handle
                )
            except BaseException:  # also an interrupt: nothing may stay behind
                with contextlib.suppress(OSError):
                    os.unlink(folder.at(partial), dir_fd=folder.handle)
                raise
            self._unchecked -= HEADER + len(payload)
            if self._unchecked < 0:
                self._evict(folder)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Folder]:
        """The directory by a descriptor, examined: all that follows happens in this one, whatever its name becomes."""
        if os.name != "posix":
            yield Folder(self.directory, None)
            return
        handle = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            require_private(self.directory, os.fstat(handle))
            yield Folder(self.directory, handle)
        finally:
            os.close(handle)

    def _evict(self, folder: Folder) -> None:
        """Remove the least recently used objects until the rest is below the limit."""
        total, found, now = 0, [], time.time()
        with os.scandir(folder.at(".") if folder.handle is None else folder.handle) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    total += info.st_size
                    if entry.name.endswith(SUFFIX):
                        found.append((info.st_mtime_ns, info.st_size, entry.name))
                    elif (
                        entry.name.endswith(PARTIAL) and abs(now - info.st_mtime) > ABANDONED
                    ):  # or the clock was set back
                        os.unlink(folder.at(entry.name), dir_fd=folder.handle)
                        total -= info.st_size
        for _, size, name in sorted(found):
            if total <= self.limit_bytes:
                break
            with contextlib.suppress(OSError):
                os.unlink(folder.at(name), dir_fd=folder.handle)
                total -= size
        # Other processes write too, so measure again long before this process alone could fill the rest.
        self._unchecked = max(self.limit_bytes - total, 0) // 8


@dataclass(frozen=True, slots=True)
class Folder:
    """An open directory; on Windows, which knows no names relative to one, only its path."""

    path: Path
    handle: int | None

    def at(self, name: str) -> str:
        """A name in it, as the functions of `os` take it beside `dir_fd`."""
        return name if self.handle is not None else str(self.path / name)


def pack(key: str, payload: bytes) -> bytes:
    """The file of an object: magic, length, checksum, object."""
    return MAGIC + len(payload).to_bytes(8, "little") + checksum(key, payload) + payload


def unpack(key: str, stored: bytes) -> bytes | None:
    """The object in a file, or None when the file is truncated, altered, or belongs to another key."""
    payload = stored[HEADER:]
    return payload if stored == pack(key, payload) else None


def checksum(key: str, payload: bytes) -> bytes:
    """A digest of the object together with its name, so that a renamed file does not pass."""
    return hashlib.sha256(key.encode() + b"\0" + payload).digest()


def place_of(directory: Path) -> Path:
    """Where a directory really is. What links mean is settled now; the directory itself must not be one."""
    if directory.is_symlink():
        raise PermissionError(
            f"the cache {directory} is a link. Name what it stands for: {os.path.realpath(directory)}"
        )
    return directory.resolve()


def make_private(directory: Path) -> None:
    """Make a directory, and those above it that are missing, for this user alone."""
    missing = itertools.takewhile(lambda place: not place.exists(), (directory, *directory.parents))
    for place in reversed(list(missing)):
        with contextlib.suppress(FileExistsError):  # another process was quicker
            place.mkdir(mode=0o700)
    if not directory.is_dir():
        raise NotADirectoryError(f"the cache {directory} is not a directory")


def require_private(directory: Path, info: os.stat_result) -> None:
    """Raise PermissionError unless only this user can reach the directory."""
    if info.st_uid != os.getuid():
        raise PermissionError(f"the cache {directory} belongs to another user. Choose another by ADJOINT_CACHE.")
    if info.st_mode & 0o077:
        raise PermissionError(f"the cache {directory} is open to other users: chmod 700 {directory}")


def require_safe_parents(directory: Path) -> None:
    """Raise PermissionError if other users could put another directory in the place of this one."""
    if os.name != "posix":
        return  # a Windows profile is private by its access list, which these bits do not show
    for parent in directory.parents:
        info = os.stat(parent, follow_symlinks=False)
        if info.st_mode & stat.S_IWOTH and not info.st_mode & stat.S_ISVTX:
            raise PermissionError(
                f"the cache {directory} can be replaced by other users, who may write to {parent}: chmod o-w {parent}"
            )
        if info.st_uid not in (os.getuid(), *SYSTEM):
            raise PermissionError(
                f"the cache {directory} can be replaced by another user, who owns {parent}. Choose another by ADJOINT_CACHE."
            )


def read_own_file(folder: Folder, name: str, most: int) -> bytes:
    """The bytes of a plain file that this user alone can write; anything else raises OSError, and nothing blocks."""
    place, flags = folder.at(name), os.O_RDONLY | getattr(os, "O_BINARY", 0)
    require_own(name, os.stat(place, dir_fd=folder.handle, follow_symlinks=False), most)  # a device is not even opened
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(place, flags, dir_fd=folder.handle), "rb") as file:
        require_own(name, os.fstat(file.fileno()), most)
        return file.read(most + 1)


def require_own(name: str, info: os.stat_result, most: int) -> None:
    """Raise PermissionError unless this is a plain file of this user, with no other name, that nobody else can write."""
    if not stat.S_ISREG(info.st_mode) or info.st_size > most:
        raise PermissionError(f"{name} is not a plain file of a fair size")
    if os.name == "posix" and (info.st_uid != os.getuid() or info.st_mode & 0o022 or info.st_nlink != 1):
        raise PermissionError(f"{name} is not a file that this user alone can write")


def write_new_file(folder: Folder, name: str, content: bytes) -> None:
    """A file that was not there before, for this user alone."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(folder.at(name), flags, 0o600, dir_fd=folder.handle), "wb") as file:
        file.write(content)


def default_directory() -> Path:
    """Where a user's caches belong on this system."""
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "adjoint" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adjoint"


_current: Cache | None = None
_chosen = False
_choosing = threading.Lock()


def set_cache(directory: str | os.PathLike[str] | None, limit_bytes: int = LIMIT) -> None:
    """Keep compiled objects in `directory`; None keeps none."""
    global _current, _chosen
    _current = None if directory is None else Cache(directory, limit_bytes)
    _chosen = True


def current() -> Cache | None:
    """The cache in use: what `set_cache` chose, else ADJOINT_CACHE (empty or 0: none), else the user's cache folder."""
    if not _chosen:
        with _choosing:  # parts of a module are compiled by several threads
            problem = None if _chosen else _choose()
        if problem:
            warnings.warn(f"compiled code is not kept on disk: {problem}", RuntimeWarning, stacklevel=2)
    return _current


def _choose() -> Exception | None:
    """Set the cache by the environment; none if that cannot be used, and the reason."""
    wanted = os.environ.get("ADJOINT_CACHE")
    try:
        set_cache(None if wanted in ("", "0") else wanted or default_directory())
    except (OSError, RuntimeError) as problem:  # RuntimeError: this user has no home
        set_cache(None)
        return problem
    return None
