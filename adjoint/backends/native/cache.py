"""Compiled objects on disk: private, named by content, verified before use, the least recently used evicted."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
import warnings
from pathlib import Path

MAGIC = b"adjoint object 1\n"
DIGEST = hashlib.sha256().digest_size
HEADER = len(MAGIC) + 8 + DIGEST
SUFFIX, PARTIAL = ".obj", ".part"
LIMIT = 512 * 2**20
ABANDONED = 3600.0  # seconds after which a half-written file has no writer any more


class Cache:
    """A directory of objects, shared by every process of one user.

    A directory that others could write to is refused: what lies in it becomes machine code of this process.
    """

    def __init__(self, directory: str | os.PathLike[str], limit_bytes: int = LIMIT) -> None:
        self.directory = Path(directory).expanduser().resolve()  # what a link means is settled now
        self.limit_bytes = limit_bytes
        self._unchecked = 0  # bytes that may still be written before the directory is measured again
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_private(self.directory)

    def get(self, key: str) -> bytes | None:
        """The object stored under `key`, or None when there is none that can be trusted."""
        path = self.directory / (key + SUFFIX)
        try:
            stored = read_own_file(path)
        except OSError:
            return None
        payload = unpack(key, stored)
        with contextlib.suppress(OSError):  # another process may have evicted it meanwhile
            if payload is None:
                path.unlink()
            else:
                os.utime(path)
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Store an object. A full or read-only disk costs the next process a compilation, never this one its result."""
        with contextlib.suppress(OSError):
            handle, partial = tempfile.mkstemp(suffix=PARTIAL, dir=self.directory)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(pack(key, payload))
                os.replace(partial, self.directory / (key + SUFFIX))
            except OSError:
                os.unlink(partial)
                raise
            self._unchecked -= HEADER + len(payload)
            if self._unchecked < 0:
                self._evict()

    def _evict(self) -> None:
        """Remove the least recently used objects until the rest is below the limit."""
        found = []
        for entry in os.scandir(self.directory):
            with contextlib.suppress(OSError):
                info = entry.stat(follow_symlinks=False)
                if entry.name.endswith(SUFFIX):
                    found.append((info.st_mtime_ns, info.st_size, entry.path))
                elif entry.name.endswith(PARTIAL) and info.st_mtime < time.time() - ABANDONED:
                    os.unlink(entry.path)
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self.limit_bytes:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
        # Other processes write too, so measure again long before this process alone could fill the rest.
        self._unchecked = (self.limit_bytes - total) // 8


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


def require_private(directory: Path) -> None:
    """Raise PermissionError unless only this user can reach the directory."""
    info = os.stat(directory)
    if not stat.S_ISDIR(info.st_mode):
        raise PermissionError(f"the cache {directory} is not a directory")
    if os.name != "posix":
        return  # a Windows profile is private by its access list, which these bits do not show
    if info.st_uid != os.getuid():
        raise PermissionError(f"the cache {directory} belongs to another user. Choose another by ADJOINT_CACHE.")
    if info.st_mode & 0o077:
        raise PermissionError(f"the cache {directory} is open to other users: chmod 700 {directory}")


def read_own_file(path: Path) -> bytes:
    """The bytes of a plain file of this user; a link or a stranger's file raises OSError."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or (os.name == "posix" and info.st_uid != os.getuid()):
            raise PermissionError(f"{path} is not a plain file of this user")
        return file.read()


def default_directory() -> Path:
    """Where a user's caches belong on this system."""
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "adjoint" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adjoint"


_current: Cache | None = None
_chosen = False


def set_cache(directory: str | os.PathLike[str] | None, limit_bytes: int = LIMIT) -> None:
    """Keep compiled objects in `directory`; None keeps none."""
    global _current, _chosen
    _current = None if directory is None else Cache(directory, limit_bytes)
    _chosen = True


def current() -> Cache | None:
    """The cache in use: what `set_cache` chose, else ADJOINT_CACHE (empty or 0: none), else the user's cache folder."""
    if not _chosen:
        wanted = os.environ.get("ADJOINT_CACHE")
        try:
            set_cache(None if wanted in ("", "0") else wanted or default_directory())
        except (OSError, RuntimeError) as problem:  # RuntimeError: this user has no home
            warnings.warn(f"compiled code is not kept on disk: {problem}", RuntimeWarning, stacklevel=2)
            set_cache(None)
    return _current
