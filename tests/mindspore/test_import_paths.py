"""The modules of MindSpore that programs import from."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from adjoint.mindspore import imports


@pytest.fixture(autouse=True)
def _mindspore() -> Iterator[None]:
    imports.install()
    yield
    imports.uninstall()


PATHS = (
    ("mindspore.ops.function.grad.grad_func", "grad"),
    ("mindspore.ops.function.math_func", "add"),
    ("mindspore.ops.operations.math_ops", "Add"),
    ("mindspore.ops.operations.nn_ops", "ReLU"),
    ("mindspore.ops.composite.base", "GradOperation"),
    ("mindspore.nn.layer.basic", "Dense"),
    ("mindspore.nn.optim.momentum", "Momentum"),
    ("mindspore.nn.cell", "Cell"),
)


@pytest.mark.parametrize(("path", "name"), PATHS)
def test_a_module_that_stands_for_another_leaves_it_as_it_was(path: str, name: str) -> None:
    """`mindspore.ops.function.grad` is a module; `mindspore.ops.grad` stays a function."""
    import mindspore
    from mindspore import nn, ops

    before = ops.grad, ops.add, nn.Dense, nn.Cell, mindspore.grad
    assert callable(getattr(importlib.import_module(path), name))
    assert before == (ops.grad, ops.add, nn.Dense, nn.Cell, mindspore.grad)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"mindspore\.nothing is not provided"):
        importlib.import_module("mindspore.nothing")
