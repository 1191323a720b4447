"""mindspore.communication: one process is all there is."""

from __future__ import annotations

from typing import Any

GlobalComm = type("GlobalComm", (), {"BACKEND": "", "WORLD_COMM_GROUP": "world", "INITED": False})


def get_rank(group: str = "world") -> int:
    """The number of this process: 0."""
    return 0


def get_local_rank(group: str = "world") -> int:
    """The number of this process on its machine: 0."""
    return 0


def get_group_size(group: str = "world") -> int:
    """How many processes there are: 1."""
    return 1


def get_local_rank_size(group: str = "world") -> int:
    """How many processes there are on this machine: 1."""
    return 1


def init(backend_name: str | None = None) -> None:
    """Join several processes, which is not provided."""
    raise NotImplementedError("mindspore.communication.init is not provided by adjoint.mindspore: there is one process")


def release() -> None:
    """Leave the group of processes."""


def __getattr__(name: str) -> Any:
    from adjoint.mindspore.absent import Absent

    if name.startswith("_"):
        raise AttributeError(f"module 'mindspore.communication' has no attribute {name!r}")
    return Absent(f"mindspore.communication.{name}")
