"""Products of vectors, matrices and arrays, with NumPy's meaning for every number of axes."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from math import prod
from numbers import Integral
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

from adjoint.core.dispatch import located
from adjoint.core.errors import AdjointError, ArgumentError, ShapeError
from adjoint.core.spec import normalize_axis, shape_of
from adjoint.ops import contract as _contract
from adjoint.ops.broadcast import conj, ndim
from adjoint.ops.card import card
from adjoint.ops.functional.diagonals import diagonal, shown_diagonal
from adjoint.ops.language import expand_last, mul, permute, reshape, sum_axes
from adjoint.ops.movement import moveaxis, transpose
from adjoint.ops.publish import public
from adjoint.ops.stacking import array, stack, unstack


@public(method=True)
def matmul(input: Any, other: Any) -> Any:
    """The matrix product `input @ other`; leading axes broadcast.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]))
    [3. 7.]
    """
    return _contract.matmul(array(input), array(other))


def _product(what: str, a: Any, b: Any, ranks: tuple[int, int]) -> Any:
    a, b = array(a), array(b)
    if (ndim(a), ndim(b)) != ranks:
        raise located(
            ShapeError(
                f"{what}: inputs of {ranks[0]} and {ranks[1]} axes are needed, not the shapes {shape_of(a)} and "
                f"{shape_of(b)}; matmul broadcasts"
            )
        )
    return _contract.matmul(a, b)


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
    return _contract.matmul(a, b) if ndim(b) <= 2 else tensordot(a, b, (-1, -2))


def vdot(input: Any, other: Any) -> Any:
    """The inner product of all elements, the first input conjugated.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.vdot([1j, 2.0], [1j, 1.0]))
    (3+0j)
    """
    return _contract.matmul(conj(_flat(input)), _flat(other))


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
    return reshape(_contract.matmul(first, second), lead + tail)


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
    return _contract.matmul(_chain(factors, splits, i, k), _chain(factors, splits, k + 1, j))


@public(method=True)
def trace(input: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of a diagonal of two axes.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.trace([[1.0, 2.0], [3.0, 4.0]]))
    5.0
    """
    picked = diagonal(array(input), offset, axis1, axis2)
    return sum_axes(picked, (ndim(picked) - 1,))


# ---------------------------------------------------------------- einsum


def einsum(subscripts: Any, *operands: Any, optimize: Any = True) -> Any:
    """Einstein summation in NumPy's notation, with implicit results, `...`, diagonals (a letter twice in a term), and
    lists of axes in place of letters. The order of the products is always chosen for least work, with any `optimize`.

    >>> from adjoint.ops.functional import linalg
    >>> x = [[1.0, 2.0], [3.0, 4.0]]
    >>> print(linalg.einsum("ij,kj->ik", x, x), linalg.einsum("ii", x))
    [[ 5. 11.]
     [11. 25.]] 5.0
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists(subscripts, *operands)
    xs = [array(x) for x in operands]
    terms, result = _parse(subscripts, [ndim(x) for x in xs])
    pairs = [_without_repeats(subscripts, x, term) for x, term in zip(xs, terms, strict=True)]
    if len(pairs) == 1 and len(result) == len(pairs[0][1]):  # nothing is summed: NumPy has a view
        x, term = pairs[0]
        return transpose(x, tuple(term.index(a) for a in result)) if term != result or x is xs[0] else x
    pairs = _without_stretched(pairs)
    return card(_contract.Einsum, tuple(term for _, term in pairs), result)(*(x for x, _ in pairs))


def _from_lists(*args: Any) -> tuple[str, tuple[Any, ...]]:
    """`einsum(x, [0, 1], y, [1, 2], [0, 2])` as letters and operands."""

    def letters(places: Any) -> str:
        return "".join("..." if k is Ellipsis else (ascii_uppercase + ascii_lowercase)[k] for k in places)

    paired = len(args) - len(args) % 2
    text = ",".join(letters(k) for k in args[1:paired:2])
    return (text + "->" + letters(args[-1]) if len(args) % 2 else text), args[0:paired:2]


def _parse(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """The terms and the result in letters only: `...` becomes letters of its own, an implicit result is written out."""

    def wrong(why: str) -> AdjointError:
        return located(ArgumentError(f"einsum '{subscripts}': {why}"))

    text = subscripts.replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise wrong(f"{len(terms)} terms for {len(ranks)} inputs")
    for part in (*terms, result):
        if part.count("...") > 1 or not set(part.replace("...", "", 1)) <= set(ascii_letters):
            raise wrong(f"'{part}' may hold letters and one '...' only")
    free = [a for a in ascii_letters if a not in text]
    hidden = [rank - len(t) + 3 if "..." in t else 0 for t, rank in zip(terms, ranks, strict=True)]
    if builtins.min(hidden, default=0) < 0:
        raise wrong(f"'{terms[hidden.index(builtins.min(hidden))]}' names more axes than its input has")
    ellipsis = "".join(free[: builtins.max(hidden, default=0)])
    # Hidden axes line up at the right, as in broadcasting.
    terms = [t.replace("...", ellipsis[len(ellipsis) - n :]) for t, n in zip(terms, hidden, strict=True)]
    if not arrow:
        named = "".join(terms)
        return terms, ellipsis + "".join(sorted(a for a in set(named) - set(ellipsis) if named.count(a) == 1))
    if ellipsis and "..." not in result:
        raise wrong("the result must hold '...' too, or be left out")
    result = result.replace("...", ellipsis)
    if len(set(result)) < len(result) or not set(result) <= set("".join(terms)):
        raise wrong(f"each letter of the result '{result}' must stand there once, and in some term")
    return terms, result


def _without_repeats(subscripts: str, x: Any, term: str) -> tuple[Any, str]:
    """A letter that stands twice in a term takes the diagonal."""
    if len(term) != ndim(x):
        raise located(
            ShapeError(f"einsum '{subscripts}': term '{term}' names {len(term)} axes, its input has {shape_of(x)}")
        )
    for letter in sorted(set(term)):
        while term.count(letter) > 1:
            i = term.index(letter)
            j = term.index(letter, i + 1)
            if shape_of(x)[i] != shape_of(x)[j]:
                raise located(
                    ShapeError(
                        f"einsum '{subscripts}': '{letter}' names axes of different sizes in one input {shape_of(x)}"
                    )
                )
            x = shown_diagonal(x, 0, i, j)
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + letter
    return x, term


def _without_stretched(pairs: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """An axis of size 1 that other inputs have at full size broadcasts: it is left out of its term."""
    sizes: dict[str, int] = {}
    for x, term in pairs:
        for letter, n in zip(term, shape_of(x), strict=True):
            sizes[letter] = n if sizes.get(letter, 1) == 1 else sizes[letter]
    dropped = []
    for x, term in pairs:
        kept = [(a, n) for a, n in zip(term, shape_of(x), strict=True) if n != 1 or sizes[a] == 1]
        same = len(kept) == len(term)
        dropped.append((x, term) if same else (reshape(x, tuple(n for _, n in kept)), "".join(a for a, _ in kept)))
    return dropped
