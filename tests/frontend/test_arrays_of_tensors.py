"""`np.array([x, y])` of graph values in loops and branches: one array that is carried and chosen, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

P = np.array([1.1, 0.4, 0.1, 0.4])


def orbit(p: Any) -> Any:
    y = np.array([1.0, 0.5])

    def rate(y: Any) -> Any:
        return np.array([p[0] * y[0] - p[1] * y[1], p[3] * y[1]])

    for _ in range(12):
        k = rate(y)
        y = y + 0.05 * k
    return y


def replaced(p: Any) -> Any:
    y = np.array([1.0, 0.5])
    for _ in range(12):
        y = np.array([p[0] * y[1] * 0.9, p[3] * y[0] * 1.2])
    return y


def chosen(p: Any) -> Any:
    y = np.array([1.0, 0.5])
    if p[0] > 0:
        y = np.array([p[0], p[1] * 2])
    return y


def until(p: Any) -> Any:
    y = np.array([p[0], 0.5])
    while y[0] < 5.0:
        y = np.array([y[0] * 1.5 + p[0], y[1] - p[1]])
    return y


def collected(p: Any) -> Any:
    ys, y = [], np.array([p[0], p[1]])
    for _ in range(12):
        y = np.array([y[1], -y[0] * p[2]])
        ys.append(y)
    return np.stack(ys)


def held(p: Any) -> Any:
    s = {"x": np.array([1.0, 0.0]), "v": np.array([0.0, p[1]])}
    for _ in range(12):
        x = np.array([s["x"][0] + 0.1 * s["v"][0], s["x"][1] + 0.1 * s["v"][1]])
        s = {"x": x, "v": s["v"] - p[0] * 0.1 * s["x"]}
    return s["x"]


@pytest.mark.parametrize("f", [orbit, replaced, chosen, until, collected, held])
def test_both_modes_agree(f: Any) -> None:
    for p in (P, -P) if f is chosen else (P,):
        value = ad.jit(f, backend="interpreter")(p)
        assert value.dtype == np.float64
        np.testing.assert_allclose(value, f(p), rtol=1e-13)
        slope = ad.jit(ad.jacrev(f), backend="interpreter")(p)
        np.testing.assert_allclose(slope, ad.jacfwd(f)(p), rtol=1e-12, atol=1e-15)


def test_in_machine_code() -> None:
    np.testing.assert_allclose(ad.jit(orbit)(P), orbit(P), rtol=1e-13)
