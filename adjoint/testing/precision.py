"""Checks of dtypes: lower precision, mixtures, and Python numbers keep theirs and stay close to double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.api.forward import jvp
from adjoint.api.grad import vjp
from adjoint.core.spec import Spec, bfloat16, float16, float32, float64, spec_of
from adjoint.core.tensor import Tensor
from adjoint.ops.families import Elementwise
from adjoint.testing.cases import Case, assert_close, assert_like, flat, in_kind, inexact, plain, wide


def check_precisions(case: Case) -> None:
    """A sample in single and half precision, in a mixture, and with Python numbers among the inputs."""
    check_precision(case.cast(float32), 1e-4)
    check_precision(case.cast(float16), 2e-2)
    try:
        check_precision(case.cast(bfloat16()), 1e-1)
    except ImportError:  # an optional package
        pass
    check_mixed(case, float32, 1e-4)
    if isinstance(case.op, Elementwise):
        check_python_numbers(case.cast(float32))


def check_precision(low: Case, tolerance: float) -> None:
    """The result has the inputs' precision, as `infer` says, and so have the derivatives."""
    got, want = flat(low.op(*map(Tensor, low.xs))), low.widened().results()
    for y, full, spec in zip(got, want, low.specs(), strict=True):
        expected = getattr(low.op, "dtype", None) or in_kind(full.dtype, low.floats[0].dtype)  # a cast has a `dtype`
        assert y.dtype == expected, f"{low}: the result is {y.dtype}, expected {expected}"
        assert (spec.shape, spec.dtype) == (y.shape, y.dtype), f"infer of {low}: {spec}, the result is {y.dtype}{y.shape}"
    assert_close(got, want, f"{low} against double precision", tolerance)
    check_derivative_dtypes(low, tolerance)


def check_derivative_dtypes(low: Case, tolerance: float) -> None:
    """Derivatives have the dtypes of their values, and are those of the rules in double precision."""
    if not low.smooth:
        return
    high = low.widened()
    inputs = [Tensor(x) for x in low.floats]
    out, pull = vjp(low.call_floats, *inputs)
    gs, ts = low.directions([plain(y) for y in out]), low.directions(low.floats)
    pulled, pushed = pull(*gs), jvp(low.call_floats, inputs, ts)[1]
    assert_like(pulled, inputs, f"vjp of {low}: the cotangent")
    assert_close(pulled, high.pull(list(map(wide, gs))), f"vjp of {low} against double precision", tolerance)
    assert_like(pushed, out, f"jvp of {low}: the tangent")
    assert_close(pushed, high.push(list(map(wide, ts))), f"jvp of {low} against double precision", tolerance)


def check_mixed(case: Case, narrow: np.dtype, tolerance: float) -> None:
    """One input of a narrower dtype than the others, first or last."""
    n, full = len(case.floats), case.floats[0].dtype
    for place in (0, n - 1) if n > 1 else ():
        low = case.cast(*(narrow if i == place else full for i in range(n)))
        # An op that keeps the dtype of its first input has no room for complex numbers in a real one.
        if full.kind == "c" and any(s.dtype.kind != "c" for s in low.specs()):
            continue
        for y, spec in zip(low.results(), low.specs(), strict=True):
            assert spec.dtype == y.dtype, f"infer of {low}: dtype {spec.dtype}, eval gave {y.dtype}"
        check_derivative_dtypes(low, tolerance)


def check_python_numbers(low: Case) -> None:
    """A Python number gives way to the dtype of an array, in `infer`, in the result and in the derivatives."""
    if len(low.floats) < 2:
        return
    number = float(sum(low.op.domain) / 2 + 0.3)  # type: ignore[attr-defined]
    for place in range(len(low.floats)):
        xs: list[Any] = [number if i == place else x for i, x in enumerate(low.floats)]
        what = f"{low} with a Python number as input {place} of those with derivatives"
        y = np.asarray(low.op.eval(np, *low.filled(xs)))
        spec = low.op.infer(*map(spec_of, low.filled(xs)))
        assert isinstance(spec, Spec) and spec.dtype == y.dtype, f"infer of {what}: {spec}, eval gave {y.dtype}"
        assert not inexact(y) or y.dtype == float32, f"{what}: the result is {y.dtype}, expected float32"
        if not low.smooth:
            continue

        def call(*arrays: Any, place: int = place) -> Any:
            return low.call(*arrays[:place], number, *arrays[place:])

        others = [Tensor(x) for i, x in enumerate(low.floats) if i != place]
        high = low.cast(float64)
        g = np.ones(y.shape, float32)
        pulled = vjp(call, *others)[1](g)
        filled = [np.asarray(number) if i == place else wide(x) for i, x in enumerate(low.floats)]
        want = [c for i, c in enumerate(high.pull([wide(g)], filled)) if i != place]
        assert_like(pulled, others, f"vjp of {what}: the cotangent")
        assert_close(pulled, want, f"vjp of {what}", 1e-4)
