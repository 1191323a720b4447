"""Places that a traced function reads from outside: variables, attributes, items. Each tells what is there now."""

from __future__ import annotations

import weakref
from abc import get_cache_token
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from types import CellType
from typing import Any

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "missing"})()


@dataclass(frozen=True, eq=False)
class Global:
    """A global variable, of a function's module or any other."""

    namespace: dict[str, Any]
    name: str
    label: str

    @property
    def key(self) -> Any:
        return id(self.namespace), self.name

    def get(self) -> Any:
        return self.namespace.get(self.name, MISSING)

    def code(self, hold: Callable[[Any], str]) -> str:
        return f"{hold(self.namespace)}.get({self.name!r}, MISSING)"


@dataclass(frozen=True, eq=False)
class Free:
    """A variable of a function around."""

    cell: CellType
    label: str

    @property
    def key(self) -> Any:
        return (id(self.cell),)

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def code(self, hold: Callable[[Any], str]) -> str:
        return f"{hold(self.cell)}.cell_contents"


@dataclass(frozen=True, eq=False)
class AttributeOf:
    """An attribute. The owner may be held weakly: a graph does not keep the object alive whose method it is."""

    owner: Any
    name: str
    label: str
    weak: bool = False

    @property
    def key(self) -> Any:
        return id(self.owner() if self.weak else self.owner), "." + self.name

    def get(self) -> Any:
        return getattr(self.owner() if self.weak else self.owner, self.name, MISSING)

    def code(self, hold: Callable[[Any], str]) -> str:
        owner = hold(self.owner) + ("()" if self.weak else "")
        return f"{owner}.{self.name}" if self.name.isidentifier() else f"getattr({owner}, {self.name!r}, MISSING)"


@dataclass(frozen=True, eq=False)
class ItemOf:
    """An item of a list or dict."""

    container: Any
    index: Any
    label: str

    @property
    def key(self) -> Any:
        return id(self.container), ("item", type(self.index), self.index)

    def get(self) -> Any:
        try:
            return self.container[self.index]
        except (LookupError, TypeError, ValueError):
            return MISSING

    def code(self, hold: Callable[[Any], str]) -> str:
        return f"{hold(self.container)}[{hold(self.index)}]"


@dataclass(frozen=True, eq=False)
class Itself:
    """An object that is known: its contents are what may change."""

    owner: Any
    label: str

    @property
    def key(self) -> Any:
        return id(self.owner), "itself"

    def get(self) -> Any:
        if type(self.owner) is weakref.ref:
            return self.owner()
        if self.owner is get_cache_token:
            return get_cache_token()
        return self.owner.get(MISSING) if isinstance(self.owner, ContextVar) else self.owner

    def code(self, hold: Callable[[Any], str]) -> str:
        if type(self.owner) is weakref.ref:
            return f"{hold(self.owner)}()"
        if self.owner is get_cache_token:
            return f"{hold(get_cache_token)}()"
        return f"{hold(self.owner)}.get(MISSING)" if isinstance(self.owner, ContextVar) else hold(self.owner)


Place = Global | Free | AttributeOf | ItemOf | Itself
