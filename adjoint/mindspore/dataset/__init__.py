"""mindspore.dataset: pipelines of samples from Python objects, arrays and MNIST's files."""

from __future__ import annotations

from typing import Any

from adjoint.mindspore.dataset import samplers as samplers
from adjoint.mindspore.dataset import text as text
from adjoint.mindspore.dataset import transforms as transforms
from adjoint.mindspore.dataset import vision as vision
from adjoint.mindspore.dataset.datasets import Dataset as Dataset
from adjoint.mindspore.dataset.datasets import ZipDataset as ZipDataset
from adjoint.mindspore.dataset.samplers import DistributedSampler as DistributedSampler
from adjoint.mindspore.dataset.samplers import PKSampler as PKSampler
from adjoint.mindspore.dataset.samplers import RandomSampler as RandomSampler
from adjoint.mindspore.dataset.samplers import Sampler as Sampler
from adjoint.mindspore.dataset.samplers import SequentialSampler as SequentialSampler
from adjoint.mindspore.dataset.samplers import SubsetRandomSampler as SubsetRandomSampler
from adjoint.mindspore.dataset.samplers import SubsetSampler as SubsetSampler
from adjoint.mindspore.dataset.samplers import WeightedRandomSampler as WeightedRandomSampler
from adjoint.mindspore.dataset.sources import FashionMnistDataset as FashionMnistDataset
from adjoint.mindspore.dataset.sources import GeneratorDataset as GeneratorDataset
from adjoint.mindspore.dataset.sources import MindDataset as MindDataset
from adjoint.mindspore.dataset.sources import MnistDataset as MnistDataset
from adjoint.mindspore.dataset.sources import NumpySlicesDataset as NumpySlicesDataset


class _Settings:
    """mindspore.dataset.config: settings that change nothing here, but for the seed."""

    def set_seed(self, seed: int) -> None:
        """Seed the random order of samples, and everything else."""
        from adjoint.ops.functional.random import set_seed

        set_seed(seed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


config = _Settings()


def zip(datasets: Any) -> ZipDataset:
    """Columns of several datasets side by side."""
    return ZipDataset(datasets)


def __getattr__(name: str) -> Any:
    if name[:1].isupper() or name == "audio":
        from adjoint.mindspore.absent import Absent

        return Absent(f"mindspore.dataset.{name}")
    raise AttributeError(f"module 'mindspore.dataset' has no attribute {name!r}")
