"""Every card as an op on a device, in dynamic mode: value and cotangents are those of the host, and they are on the device."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.spec import is_inexact
from adjoint.testing.cases import Case, cases, flat

HERE = os.environ.get("ADJOINT_TEST_DEVICE", "cpu:3")
CARDS = sorted(name for name, cls in ops.REGISTRY.items() if not cls.opaque)


@cache
def first(name: str) -> Case:
    return next(case for case, *_ in cases(ops.REGISTRY[name], "float64", 1))


def results(case: Case, place: Any) -> tuple[list[Any], list[Any]]:
    """The values of a call on inputs at a place, and the cotangents of its inputs by random ones of its results."""
    xs = [place(x) for x in case.xs]
    wanted = [i for i, x in enumerate(case.xs) if is_inexact(x.dtype)]
    ys = flat(case.op(*xs))
    moving = [i for i, y in enumerate(ys) if is_inexact(y.dtype)]
    if not (case.op.differentiable and wanted and moving):
        return ys, []
    rng = np.random.default_rng(1)
    gs = [place(rng.normal(size=ys[i].shape).astype(ys[i].dtype)) for i in moving]

    def called(*vs: Any) -> Any:
        full = list(xs)
        for i, v in zip(wanted, vs, strict=True):
            full[i] = v
        found = flat(case.op(*full))
        return tuple(found[i] for i in moving)

    return ys, list(ad.vjp(called, *(xs[i] for i in wanted))[1](*gs))


@pytest.mark.parametrize("name", CARDS)
def test_a_card_on_a_device(name: str) -> None:
    case = first(name)
    with np.errstate(all="ignore"):
        there = results(case, lambda x: ad.Tensor(x, device=HERE))
        here = results(case, ad.Tensor)
    for found, wanted in zip(there, here, strict=True):
        for y, want in zip(found, wanted, strict=True):
            assert y.device == HERE, f"a result of {case} is on {y.device}"
            a, b = y.asnumpy(), want.asnumpy()
            if name == "ArgPartition":  # the order within a part is free
                a, b = (np.sort(np.take_along_axis(case.xs[0], v, case.op.axis), case.op.axis) for v in (a, b))
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            size = np.abs(b[np.isfinite(b)]).max(initial=1.0) if is_inexact(b.dtype) else 0
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11 * size, err_msg=str(case))
