"""mindspore.ops._register_for_op: tables of functions by primitive, or by its name."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from typing import Any


class Registry(UserDict):
    """Functions by primitive class, or by name.

    >>> table = Registry()
    >>> _ = table.register("Twice")(lambda x: 2 * x)
    >>> table.get("Twice", None)(4)
    8
    """

    def register(self, prim: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Enter the decorated function for a class of primitives, or for a name."""

        def enter(fn: Callable[..., Any]) -> Callable[..., Any]:
            self.enter(prim, fn)
            return fn

        return enter

    def enter(self, prim: Any, fn: Callable[..., Any]) -> None:
        """Set the function of a class of primitives, or of a name."""
        self[prim] = fn

    def get(self, prim_obj: Any, default: Any = None) -> Any:
        """The function for a primitive, by its class or its name; for a name, the one under it."""
        if not self.data:
            return default
        if isinstance(prim_obj, (str, type)):
            return self.data.get(prim_obj, default)
        found = self.data.get(type(prim_obj))
        return self.data.get(getattr(prim_obj, "name", None), default) if found is None else found


class PyFuncRegistry(UserDict):
    """Python functions by a key."""

    def register(self, key: Any, value: Any) -> None:
        """Set the function of a key."""
        self[key] = value

    def get(self, key: Any, default: Any = None) -> Any:
        """The function of a key; without one it is a ValueError."""
        if key not in self.data:
            raise ValueError(f"there is no Python function under the key {key}")
        return self.data[key]
