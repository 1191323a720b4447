"""Products of vectors, matrices and arrays, with NumPy's meaning for every number of axes."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any

from adjoint.core.dispatch import located
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import normalize_axis, shape_of
from adjoint.ops.broadcast import conj, ndim
from adjoint.ops.functional.diagonals import diagonal
from adjoint.ops.language import expand_last, matmul, mul, permute, reshape, sum_axes
from adjoint.ops.movement import moveaxis
from adjoint.ops.publish import public
from adjoint.ops.stacking import array, stack, unstack


def _product(what: str, a: Any, b: Any, ranks: tuple[int, int]) -> Any:
    a, b = array(a), array(b)
    if (ndim(a), ndim(b)) != ranks:
        raise located(
            ShapeError(
                f"{what}: inputs of {ranks[0]} and {ranks[1]} axes are needed, not the shapes {shape_of(a)} and "
                f"{shape_of(b)}; matmul broadcasts"
            )
        )
    return matmul(a, b)


def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.mm([[1.0, 2.0]], [[3.0], [4.0]]))
    [[11.]]
    """
    return _product("mm", input, mat2, (2, 2))


def bmm(input: Any, mat2: Any) -> Any:
    """The products of two batches of matrices, one by one.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.bmm([[[2.0]], [[3.0]]], [[[5.0]], [[7.0]]]).ravel())
    [10. 21.]
    """
    a, b = array(input), array(mat2)
    if shape_of(a)[:1] != shape_of(b)[:1]:
        raise located(ShapeError(f"bmm: the batches of {shape_of(a)} and {shape_of(b)} differ in size"))
    return _product("bmm", a, b, (3, 3))


def mv(mat: Any, vec: Any) -> Any:
    """The product of a matrix and a vector.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.mv([[1.0, 2.0], [3.0, 4.0]], [1.0, 0.0]))
    [1. 3.]
    """
    return _product("mv", mat, vec, (2, 1))


@public(method=True)
def dot(input: Any, other: Any) -> Any:
    """NumPy's dot: the inner product of vectors, the product of matrices, else the sum over the last axis of the first
    input and the second last of the other.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.dot([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    a, b = array(input), array(other)
    if not ndim(a) or not ndim(b):
        return mul(a, b)
    return matmul(a, b) if ndim(b) <= 2 else tensordot(a, b, (-1, -2))


def vdot(input: Any, other: Any) -> Any:
    """The inner product of all elements, the first input conjugated.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.vdot([1j, 2.0], [1j, 1.0]))
    (3+0j)
    """
    return matmul(conj(_flat(input)), _flat(other))


def _flat(x: Any) -> Any:
    x = array(x)
    return reshape(x, (prod(shape_of(x)),))


@public(method=True)
def inner(input: Any, other: Any) -> Any:
    """The sum of products over the last axes.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.inner([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]))
    [3. 7.]
    """
    a, b = array(input), array(other)
    return tensordot(a, b, (-1, -1)) if ndim(a) and ndim(b) else mul(a, b)


@public(method=True)
def outer(input: Any, other: Any) -> Any:
    """Every element of one input times every element of the other, as a matrix.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.outer([1.0, 2.0], [3.0, 4.0]))
    [[3. 4.]
     [6. 8.]]
    """
    a, b = array(input), array(other)
    column = expand_last(_flat(a)) if ndim(a) else a  # a Python number keeps its weak dtype
    row = _flat(b) if ndim(b) else b
    return reshape(mul(column, row), (prod(shape_of(a)), prod(shape_of(b))))


def kron(input: Any, other: Any) -> Any:
    """The Kronecker product: blocks of the second input, scaled by the elements of the first.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.kron([1.0, 10.0], [1.0, 2.0]))
    [ 1.  2. 10. 20.]
    """
    a, b = array(input), array(other)
    if not ndim(a) or not ndim(b):
        return mul(a, b)
    rank = builtins.max(ndim(a), ndim(b))
    rows, columns = ((1,) * (rank - ndim(x)) + shape_of(x) for x in (a, b))
    a = reshape(a, tuple(n for r in rows for n in (r, 1)))
    b = reshape(b, tuple(n for c in columns for n in (1, c)))
    return reshape(mul(a, b), tuple(r * c for r, c in zip(rows, columns, strict=True)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The sum of products over `axes`: a number of last axes of a and first of b, or a pair of axes or lists of axes.

    >>> import numpy as np
    >>> from adjoint.ops.functional import linalg
    >>> linalg.tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
    (2, 5)
    """
    a, b = array(a), array(b)
    left, right = _summed_axes(a, b, axes)
    sizes = [tuple(shape_of(x)[k] for k in ks) for x, ks in ((a, left), (b, right))]
    if sizes[0] != sizes[1]:
        raise located(
            ShapeError(f"tensordot: axes {left} of {shape_of(a)} and {right} of {shape_of(b)} differ in number or size")
        )
    rows, columns = (tuple(k for k in range(ndim(x)) if k not in ks) for x, ks in ((a, left), (b, right)))
    lead, tail = (tuple(shape_of(x)[k] for k in ks) for x, ks in ((a, rows), (b, columns)))
    size = prod(sizes[0])
    first = reshape(permute(a, rows + left), (prod(lead), size))
    second = reshape(permute(b, right + columns), (size, prod(tail)))
    return reshape(matmul(first, second), lead + tail)


