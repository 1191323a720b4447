"""Which mutable objects hold what, among them those that change when they are asked: iterators and random numbers.

An object may have several facets: a subclass of `list` has items and attributes.
"""

from __future__ import annotations

import array
import gc
import io
import itertools
import operator
import os
import random
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from types import CellType, FunctionType, GeneratorType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.parameter import Parameter
from adjoint.frontend.facets import (
    ArrayItemsFacet,
    AttributesFacet,
    BytesFacet,
    CellFacet,
    ClassFacet,
    DequeFacet,
    DictFacet,
    Facet,
    FactoryFacet,
    FunctionFacet,
    GlobalsFacet,
    ListFacet,
    NumPyFacet,
    OrderedItemsFacet,
    SetFacet,
    TensorFacet,
    slots,
)
from adjoint.frontend.files import is_read
from adjoint.frontend.libraries import is_users_class


class _Iterator(Facet):
    what = "an iterator"
    advice = "Take the item before the {block}, or go through a list by index"

    def save(self, x: Any) -> Any:
        if isinstance(x, itertools.count):
            return repr(x)
        left = operator.length_hint(x, -1)
        if left >= 0 or not isinstance(x, _REDUCED):
            return left
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [y for y in x.__reduce__()[1] if isinstance(y, int)]

    def restore(self, x: Any, saved: Any) -> None:
        whole = isinstance(saved, int) and hasattr(x, "__setstate__") and type(x) in _INDEXED
        items = gc.get_referents(x) if whole else []
        if items and saved >= 0 and hasattr(items[0], "__len__"):
            x.__setstate__(len(items[0]) - saved)

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [("", y) for y in gc.get_referents(x)]


_INDEXED: tuple[type, ...] = (type(iter([])), type(iter(())))
_REDUCED = (enumerate,)


class _Generator(Facet):
    what = "a generator"
    advice = _Iterator.advice
    restores = False

    def save(self, x: Any) -> Any:
        frame = x.gi_frame
        return None if frame is None else (frame.f_lasti, {k: id(y) for k, y in frame.f_locals.items()})

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [] if x.gi_frame is None else [(f".{k}", y) for k, y in x.gi_frame.f_locals.items()]


class _PythonRandom(Facet):
    what = "a source of random numbers"
    advice = "Draw with ops.randn or ops.rand, which are part of the graph, or draw before the {block}"

    def save(self, x: Any) -> Any:
        return x.getstate()

    def restore(self, x: Any, saved: Any) -> None:
        x.setstate(saved)


class _NumPyRandom(_PythonRandom):
    def save(self, x: Any) -> Any:
        state = x.bit_generator.state if isinstance(x, np.random.Generator) else self._bits(x).state
        return state, repr(state)

    def _bits(self, x: Any) -> Any:
        return x._bit_generator if isinstance(x, np.random.RandomState) else x

    def differs(self, x: Any, saved: Any) -> bool:
        return not _equal_states(self.save(x)[0], saved[0])

    def restore(self, x: Any, saved: Any) -> None:
        (x.bit_generator if isinstance(x, np.random.Generator) else self._bits(x)).state = saved[0]


def _equal_states(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal_states(a[k], b[k]) for k in a)
    return bool(np.array_equal(a, b))


class _Text(Facet):
    what = "a file in memory"
    advice = "Use print, which becomes part of the graph, or move the statement out of the {block}"

    def save(self, x: Any) -> Any:
        return None if x.closed else (x.getvalue(), x.tell())

    def restore(self, x: Any, saved: Any) -> None:
        x.seek(0)
        x.truncate()
        x.write(saved[0])
        x.seek(saved[1])


class _Environment(Facet):
    """`os.environ`."""

    what = "the environment of the process"

    def save(self, x: Any) -> Any:
        return dict(x)

    def differs(self, x: Any, saved: Any) -> bool:
        return bool(dict(x) != saved)

    def restore(self, x: Any, saved: Any) -> None:
        for name in x.keys() - saved.keys():
            del x[name]
        x.update({k: v for k, v in saved.items() if x.get(k) != v})

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return ()


# ---------------------------------------------------------------- which objects have which facets

CLASS, CELL, GLOBALS, FUNCTION = ClassFacet(), CellFacet(), GlobalsFacet(), FunctionFacet()
ATTRIBUTES = AttributesFacet()
_KINDS: list[tuple[Any, tuple[Facet, ...]]] = [
    (Parameter, ()),
    (Value, (TensorFacet(),)),
    (FunctionType, (FUNCTION,)),
    (type, (CLASS,)),
    (CellType, (CELL,)),
    (list, (ListFacet(),)),
    (OrderedDict, (OrderedItemsFacet(),)),
    (defaultdict, (DictFacet(), FactoryFacet())),
    (dict, (DictFacet(),)),
    (deque, (DequeFacet(),)),
    (set, (SetFacet(),)),
    (bytearray, (BytesFacet(),)),
    (array.array, (ArrayItemsFacet(),)),
    (np.ndarray, (NumPyFacet(),)),
    (random.SystemRandom, ()),
    (random.Random, (_PythonRandom(),)),
    ((np.random.Generator, np.random.RandomState, np.random.BitGenerator), (_NumPyRandom(),)),
    ((io.StringIO, io.BytesIO), (_Text(),)),
    (io.IOBase, ()),
    (type(os.environ), (_Environment(),)),
    (GeneratorType, (_Generator(),)),
]
#: Objects of these libraries are looked through by none of the user's statements.
_CLOSED = {
    "_pytest", "pytest", "pluggy", "hypothesis", "IPython", "ipykernel", "jax", "jaxlib", "torch", "matplotlib", "llvmlite",
    "threading", "logging", "asyncio", "concurrent", "importlib", "ast", "inspect", "typing", "_thread", "contextvars", "unittest",
}  # fmt: skip
_OPEN_PARTS = (
    "adjoint.core.random_counters",
    "adjoint.nn",
    "adjoint.optim",
    "adjoint.train",
    "adjoint.data",
    "adjoint.testing",
)
_facets: WeakKeyDictionary[type, tuple[Facet, ...]] = WeakKeyDictionary()


def facets(x: Any) -> tuple[Facet, ...]:
    """The kinds of state that an object has."""
    found = _facets.get(type(x))
    if found is None:
        found = _facets[type(x)] = _found_facets(x)
    return found


def _found_facets(x: Any) -> tuple[Facet, ...]:
    kind = type(x)
    if is_closed(kind):
        return ()
    first = next((f for base, f in _KINDS if isinstance(x, base)), None)
    if first is None and isinstance(x, Iterator) and not is_users_class(kind):
        first = (_Iterator(),)
    own = first is None or not isinstance(x, (Value, FunctionType, type, CellType, GeneratorType, io.IOBase))
    has_state = hasattr(x, "__dict__") or slots(kind)
    return (*(first or ()), *((ATTRIBUTES,) if own and has_state else ()))


def is_closed(kind: type) -> bool:
    """Whether what objects of a class hold is no business of the user's."""
    module = kind.__module__ if isinstance(kind.__module__, str) else ""
    if module.startswith("adjoint"):
        return not (module.startswith(_OPEN_PARTS) or is_read(module) or issubclass(kind, Value))
    return module.split(".")[0] in _CLOSED
