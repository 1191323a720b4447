"""Names of MindSpore that are not provided: they can be imported, and using one raises an error that names it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any


@cache
def public_names() -> dict[str, frozenset[str]]:
    """The public names of MindSpore 2.10, by module or class."""
    text = (Path(__file__).parent / "names.json").read_text()
    return {place: frozenset(names) for place, names in json.loads(text).items()}


class Absent:
    """Stands for a name of MindSpore that is not provided.

    >>> import adjoint.mindspore as mindspore
    >>> mindspore.ops.AllReduce()
    Traceback (most recent call last):
        ...
    NotImplementedError: mindspore.ops.AllReduce is not provided by adjoint.mindspore
    """

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self.__name__} is not provided by adjoint.mindspore")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return self()

    def __repr__(self) -> str:
        return f"<{self.__name__}: not provided>"


def fallback(module: str, place: str) -> Callable[[str], Any]:
    """A module's `__getattr__`: a module inside, `Absent` for what else MindSpore has there, AttributeError for all else."""

    def __getattr__(name: str) -> Any:
        from adjoint.mindspore import imports

        if (inside := imports.inside(module.removeprefix("adjoint."), name)) is not None:
            return inside
        if name in public_names().get(place, ()):
            return Absent(f"mindspore.{place}.{name}" if place != "mindspore" else f"mindspore.{name}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__


def elsewhere(module: str, package: str) -> Callable[[str], Any]:
    """A module's `__getattr__`: names that MindSpore has in that module, and this package has elsewhere in the package around it."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from adjoint.mindspore import imports

        inside = imports.inside(module.removeprefix("adjoint."), name)
        return getattr(importlib.import_module(package), name) if inside is None else inside

    return __getattr__
