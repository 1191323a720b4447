"""The generic checks of an op card: every rule against the kernel, from the card's own samples, errors and edges."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.core.errors import AdjointError
from adjoint.core.spec import Spec, float32, float64, spec_of
from adjoint.core.tensor import Tensor
from adjoint.ops.card import Op
from adjoint.ops.families import Elementwise
from adjoint.testing.cases import Case, cases, flat, in_kind
from adjoint.testing.check_batching import check_nested_vmap, check_vmap, check_vmap_and_vjp
from adjoint.testing.check_derivatives import (
    check_jvp,
    check_second_order,
    check_transforms,
    check_vjp,
    check_zero_derivative,
)
from adjoint.testing.check_facts import check_facts
from adjoint.testing.check_precision import check_mixed, check_precision, check_precisions
from adjoint.testing.edges import check_edges, check_masked
from adjoint.testing.machine_code import check_code


def check_op(cls: type[Op]) -> int:
    """Check each rule of a card against its kernel; returns the number of samples, edges and refusals looked at.

    A failure is an AssertionError that names the op, the shapes of the sample and the rule.

    >>> from adjoint.ops.trigonometric import Tanh
    >>> check_op(Tanh) > 0
    True
    """
    caller = sys._getframe(1)
    place = f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"
    count = 0
    with np.errstate(all="ignore"):
        elementwise: dict[Op, Case] = {}
        samples: list[Case] = []
        for rounds in cases(cls):
            with naming(case := rounds[0]):
                check_sample(rounds)
                if case.floats:
                    check_precisions(case)
            if isinstance(case.op, Elementwise):
                elementwise[case.op] = case
            samples.append(case)
            count += 1
        check_code(samples)
        for rounds in cases(cls, "complex128") if cls.complex else ():
            with naming(case := rounds[0]):
                check_sample(rounds)
                if case.floats:
                    check_precision(case.cast(*(in_kind(x.dtype, float32) for x in case.floats)), 1e-4)
                    check_mixed(case, float64, 1e-9)
            count += 1
        for case in elementwise.values():
            with naming(case):
                count += check_edges(case)
                check_masked(case)
        for op, specs, words in cls.errors():
            check_refusal(op, specs, words, place)
            count += 1
    return count


@contextmanager
def naming(case: Case) -> Iterator[None]:
    """Say of which sample a rule raised an error."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{case}: a rule raised {type(error).__name__}: {error}") from error


def check_sample(rounds: Sequence[Case]) -> None:
    """All checks of one sample in double precision; the further rounds make batches of it."""
    case = rounds[0]
    check_text(case)
    check_infer(case)
    check_facts(case)
    if case.smooth:
        check_jvp(case)
        check_vjp(case)
        check_transforms(case)
        check_second_order(case)
    elif not case.op.differentiable:
        check_zero_derivative(case)
    check_vmap(rounds)
    check_nested_vmap(rounds)
    if case.smooth:
        check_vmap_and_vjp(rounds)


def check_text(case: Case) -> None:
    """A card prints with its name, and equals its copy."""
    op = case.op
    assert type(op).__name__ in repr(op), f"repr of {type(op).__name__} does not name it: {op!r}"
    copy = dataclasses.replace(op)  # type: ignore[type-var]
    assert op == copy and hash(op) == hash(copy), f"{op!r} does not equal its copy"


def check_infer(case: Case) -> None:
    """`infer` foretells the shape and dtype of each result."""
    result = case.op.eval(np, *case.xs)
    foretold = case.op.infer(*map(spec_of, case.xs))
    specs, ys = flat(foretold), [np.asarray(y) for y in flat(result)]
    same = (type(foretold) is tuple) == (type(result) is tuple) and len(specs) == len(ys)
    assert same, f"infer of {case}: {foretold}, eval gave {[y.shape for y in ys]}"
    for spec, y in zip(specs, ys, strict=True):
        assert spec.shape == y.shape, f"infer of {case}: shape {spec.shape}, eval gave {y.shape}"
        assert spec.dtype == y.dtype, f"infer of {case}: dtype {spec.dtype}, eval gave {y.dtype}"


def check_refusal(op: Op, specs: Sequence[Spec], words: str, place: str) -> None:
    """`infer` refuses the call with these words, and so does the op on real arrays, which names the user's line too."""
    shown = f"{op} on {', '.join(map(str, specs))}"
    text = _refused(op.infer, specs, f"infer of {shown}")
    assert words in text, f"infer of {shown} says {text!r}, not {words!r}"
    text = _refused(op, [Tensor(np.ones(s.shape, s.dtype)) for s in specs], f"the call of {shown}")
    assert words in text, f"the call of {shown} says {text!r}, not {words!r}"
    assert f"called at {place}" in text, f"the call of {shown} does not name the line {place}: {text!r}"


def _refused(rule: Callable[..., Any], xs: Sequence[Any], what: str) -> str:
    """The words of the refusal."""
    try:
        rule(*xs)
    except AdjointError as error:
        return str(error)
    raise AssertionError(f"{what} accepts what it should refuse")
