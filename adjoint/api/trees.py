"""`ad.tree`: containers of arrays as values. Numbers go in and out by their places; what is no number is carried along.

Leaves are all that is no container. Those with derivatives are floats and arrays of them; the others (strings, integers, truth values,
functions) are passed through by every transform: as they are into the function, as None in its derivatives. None is an empty container.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from adjoint.core import foreign
from adjoint.core import tree as trees
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, boundary, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.placement import is_device_array
from adjoint.core.spec import Spec, dtype_of, has_derivative, promote, shape_of, spec_of
from adjoint.core.tree_matching import check_static, children_beside, shown
from adjoint.ops.joining import concat
from adjoint.ops.language import cast, reshape

IsLeaf = Callable[[Any], bool] | None


class _Leaf:
    """Stands for a leaf where a structure is shown."""

    def __repr__(self) -> str:
        return "*"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Structure:
    """A tree without its leaves: to compare, to hash, and to fill again. Made by `ad.tree.structure` and `ad.tree.flatten`.

    >>> import adjoint as ad
    >>> structure = ad.tree.structure({"w": [1.0, 2.0], "b": None})
    >>> structure, structure.num_leaves, structure.unflatten([3, 4])
    (Structure({'w': [*, *], 'b': None}), 2, {'w': [3, 4], 'b': None})
    """

    label: Any  # the class and what is static; None for a leaf
    names: tuple[str, ...]
    parts: tuple[Structure, ...]
    rebuild: Callable[[list[Any]], Any]

    @functools.cached_property
    def num_leaves(self) -> int:
        """How many leaves it takes."""
        return 1 if self.label is None else sum(part.num_leaves for part in self.parts)

    @functools.cached_property
    def _key(self) -> Any:
        keys = self.names if self.label is not None and issubclass(self.label[0], dict) else ()
        return self.label, keys, tuple(part._key for part in self.parts)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves."""
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise ArgumentError(
                f"tree.unflatten: {len(values)} leaves for a structure of {self.num_leaves}{called_at()}"
            )
        return self._filled(iter(values))

    def _filled(self, values: Any) -> Any:
        return next(values) if self.label is None else self.rebuild([part._filled(values) for part in self.parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        try:
            return f"Structure({self._filled(iter([_Leaf()] * self.num_leaves))!r})"
        except Exception:  # a class that cannot be made of such leaves, or not be shown
            return f"Structure of {self.num_leaves} leaves"


_LEAF = Structure(None, (), (), lambda xs: xs[0])


def _taken_apart(tree: Any, is_leaf: IsLeaf, leaves: list[Any], paths: list[str], path: str) -> Structure:
    """The structure of a tree, its leaves added to a list; dicts in the order of their keys where these have one."""
    found = None if is_leaf is not None and is_leaf(tree) else trees.named_children(tree)
    if found is None:
        leaves.append(tree)
        paths.append(path)
        return _LEAF
    children, rebuild = found
    label = trees.label(tree)
    if isinstance(tree, dict) and not isinstance(tree, OrderedDict):
        order = _sorted_places(list(dict.keys(tree)), len(children))
        if order != list(range(len(children))):
            children, rebuild = [children[i] for i in order], functools.partial(_put_back, order, rebuild)
        label = (type(tree), label[1][1:] if len(label) > 1 else ())  # the keys are among the names, in order
    parts = tuple(_taken_apart(child, is_leaf, leaves, paths, path + name) for name, child in children)
    return Structure(label, tuple(name for name, _ in children), parts, rebuild)


def _sorted_places(keys: list[Any], count: int) -> list[int]:
    try:
        order = sorted(range(len(keys)), key=keys.__getitem__)
    except TypeError:  # keys without an order
        order = list(range(len(keys)))
    return [*order, *range(len(keys), count)]


def _put_back(order: list[int], rebuild: Callable[[list[Any]], Any], xs: list[Any]) -> Any:
    given: list[Any] = [None] * len(xs)
    for place, x in zip(order, xs, strict=True):
        given[place] = x
    return rebuild(given)


# ---------------------------------------------------------------- leaves and structures


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], Structure]:
    """The leaves in order, and the structure that `unflatten` fills again. The entries of a dict come in the order of its keys.

    `is_leaf(node)` may say of a container that it is to be taken as a leaf.

    >>> import adjoint as ad
    >>> ad.tree.flatten({"w": (1.0, 2.0), "b": None, "act": "relu"})
    (['relu', 1.0, 2.0], Structure({'w': (*, *), 'b': None, 'act': *}))
    """
    leaves: list[Any] = []
    return leaves, _taken_apart(tree, is_leaf, leaves, [], "")


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves.

    >>> import adjoint as ad
    >>> ad.tree.unflatten(ad.tree.structure(("a", ["b"])), [1, 2])
    (1, [2])
    """
    if not isinstance(structure, Structure):
        raise ArgumentTypeError(
            f"tree.unflatten takes the structure first, then the leaves; the first is a {type(structure).__name__}{called_at()}"
        )
    return structure.unflatten(leaves)


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves in order, as `flatten` gives them.

    >>> import adjoint as ad
    >>> ad.tree.leaves({"b": 1, "a": (2, None, "x")})
    [2, 'x', 1]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf = None) -> Structure:
    """The tree without its leaves. Static fields and registered static data are part of it.

    >>> import adjoint as ad
    >>> ad.tree.structure({"a": 1, "b": [2]}) == ad.tree.structure({"b": [5], "a": 0.5})
    True
    """
    return flatten(tree, is_leaf)[1]


def paths(tree: Any, prefix: str = "", is_leaf: IsLeaf = None) -> list[tuple[str, Any]]:
    """Each leaf with the Python expression that reaches it.

    >>> import adjoint as ad
    >>> ad.tree.paths({"w": [1, 2]}, "params")
    [("params['w'][0]", 1), ("params['w'][1]", 2)]
    """
    found: list[Any] = []
    names: list[str] = []
    _taken_apart(tree, is_leaf, found, names, prefix)
    return list(zip(names, found, strict=True))


@boundary
def map(fn: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply `fn` to each leaf, and to what further trees have at its place; the results in the structure of the first tree.

    A leaf for which another tree has None stays as it is: that is what the gradient of a tree has for strings and integers, so that
    `map(lambda p, g: p - 0.1 * g, params, gradient)` is a step that leaves them alone. Trees of different structure are refused, by
    the path where they differ.

    >>> import adjoint as ad
    >>> ad.tree.map(lambda p, g: p - g, {"w": 3.0, "act": "relu"}, {"w": 1.0, "act": None})
    {'w': 2.0, 'act': 'relu'}
    """
    if not callable(fn):
        raise ArgumentTypeError(
            f"tree.map: the first argument must be a function, not {type(fn).__name__}{called_at()}"
        )
    xs, whole = flatten(tree, is_leaf)
    columns = [_at_places(other, whole, f"tree.map: tree {k + 2}", is_leaf) for k, other in enumerate(rest)]
    results = []
    for i, x in enumerate(xs):
        others = [column[i] for column in columns]
        absent = any(y is None for y in others) and x is not None and (is_leaf is None or not is_leaf(None))
        results.append(x if absent else fn(x, *others))
    return whole.unflatten(results)


