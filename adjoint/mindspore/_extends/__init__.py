"""mindspore._extends: what programs name of the inside of MindSpore's compiler."""

from adjoint.mindspore._extends import parse as parse


def cell_attr_register(fn: object = None, attrs: object = None) -> object:
    """Decorates the `__init__` of a Cell; its arguments need no registration here."""
    return fn if fn is not None else lambda function: function
