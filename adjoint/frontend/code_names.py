"""The names in compiled code, those of the functions inside it too; looked up once for each piece of code."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable
from types import CodeType
from weakref import WeakKeyDictionary


def _with_inner(own: Callable[[CodeType], Iterable[str]]) -> Callable[[CodeType], frozenset[str]]:
    """The names that `own` finds in a piece of code and in those inside it, remembered as long as the code lives."""
    known: WeakKeyDictionary[CodeType, frozenset[str]] = WeakKeyDictionary()

    def names(code: CodeType) -> frozenset[str]:
        found = known.get(code)
        if found is None:
            inner = (names(c) for c in code.co_consts if isinstance(c, CodeType))
            found = known[code] = frozenset(own(code)).union(*inner)
        return found

    return names


@_with_inner
def names_and_texts(code: CodeType) -> Iterable[str]:
    """The names of globals and attributes, and the texts that may be names of attributes."""
    return (*code.co_names, *(x for x in code.co_consts if type(x) is str and x.isidentifier()))


@_with_inner
def names_used(code: CodeType) -> Iterable[str]:
    """The names of globals and attributes."""
    return code.co_names


@_with_inner
def globals_read(code: CodeType) -> Iterable[str]:
    """The names of globals and builtins."""
    return (i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))


@_with_inner
def modules_imported(code: CodeType) -> Iterable[str]:
    """The names of the modules that the code imports itself."""
    return (i.argval for i in dis.get_instructions(code) if i.opname == "IMPORT_NAME")
