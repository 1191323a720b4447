"""mindspore.dataset: GeneratorDataset, NumpySlicesDataset, MindDataset and MnistDataset."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from adjoint.data.idx_files import read_idx
from adjoint.mindspore import mindrecord
from adjoint.mindspore.dataset import samplers as S
from adjoint.mindspore.dataset.datasets import Dataset
from adjoint.mindspore.dataset.rows import Row, as_names, as_row


def _sampler(given: Any, shuffle: Any, shards: Any, shard: Any, count: int | None) -> Any:
    if given is not None:
        if shuffle is not None:
            raise RuntimeError("sampler and shuffle cannot be specified at the same time.")
        if isinstance(given, S.Sampler):
            return given
        return S.SubsetSampler(list(given))
    if shards is not None:
        return S.DistributedSampler(shards, shard, bool(shuffle), count)
    return S.RandomSampler(num_samples=count) if shuffle else S.SequentialSampler(num_samples=count)


class _Indexed(Dataset):
    """A source whose samples can be taken by index, in the order of a sampler."""

    def __init__(self, columns: list[str], sampler: Any) -> None:
        super().__init__(columns)
        self.sampler = sampler

    def _count(self) -> int:
        raise NotImplementedError

    def _at(self, index: int) -> Row:
        raise NotImplementedError

    def rows(self) -> Iterator[Row]:
        for index in self.sampler.indices(self._count()):
            yield self._checked(self._at(index))

    def _checked(self, row: Row) -> Row:
        if len(row) != len(self._columns):
            raise RuntimeError(
                f"Invalid columns, the size of column names should be equal to the size of a row: {len(self._columns)} and "
                f"{len(row)}."
            )
        return row

    def _length(self) -> int:
        return len(self.sampler.indices(self._count()))


class GeneratorDataset(_Indexed):
    """Samples of an object with `__getitem__` and `__len__`, of an iterable, or of a function that gives an iterator."""

    def __init__(
        self, source: Any, column_names: Any = None, column_types: Any = None, schema: Any = None, num_samples: int | None = None,
        num_parallel_workers: int = 1, shuffle: bool | None = None, sampler: Any = None, num_shards: Any = None,
        shard_id: Any = None, python_multiprocessing: bool = True, max_rowsize: Any = None, batch_sampler: Any = None,
        collate_fn: Any = None,
    ) -> None:  # fmt: skip
        if column_names is None:
            raise ValueError("Neither columns_names nor schema are provided.")
        if batch_sampler is not None or collate_fn is not None:
            raise NotImplementedError("GeneratorDataset: batch_sampler and collate_fn are not provided")
        if not (callable(source) or isinstance(source, Iterable) or hasattr(source, "__getitem__")):
            raise TypeError("The source must be a generator function, an iterator or an object with __getitem__.")
        self.items, self.count = source, num_samples
        self.by_index = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if sampler is not None and not self.by_index:
            raise RuntimeError("sampler is not supported if source does not have attribute '__getitem__'.")
        mixed = self.by_index if shuffle is None and sampler is None else shuffle
        super().__init__(as_names(column_names), _sampler(sampler, mixed, num_shards, shard_id, num_samples))
        self.dtypes = None if column_types is None else [np.dtype(t) for t in column_types]

    def _count(self) -> int:
        return len(self.items)

    def _at(self, index: int) -> Row:
        return as_row(self.items[index])

    def rows(self) -> Iterator[Row]:
        found = super().rows() if self.by_index else self._iterated()
        for row in found:
            yield row if self.dtypes is None else tuple(x.astype(t) for x, t in zip(row, self.dtypes, strict=True))

    def _iterated(self) -> Iterator[Row]:
        for number, sample in enumerate(self.items() if callable(self.items) else self.items):
            if self.count is not None and number >= self.count:
                return
            yield self._checked(as_row(sample))

    def _length(self) -> int:
        return super()._length() if self.by_index else sum(1 for _ in self._iterated())


class NumpySlicesDataset(_Indexed):
    """Rows of arrays, lists, or a dict of them."""

    def __init__(
        self, data: Any, column_names: Any = None, num_samples: int | None = None, num_parallel_workers: int = 1,
        shuffle: bool | None = None, sampler: Any = None, num_shards: Any = None, shard_id: Any = None,
    ) -> None:  # fmt: skip
        if isinstance(data, dict):
            names, parts = list(data), list(data.values())
        elif isinstance(data, tuple):
            names, parts = [f"column_{k}" for k in range(len(data))], list(data)
        else:
            names, parts = ["column_0"], [data]
        self.arrays = [np.asarray(part) for part in parts]
        if len({len(a) for a in self.arrays}) != 1:
            raise ValueError("Different length of columns in the dataset.")
        columns = names if column_names is None else as_names(column_names)
        if len(columns) != len(self.arrays):
            raise ValueError(f"column_names must have {len(self.arrays)} names, but got {columns}.")
        mixed = True if shuffle is None and sampler is None else shuffle
        super().__init__(columns, _sampler(sampler, mixed, num_shards, shard_id, num_samples))

    def _count(self) -> int:
        return len(self.arrays[0])

    def _at(self, index: int) -> Row:
        return tuple(np.asarray(a[index]) for a in self.arrays)


class MindDataset(_Indexed):
    """The rows of files that `mindspore.mindrecord.FileWriter` of this package wrote."""

    def __init__(
        self, dataset_files: Any, columns_list: Any = None, num_parallel_workers: Any = None, shuffle: Any = None,
        num_shards: Any = None, shard_id: Any = None, sampler: Any = None, padded_sample: Any = None, num_padded: Any = None,
        num_samples: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if padded_sample is not None or num_padded is not None or cache is not None:
            raise NotImplementedError("MindDataset: padded samples and caches are not provided")
        files = [dataset_files] if isinstance(dataset_files, str) else list(dataset_files)
        found = [row for file in files for row in mindrecord.rows(file, columns_list)]
        self.items = (
            found if columns_list else [dict(sorted(row.items())) for row in found]
        )  # as MindSpore orders columns
        if not self.items:
            raise RuntimeError(f"MindDataset: there are no rows in {', '.join(files)}")
        mixed = True if shuffle is None and sampler is None else shuffle
        super().__init__(list(self.items[0]), _sampler(sampler, mixed, num_shards, shard_id, num_samples))

    def _count(self) -> int:
        return len(self.items)

    def _at(self, index: int) -> Row:
        return as_row(tuple(self.items[index].values()))


class MnistDataset(_Indexed):
    """The images and labels of MNIST's files in a folder: uint8 of shape (28, 28, 1), and uint32."""

    _labels: Any = np.uint32

    def __init__(
        self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: Any = None,
        shuffle: bool | None = None, sampler: Any = None, num_shards: Any = None, shard_id: Any = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if not os.path.isdir(dataset_dir):
            raise ValueError(f"The folder {dataset_dir} does not exist or is not a directory or permission denied!")
        if usage not in (None, "train", "test", "all"):
            raise ValueError(f"usage must be 'train', 'test' or 'all', but got {usage!r}.")
        starts = {"train": ["train"], "test": ["t10k"]}.get(usage or "all", ["train", "t10k"])
        images = [p for s in starts for p in sorted(glob.glob(os.path.join(dataset_dir, f"{s}*images*")))]
        labels = [p for s in starts for p in sorted(glob.glob(os.path.join(dataset_dir, f"{s}*labels*")))]
        if not images or len(images) != len(labels):
            raise RuntimeError(f"There are no MNIST files of usage {usage or 'all'} in {dataset_dir}.")
        self.images = np.concatenate([read_idx(p) for p in images])[..., None]
        self.labels = np.concatenate([read_idx(p) for p in labels]).astype(self._labels)
        mixed = True if shuffle is None and sampler is None else shuffle
        super().__init__(["image", "label"], _sampler(sampler, mixed, num_shards, shard_id, num_samples))

    def num_classes(self) -> int:
        return 10

    def _count(self) -> int:
        return len(self.images)

    def _at(self, index: int) -> Row:
        return self.images[index], np.asarray(self.labels[index])


class FashionMnistDataset(MnistDataset):
    """The same files with images of clothes."""
