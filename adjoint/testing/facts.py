"""What a card says of itself, against its kernel: elementwise, a view, a reduction, total, its cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.spec import spec_of
from adjoint.testing.cases import Case, flat


def check_facts(case: Case) -> None:
    """Every fact of the card that a single call can refute."""
    op, xs = case.op, case.xs
    if op.elementwise:
        _check_elementwise(case)
    if op.view:
        shared = all(np.may_share_memory(y, xs[0]) for y in case.results() if y.size > 1)
        assert shared, f"{case}: called a view, but the kernel copies elements"
    if op.reduction:
        kind: Any = getattr(np, op.reduction)
        with np.errstate(all="ignore"):
            want = kind(xs[0], axis=op.axes, keepdims=op.keepdims)  # type: ignore[attr-defined]
        assert np.allclose(case.results()[0], want), f"{case}: not the {op.reduction} that it says it is"
    if op.total:
        _check_total(case)
    specs = [spec_of(x) for x in xs]
    flops = op.flops(op.infer(*specs), *specs)
    assert isinstance(flops, int) and flops >= 0, f"{case}: {flops!r} is no number of operations"


def _check_elementwise(case: Case) -> None:
    """Each element of the result is the result of the elements at its place."""
    whole = case.results()[0]
    spread = [np.broadcast_to(x, whole.shape) for x in case.xs]
    for place in list(np.ndindex(*whole.shape))[:4]:
        one = np.asarray(case.op.eval(np, *(np.array(x[place]) for x in spread)))
        same = one.shape == () and np.allclose(one, whole[place], rtol=1e-12, atol=0, equal_nan=True)
        assert same, f"{case}: called elementwise, but the element at {place} depends on others"


def _check_total(case: Case) -> None:
    """No value makes the kernel fail."""
    for value in (0.0, np.inf, -np.inf, np.nan):
        xs = [np.full_like(x, value) if x.dtype.kind in "fc" else x for x in case.xs]
        try:
            flat(case.op.eval(np, *xs))
        except Exception as error:
            raise AssertionError(f"{case}: called total, but fails on {value}: {error}") from error
