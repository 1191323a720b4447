"""mindspore.dataset: samples in named columns, mapped, shuffled, batched and iterated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.mindspore.dataset import samplers as S
from adjoint.mindspore.dataset.rows import BatchInfo, Row, Rows, as_array, as_names, as_row, stacked

_seed = itertools.count()


class Dataset:
    """Base of datasets: rows of arrays under the names of columns.

    >>> from adjoint.mindspore import dataset
    >>> data = dataset.NumpySlicesDataset({"x": [1, 2, 3], "y": [4, 5, 6]}, shuffle=False)
    >>> data = data.map(lambda x: x * 10, input_columns="x").batch(2)
    >>> [x.asnumpy().tolist() for x, _ in data.create_tuple_iterator()], data.get_dataset_size(), data.get_col_names()
    ([[10, 20], [30]], 2, ['x', 'y'])
    """

    def __init__(self, columns: list[str], source: Dataset | None = None) -> None:
        self._columns, self.source = columns, source

    def rows(self) -> Iterator[Row]:
        """One pass over the rows: to be written by each class."""
        raise NotImplementedError

    def _length(self) -> int:
        return sum(1 for _ in self.rows())

    # ------------------------------------------------------------ pipelines

    def map(
        self, operations: Any, input_columns: Any = None, output_columns: Any = None, column_order: Any = None,
        num_parallel_workers: Any = None, python_multiprocessing: bool = False, cache: Any = None, callbacks: Any = None,
        max_rowsize: Any = None, offload: Any = None, **kwargs: Any,
    ) -> Dataset:  # fmt: skip
        """Rows with operations applied to some columns, one after another."""
        return _Mapped(self, operations, input_columns, output_columns)

    def batch(
        self, batch_size: int, drop_remainder: bool = False, num_parallel_workers: Any = None, **kwargs: Any
    ) -> Dataset:
        """Rows stacked, so many at a time."""
        if isinstance(batch_size, bool) or not (isinstance(batch_size, int) or callable(batch_size)):
            raise TypeError(f"Argument batch_size with value {batch_size!r} is not of type [int, function].")
        if isinstance(batch_size, int) and batch_size < 1:
            raise ValueError(
                f"Input batch_size is not within the required interval of [1, 2147483647], but got {batch_size}."
            )
        return _Batched(self, batch_size, drop_remainder, kwargs)

    def shuffle(self, buffer_size: int) -> Dataset:
        """Rows in random order, out of a buffer."""
        if isinstance(buffer_size, bool) or not isinstance(buffer_size, int):
            raise TypeError(f"Argument buffer_size with value {buffer_size!r} is not of type [int].")
        if buffer_size < 2:
            raise ValueError("Input buffer_size is not within the required interval of [2, 2147483647].")
        return _Shuffled(self, buffer_size)

    def repeat(self, count: int | None = None) -> Dataset:
        """Several passes; without end if `count` is None or -1."""
        return _Repeated(self, -1 if count is None else count)

    def take(self, count: int = -1) -> Dataset:
        """The first rows."""
        return self if count == -1 else _Part(self, 0, count)

    def skip(self, count: int) -> Dataset:
        """All but the first rows."""
        return _Part(self, count, None)

    def zip(self, datasets: Any) -> Dataset:
        """Columns of several datasets side by side."""
        others = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
        return ZipDataset((self, *others))

    def concat(self, datasets: Any) -> Dataset:
        """Rows of several datasets one after another."""
        return _Concat([self, *([datasets] if isinstance(datasets, Dataset) else datasets)])

    __add__ = concat

    def filter(
        self, predicate: Callable[..., Any], input_columns: Any = None, num_parallel_workers: Any = None
    ) -> Dataset:
        """The rows for which a function says yes."""
        return _Filtered(self, predicate, input_columns)

    def project(self, columns: Any) -> Dataset:
        """Some columns, in this order."""
        return _Projected(self, as_names(columns))

    def rename(self, input_columns: Any, output_columns: Any) -> Dataset:
        """Other names for columns."""
        new = dict(zip(as_names(input_columns), as_names(output_columns), strict=True))
        return _Same(self, [new.get(name, name) for name in self._columns])

    def split(self, sizes: list[Any], randomize: bool = True) -> tuple[Dataset, ...]:
        """Parts of these sizes, or these shares of the whole."""
        count = self._length()
        parts = [round(s * count) if isinstance(s, float) else s for s in sizes]
        parts[-1] += count - sum(parts) if isinstance(sizes[-1], float) else 0
        if sum(parts) != count:
            raise RuntimeError(f"The sum of split sizes {sizes} is not the size of the dataset {count}.")
        order = np.random.default_rng(next(_seed)).permutation(count) if randomize else np.arange(count)
        ends = np.cumsum([0, *parts])
        return tuple(_Chosen(self, order[a:b]) for a, b in itertools.pairwise(ends))

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """What a function makes of the dataset."""
        return apply_func(self)

    # ------------------------------------------------------------ iteration

    def create_tuple_iterator(
        self, columns: Any = None, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = True
    ) -> Any:
        """An iterable of lists of Tensors, one list a row; each `for` is another pass."""
        chosen = self if columns is None else self.project(columns)
        return Rows(chosen, output_numpy, named=False)

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = True) -> Any:
        """An iterable of dicts of Tensors by column; each `for` is another pass."""
        return Rows(self, output_numpy, named=True)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.create_tuple_iterator())

    def __len__(self) -> int:
        return self.get_dataset_size()

    # ------------------------------------------------------------ facts

    def get_dataset_size(self) -> int:
        """The number of rows, or of batches."""
        return self._length()

    def get_batch_size(self) -> int:
        """The rows of a batch."""
        return 1 if self.source is None else self.source.get_batch_size()

    def get_repeat_count(self) -> int:
        """The number of passes."""
        return 1 if self.source is None else self.source.get_repeat_count()

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def output_shapes(self, estimate: bool = False) -> list[list[int]]:
        """The shapes of the columns of the first row."""
        return [list(x.shape) for x in next(self.rows())]

    def output_types(self) -> list[np.dtype]:
        """The dtypes of the columns of the first row."""
        return [x.dtype for x in next(self.rows())]

    def num_classes(self) -> int | None:
        """How many classes there are, where known."""
        return None if self.source is None else self.source.num_classes()

    def get_class_indexing(self) -> dict[str, Any]:
        """Names of classes, where known."""
        return {}

    def reset(self) -> None:
        """Each pass begins anew by itself."""


class _Same(Dataset):
    def __init__(self, source: Dataset, columns: list[str] | None = None) -> None:
        super().__init__(source.get_col_names() if columns is None else columns, source)
        self.of: Any = source

    def rows(self) -> Iterator[Row]:
        return self.of.rows()

    def _length(self) -> int:
        return self.of._length()


class _Mapped(_Same):
    def __init__(self, source: Dataset, operations: Any, inputs: Any, outputs: Any) -> None:
        self.operations = list(operations) if isinstance(operations, (list, tuple)) else [operations]
        for operation in self.operations:
            if not callable(operation):
                raise TypeError(f"Argument operations must be functions or transforms, but got {type(operation)}.")
        known = source.get_col_names()
        self.inputs = known[:1] if inputs is None else as_names(inputs)
        if missing := [name for name in self.inputs if name not in known]:
            raise RuntimeError(f"Invalid column, column name: {missing[0]} doesn't exist in the dataset {known}.")
        self.outputs = self.inputs if outputs is None else as_names(outputs)
        self.places = [known.index(name) for name in self.inputs]
        kept = [name for name in known if name not in self.inputs]
        at = self.places[0]
        same = len(self.outputs) == len(self.inputs)
        renamed = dict(zip(self.inputs, self.outputs, strict=True)) if same else {}
        self.same = same
        super().__init__(source, [renamed.get(n, n) for n in known] if same else kept[:at] + self.outputs + kept[at:])

    def rows(self) -> Iterator[Row]:
        for row in self.of.rows():
            values = [row[i] for i in self.places]
            for operation in self.operations:
                values = list(as_row(operation(*values)))
            if len(values) != len(self.outputs):
                raise RuntimeError(f"map: {len(values)} results for the columns {self.outputs}.")
            if self.same:
                new = list(row)
                for i, value in zip(self.places, values, strict=True):
                    new[i] = value
            else:
                rest = [x for i, x in enumerate(row) if i not in self.places]
                new = rest[: self.places[0]] + values + rest[self.places[0] :]
            yield tuple(new)


class _Batched(_Same):
    def __init__(self, source: Dataset, size: Any, drop: bool, options: dict[str, Any]) -> None:
        super().__init__(source)
        self.size, self.drop = size, drop
        self.per_batch_map = options.get("per_batch_map")
        known = source.get_col_names()
        self.inputs = known if options.get("input_columns") is None else as_names(options["input_columns"])
        if self.per_batch_map is not None and options.get("output_columns") is not None:
            self._columns = [n for n in known if n not in self.inputs] + as_names(options["output_columns"])

    def get_batch_size(self) -> int:
        return self.size

    def _length(self) -> int:
        whole, rest = divmod(self.of._length(), self.size)
        return whole + (rest > 0 and not self.drop)

    def rows(self) -> Iterator[Row]:
        source, number = self.of.rows(), 0
        while group := list(itertools.islice(source, self.size if isinstance(self.size, int) else self.size(number))):
            if self.drop and len(group) < self.size:
                return
            yield self._joined(group, number)
            number += 1

    def _joined(self, group: list[Row], number: int) -> Row:
        if self.per_batch_map is None:
            return tuple(map(stacked, zip(*group, strict=True)))
        known = self.of.get_col_names()
        lists = {name: [row[i] for row in group] for i, name in enumerate(known)}
        info = BatchInfo(number)
        changed = self.per_batch_map(*(lists[n] for n in self.inputs), info)
        changed = changed if isinstance(changed, tuple) else (changed,)
        rest = [stacked(lists[n]) for n in known if n not in self.inputs]
        if len(self._columns) == len(known) and all(n in known for n in self._columns):
            new = dict(zip(self.inputs, changed, strict=True))
            return tuple(stacked(new[n]) if n in new else stacked(lists[n]) for n in known)
        return (*rest, *map(stacked, changed))


class _Shuffled(_Same):
    def __init__(self, source: Dataset, size: int) -> None:
        super().__init__(source)
        self.size = size

    def rows(self) -> Iterator[Row]:
        generator, source = S.generator(), self.of.rows()
        held = list(itertools.islice(source, self.size))
        for row in source:
            k = int(generator.integers(len(held)))
            held[k], row = row, held[k]
            yield row
        yield from (held[k] for k in generator.permutation(len(held)))


class _Repeated(_Same):
    def __init__(self, source: Dataset, count: int) -> None:
        if count == 0 or count < -1:
            raise ValueError("count should be either -1 or positive integer.")
        super().__init__(source)
        self.count = count

    def get_repeat_count(self) -> int:
        return self.count * self.of.get_repeat_count()

    def _length(self) -> int:
        return abs(self.count) * self.of._length()

    def rows(self) -> Iterator[Row]:
        for _ in itertools.count() if self.count == -1 else range(self.count):
            yield from self.of.rows()


class _Part(_Same):
    def __init__(self, source: Dataset, start: int, count: int | None) -> None:
        if start < 0 or (count is not None and count <= 0):
            raise ValueError("count must be a positive integer, or -1.")
        super().__init__(source)
        self.start, self.stop = start, count

    def _length(self) -> int:
        left = max(self.of._length() - self.start, 0)
        return left if self.stop is None else min(left, self.stop)

    def rows(self) -> Iterator[Row]:
        return itertools.islice(self.of.rows(), self.start, self.stop)


class _Chosen(_Same):
    def __init__(self, source: Dataset, order: np.ndarray) -> None:
        super().__init__(source)
        self.order = order

    def _length(self) -> int:
        return len(self.order)

    def rows(self) -> Iterator[Row]:
        held = list(self.of.rows())
        return (held[k] for k in self.order)


class _Filtered(_Same):
    def __init__(self, source: Dataset, predicate: Any, inputs: Any) -> None:
        super().__init__(source)
        names = source.get_col_names() if inputs is None else as_names(inputs)
        self.predicate, self.places = predicate, [source.get_col_names().index(n) for n in names]

    def _length(self) -> int:
        return sum(1 for _ in self.rows())

    def rows(self) -> Iterator[Row]:
        return (row for row in self.of.rows() if bool(as_array(self.predicate(*(row[i] for i in self.places)))))


class _Projected(_Same):
    def __init__(self, source: Dataset, columns: list[str]) -> None:
        known = source.get_col_names()
        if missing := [c for c in columns if c not in known]:
            raise RuntimeError(f"Invalid column, column name: {missing[0]} doesn't exist in the dataset {known}.")
        super().__init__(source, columns)
        self.places = [known.index(c) for c in columns]

    def rows(self) -> Iterator[Row]:
        return (tuple(row[i] for i in self.places) for row in self.of.rows())


class _Concat(_Same):
    def __init__(self, parts: list[Dataset]) -> None:
        super().__init__(parts[0])
        self.parts = parts

    def _length(self) -> int:
        return sum(part._length() for part in self.parts)

    def rows(self) -> Iterator[Row]:
        return itertools.chain.from_iterable(part.rows() for part in self.parts)


class ZipDataset(Dataset):
    """Columns of several datasets side by side."""

    def __init__(self, datasets: Any) -> None:
        self.parts = tuple(datasets)
        super().__init__([name for part in self.parts for name in part.get_col_names()], self.parts[0])

    def _length(self) -> int:
        return min(part._length() for part in self.parts)

    def rows(self) -> Iterator[Row]:
        return (sum(rows, ()) for rows in zip(*(part.rows() for part in self.parts), strict=False))
