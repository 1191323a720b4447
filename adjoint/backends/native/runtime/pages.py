"""Pages of memory: in what pieces a large arena goes back to the operating system, and where it begins for that."""

from __future__ import annotations

PAGE, LARGE_PAGE = 1 << 12, 1 << 21
LARGE = 4 * LARGE_PAGE  # bytes of a part that goes by large pages


def page_size(size: int) -> int:
    """The pages by which a part of so many bytes goes, and at which an arena of so many begins."""
    return LARGE_PAGE if size >= LARGE else PAGE
