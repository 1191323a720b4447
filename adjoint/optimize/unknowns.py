"""The unknowns of a solver: a tree of numbers as the user writes it, one vector as SciPy wants it."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core import foreign, tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.placement import is_device_array
from adjoint.core.spec import dtype_of, float64, shape_of
from adjoint.ops.casting import cast
from adjoint.ops.joining import concat
from adjoint.ops.language import reshape

Arrays = (Value, np.ndarray, np.generic)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def _is_numbers(x: Any) -> bool:
    """Whether a list or tuple holds Python numbers only, nested as in `np.array`."""
    if type(x) in (list, tuple):
        return len(x) > 0 and all(_is_numbers(item) for item in x)
    return _is_number(x) or isinstance(x, np.generic)


def _own(what: str, x: Any) -> Any:
    """A leaf as an array of ours: one of JAX's too; those of other libraries are refused."""
    if is_device_array(x):
        return np.asarray(x)
    if foreign.kind_of(type(x)) in ("labelled", "tensor"):
        raise foreign.refusal(f"{what}: a leaf of x0", x)
    return resolve(x) if isinstance(x, Parameter) else x


def line(x: Any) -> Any:
    """A value as a vector of float64."""
    x = cast(wrap(x), float64)
    return reshape(x, (int(np.prod(shape_of(x))),))


class Variables:
    """Where the unknowns stand in a tree, and their shapes. A list of numbers is a vector, as it is to SciPy."""

    def __init__(self, what: str, x0: Any) -> None:
        if type(x0) in (list, tuple) and _is_numbers(x0):
            x0 = np.asarray(x0, float64)
        self.leaves, self.rebuild = tree.flatten(x0)
        self.leaves = [_own(what, x) for x in self.leaves]
        self.spots = [i for i, x in enumerate(self.leaves) if isinstance(x, Arrays) or _is_number(x)]
        floats = [i for i in self.spots if dtype_of(self.leaves[i]).kind not in "iub"]
        if floats:  # integers beside floats are settings, as in `ad.tree`; integers alone are a start, as to SciPy
            self.spots = floats
        given = [self.leaves[i] for i in self.spots]
        for x in given:
            if dtype_of(x).kind not in "fiu":
                raise ArgumentTypeError(
                    f"{what}: x0 holds {dtype_of(x)} numbers; the unknowns must be real. Give real and imaginary parts apart"
                    f"{called_at()}"
                )
        if not given:
            raise ArgumentTypeError(f"{what}: x0 holds no numbers to solve for{called_at()}")
        self.shapes = [shape_of(x) for x in given]
        self.dtypes = [dtype_of(x) if dtype_of(x).kind == "f" else float64 for x in given]
        self.sizes = [int(np.prod(s)) for s in self.shapes]
        self.size = sum(self.sizes)
        if self.size == 0:
            raise ArgumentError(
                f"{what}: x0 is empty, of shape {self.shapes[0]}: there is nothing to solve for{called_at()}"
            )
        self.start = self.vector(given)
        self.key = (
            tree.shape(x0),
            tuple(self.shapes),
            tuple(tree.Static(x) for i, x in enumerate(self.leaves) if i not in self.spots),
        )

    def vector(self, parts: list[Any]) -> Any:
        """Parts, one for each unknown leaf, as one vector; of numbers that nothing traces, a NumPy array."""
        if not any(isinstance(x, Value) for x in parts):
            return np.concatenate([np.asarray(x, float64).ravel() for x in parts])
        flat = [line(x) for x in parts]
        return flat[0] if len(flat) == 1 else concat(flat)

    def tree(self, vector: Any, dtypes: bool = False) -> Any:
        """A vector in the user's structure; with `dtypes` in those of x0, else in its own, which is what is computed in."""
        filled, begin = list(self.leaves), 0
        vector = wrap(vector)
        for k, (i, shape, size) in enumerate(zip(self.spots, self.shapes, self.sizes, strict=True)):
            part = vector if size == self.size else vector[begin : begin + size]
            part = reshape(part, shape)
            filled[i] = wrap(cast(part, self.dtypes[k]) if dtypes and dtype_of(part) != self.dtypes[k] else part)
            begin += size
        return self.rebuild(filled)

    def spread(self, what: str, values: Any) -> Any:
        """A tree of bounds or scales, or one for all, as a vector of one number for each unknown."""
        if tree.is_leaf(values) or (type(values) in (list, tuple) and _is_numbers(values)):
            array = values if isinstance(values, Value) else np.asarray(values, float64)
            if shape_of(array) == (self.size,):
                return array
            if shape_of(array) == ():
                return self.vector([array * np.ones(self.size)])
            if len(self.shapes) == 1 and shape_of(array) == self.shapes[0]:
                return self.vector([array])
            raise ArgumentError(
                f"{what} has the shape {shape_of(array)}; x0 has {self.size} unknowns of shape {self.shapes[0]}{called_at()}"
            )
        found = tree.leaves(values)
        if len(found) == len(self.leaves):
            found = [found[i] for i in self.spots]
        if len(found) != len(self.shapes):
            raise ArgumentError(f"{what} holds {len(found)} arrays for the {len(self.shapes)} of x0{called_at()}")
        return self.vector([x * np.ones(s) for x, s in zip(found, self.shapes, strict=True)])
