"""mindspore.dataset: in which order the samples of a source are taken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint.ops.functional.random import randint


def generator() -> np.random.Generator:
    """A generator that starts from a sample of the program's own one."""
    return np.random.default_rng(int(randint(0, 2**31 - 1, ())))


class Sampler:
    """Base of samplers: a subclass writes `__iter__`, which gives indices below `dataset_size`."""

    def __init__(self, num_samples: int | None = None) -> None:
        self.num_samples, self.dataset_size = num_samples, 0
        self.child: Any = None

    def __iter__(self) -> Any:
        raise NotImplementedError("Sampler's subclasses must implement __iter__.")

    def add_child(self, sampler: Any) -> None:
        """A sampler whose indices this one chooses among."""
        self.child = sampler

    def indices(self, size: int) -> list[int]:
        """The indices for a dataset of so many samples."""
        base = None if self.child is None else self.child.indices(size)
        self.dataset_size = size if base is None else len(base)
        found = [int(i) for i in self]
        found = found if self.num_samples is None else found[: self.num_samples]
        return found if base is None else [base[i] for i in found]


class SequentialSampler(Sampler):
    """Samples one after another, from an index on."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.start_index = start_index or 0

    def __iter__(self) -> Any:
        return iter(range(self.start_index, self.dataset_size))


class RandomSampler(Sampler):
    """Samples in random order."""

    def __init__(self, replacement: bool = False, num_samples: int | None = None, shuffle: Any = None) -> None:
        super().__init__(num_samples)
        self.replacement = replacement

    def __iter__(self) -> Any:
        if self.replacement:
            return iter(generator().integers(self.dataset_size, size=self.num_samples or self.dataset_size))
        return iter(generator().permutation(self.dataset_size))


class SubsetSampler(Sampler):
    """Samples at these indices."""

    def __init__(self, indices: Any, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.chosen = [int(i) for i in (indices if isinstance(indices, Iterable) else [indices])]

    def __iter__(self) -> Any:
        return iter(self.chosen)


class SubsetRandomSampler(SubsetSampler):
    """Samples at these indices, in random order."""

    def __iter__(self) -> Any:
        return iter(generator().permutation(self.chosen))


class WeightedRandomSampler(Sampler):
    """Samples at random, by weights."""

    def __init__(self, weights: list[float], num_samples: int | None = None, replacement: bool = True) -> None:
        super().__init__(num_samples)
        self.weights, self.replacement = np.asarray(weights, float), replacement

    def __iter__(self) -> Any:
        count = self.num_samples or len(self.weights)
        return iter(generator().choice(len(self.weights), count, self.replacement, self.weights / self.weights.sum()))


class DistributedSampler(Sampler):
    """The samples of one of several processes."""

    def __init__(
        self, num_shards: int, shard_id: int, shuffle: bool = True, num_samples: int | None = None, offset: int = -1
    ) -> None:
        super().__init__(num_samples)
        self.num_shards, self.shard_id, self.shuffle = num_shards, shard_id, shuffle

    def __iter__(self) -> Any:
        order = generator().permutation(self.dataset_size) if self.shuffle else np.arange(self.dataset_size)
        size = -(-self.dataset_size // self.num_shards)
        return iter(np.resize(order, size * self.num_shards)[self.shard_id :: self.num_shards])


class PKSampler(Sampler):
    """Not provided: it needs classes of images in folders."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("mindspore.dataset.PKSampler is not provided by adjoint.mindspore")
