"""All that a piece of code can reach, as it was at one time: to see what the code has changed, and to undo it.

From the code's variables it goes through containers, attributes, classes, closures, and the globals that functions name. What a
library keeps for itself is left out, and so is what the code makes anew.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import BuiltinMethodType, CodeType, FrameType, FunctionType, GeneratorType, ModuleType, TracebackType
from typing import Any

import numpy as np

from adjoint.core.arrays import is_writable
from adjoint.core.dispatch import Value
from adjoint.frontend.code_names import modules_imported, names_and_texts
from adjoint.frontend.facets import ABSENT, Facet
from adjoint.frontend.files import is_users
from adjoint.frontend.kinds import ATTRIBUTES, CLASS, GLOBALS, facets, is_closed
from adjoint.frontend.libraries import is_users_class, is_users_module

_PLAIN = {
    int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, slice, CodeType, FrameType, ModuleType,
    TracebackType, np.dtype, np.float64, np.float32, np.int64, np.int32, np.bool_,
}  # fmt: skip
_OURS = ("_ad_runtime", "_ad_sites")
#: By these, code reaches modules whose names it has as texts.
_LOOKS_UP_MODULES = {"import_module", "__import__", "modules", "eval", "exec"}
_CACHED = type(functools.lru_cache(len))
#: Arrays of more bytes than this are locked instead of copied.
LARGE = 1 << 26


class HeldFacet:
    """One facet of an object that the code can reach."""

    __slots__ = ("facet", "name", "owner", "saved")

    def __init__(self, name: str, owner: Any, facet: Facet) -> None:
        self.name, self.owner, self.facet, self.saved = name, owner, facet, facet.save(owner)

    def differs(self) -> bool:
        return self.facet.differs(self.owner, self.saved)

    def changed_attributes(self) -> list[str]:
        """The names that have another value now."""
        now = self.facet.save(self.owner)
        names = {**self.saved, **now}
        return [n for n in names if now.get(n, ABSENT) is not self.saved.get(n, ABSENT)]


class Heap:
    """The objects that are reached from some roots, and what they held."""

    def __init__(self, roots: Iterable[tuple[str, Any]]) -> None:
        self.held: list[HeldFacet] = []
        self.large: list[np.ndarray] = []
        self._seen: dict[int, Any] = {}
        self._names: set[tuple[int, int]] = set()
        self._queue = list(roots)
        for name, x in self._queue:  # grows
            if type(x) not in _PLAIN and id(x) not in self._seen:
                self._seen[id(x)] = x
                self._visit(name, x)
        self._queue.clear()

    def __contains__(self, x: object) -> bool:
        return self._seen.get(id(x)) is x and x is not None

    def changed(self) -> Iterator[HeldFacet]:
        """What is not as it was."""
        return (h for h in self.held if h.differs())

    def restore(self) -> None:
        """Everything as it was."""
        for h in self.held:
            if h.differs():
                h.facet.restore(h.owner, h.saved)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Large arrays cannot be written to meanwhile."""
        open_ones = [x for x in self.large if is_writable(x)]
        for x in open_ones:
            x.flags.writeable = False
        try:
            yield
        finally:
            for x in sorted(open_ones, key=_depth):
                x.flags.writeable = True

    # ------------------------------------------------------------ one object

    def _visit(self, name: str, x: Any) -> None:
        kind = type(x)
        if kind is tuple or kind is frozenset:
            self._queue += [(name, y) for y in x]
        elif kind is FunctionType:
            self._function(name, x)
        elif isinstance(x, type):
            if is_users_class(x) and not str(x.__module__).startswith("adjoint."):
                self._hold(x.__name__, x, CLASS)
        elif isinstance(x, Value):
            for facet in facets(x):
                self._hold(name, x, facet)
        elif kind is _CACHED:
            self._queue.append((name, x.__wrapped__))
        elif kind is memoryview:
            self._queue.append((name, x.obj))
        elif kind is BuiltinMethodType:
            self._queue.append((name, x.__self__))
        elif not is_closed(kind):
            self._object(name, x)

    def _object(self, name: str, x: Any) -> None:
        found = facets(x)
        if isinstance(x, np.ndarray) and (not is_writable(x) or x.nbytes > LARGE):
            if is_writable(x):
                self.large.append(x)
            self._queue.append((name, x.base))
            found = found[1:]
        for facet in found:
            self._hold(name, x, facet)
        if isinstance(x, GeneratorType):
            self._globals(x.gi_frame.f_globals if x.gi_frame else {}, x.gi_code)
        elif all(facet is ATTRIBUTES for facet in found) and gc.is_tracked(x) and not is_users_class(type(x)):
            attributes = getattr(x, "__dict__", None)
            self._queue += [(name, y) for y in gc.get_referents(x) if y is not attributes]
        self._queue.append((type(x).__name__, type(x)))

    def _hold(self, name: str, x: Any, facet: Facet) -> None:
        self.held.append(HeldFacet(name, x, facet))
        self._queue += [(name + step, y) for step, y in facet.parts(x) if type(y) not in _PLAIN]

    def _function(self, name: str, fn: FunctionType) -> None:
        code = fn.__code__
        for variable, cell in zip(code.co_freevars, fn.__closure__ or ()):
            if variable not in _OURS and variable != "__class__":
                self._queue.append((variable, cell))
        self._queue += [(name, x) for x in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values())]
        if fn.__dict__ or is_users(code.co_filename):
            self._hold(name, fn, facets(fn)[0])
        if is_users(code.co_filename):
            self._globals(fn.__globals__, code)

    def _globals(self, variables: dict[str, Any], code: CodeType) -> None:
        """The globals that the code names, and of modules the attributes that it names."""
        names = names_and_texts(code)
        modules = names if names & _LOOKS_UP_MODULES else modules_imported(code)
        self._variables("", variables)
        for n in names:
            x = variables.get(n, ABSENT)
            x = sys.modules.get(n, ABSENT) if x is ABSENT and n in modules else x
            if isinstance(x, ModuleType):
                self._module(x, names)
            elif x is not ABSENT:
                self._queue.append((n, x))

    def _module(self, module: ModuleType, names: frozenset[str]) -> None:
        if (id(module), id(names)) in self._names or module.__name__.split(".")[0] == "adjoint":
            return
        self._names.add((id(module), id(names)))
        variables = vars(module)
        if is_users_module(module.__name__):
            self._variables(f"{module.__name__}.", variables)
        for n in names & variables.keys():
            if isinstance(x := variables[n], ModuleType):
                self._module(x, names)
            else:
                self._queue.append((f"{module.__name__}.{n}", x))

    def _variables(self, name: str, variables: dict[str, Any]) -> None:
        if id(variables) not in self._seen:
            self._seen[id(variables)] = variables
            self.held.append(HeldFacet(name, variables, GLOBALS))


def _depth(x: Any) -> int:
    return 0 if not isinstance(x.base, np.ndarray) else 1 + _depth(x.base)
