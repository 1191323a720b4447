"""Memory for what is not a result, given out and taken back in the order in which units run."""

from __future__ import annotations

ALIGN = 64


def _rounded(size: int) -> int:
    return -(-max(size, 1) // ALIGN) * ALIGN


class Arena:
    """Memory for what is not a result, planned while the code is written: places are used again when free."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # (offset, size), apart from each other

    def take(self, size: int) -> tuple[int, int]:
        """A place of so many bytes: the smallest free one that fits, else at the end."""
        room = _rounded(size)
        fitting = [(n, offset) for offset, n in self._free if n >= room]
        if fitting:
            n, offset = min(fitting)
            self._free.remove((offset, n))
            if n > room:
                self._free.append((offset + room, n - room))
            return offset, size
        self.size += room
        return self.size - room, size

    def give(self, place: tuple[int, int]) -> None:
        """Let a place be used again, joined with its free neighbours."""
        offset, size = place[0], _rounded(place[1])
        for other in [p for p in self._free if p[0] + p[1] == offset or p[0] == offset + size]:
            self._free.remove(other)
            offset, size = min(offset, other[0]), size + other[1]
        self._free.append((offset, size))
