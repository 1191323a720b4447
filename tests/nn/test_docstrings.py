"""Every public class of `nn` says in a sentence what it is, and shows an example (which the tests of `ops` run)."""

from __future__ import annotations

import inspect

import pytest

from adjoint import nn
from adjoint.nn import initializer

PUBLIC = {
    f"{module.__name__}.{name}": value
    for module in (nn, initializer)
    for name, value in vars(module).items()
    if not name.startswith("_")
    and getattr(value, "__module__", "").startswith("adjoint.nn")
    and (inspect.isclass(value) or inspect.isfunction(value))
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_explained(name):
    text = PUBLIC[name].__doc__ or ""
    assert text.split("\n\n")[0].rstrip().endswith(".")
    assert ">>>" in text