def _at_places(other: Any, structure: Structure, name: str, is_leaf: IsLeaf) -> list[Any]:
    """What another tree has at the places of the leaves of a structure."""
    if structure.label is None:
        if is_leaf is None and other is not None and not trees.is_leaf(other):
            raise ArgumentError(
                f"{name} is {shown(other)} where the first is a leaf: the trees differ in structure{called_at()}"
            )
        return [other]
    if other is None and structure.label[0] is not type(None):
        return [None] * structure.num_leaves
    said = f"the first is {structure!r:.100}"
    mine = children_beside(other, structure.label[0], structure.names, name, said)
    check_static(other, structure.label, name, "the first")
    return [
        y
        for x, part, n in zip(mine, structure.parts, structure.names, strict=True)
        for y in _at_places(x, part, name + n, is_leaf)
    ]


def reduce(fn: Callable[[Any, Any], Any], tree: Any, initial: Any = dataclasses.MISSING, is_leaf: IsLeaf = None) -> Any:
    """The leaves put together by a function of two, from left to right.

    >>> import adjoint as ad
    >>> ad.tree.reduce(lambda a, b: a + b, {"x": 1, "y": (2, 3)})
    6
    """
    start = () if initial is dataclasses.MISSING else (initial,)
    return functools.reduce(fn, leaves(tree, is_leaf), *start)


