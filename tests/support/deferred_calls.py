"""Calls that are deferred at once, and compared with what they give when they are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.api import deferral
from adjoint.core import context, tree

X = np.random.default_rng(0).normal(size=(5, 3))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The second call of a function is learned, the third is compiled."""
    monkeypatch.setattr(deferral, "COMPILE", 0.0)
    monkeypatch.setattr(deferral, "COMPILE_FIRST", 0.0)
    monkeypatch.setattr(deferral, "COMPILE_STEP", 0.0)
    deferral._functions.clear()
    yield
    deferral._functions.clear()


def numbers(out: Any) -> list[np.ndarray]:
    return [np.asarray(y.asnumpy() if isinstance(y, ad.Tensor) else y) for y in tree.leaves(out)]


def alike(call: Callable[[], Any], calls: int = 4) -> list[np.ndarray]:
    """The results of a call, the same each time."""
    with context.setting(context.deferred, False):
        want = numbers(call())
    for _ in range(calls):
        found = numbers(call())
        assert len(found) == len(want)
        for y, z in zip(found, want, strict=True):
            assert y.shape == z.shape and y.dtype == z.dtype
            scale = 1e-4 if z.dtype in (np.float32, np.complex64) else 1e-9
            np.testing.assert_allclose(y, z, rtol=scale, atol=scale)
    return want
