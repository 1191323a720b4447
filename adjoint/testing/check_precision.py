"""Checks of dtypes: lower precision, mixtures, and Python numbers keep theirs and stay close to double precision."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from adjoint.api.forward import jvp
from adjoint.api.grad import vjp
from adjoint.core.spec import bfloat16, bool_, float16, float32, int32, spec_of, uint8
from adjoint.core.tensor import Tensor
from adjoint.ops.families import Elementwise
from adjoint.testing.cases import Case, assert_close, assert_like, flat, in_kind, plain, wide


def check_precisions(case: Case) -> None:
    """A sample in single and half precision, in a mixture, and with Python numbers among the inputs."""
    check_precision(case.cast(float32), 1e-4)
    check_precision(case.cast(float16), 2e-2)
    with suppress(ImportError):  # bfloat16 comes from an optional package
        check_precision(case.cast(bfloat16()), 1e-1)
    check_mixed(case, float32, 1e-4)
    check_mixed(case, int32, 1e-9)
    if isinstance(case.op, Elementwise):
        check_python_numbers(case.cast(float32), 1e-4)
        check_python_numbers(case.cast(float16), 2e-2)
    check_whole_numbers(case)


def check_precision(low: Case, tolerance: float) -> None:
    """The result has the inputs' precision, as `infer` says, and so have the derivatives."""
    got, want = flat(low.op(*map(Tensor, low.xs))), low.widened().results()
    for y, full, spec in zip(got, want, low.specs(), strict=True):
        expected = getattr(low.op, "dtype", None) or in_kind(full.dtype, low.floats[0].dtype)  # a cast has a `dtype`
        assert y.dtype == expected, f"{low}: the result is {y.dtype}, expected {expected}"
        assert (spec.shape, spec.dtype) == (y.shape, y.dtype), (
            f"infer of {low}: {spec}, the result is {y.dtype}{y.shape}"
        )
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


def check_python_numbers(low: Case, tolerance: float) -> None:
    """A Python number gives way to the dtype of an array: in `infer`, in the result and in the derivatives."""
    number = float(sum(low.op.domain) / 2 + 0.3)  # type: ignore[attr-defined]
    for place in range(len(low.floats)) if len(low.floats) > 1 else ():
        what = f"{low} with a Python number as input {place} of those with derivatives"

        def call(*arrays: Any, place: int = place) -> Any:
            return low.call(*arrays[:place], number, *arrays[place:])

        others = [Tensor(x) for i, x in enumerate(low.floats) if i != place]
        y = call(*others)
        xs = low.filled([*low.floats[:place], number, *low.floats[place + 1 :]])
        (spec,) = flat(low.op.infer(*map(spec_of, xs)))
        assert spec.dtype == y.dtype, f"infer of {what}: {spec}, the result is {y.dtype}"
        if low.smooth:
            assert y.dtype == others[0].dtype, f"{what}: the result is {y.dtype}, expected {others[0].dtype}"
            pulled = vjp(call, *others)[1](np.ones(y.shape, y.dtype))
            point = [np.asarray(number) if i == place else wide(x) for i, x in enumerate(low.floats)]
            want = low.widened().pull([np.ones(y.shape)], point)
            assert_like(pulled, others, f"vjp of {what}: the cotangent")
            assert_close(pulled, want[:place] + want[place + 1 :], f"vjp of {what}", tolerance)


def check_whole_numbers(case: Case) -> None:
    """`infer` foretells the dtype that the kernel gives integers and booleans, if it takes them."""
    for dtype in (bool_, uint8, int32):
        whole = case.cast(dtype)
        try:
            ys = whole.results()
        except (TypeError, ValueError):
            continue
        for y, spec in zip(ys, whole.specs(), strict=True):
            assert (spec.shape, spec.dtype) == (y.shape, y.dtype), (
                f"infer of {whole}: {spec}, eval gave {y.dtype}{y.shape}"
            )