def all(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true.

    >>> import adjoint as ad
    >>> ad.tree.all({"x": True, "y": (1, None)})
    True
    """
    return builtins.all(leaves(tree, is_leaf))


# ---------------------------------------------------------------- one vector


@boundary
def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All floats of a tree as one flat vector, and the function that makes such a tree of a vector. Both are differentiable.

    The vector has the dtype that the leaves have in common, in which a Python float is a float64: nothing is rounded. The function gives
    each leaf its shape and dtype back, also for the vectors of a batch under `vmap`. What has no derivative (strings, integers, truth
    values, None) is not in the vector and comes back as it was.

    >>> import adjoint as ad
    >>> vector, unravel = ad.tree.ravel({"w": ad.Tensor([[1.0, 2.0]]), "b": 3.0, "act": "relu"})
    >>> print(vector, unravel(vector * 2)["w"], unravel(vector)["act"])
    [3. 1. 2.] [[2. 4.]] relu
    """
    xs, whole = flatten(tree)
    xs = [_own(x) for x in xs]
    places = [i for i, x in enumerate(xs) if is_differentiable(x)]
    if not places and any(isinstance(x, (Value, np.ndarray, np.generic, int)) for x in xs):
        raise ArgumentError(
            f"tree.ravel: no leaf is a float: integers and truth values have no place in the vector. Pass floats{called_at()}"
        )
    specs = [spec_of(xs[i]) for i in places]
    # A Python float is a float64 here, beside narrower arrays too: what comes back must not have been rounded.
    dtype = promote([Spec(s.shape, s.dtype) for s in specs]) if specs else np.dtype(np.float64)
    sizes = [int(np.prod(s.shape)) for s in specs]
    flat = [reshape(cast(wrap(xs[i]), dtype), (n,)) for i, n in zip(places, sizes, strict=True)]
    vector = concat(flat, 0) if flat else wrap(np.zeros(0, dtype))
    kept = [None if i in set(places) else x for i, x in enumerate(xs)]
    return vector, functools.partial(_unraveled, whole, kept, places, specs, sizes)


def _own(x: Any) -> Any:
    """A leaf as an array of ours: one of JAX's too; those of other libraries are refused."""
    if is_device_array(x):
        return np.asarray(x)
    if foreign.kind_of(type(x)) in ("labelled", "tensor"):
        raise foreign.refusal("tree.ravel: a leaf", x)
    return resolve(x) if isinstance(x, Parameter) else x


@boundary
def _unraveled(
    whole: Structure, kept: list[Any], places: list[int], specs: list[Spec], sizes: list[int], vector: Any
) -> Any:
    """The tree whose floats are in a vector."""
    total = sum(sizes)
    if shape_of(vector) != (total,):
        raise ArgumentError(
            f"unravel: a vector of {total} elements is needed, not shape {shape_of(vector)}{called_at()}"
        )
    values, start = list(kept), 0
    vector = wrap(vector)
    for i, spec, n in zip(places, specs, sizes, strict=True):
        values[i] = reshape(cast(vector[start : start + n], spec.dtype), spec.shape)
        start += n
    return whole.unflatten(values)


def is_differentiable(x: Any) -> bool:
    """Whether a leaf has a derivative: a float, a complex number, or an array of such."""
    numeric = isinstance(x, (Value, np.ndarray, np.generic, float, complex))
    return numeric and not (isinstance(x, np.ndarray) and x.dtype.hasobject) and has_derivative(dtype_of(x))
