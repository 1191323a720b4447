"""Checks of the vmap rule, against a loop."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from adjoint.api.batching import vmap
from adjoint.api.grad import vjp
from adjoint.core.tensor import Tensor
from adjoint.testing.cases import Arrays, Case, assert_close, assert_like, flat


def subsets(n: int) -> Iterator[tuple[int, ...]]:
    """The inputs to batch: every choice of up to three, else each alone and all.

    >>> list(subsets(2))
    [(0,), (1,), (0, 1)]
    """
    sizes = range(1, n + 1) if n <= 3 else (1, n)
    return itertools.chain.from_iterable(itertools.combinations(range(n), size) for size in sizes)


def stacked(rows: Sequence[Arrays]) -> Arrays:
    """Results of single calls as results of a batch."""
    return [np.stack(parts) for parts in zip(*rows, strict=True)]


def check_vmap(rounds: Sequence[Case]) -> None:
    """`vmap` for each choice of batched inputs, the batch axis first and last."""
    case = rounds[0]
    for chosen in subsets(len(case.xs)):
        rows = [replace(case, xs=tuple((r if i in chosen else case).xs[i] for i in range(len(r.xs)))) for r in rounds]
        looped = stacked([r.results() for r in rows])
        for last in (False, True):
            axes = tuple((x.ndim if last else 0) if i in chosen else None for i, x in enumerate(case.xs))
            what = f"vmap of {case} with in_axes {axes} against a loop"
            got = flat(vmap(case.op, in_axes=axes)(*(_batch(rounds, i, a) for i, a in enumerate(axes))))
            assert_like(got, looped, what)
            assert_close(got, looped, what, 1e-12)


def _batch(rounds: Sequence[Case], i: int, axis: int | None) -> Tensor:
    """Input i of each round, along a new axis if it is to be batched."""
    return Tensor(rounds[0].xs[i] if axis is None else np.stack([r.xs[i] for r in rounds], axis))


def check_nested_vmap(rounds: Sequence[Case]) -> None:
    """vmap of vmap: all inputs batched twice, and the first outside, the others inside."""
    case = rounds[0]
    batches = stacked([list(r.xs) for r in rounds])
    got = vmap(vmap(case.op))(*(np.stack([b, b[::-1]]) for b in batches))
    want = [np.stack([b, b[::-1]]) for b in stacked([r.results() for r in rounds])]
    assert_close(flat(got), want, f"vmap of vmap of {case} against two loops", 1e-12)
    if len(case.xs) > 1:
        rows = [stacked([replace(case, xs=(a.xs[0], *b.xs[1:])).results() for b in rounds]) for a in rounds]
        got = vmap(lambda x: vmap(lambda *rest: case.op(x, *rest))(*batches[1:]))(batches[0])
        assert_close(flat(got), stacked(rows), f"vmap of {case} in its first input over vmap in the others", 1e-12)


def check_vmap_and_vjp(rounds: Sequence[Case]) -> None:
    """The vjp rule on a batch and the vmap rule on a tape: both are written in ops."""
    case = rounds[0]
    n = len(case.floats)
    rows = [case.directions(case.outputs()) for _ in rounds]
    looped = stacked([case.pull(g, r.floats) for r, g in zip(rounds, rows, strict=True)])
    xs, gs = stacked([r.floats for r in rounds]), stacked(rows)
    got = vmap(lambda *v: vjp(case.call, *v[:n])[1](*v[n:]))(*xs, *gs)
    assert_close(got, looped, f"vmap of the vjp of {case} against a loop", 1e-9)
    got = vjp(vmap(case.call_floats), *xs)[1](*gs)
    assert_close(got, looped, f"vjp of the vmap of {case} against a loop", 1e-9)
