"""Arrays that NumPy has made of graph values, as in `np.array([x, y])`: a graph holds one Tensor in their place."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core import tree
from adjoint.graph.trace import is_graph_value
from adjoint.ops.stacking import array


def one_array(leaf: Any) -> Any:
    """A value as a graph can hold it."""
    if type(leaf) is np.ndarray and leaf.dtype == object and any(map(is_graph_value, leaf.flat)):
        return array(leaf)
    return leaf


def as_one_array(value: Any) -> Any:
    """The same in containers."""
    leaves, rebuild = tree.flatten(value)
    found = [one_array(x) for x in leaves]
    return value if all(a is b for a, b in zip(leaves, found, strict=True)) else rebuild(found)


#: Functions of NumPy that compare elements, or ask for their parts: of objects they ask Python.
_OF_ELEMENTS = {
    "max", "min", "amax", "amin", "argmax", "argmin", "ptp", "sort", "argsort", "mean", "median", "std", "var", "percentile", "quantile",
    "clip", "any", "all", "nanmax", "nanmin", "nanmean", "nansum", "nanstd", "nanvar", "round", "around", "unique", "count_nonzero",
    "real", "imag", "angle", "conj", "norm", "iscomplexobj", "isrealobj", "iscomplex", "isreal", "isnan", "isfinite", "nan_to_num", "partition", "histogram", "searchsorted", "cumsum",
}  # fmt: skip
#: Those of several arrays.
_OF_SEVERAL = {"where", "allclose", "isclose", "array_equal"}
#: What an array of objects is asked for, which a Tensor answers.
OF_ARRAYS = {
    "real", "imag", "max", "min", "argmax", "argmin", "mean", "std", "var", "argsort", "clip", "any", "all", "round", "conj", "conjugate",
}  # fmt: skip


def gathered(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function of NumPy's that asks the elements of lists and arrays of objects: as Tensors."""
    module, name = getattr(fn, "__module__", None) or "", getattr(fn, "__name__", "")
    if not isinstance(fn, np.ufunc) and not module.startswith("numpy"):
        return args, kwargs
    matrices = module in ("numpy.linalg", "numpy.fft") and name != "multi_dot"
    if isinstance(fn, np.ufunc) or name in _OF_SEVERAL or matrices:
        return tuple(map(_one_of_list, args)), kwargs
    if name not in _OF_ELEMENTS:
        return args, kwargs
    return (_one_of_list(args[0]), *args[1:]) if args else args, {
        k: _one_of_list(v) if k == "a" else v for k, v in kwargs.items()
    }


def _one_of_list(x: Any) -> Any:
    """A list, a tuple or an array of graph values as one Tensor."""
    if type(x) in (list, tuple) and any(map(is_graph_value, tree.leaves(x))):
        return array(x)
    return one_array(x)
