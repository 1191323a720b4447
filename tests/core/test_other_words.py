"""Names of PyTorch's and JAX's modules: an AttributeError says what there is, and that is there."""

from __future__ import annotations

from importlib import import_module

import pytest

import adjoint as ad
from adjoint.core.other_words import WORDS

CASES = [(module, name, where) for module, names in WORDS.items() for name, where in names.items()]


@pytest.mark.parametrize("module, name, where", CASES)
def test_a_name_of_others_leads_to_ours(module: str, name: str, where: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; there is {where}"):
        getattr(import_module(module), name)
    for word in where.split(", "):
        found = ad
        for part in word.split(".")[1:]:
            found = getattr(found, part)


def test_functions_of_ops_are_named() -> None:
    with pytest.raises(AttributeError, match=r"there is adjoint\.ops\.relu"):
        ad.nn.relu
    with pytest.raises(AttributeError, match=r"module 'adjoint' has no attribute 'nothing_such'$"):
        ad.nothing_such
    assert not hasattr(ad.optim, "__wrapped__")
