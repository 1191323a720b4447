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