def _summed_axes(a: Any, b: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, Integral):
        count = int(axes)
        if not 0 <= count <= builtins.min(ndim(a), ndim(b)):
            raise located(ShapeError(f"tensordot: {count} axes of inputs with {ndim(a)} and {ndim(b)} axes"))
        return tuple(range(ndim(a) - count, ndim(a))), tuple(range(count))
    pairs = zip((a, b), ((k,) if isinstance(k, Integral) else tuple(k) for k in axes), strict=True)
    left, right = (tuple(normalize_axis("tensordot", k, ndim(x)) for k in ks) for x, ks in pairs)
    return left, right


@public(method=True)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The cross product of vectors in space, which stand along `axis` (or `axisa`, `axisb`, and `axisc` of the result).

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
    [0. 0. 1.]
    """
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    parts = []
    for x, k in ((array(a), axisa), (array(b), axisb)):
        if not ndim(x) or shape_of(x)[normalize_axis("cross", k, ndim(x))] != 3:
            raise located(ShapeError(f"cross: axis {k} of {shape_of(x)} must have 3 elements"))
        parts.append(unstack(x, k))
    (a0, a1, a2), (b0, b1, b2) = parts
    turned = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return moveaxis(stack(turned, axis=-1), -1, axisc)


def multi_dot(arrays: Sequence[Any]) -> Any:
    """The product of several matrices, in the order of least work; the first and the last may be vectors.

    >>> import numpy as np
    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones(4)]))
    [12. 12.]
    """
    factors = [array(x) for x in arrays]
    if len(factors) < 2:
        raise located(ArgumentError(f"multi_dot: two or more arrays are needed, not {len(factors)}"))
    inner_ones = all(ndim(x) == 2 for x in factors[1:-1])
    if not inner_ones or not all(ndim(x) in (1, 2) for x in (factors[0], factors[-1])):
        shapes = ", ".join(str(shape_of(x)) for x in factors)
        raise located(ShapeError(f"multi_dot: matrices are needed, and vectors only at the ends, not {shapes}"))
    # A vector counts as a matrix of one row or one column for the planning, and stays what it is in the products.
    sizes = [shape_of(factors[0])[0] if ndim(factors[0]) == 2 else 1, *(shape_of(x)[0] for x in factors[1:])]
    sizes.append(shape_of(factors[-1])[1] if ndim(factors[-1]) == 2 else 1)
    return _chain(factors, _cheapest_splits(sizes), 0, len(factors) - 1)


def _cheapest_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """For each run of factors, after which one to split it; factor i has sizes[i] rows and sizes[i + 1] columns."""
    n = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(n)}
    best: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            best[i, j] = k = builtins.min(costs, key=costs.__getitem__)
            cost[i, j] = costs[k]
    return best


def _chain(factors: list[Any], splits: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return factors[i]
    k = splits[i, j]
    return matmul(_chain(factors, splits, i, k), _chain(factors, splits, k + 1, j))


@public(method=True)
def trace(input: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of a diagonal of two axes.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.trace([[1.0, 2.0], [3.0, 4.0]]))
    5.0
    """
    picked = diagonal(array(input), offset, axis1, axis2)
    return sum_axes(picked, (ndim(picked) - 1,))
