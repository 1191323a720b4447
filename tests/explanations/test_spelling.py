"""Every card has a spelling in NumPy that computes what its kernel does, or is refused by name."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from adjoint.core.spec import spec_of
from adjoint.explanations import numpy_kernels
from adjoint.explanations.spelling import REFUSED, TABLE, NoSpellingError, spelled
from adjoint.ops import REGISTRY
from adjoint.testing.cases import assert_close, cases, flat

CARDS = sorted(REGISTRY)


def namespace(inputs):
    import scipy.linalg
    import scipy.special

    return {**vars(numpy_kernels), "scipy": scipy, **{f"_{i}": x for i, x in enumerate(inputs)}}


@pytest.mark.parametrize("name", [n for n in CARDS if n not in REFUSED])
def test_the_spelling_computes_what_the_kernel_does(name):
    cls = REGISTRY[name]
    ran = 0
    for number in ("float64", "complex128") if cls.complex else ("float64",):
        for round_ in cases(cls, number):
            for case in round_[:2]:
                specs = [spec_of(x) for x in case.xs]
                if any(getattr(case.op, field, 0) for field in ("order", "by_a", "by_b")) and name.endswith("inc"):
                    with pytest.raises(NoSpellingError, match="stop_gradient"):
                        spelled(case.op, specs, case.op.infer(*specs))
                    continue
                tree = spelled(case.op, specs, case.op.infer(*specs))
                with np.errstate(all="ignore"):
                    got = eval(ast.unparse(tree), namespace(case.xs))
                    want = case.op.eval(np, *case.xs)
                got = tuple(got) if isinstance(want, tuple) else got
                assert_close(flat(got), flat(want), ast.unparse(tree), 1e-11)
                assert [np.asarray(v).dtype for v in flat(got)] == [np.asarray(v).dtype for v in flat(want)]
                ran += 1
    assert ran


def test_the_table_is_complete():
    assert set(TABLE) | set(REFUSED) >= set(CARDS)
    assert not set(TABLE) & set(REFUSED)
    assert len(TABLE) >= 131  # may only grow
