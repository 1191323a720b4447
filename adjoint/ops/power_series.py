"""Coefficients of products of power series, for the cards whose result is linear in each input alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adjoint.core.absent import ZERO, add


def of_product(op: Callable[..., Any], k: int, *factors: Any) -> Any:
    """The k-th coefficient of a product: the sum over all ways to share k among the factors.

    >>> of_product(lambda a, b: a * b, 2, [1, 2, 3], [4, 5, 6])
    28
    """
    total: Any = ZERO
    for share in _shares(k, factors):
        total = add(total, op(*share))
    return total


def _shares(k: int, factors: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Coefficients of all the factors, none of them zero, whose places add up to k."""
    first, *others = factors
    for i in range(k + 1) if others else (k,):
        if first[i] is not ZERO:
            if not others:
                yield (first[i],)
            else:
                yield from ((first[i], *rest) for rest in _shares(k - i, others))
