"""Packages that are not needed until somebody uses what they are for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from adjoint.core.errors import called_at


def extra(module: str, package: str, name: str, what: str) -> Any:
    """An optional package; where it is missing, a sentence says what to install.

    Args:
        module: what to import.
        package: the package as its makers write it.
        name: the extra of adjoint that brings it.
        what: what needs it, the subject of the sentence.

    >>> extra("json", "JSON", "text", "this line").dumps([1])
    '[1]'
    >>> extra("no_such_module", "NoSuch", "nothing", "a picture")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ImportError: a picture needs the package NoSuch: pip install "adjoint[nothing]"...
    """
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise  # it is there, and lacks something itself
        raise ImportError(f'{what} needs the package {package}: pip install "adjoint[{name}]"{called_at()}') from None
