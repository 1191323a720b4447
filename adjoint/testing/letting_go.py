"""Tapes with checkpoints on small values, which they keep otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adjoint.transforms import offload_tape, stored_records


@contextmanager
def nothing_is_small() -> Iterator[None]:
    """Let tapes with checkpoints let go of values of any size inside the block, and write them to files."""
    before = stored_records.SMALL, offload_tape.PAGE
    stored_records.SMALL, offload_tape.PAGE = 0, 1
    try:
        yield
    finally:
        stored_records.SMALL, offload_tape.PAGE = before
