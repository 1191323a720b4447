"""Compiled functions as methods of objects, and as things to be copied and pickled."""

from __future__ import annotations

import copy
import functools
import sys
import weakref
from types import FunctionType, MethodType
from typing import Any

from adjoint.api.arguments import Signature
from adjoint.core import tree
from adjoint.frontend.reads import network_version


class Methods:
    """What a compiled function is to classes, `copy` and `pickle`; the rest of it is in `Jitted`."""

    _methods: dict[int, tuple[weakref.ref[Any], Any]]  # by object, as long as that lives
    _fn: Any
    _self: weakref.ref[Any] | None
    _off: tuple[str, ...]
    _backend: str | None
    _static: frozenset[str]
    _dynamic: frozenset[str]
    _donate: frozenset[str]
    compilations: list[Any]
    notes: list[str]
    _signature: Signature
    __name__: str
    __qualname__: str

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        known = self._methods.get(id(instance))
        return known[1] if known is not None and known[0]() is instance else self._method_of(instance)

    def _method_of(self, instance: Any) -> Any:
        """The method of an object, with graphs of its own, which do not keep the object alive."""
        if not tree.is_leaf(instance) or type(instance).__weakrefoffset__ == 0:
            return functools.partial(self, instance)  # type: ignore[operator, arg-type, misc]
        if network_version(instance):  # a Cell keeps them itself
            kept = instance.__dict__.setdefault("_jitted", {})
            if self not in kept:
                kept[self] = self._bound(instance, weakref.ref(instance))
            return kept[self]
        methods, number = self._methods, id(instance)
        reference = weakref.ref(instance, lambda _: methods.pop(number, None))
        made = self._bound(instance, reference)
        methods[number] = reference, made
        return made

    def _bound(self, instance: Any, reference: weakref.ref[Any]) -> Any:
        made = type(self)(self._fn, (), (), (), self._off, self._backend)  # type: ignore[call-arg]
        made._static, made._dynamic, made._donate = self._static, self._dynamic, self._donate
        made._self, made.compilations, made.notes = reference, self.compilations, self.notes
        method = MethodType(self._fn, instance)
        made._signature = Signature(method)
        made.__dict__["__signature__"] = made._signature.parameters
        return made

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__
        if self._self is not None:
            return getattr, (self._self(), self.__name__)
        return type(self), (self._fn, *self._options())

    def _options(self) -> tuple[Any, ...]:
        return tuple(self._static), tuple(self._dynamic), tuple(self._donate), self._off, self._backend

    def __copy__(self) -> Any:
        return self if self._self is not None else type(self)(self._fn, *self._options())  # type: ignore[call-arg]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if isinstance(self._fn, FunctionType) and self._self is None:
            return self  # as a function is
        if self._self is not None:
            return getattr(copy.deepcopy(self._self(), memo), self.__name__)
        return type(self)(copy.deepcopy(self._fn, memo), *self._options())  # type: ignore[call-arg]
