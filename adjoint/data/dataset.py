"""Datasets: each stage reads from the one before it.

The stages work on NumPy arrays; a program that iterates over a Dataset receives Tensors. A sample, or a batch of samples,
is a tuple of columns, `for x, y in dataset`, or a dict of them by name, `for row in dataset: row["x"]`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, ShapeError, called_at
from adjoint.core.tensor import Tensor
from adjoint.data.prefetch import read_ahead
from adjoint.ops.functional.random import randint

Row = tuple[np.ndarray, ...] | dict[str, np.ndarray]


class Dataset:
    """Samples that can be gone through again and again. Every stage leaves the one before it as it was.

    >>> from adjoint.data import ArrayDataset
    >>> for x, y in ArrayDataset([1.0, 2.0, 3.0], [0, 1, 0]).map(lambda x, y: (10 * x, y)).batch(2):
    ...     print(x, y)
    [10. 20.] [0 1]
    [30.] [0]
    """

    def rows(self) -> Iterator[Row]:
        """The samples as NumPy arrays: to be written by each class."""
        raise NotImplementedError(f"{type(self).__name__} has no `rows`: write there what its samples are")

    def __len__(self) -> int:
        raise ArgumentTypeError(f"the number of samples of this {type(self).__name__} is not known")

    def __iter__(self) -> Iterator[Any]:
        rows = self.rows()
        try:
            for row in rows:
                yield _each(row, Tensor)
        finally:
            if hasattr(rows, "close"):  # a loop that is left early ends the thread that reads ahead
                rows.close()

    def batches(self, size: int) -> Iterator[Row]:
        """The samples `size` at a time, each column stacked; the last ones may be fewer."""
        rows = self.rows()
        while group := list(itertools.islice(rows, size)):
            yield _stacked(group)

    # ------------------------------------------------------------ stages

    def shuffle(self, seed: int | None = None, buffer_size: int | None = None) -> Dataset:
        """The samples in random order, another one at each pass.

        The order follows from the seed and the number of the pass; without a seed it follows from `adjoint.set_seed`.
        `buffer_size` holds that many samples at a time, for sources too large for memory, and mixes only nearby ones.

        >>> from adjoint.data import ArrayDataset
        >>> shuffled = ArrayDataset(range(4)).shuffle(seed=1)
        >>> passes = [[int(x) for x, in shuffled] for _ in range(2)]
        >>> [sorted(order) for order in passes], passes[0] == [int(x) for x, in ArrayDataset(range(4)).shuffle(seed=1)]
        ([[0, 1, 2, 3], [0, 1, 2, 3]], True)
        """
        return _Shuffled(self, seed, None if buffer_size is None else _positive("shuffle", buffer_size))

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """Samples joined along a new first axis; `drop_remainder` leaves out a last batch that is not full.

        >>> from adjoint.data import ArrayDataset
        >>> [x.shape for x, in ArrayDataset(range(5)).batch(2, drop_remainder=True)]
        [(2,), (2,)]
        """
        return _Batched(self, _positive("batch", batch_size), drop_remainder)

    def map(self, fn: Callable[..., Any], column: int | str | None = None) -> Dataset:
        """Each sample (after `batch`: each batch) through a function of its columns, or one column through it.

        A sample that is a dict is given to the function whole; the function may give back a dict or a tuple.

        >>> from adjoint.data import ArrayDataset
        >>> [float(x) for x, y in ArrayDataset([1.0, 2.0], [0, 1]).map(lambda x: x / 2, column=0)]
        [0.5, 1.0]
        >>> [float(x) for x, in ArrayDataset({"x": [1.0, 2.0]}).map(lambda row: row["x"] / 2)]
        [0.5, 1.0]
        """
        return _Mapped(self, fn, column)

    def repeat(self, count: int | None = None) -> Dataset:
        """The samples `count` times over, without a count for ever.

        >>> from adjoint.data import ArrayDataset
        >>> [int(x) for x, in ArrayDataset([1, 2]).repeat(2)]
        [1, 2, 1, 2]
        """
        return _Repeated(self, None if count is None else _positive("repeat", count))

    def take(self, count: int) -> Dataset:
        """The first samples.

        >>> from adjoint.data import ArrayDataset
        >>> [int(x) for x, in ArrayDataset(range(9)).take(2)]
        [0, 1]
        """
        return _Taken(self, _positive("take", count))

    def prefetch(self, count: int = 2) -> Dataset:
        """The same samples, made ready by another thread up to `count` ahead. An error there is raised here.

        What the stages before it draw at random follows from `adjoint.set_seed`, in a stream of its own: whatever the program draws meanwhile.

        >>> from adjoint.data import ArrayDataset
        >>> [int(x) for x, in ArrayDataset(range(3)).prefetch()]
        [0, 1, 2]
        """
        return _Prefetched(self, _positive("prefetch", count))


class ArrayDataset(Dataset):
    """Arrays whose first axes run over the same samples; a dict of arrays gives samples that are dicts.

    >>> from adjoint.data import ArrayDataset
    >>> dataset = ArrayDataset([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    >>> len(dataset), [int(y) for x, y in dataset]
    (2, [0, 1])
    >>> for row in ArrayDataset({"image": [[1.0], [2.0]], "label": [0, 1]}).batch(2):
    ...     print(row["image"].shape, row["label"])
    (2, 1) [0 1]
    """

    def __init__(self, *arrays: Any) -> None:
        self.names: tuple[str, ...] | None = None
        if len(arrays) == 1 and isinstance(arrays[0], Mapping):
            self.names, arrays = tuple(arrays[0]), tuple(arrays[0].values())
        elif any(isinstance(a, Mapping) for a in arrays):
            raise ArgumentError(f"ArrayDataset: give arrays, or one dict of them{called_at()}")
        if not arrays:
            raise ArgumentError(f"ArrayDataset: give at least one array{called_at()}")
        self.arrays = tuple(map(_column, arrays))
        shapes = [a.shape for a in self.arrays]
        if () in shapes or len({s[0] for s in shapes}) != 1:
            raise ShapeError(
                f"ArrayDataset: the first axes must have one size, that of the samples; the shapes are "
                f"{', '.join(map(str, shapes))}{called_at()}"
            )

    def __len__(self) -> int:
        return len(self.arrays[0])

    def rows(self) -> Iterator[Row]:
        return map(self._named, zip(*self.arrays, strict=True))

    def _named(self, columns: tuple[np.ndarray, ...]) -> Row:
        return columns if self.names is None else dict(zip(self.names, columns, strict=True))

    def at(self, order: Any) -> Row:
        """The samples at these places: an array of positions, or a slice."""
        return self._named(tuple(a[order] for a in self.arrays))

    def batches(self, size: int) -> Iterator[Row]:
        return (self.at(slice(k, k + size)) for k in range(0, len(self), size))

    def split(self, share: float, seed: int | None = None) -> tuple[ArrayDataset, ArrayDataset]:
        """Two datasets, the first with this share of the samples, chosen at random.

        >>> from adjoint.data import ArrayDataset
        >>> [len(part) for part in ArrayDataset(range(10)).split(0.8, seed=0)]
        [8, 2]
        """
        if not 0 < share < 1:
            raise ArgumentError(f"split: the share must lie between 0 and 1, not {share}{called_at()}")
        order = _generator(seed, 0).permutation(len(self))
        cut = round(share * len(self))
        parts = self.at(order[:cut]), self.at(order[cut:])
        first, rest = (ArrayDataset(part) if isinstance(part, dict) else ArrayDataset(*part) for part in parts)
        return first, rest


class GeneratorDataset(Dataset):
    """Samples from a function that returns a new iterator each time, or from anything that can be iterated again.

    A sample that is neither a tuple nor a dict is one column. `length` is what `len` answers, where it is known.

    >>> from adjoint.data import GeneratorDataset
    >>> def squares():
    ...     for k in range(3):
    ...         yield k, k * k
    >>> [int(y) for x, y in GeneratorDataset(squares)]
    [0, 1, 4]
    """

    def __init__(self, source: Callable[[], Iterable[Any]] | Iterable[Any], length: int | None = None) -> None:
        if isinstance(source, Iterator):
            raise ArgumentError(
                f"GeneratorDataset: an iterator can be gone through only once; give the function that makes it{called_at()}"
            )
        self.source = source
        self.length = len(source) if length is None and isinstance(source, Sized) else length

    def __len__(self) -> int:
        return super().__len__() if self.length is None else self.length

    def rows(self) -> Iterator[Row]:
        return map(_row, self.source() if callable(self.source) else self.source)


class _Shuffled(Dataset):
    def __init__(self, source: Dataset, seed: int | None, buffer_size: int | None) -> None:
        self.source, self.seed, self.buffer_size, self.passes = source, seed, buffer_size, 0

    def __len__(self) -> int:
        return len(self.source)

    def _fresh(self) -> np.random.Generator:
        self.passes += 1
        return _generator(self.seed, self.passes - 1)

    def rows(self) -> Iterator[Row]:
        generator = self._fresh()
        if self.buffer_size is not None:
            yield from _mixed(self.source.rows(), self.buffer_size, generator)
        else:
            samples: Any = self.source if isinstance(self.source, ArrayDataset) else list(self.source.rows())
            pick = samples.at if isinstance(samples, ArrayDataset) else samples.__getitem__
            for k in generator.permutation(len(samples)):
                yield pick(k)

    def batches(self, size: int) -> Iterator[Row]:
        if self.buffer_size is not None or not isinstance(self.source, ArrayDataset):
            yield from super().batches(size)
        else:  # whole arrays are indexed once a batch
            order = self._fresh().permutation(len(self.source))
            for k in range(0, len(order), size):
                yield self.source.at(order[k : k + size])


class _Batched(Dataset):
    def __init__(self, source: Dataset, size: int, drop: bool) -> None:
        self.source, self.size, self.drop = source, size, drop

    def __len__(self) -> int:
        whole, rest = divmod(len(self.source), self.size)
        return whole + (rest > 0 and not self.drop)

    def rows(self) -> Iterator[Row]:
        for row in self.source.batches(self.size):
            first = next(iter(row.values())) if isinstance(row, dict) else row[0]
            if not self.drop or len(first) == self.size:
                yield row


class _Mapped(Dataset):
    def __init__(self, source: Dataset, fn: Callable[..., Any], column: int | str | None) -> None:
        self.source, self.fn, self.column = source, fn, column

    def __len__(self) -> int:
        return len(self.source)

    def rows(self) -> Iterator[Row]:
        return map(self._changed, self.source.rows())

    def _changed(self, row: Row) -> Row:
        if self.column is None:
            return _row(self.fn(row) if isinstance(row, dict) else self.fn(*row))
        changed: Any = dict(row) if isinstance(row, dict) else list(row)
        try:
            old = changed[self.column]
        except (KeyError, IndexError, TypeError):
            there = list(row) if isinstance(row, dict) else f"0 to {len(row) - 1}"
            raise ArgumentError(f"map: there is no column {self.column!r}; there are {there}") from None
        changed[self.column] = _column(self.fn(old))
        return changed if isinstance(row, dict) else tuple(changed)


class _Repeated(Dataset):
    def __init__(self, source: Dataset, count: int | None) -> None:
        self.source, self.count = source, count

    def __len__(self) -> int:
        if self.count is None:
            raise ArgumentTypeError("a dataset repeated for ever has no length")
        return self.count * len(self.source)

    def rows(self) -> Iterator[Row]:
        passes = itertools.count() if self.count is None else range(self.count)
        for _ in passes:
            empty = True
            for row in self.source.rows():
                empty = False
                yield row
            if empty:  # or the loop would never end
                return


class _Taken(Dataset):
    def __init__(self, source: Dataset, count: int) -> None:
        self.source, self.count = source, count

    def __len__(self) -> int:
        try:
            return min(self.count, len(self.source))
        except TypeError:  # a source without end
            return self.count

    def rows(self) -> Iterator[Row]:
        return itertools.islice(self.source.rows(), self.count)


class _Prefetched(Dataset):
    def __init__(self, source: Dataset, count: int) -> None:
        self.source, self.count = source, count

    def __len__(self) -> int:
        return len(self.source)

    def rows(self) -> Iterator[Row]:
        return read_ahead(self.source.rows(), self.count)


def _generator(seed: int | None, number: int) -> np.random.Generator:
    """The generator of one pass. Without a seed it starts from a sample of the program's own generator."""
    start = [int(randint(0, 2**62, ()))] if seed is None else [seed, number]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(start)))


