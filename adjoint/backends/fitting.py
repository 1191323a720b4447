"""What needs more memory than there is says so before it starts, with settings that would fit."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

from adjoint.backends import held_memory
from adjoint.backends.memory_report import MemoryReport, shown
from adjoint.backends.native.runtime import available_memory

CHECKED_BYTES = 1 << 28  # what needs more is asked whether it fits
SPARE = 0.9  # of what can be had, to be filled by an estimate
MOST_PARTS = 1024


def check_that_it_fits(needed: int, report: Callable[[], MemoryReport]) -> None:
    """Raise MemoryError if a call needs more than can be had; `report` says what for."""
    available = available_memory.available_bytes() if needed > CHECKED_BYTES else None
    if available is None or needed <= available:
        return
    if held_memory.release_memory():
        available = available_memory.available_bytes() or available
        if needed <= available:
            return
    found = report()
    raise MemoryError(
        f"this function needs {shown(needed)} beyond its arguments, and {shown(available)} can be had. "
        f"{settings_that_fit(found, available)}\n{found}"
    )


def settings_that_fit(report: MemoryReport, available: int) -> str:
    """What a user can change, with what it would take by estimate where that fits."""
    room = int(SPARE * available)
    if report.result_bytes > available:
        return (
            f"Its results alone are {shown(report.result_bytes)}: let it overwrite arguments that are not used again "
            "(`jit(f, donate=...)`; `compiled_step` does), or compute in a smaller dtype."
        )
    said = []
    if (size := with_square_root(report)) <= room:
        said.append(f'`grad(f, checkpoint="sqrt")` (about {shown(size)})')
    if (parts := parts_that_fit(report, room)) is not None:
        said.append(f"a batch in {parts[0]} parts by `GradientAccumulation({parts[0]})` (about {shown(parts[1])})")
    fits = f"By estimate these fit, if it is a gradient: {', or '.join(said)}. " if said else ""
    return (
        f"{fits}`jit(f, memory={room})` finds what to compute again, or says that it cannot; `ad.checkpoint` marks parts by hand; smaller "
        "batches and overwriting arguments that are not used again (`jit(f, donate=...)`) take less, too."
    )


def with_square_root(report: MemoryReport) -> int:
    """The peak, if of n values of which most are kept for the backward pass 2·√n were held at a time."""
    kept = [h.bytes for h in report.at_peak if h.bytes]
    if len(kept) < 9:
        return report.peak_bytes
    largest = max(kept)
    count = sum(h >= largest / 16 for h in kept)
    return report.result_bytes + ceil(min(2 / sqrt(count), 1.0) * report.arena_bytes)


def parts_that_fit(report: MemoryReport, room: int) -> tuple[int, int] | None:
    """In how many parts a batch fits, and the peak then: intermediates of one part, and gradients twice."""
    parts = 2
    while parts <= MOST_PARTS:
        size = 2 * report.result_bytes + ceil(report.arena_bytes / parts)
        if size <= room:
            return parts, size
        parts *= 2
    return None
