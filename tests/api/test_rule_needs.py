"""What derivative rules read: found out beforehand, and never more than that."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.core.absent import ZERO
from adjoint.core.spec import spec_of
from adjoint.ops import REGISTRY, Add, MatMul, Mul, Sin, Tanh
from adjoint.testing.cases import cases, inexact
from adjoint.transforms.records import Leaf, Record
from adjoint.transforms.rule_needs import deferred, needs_of


def record(op, *xs):
    return Record(
        op, [Leaf(x) if isinstance(x, np.ndarray) and inexact(x) else None for x in xs], list(xs), op.eval(np, *xs)
    )


def cotangents(op, g, y, xs, wanted):
    with np.errstate(all="ignore"):
        return [(c() if callable(c) else c) if w else None for c, w in zip(op.vjp(g, y, *xs), wanted, strict=True)]


def absent(x):
    def read():
        raise AssertionError("the rule reads what it was said not to need")

    return deferred(spec_of(x), read)


@pytest.mark.parametrize("name", REGISTRY)
def test_rules_read_no_more_than_was_found_out(name):
    """The same cotangents, to the bit, when what is not needed cannot be read."""
    for case, *_ in cases(REGISTRY[name]):
        op, xs = case.op, list(case.xs)
        with np.errstate(all="ignore"):
            y = op.eval(np, *xs)
        if not op.differentiable or op.opaque or not isinstance(y, np.ndarray):
            continue
        wanted = [inexact(x) for x in xs]
        needs = needs_of(record(op, *xs))
        assert needs is not None
        g = np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype)
        less = [x if n or not w else absent(x) for x, n, w in zip(xs, needs[1], wanted, strict=True)]
        found = cotangents(op, g, y if needs[0] else absent(y), less, wanted)
        for a, b in zip(found, cotangents(op, g, y, xs, wanted), strict=True):
            assert type(a) is type(b)
            if b is not None and b is not ZERO:
                np.testing.assert_array_equal(a, b)


def test_what_some_rules_need():
    x, w = np.ones((2, 3)), np.ones((3, 4))
    assert needs_of(record(Add(), x, x)) == (False, (False, False))
    assert needs_of(record(Mul(), x, x)) == (False, (True, True))
    assert needs_of(record(Mul(), x, 2.0)) == (False, (False, False))
    assert needs_of(record(Tanh(), x)) == (True, (False,))
    assert needs_of(record(Sin(), x)) == (False, (True,))
    assert needs_of(record(MatMul(), x, w)) == (False, (True, True))


def test_what_is_read_after_all_is_fetched():
    x = np.arange(3.0)
    fetched = deferred(spec_of(x), lambda: x)
    assert fetched.shape == (3,)
    np.testing.assert_array_equal(Sin()(fetched), np.sin(x))
    np.testing.assert_array_equal(fetched.asnumpy(), x)
