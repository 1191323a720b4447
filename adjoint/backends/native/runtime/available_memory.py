"""How much memory this process may still take: what the machine has, and what limits allow."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.platform == "linux":
    import resource


def available_bytes() -> int | None:
    """Bytes that can be had; None where the operating system does not say."""
    if sys.platform != "linux":
        return None
    found = [n for n in (_of_machine(), _of_group(Path("/sys/fs/cgroup")), _of_limit()) if n is not None]
    return max(min(found), 0) if found else None


def _of_machine() -> int | None:
    """Memory that is free or can be made so, and swap."""
    table = _table(Path("/proc/meminfo"))
    if "MemAvailable:" not in table:
        return None
    return (table["MemAvailable:"] + table.get("SwapFree:", 0)) * 1024


def _of_group(folder: Path) -> int | None:
    """What the control group of a container leaves; the cache of files makes way."""
    try:
        most = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    if not most.isdigit():
        return None
    held = _table(folder / "memory.stat")
    return int(most) - used + held.get("active_file", 0) + held.get("inactive_file", 0)


def _of_limit() -> int | None:
    """What the limit of the process's address space leaves."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    size = _table(Path("/proc/self/status")).get("VmSize:")
    return None if most == resource.RLIM_INFINITY or size is None else most - size * 1024


def _table(path: Path) -> dict[str, int]:
    """The numbers of a file of names and numbers."""
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
