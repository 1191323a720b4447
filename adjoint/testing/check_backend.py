"""A check for backends: every op card, alone in a graph and in the graph of its gradient, against the interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint.api.grad import vjp
from adjoint.api.jit import jit
from adjoint.core import tree
from adjoint.core.spec import is_inexact
from adjoint.core.tensor import Tensor
from adjoint.ops.card import REGISTRY, Op
from adjoint.testing.cases import Case, assert_close, cases, flat, inexact


def check_backend(name: str, cards: Iterable[type[Op]] | None = None, rtol: float = 1e-9) -> str:
    """Run the samples of op cards, and their gradients, on a backend and on the interpreter; says what was compared.

    A failure is an AssertionError that names the op and the shapes of the sample.

    >>> from adjoint.ops import Sin
    >>> check_backend("native", [Sin])
    '1 card, 5 samples: the same as the interpreter'
    """
    chosen = list(cards) if cards is not None else [cls for cls in REGISTRY.values() if not cls.opaque]
    samples = 0
    with np.errstate(all="ignore"):
        for cls in chosen:
            for case, *_ in cases(cls, "float64", 1):
                _compare(case, name, rtol)
                samples += 1
    return f"{len(chosen)} card{'s' * (len(chosen) != 1)}, {samples} samples: the same as the interpreter"


def _compare(case: Case, name: str, rtol: float) -> None:
    """Values and, where there are any, gradients along fixed weights."""
    run = _pulled(case) if case.smooth else case.op
    got, want = (tree.leaves(jit(run, backend=b)(*map(Tensor, case.xs))) for b in (name, "interpreter"))
    assert_close(got, want, f"backend {name!r}: {case}", rtol)


def _pulled(case: Case) -> Any:
    """The op with its gradient by the inputs that have one."""
    places = [k for k, x in enumerate(case.xs) if inexact(x)]

    def run(*xs: Any) -> Any:
        def of(*floats: Any) -> Any:
            filled = list(xs)
            for k, x in zip(places, floats, strict=True):
                filled[k] = x
            return [y for y in flat(case.op(*filled)) if is_inexact(y.dtype)]

        ys, pull = vjp(of, *(xs[k] for k in places))
        return ys, pull([y * 0 + 1 for y in ys])

    return run
