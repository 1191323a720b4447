"""Every op card as machine code: values against NumPy, gradients against differences of NumPy and against dynamic mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core import tree
from adjoint.core.tensor import Tensor
from adjoint.ops.card import REGISTRY
from adjoint.testing.cases import Case, flat
from lowering import samples_of


def floats(case: Case) -> list[int]:
    return [k for k, x in enumerate(case.xs) if x.dtype == np.float64]


def weights(case: Case) -> list[Any]:
    """For each result a number for each element, none for results without derivatives."""
    rng = np.random.default_rng(len(case.xs))
    ys = [np.asarray(y) for y in flat(case.op.eval(np, *case.xs))]
    return [rng.uniform(0.5, 1.5, y.shape) if y.dtype.kind == "f" else None for y in ys]


def slope(case: Case, ws: list[Any], direction: list[np.ndarray], h: float = 1e-5) -> float:
    """By differences of the NumPy kernel, extrapolated once."""

    def total(step: float) -> float:
        xs = list(case.xs)
        for k, t in zip(floats(case), direction, strict=True):
            xs[k] = xs[k] + step * t
        ys = flat(case.op.eval(np, *xs))
        return sum(float(np.sum(w * y)) for w, y in zip(ws, ys, strict=True) if w is not None)

    coarse, fine = ((total(s) - total(-s)) / (2 * s) for s in (h, h / 2))
    return (4 * fine - coarse) / 3


def check(case: Case) -> None:
    ws, at = weights(case), floats(case)

    def loss(*xs: Any) -> Any:
        ys = flat(case.op(*map(Tensor, xs)))
        return sum(((w * y).sum() for w, y in zip(ws, ys, strict=True) if w is not None), ops.zeros((), ad.float64))

    run = ad.value_and_grad(loss, tuple(at))
    (value, *gradient), (wanted, *dynamic) = (tree.leaves(r(*case.xs)) for r in (ad.jit(run), run))
    scale = 1.0 + max(float(np.abs(g.asnumpy()).max(initial=0.0)) for g in dynamic)
    np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9 * scale, err_msg=str(case))
    for g, d in zip(gradient, dynamic, strict=True):
        np.testing.assert_allclose(g, d, rtol=1e-9, atol=1e-9 * scale, err_msg=str(case))
    rng = np.random.default_rng(1)
    direction = [rng.uniform(-1.0, 1.0, case.xs[k].shape) for k in at]
    along = sum(float(np.sum(g.asnumpy() * t)) for g, t in zip(gradient, direction, strict=True))
    np.testing.assert_allclose(along, slope(case, ws, direction), rtol=1e-5, atol=1e-5 * scale, err_msg=str(case))


SMOOTH = sorted(name for name, cls in REGISTRY.items() if any(c.smooth and floats(c) for c in samples_of(cls)))


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_machine_code(name: str) -> None:
    with np.errstate(all="ignore"):
        for case in samples_of(REGISTRY[name]):
            if case.smooth and floats(case):
                check(case)


def test_most_cards_are_here() -> None:
    assert len(SMOOTH) > 80
