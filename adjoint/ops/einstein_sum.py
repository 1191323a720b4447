"""Einstein sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

from adjoint.core.dispatch import located
from adjoint.core.errors import AdjointError, ArgumentError, ShapeError
from adjoint.core.spec import Spec, promote, shape_of
from adjoint.ops.broadcast import batch_front, conj, match, ndim, push
from adjoint.ops.card import Op, card, register
from adjoint.ops.functional.diagonals import shown_diagonal
from adjoint.ops.language import broadcast_to, reshape
from adjoint.ops.movement import transpose
from adjoint.ops.power_series import of_product
from adjoint.ops.publish import public
from adjoint.ops.stacking import array


@register
@dataclass(frozen=True)
class Einsum(Op):
    """Einstein summation: `terms` name the axes of each input by letters, `result` those of the output.

    No letter stands twice in a term, and each letter of `result` stands in some term.
    """

    terms: tuple[str, ...]
    result: str

    complex, dense, expensive, half_precision, total = True, True, True, True, True
    c_order = False

    def flops(self, y, *xs):
        return len(xs) * prod(self.sizes(xs).values())

    @cached_property
    def subscripts(self) -> str:
        return ",".join(self.terms) + "->" + self.result

    def sizes(self, xs):
        found: dict[str, int] = {}
        for term, x in zip(self.terms, xs, strict=True):
            shape = shape_of(x)
            if len(term) != len(shape):
                raise ShapeError(
                    f"einsum '{self.subscripts}': term '{term}' names {len(term)} axes, its input has {shape}"
                )
            for letter, n in zip(term, shape, strict=True):
                if found.setdefault(letter, n) != n:
                    raise ShapeError(
                        f"einsum '{self.subscripts}': axis '{letter}' has size {found[letter]} in one input and {n} in another"
                    )
        return found

    def infer(self, *xs):
        sizes = self.sizes(xs)
        return Spec(tuple(sizes[a] for a in self.result), promote(xs))

    def eval(self, xp, *xs):
        self.sizes(xs)
        return xp.einsum(self.subscripts, *xs, optimize=len(xs) > 1)

    def vjp(self, g, y, *xs):
        return tuple(lambda i=i: self._pull(i, g, xs) for i in range(len(xs)))

    def _pull(self, i, g, xs):
        term, others = self.terms[i], [k for k in range(len(xs)) if k != i]
        known = set(self.result).union(*(self.terms[k] for k in others))
        kept = "".join(a for a in term if a in known)
        pulled = card(Einsum, (self.result, *(self.terms[k] for k in others)), kept)(g, *(conj(xs[k]) for k in others))
        # Axes that only this input had were summed over: its cotangent is constant along them.
        shape = shape_of(xs[i])
        pulled = reshape(pulled, tuple(n if a in known else 1 for a, n in zip(term, shape, strict=True)))
        return match(broadcast_to(pulled, shape), xs[i])

    def coefficient(self, k, y, *xs):
        return of_product(self, k, *xs)

    def jvp(self, ts, y, *xs):
        terms = [lambda t, i=i: self(*xs[:i], t, *xs[i + 1 :]) for i in range(len(xs))]
        return push(ts, *terms)

    def vmap(self, dims, *xs):
        free = next(a for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if a not in self.subscripts)
        terms = tuple(free + t if d is not None else t for t, d in zip(self.terms, dims, strict=True))
        return card(Einsum, terms, free + self.result)(*(batch_front(x, d) for x, d in zip(xs, dims, strict=True)))

    @classmethod
    def samples(cls, draw):
        yield cls(("ij", "jk"), "ik"), (draw(2, 3), draw(3, 4))
        yield cls(("ij",), "j"), (draw(2, 3),)
        yield cls(("i", "j"), "ij"), (draw(2), draw(3))
        yield cls(("bij", "bjk", "k"), "bi"), (draw(2, 3, 2), draw(2, 2, 3), draw(3))
        yield cls(("ij", "j"), ""), (draw(2, 3), draw(3))

    @classmethod
    def errors(cls):
        yield cls(("ij", "jk"), "ik"), (Spec((2, 3)), Spec((4, 2))), "axis 'j' has size 3 in one input and 4 in another"
        yield cls(("ij",), "i"), (Spec((2,)),), "term 'ij' names 2 axes"


@public()
def einsum(subscripts: Any, *operands: Any, optimize: Any = True) -> Any:
    """Einstein summation in NumPy's notation, with implicit results, `...`, diagonals (a letter twice in a term), and
    lists of axes in place of letters. The order of the products is always chosen for least work, with any `optimize`.

    >>> from adjoint import ops
    >>> x = [[1.0, 2.0], [3.0, 4.0]]
    >>> print(ops.einsum("ij,kj->ik", x, x), ops.einsum("ii", x))
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
    return card(Einsum, tuple(term for _, term in pairs), result)(*(x for x, _ in pairs))


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
    if min(hidden, default=0) < 0:
        raise wrong(f"'{terms[hidden.index(min(hidden))]}' names more axes than its input has")
    ellipsis = "".join(free[: max(hidden, default=0)])
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
