"""Compiled functions as methods of objects, and as things to be copied and pickled."""

from __future__ import annotations

import copy
import functools
import sys
import weakref
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from adjoint.core import tree
from adjoint.frontend.reads import network_version


class Methods:
    """What a compiled function is to classes, `copy` and `pickle`; the rest of it is in `Jitted`."""

    _methods: dict[int, tuple[weakref.ref[Any], Any]]  # by object, as long as that lives
    _fn: Any
    _off: tuple[str, ...]
    _backend: str | None
    _memory: int | None
    _static: frozenset[str]
    _dynamic: frozenset[str]
    _donate: frozenset[str]
    compilations: list[Any]
    notes: list[str]
    __name__: str

    if TYPE_CHECKING:

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def take_the_long_way(self) -> None:
        """Go without short ways into machine code until calls have shown again what they are like: somebody looks on."""
        self._whole: tuple[Any, ...] = ()
        self._quick: dict[Any, Any] = {}

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        known = self._methods.get(id(instance))
        if known is not None and known[0]() is instance:
            return MethodType(known[1], instance)
        made = self.of(instance)
        return functools.partial(self, instance) if made is None else MethodType(made, instance)

    def of(self, instance: Any) -> Any:
        """The compiled method of an object, whose graphs do not keep the object alive; None if an object can have none."""
        if not tree.is_leaf(instance) or type(instance).__weakrefoffset__ == 0:
            return None
        if network_version(instance):  # a Cell keeps them itself
            kept = instance.__dict__.setdefault("_jitted", {})
            if self not in kept:
                kept[self] = self._bound(instance, weakref.ref(instance))
            return kept[self]
        methods, number = self._methods, id(instance)
        known = methods.get(number)
        if known is None or known[0]() is not instance:
            reference = weakref.ref(instance, lambda _: methods.pop(number, None))
            known = methods[number] = reference, self._bound(instance, reference)
        return known[1]

    def _bound(self, instance: Any, reference: weakref.ref[Any]) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> Any:
        name = getattr(self, "__qualname__", "")  # that of the function; an object that is compiled has none
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        return type(self), (self._fn, *self._options())

    def _options(self) -> tuple[Any, ...]:
        return tuple(self._static), tuple(self._dynamic), tuple(self._donate), self._off, self._backend, self._memory

    def __copy__(self) -> Any:
        return type(self)(self._fn, *self._options())  # type: ignore[call-arg]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if isinstance(self._fn, FunctionType):
            return self  # as a function is
        return type(self)(copy.deepcopy(self._fn, memo), *self._options())  # type: ignore[call-arg]
