"""Ops that do something when the graph runs: print, check. Their result is a truth value that nobody needs.

The first input of each says whether it takes place. A branch gives it its condition and a loop its test, so that an effect in
them stays right when a batch goes through both branches, or through iterations that are over for some of its examples.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from adjoint.core import tree
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import wrap
from adjoint.core.spec import Spec, bool_, shape_of
from adjoint.graph.nested import Control
from adjoint.graph.number_types import is_number
from adjoint.ops.broadcast import batch_front

_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda x: x, "s": str, "r": repr, "a": ascii}


@dataclass(frozen=True)
class Field:
    """`{value!r:>8}` in a text."""

    value: Any
    conversion: str = ""
    spec: str = ""

    def __str__(self) -> str:
        return format(_CONVERSIONS[self.conversion](self.value), self.spec)


@dataclass(frozen=True)
class Text:
    """An f-string whose numbers may be known only when the graph runs.

    >>> str(Text(("x is ", Field(2.0, spec=".2f"))))
    'x is 2.00'
    """

    parts: tuple[str | Field, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


@dataclass(frozen=True, eq=False)
class Template:
    """Containers and texts, some of whose leaves are inputs of an op.

    >>> Template.of(["a", 1.0, {"b": 2.0}], lambda x: x == 2.0)[0].filled([np.float64(5)])
    ['a', 1.0, {'b': Tensor(shape=[], dtype=Float64, value= 5.0)}]
    """

    leaves: tuple[Any, ...]
    rebuild: Callable[[list[Any]], Any]
    places: tuple[int, ...]
    numbers: frozenset[int] = frozenset()  # the places of Python's numbers

    @staticmethod
    def of(
        value: Any, is_input: Callable[[Any], bool], is_number: Callable[[Any], bool] = is_number
    ) -> tuple[Template, list[Any]]:
        """The template of a value, and the leaves that are inputs."""
        leaves, rebuild = tree.flatten(value)
        places = tuple(i for i, leaf in enumerate(leaves) if is_input(leaf))
        numbers = frozenset(i for i in places if is_number(leaves[i]))
        return Template(tuple(leaves), rebuild, places, numbers), [leaves[i] for i in places]

    def filled(self, inputs: Sequence[Any]) -> Any:
        """The value, with numbers and Tensors for its inputs."""
        leaves = list(self.leaves)
        for place, x in zip(self.places, inputs, strict=True):
            leaves[place] = np.asarray(x).item() if place in self.numbers else wrap(x)
        return self.rebuild(leaves)


class Effect(Control):
    """Ops that run though no result needs them, each time and in the program's order."""

    differentiable = False
    opaque = True
    effect = True  # type: ignore[assignment]
    #: Whether it may be done when the whole graph has run: nothing in the graph sees it.
    afterwards: ClassVar[bool] = False

    def infer(self, *xs):
        return Spec((), bool_)

    def vjp(self, g, y, *xs):
        return (ZERO,) * len(xs)

    def jvp(self, ts, y, *xs):
        return ZERO

    def vmap(self, dims, *xs):
        xs = tuple([x if d is None else batch_front(x, d) for x, d in zip(xs, dims, strict=True)])
        return Each(self, tuple(d is not None for d in dims))(*xs)


@dataclass(frozen=True, eq=False, repr=False)
class Print(Effect):
    """`print`: `Print(template, options, stream)(when, *inputs)`, to `sys.stdout` or `sys.stderr` as it is then, or to a file."""

    template: Template
    options: dict[str, Any] = field(default_factory=dict)
    stream: str = ""

    def eval(self, xp, when, *xs):
        if when:
            to = {"file": getattr(sys, self.stream)} if self.stream else {}
            print(*self.template.filled(xs), **self.options, **to)
        return np.bool_(when)


@dataclass(frozen=True, eq=False, repr=False)
class Check(Effect):
    """Raises where a condition does not hold: `Check(error, template, place)(when, holds, *inputs)`.

    The template is of the pair of positional and keyword arguments from which `error` makes the exception.
    """

    error: Callable[..., BaseException]
    template: Template
    place: str

    def eval(self, xp, when, holds, *xs):
        if when and not holds:
            args, kwargs = self.template.filled(xs)
            args, kwargs = map(_spoken, args), {k: _spoken(v) for k, v in kwargs.items()}
            error = self.error(*args, **kwargs)
            if sys.version_info >= (3, 11):
                error.add_note(f"raised at {self.place}")
            raise error
        return np.bool_(holds)


def _spoken(argument: Any) -> Any:
    return str(argument) if isinstance(argument, Text) else argument


@dataclass(frozen=True, eq=False, repr=False)
class Each(Effect):
    """An effect for each example of a batch, in their order."""

    one: Effect
    batched: tuple[bool, ...]

    @property
    def afterwards(self) -> bool:  # type: ignore[override]
        return self.one.afterwards

    def infer(self, *xs):
        return Spec((self._size(xs), *self.one.infer(*xs).shape), bool_)

    def eval(self, xp, *xs):
        slices = ([x[k] if b else x for x, b in zip(xs, self.batched, strict=True)] for k in range(self._size(xs)))
        return np.array([self.one.eval(xp, *example) for example in slices], bool_)

    def _size(self, xs: Sequence[Any]) -> int:
        return next(shape_of(x)[0] for x, b in zip(xs, self.batched, strict=True) if b)
