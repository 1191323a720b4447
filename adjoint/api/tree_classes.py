"""Classes of the user's as containers of `ad.tree`: registration, and static fields of dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from adjoint.core import tree as trees
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at

Class = TypeVar("Class", bound=type)


def register(
    cls: Class,
    flatten: Callable[[Any], tuple[Sequence[Any], Any]] | None = None,
    unflatten: Callable[[Any, Any], Any] | None = None,
) -> Class:
    """Let the objects of a class be containers. Returns the class, so that it is a decorator too.

    `flatten(obj)` gives `(children, static)`; `unflatten(static, children)` makes another object. `static` is part of a compiled
    function: another one compiles again; it is compared by `==`. Without the two functions the class has them as methods,
    `tree_flatten(self)` and the class method `tree_unflatten(cls, static, children)`. Dataclasses and named tuples need no registration.

    >>> import adjoint as ad
    >>> class Line:
    ...     def __init__(self, slope, name):
    ...         self.slope, self.name = slope, name
    >>> _ = ad.tree.register(Line, lambda l: ((l.slope,), l.name), lambda name, xs: Line(xs[0], name))
    >>> g = ad.grad(lambda line: line.slope ** 2)(Line(3.0, "a"))
    >>> print(g.slope, g.name)
    6.0 a
    """
    if not isinstance(cls, type):
        raise ArgumentTypeError(f"tree.register takes a class, not {cls!r:.60}{called_at()}")
    if (flatten is None) != (unflatten is None):
        raise ArgumentTypeError(f"tree.register: both flatten and unflatten are needed, or none{called_at()}")
    if flatten is None:
        made: Any = getattr(cls, "tree_unflatten", None)
        flatten = getattr(cls, "tree_flatten", None)
        if flatten is None or made is None:
            raise ArgumentTypeError(
                f"tree.register: {cls.__name__} has no methods tree_flatten and tree_unflatten: define them, or give the functions"
                f"{called_at()}"
            )
        unflatten = made
    if cls in _KNOWN:
        raise ArgumentError(f"tree.register: {cls.__name__} is a container, or a leaf, already{called_at()}")
    trees.register(cls, flatten, unflatten)  # type: ignore[arg-type]
    return cls


_KNOWN = {tuple, list, dict, type(None), int, float, complex, bool, str, bytes, np.ndarray}


def register_dataclass(
    cls: Any = None,
    static: Sequence[str] | str = (),
    *,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
) -> Any:
    """Say which fields of a dataclass are static: part of the program, not children. A decorator, with or without arguments.

    Dataclasses are containers without it; `static_field()` says the same in the class itself. `data_fields` and `meta_fields` are
    JAX's words: the fields that are children and those that are static, which must be all of them.

    >>> import adjoint as ad, dataclasses
    >>> @ad.tree.register_dataclass(static="power")
    ... @dataclasses.dataclass
    ... class Model:
    ...     w: float
    ...     power: float
    >>> print(ad.grad(lambda m: m.w ** m.power)(Model(3.0, 2.0)))
    Model(w=Tensor(shape=[], dtype=Float64, value= 6.0), power=2.0)
    """
    if cls is None or isinstance(cls, (str, tuple, list)):
        names = cls if cls is not None else static
        return lambda c: register_dataclass(c, names, data_fields=data_fields, meta_fields=meta_fields)
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise ArgumentTypeError(
            f"tree.register_dataclass: {cls!r:.60} is no dataclass. Put it above @dataclass, or use tree.register{called_at()}"
        )
    fields = [f.name for f in dataclasses.fields(cls)]
    chosen = [static] if isinstance(static, str) else [*static, *(meta_fields or ())]
    if unknown := [n for n in (*chosen, *(data_fields or ())) if n not in fields]:
        raise ArgumentError(f"tree.register_dataclass: {cls.__name__} has no field {unknown[0]!r}{called_at()}")
    if data_fields is not None and (left := [n for n in fields if n not in chosen and n not in data_fields]):
        raise ArgumentError(
            f"tree.register_dataclass: the field {left[0]!r} of {cls.__name__} is neither in data_fields nor in meta_fields{called_at()}"
        )
    trees.declare_static(cls, frozenset(chosen))
    return cls


def static_field(**options: Any) -> Any:
    """A field of a dataclass that is part of the program, not a child: another value of it compiles again. Takes what `field` takes.

    >>> import adjoint as ad, dataclasses
    >>> @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     act: str = ad.tree.static_field(default="relu")
    >>> ad.tree.leaves(Layer(2.0))
    [2.0]
    """
    return dataclasses.field(**{**options, "metadata": {**(options.get("metadata") or {}), "static": True}})
