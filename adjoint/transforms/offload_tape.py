"""The strategy "offload": what a tape keeps is written to a file, and read when the sweep comes to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value, make
from adjoint.core.errors import OffloadError, called_at
from adjoint.transforms.checkpointed_tape import is_held_elsewhere
from adjoint.transforms.dual import Dual
from adjoint.transforms.records import FORGOTTEN, Record
from adjoint.transforms.segmented_tape import SegmentedTape, is_idle
from adjoint.transforms.stored_records import Away, StoredRecord, is_recomputable

PAGE = 4096  # bytes: smaller values stay in memory


class SpillFile:
    """A file without a name, which the system removes when it is closed or the process ends."""

    def __init__(self, directory: str | None) -> None:
        self._descriptor, self._path = tempfile.mkstemp(prefix="adjoint-", dir=directory)
        self._size = 0
        try:
            os.unlink(self._path)
            self._path = ""
        except PermissionError:  # a system that does not remove files that are open
            pass

    def write(self, array: np.ndarray) -> int:
        """Append the bytes of a contiguous array; where they begin."""
        place, left = self._size, _bytes_of(array)
        while left:
            written = os.pwrite(self._descriptor, left, self._size)
            self._size += written
            left = left[written:]
        return place

    def read(self, place: int, array: np.ndarray) -> None:
        """Fill a contiguous array with what begins there."""
        left = _bytes_of(array)
        while left:
            count = os.preadv(self._descriptor, [left], place)
            if not count:
                raise OSError("the file is shorter than what was written to it")
            place += count
            left = left[count:]

    def __del__(self) -> None:
        if (descriptor := getattr(self, "_descriptor", None)) is not None:
            os.close(descriptor)
            if self._path:
                os.unlink(self._path)


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


class Spilled(Away):
    """An array in a file, with the order in which its axes lie in memory."""

    __slots__ = ("axes", "dtype", "file", "place", "shape")

    def __init__(self, file: SpillFile, array: np.ndarray, axes: Sequence[int]) -> None:
        lying = array.transpose(axes)
        self.file, self.axes = file, axes
        self.shape, self.dtype = lying.shape, lying.dtype
        self.place = file.write(lying)

    def back(self) -> np.ndarray:
        array = np.empty(self.shape, self.dtype)
        self.file.read(self.place, array)
        return array.transpose(np.argsort(self.axes))


class SpilledTensor(Away):
    """A Tensor of vmap or of half precision whose array is in a file."""

    __slots__ = ("extra", "inner", "trace")

    def __init__(self, inner: Away, x: Value) -> None:
        self.inner, self.trace, self.extra = inner, x._trace, x._extra

    def back(self) -> Any:
        return make(self.inner.back(), self.trace, self.extra)


class OffloadTape(SegmentedTape):
    """Writes each value to a file when nothing but the tape holds it any more."""

    def __init__(self, what: str, directory: str | None) -> None:
        super().__init__(what)
        self._directory = directory
        self._file: SpillFile | None = None
        self._read: list[tuple[int, StoredRecord, Away]] = []  # what has been read back, latest first

    def tidy(self) -> None:
        if not self.ended and 8 * self._unseen >= len(self._live):
            self._look()
            self.release()
            self._put_back_unheld()

    def let_go_by_user(self, record: StoredRecord) -> None:
        if is_idle(record):
            self.drop(record)
        elif record.bytes >= PAGE and (spilled := self._spilled(record.y)) is not None:
            record.y = spilled

    def _spilled(self, y: Any) -> Away | None:
        """The value in the file; None for what stays in memory."""
        if isinstance(y, Value):
            inner = self._spilled(y._value) if is_recomputable(y) and type(y._trace) is not Dual else None
            return None if inner is None else SpilledTensor(inner, y)
        if not isinstance(y, np.ndarray) or y.nbytes < PAGE:
            return None
        axes = sorted(range(y.ndim), key=lambda i: -y.strides[i])
        if not y.transpose(axes).flags.c_contiguous:
            return None
        try:
            if self._file is None:
                self._file = SpillFile(self._directory)
            return Spilled(self._file, y, axes)
        except OSError as error:
            place = self._directory or tempfile.gettempdir()
            raise OffloadError(
                f"{self.what}: checkpoints could not be written to {place!r}: {error.strerror or error}. Free some of it, or name another "
                f"place: GradientCheckpoint('offload', directory=...){called_at()}"
            ) from error

    # ------------------------------------------------------------ the sweep

    def sweep(self, seeds: list[tuple[Record, Any]], again: bool = False) -> dict[Record, Any]:
        with self.sweeping:
            try:
                return super().sweep(seeds, again)
            finally:
                self._put_back(0)
                if not again:
                    self._file = None

    def bring(self, targets: Iterable[Record]) -> None:
        targets = list(targets)
        super().bring(targets)
        self._load(targets)

    def restore(self, again: Sequence[StoredRecord], targets: set[Record]) -> None:
        for record in again:
            self._load(record.sources())
            super().restore([record], targets)
        for record in again:
            if not record.wanted and record not in targets:
                self.drop(record)

    def _load(self, records: Iterable[Record]) -> None:
        """Read what is in the file, once for all that need it."""
        for r in records:
            if isinstance(r, StoredRecord) and isinstance(r.y, (Spilled, SpilledTensor)):
                away, r.y = r.y, r.y.back()
                heappush(self._read, (-r.order, r, away))

    def passed(self, record: Record, grads: dict[int, Any]) -> None:
        super().passed(record, grads)
        self._put_back(record.order)

    def _put_back_unheld(self) -> None:
        """Let go of what another tape has asked for and no longer holds."""
        held = [entry for entry in self._read if is_held_elsewhere(entry[1])]
        for _, record, away in self._read:
            if not is_held_elsewhere(record):
                record.y = away
        self._read = sorted(held, key=lambda entry: entry[0])

    def _put_back(self, order: int) -> None:
        """Let go of what was read from this order on: it is in the file."""
        while self._read and -self._read[0][0] >= order:
            _, record, away = heappop(self._read)
            if record.y is not FORGOTTEN:
                record.y = away
