"""Data: samples in order, shuffled, mapped, batched and read ahead; MNIST's file format; real digits.

>>> from adjoint import data
>>> images, labels = data.load_digits()
>>> batches = data.ArrayDataset(images, labels).shuffle(seed=0).batch(32)
>>> x, y = next(iter(batches))
>>> x.shape, y.shape, len(batches)
((32, 8, 8), (32,), 57)
"""

from adjoint.data.dataset import ArrayDataset as ArrayDataset
from adjoint.data.dataset import Dataset as Dataset
from adjoint.data.dataset import GeneratorDataset as GeneratorDataset
from adjoint.data.idx_files import load_digits as load_digits
from adjoint.data.idx_files import load_mnist as load_mnist
from adjoint.data.idx_files import read_idx as read_idx
from adjoint.data.idx_files import write_idx as write_idx


def __getattr__(name: str) -> object:
    from adjoint.core.other_words import missing

    raise missing("adjoint.data", name)