def _mixed(rows: Iterator[Row], size: int, generator: np.random.Generator) -> Iterator[Row]:
    """Each sample leaves a full buffer at random as the next one comes in."""
    held = list(itertools.islice(rows, size))
    for row in rows:
        k = int(generator.integers(size))
        held[k], row = row, held[k]
        yield row
    for k in generator.permutation(len(held)):
        yield held[k]


def _column(value: Any) -> np.ndarray:
    array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
    if array.dtype.kind in "OUSMm":
        raise ArgumentError(f"a dataset holds numbers, not {type(value).__name__} of dtype {array.dtype}{called_at()}")
    return array


def _each(row: Row, fn: Callable[[np.ndarray], Any]) -> Any:
    """A function of each column, in a tuple or dict as they were."""
    return {name: fn(x) for name, x in row.items()} if isinstance(row, dict) else tuple(fn(x) for x in row)


def _row(sample: Any) -> Row:
    if isinstance(sample, Mapping):
        if not sample:
            raise ArgumentError("a sample that is a dict needs at least one column")
        return {name: _column(value) for name, value in sample.items()}
    return tuple(map(_column, sample if isinstance(sample, tuple) else (sample,)))


def _stacked(group: Sequence[Row]) -> Row:
    if isinstance(group[0], dict):
        return _stacked_by_name(group)
    if any(isinstance(row, dict) for row in group):
        raise ShapeError("batch: some samples are dicts, some are not")
    if len({len(row) for row in group}) != 1:
        raise ShapeError(f"batch: the samples have {sorted({len(row) for row in group})} columns")
    return tuple(_joined(str(k), column) for k, column in enumerate(zip(*group, strict=True)))


def _stacked_by_name(group: Sequence[Any]) -> Row:
    names = list(group[0])
    for row in group:
        if not isinstance(row, dict) or set(row) != set(names):
            found = sorted(row) if isinstance(row, dict) else "no names"
            raise ShapeError(f"batch: the samples have the columns {sorted(names)} and {found}")
    return {name: _joined(repr(name), [row[name] for row in group]) for name in names}


def _joined(name: str, column: Sequence[np.ndarray]) -> np.ndarray:
    if len(shapes := {c.shape for c in column}) != 1:
        raise ShapeError(
            f"batch: the samples of column {name} have shapes {', '.join(map(str, sorted(shapes)))}; "
            f"bring them to one shape with `map` first"
        )
    return np.stack(column)


def _positive(what: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ArgumentError(f"{what}: the count must be an integer of at least 1, not {value!r}{called_at()}")
    return int(value)
