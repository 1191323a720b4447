"""Every registered op passes the generic checks."""

import importlib
import pkgutil

import pytest

import adjoint.ops
from adjoint.ops.card import REGISTRY, Op
from adjoint.testing import check_op

for module in pkgutil.iter_modules(adjoint.ops.__path__, "adjoint.ops."):
    importlib.import_module(module.name)


@pytest.mark.parametrize("op", REGISTRY.values(), ids=REGISTRY)
def test_rules(op: type[Op]) -> None:
    assert check_op(op) > 0
