"""mindspore._extends: what programs name of the inside of MindSpore's compiler."""

from typing import Any

from adjoint.mindspore._extends import parse as parse
from adjoint.mindspore.absent import Absent


def cell_attr_register(fn: object = None, attrs: object = None) -> object:
    """Decorates the `__init__` of a Cell; its arguments need no registration here."""
    return fn if fn is not None else lambda function: function


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'mindspore._extends' has no attribute {name!r}")
    return Absent(f"mindspore._extends.{name}")
