"""Every program of the corpus, in every mode, against finite differences and against each other."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.core import tree
from adjoint.core.errors import AdjointError
from adjoint.passes import PASSES
from corpus import PROGRAMS, Program

PASS_NAMES = tuple(name for name, _ in PASSES)
BACKENDS = ("native", "interpreter")
STATIC = [p.name for p in PROGRAMS.values() if p.static]
Arrays = list[np.ndarray]


# ---------------------------------------------------------------- the function of a flat list of arrays


def arrays(out: Any) -> Arrays:
    """The numbers of a container."""
    return [np.asarray(y.asnumpy() if isinstance(y, ad.Tensor) else y) for y in tree.leaves(out)]


def inexact(out: Any) -> Arrays:
    return [y for y in arrays(out) if y.dtype.kind == "f"]


class Flat:
    """A program at a point, as a function of the leaves that are differentiated by."""

    def __init__(self, program: Program, point: Sequence[Any]) -> None:
        self.program, self.point = program, point
        self.leaves, self.rebuild = tree.flatten(tuple(point[i] for i in program.positions))
        self.xs = [np.asarray(x, np.float64) for x in self.leaves]
        rng = np.random.default_rng(zlib.crc32(program.name.encode()))
        self.direction = [rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1, 1], x.shape) for x in self.xs]

    def args(self, moving: Any) -> list[Any]:
        """All arguments, from those that are differentiated by."""
        args = list(self.point)
        for i, x in zip(self.program.positions, moving, strict=True):
            args[i] = x
        return args

    def inputs(self, xs: Arrays) -> list[Any]:
        return self.args(self.rebuild([ad.Tensor(x.copy()) for x in xs]))

    def total(self, xs: Arrays) -> float:
        """The sum of all outputs, computed without any transform."""
        return sum(float(y.sum()) for y in inexact(self.program.fn(*self.inputs(xs))))

    def gradient(self, xs: Arrays, fn: Callable[..., Any] | None = None) -> Arrays:
        return arrays(ad.grad(fn or self.program.fn, self.program.positions)(*self.inputs(xs)))

    def pushed(self, fn: Callable[..., Any]) -> Arrays:
        """The tangents of the outputs along the direction."""
        moving = self.rebuild([ad.Tensor(x) for x in self.xs])
        tangents = self.rebuild([ad.Tensor(t) for t in self.direction])
        return inexact(ad.jvp(lambda *m: fn(*self.args(m)), moving, tangents)[1])

    def nudged(self, k: int, i: tuple[int, ...], h: float) -> Arrays:
        """The inputs with one number changed."""
        xs = [x.copy() for x in self.xs]
        xs[k][i] += h
        return xs

    def moved(self, h: float) -> Arrays:
        return [x + h * t for x, t in zip(self.xs, self.direction, strict=True)]


def quotient(f: Callable[[float], Any], h: float = 2e-3) -> Any:
    """The derivative of f at 0: central differences, extrapolated twice by Richardson's rule."""
    a, b, c = ((f(s) - f(-s)) / (2 * s) for s in (h, h / 2, h / 4))
    ab, bc = (4 * b - a) / 3, (4 * c - b) / 3
    return (16 * bc - ab) / 15


def close(got: Sequence[Any], want: Sequence[Any], rtol: float, what: str) -> None:
    """Equal up to `rtol` of the largest number."""
    assert len(got) == len(want), f"{what}: {len(got)} arrays, {len(want)} expected"
    scale = 1.0 + max((float(np.max(np.abs(w), initial=0.0)) for w in want), default=0.0)
    for g, w in zip(got, want, strict=True):
        assert np.shape(g) == np.shape(w), f"{what}: shape {np.shape(g)}, {np.shape(w)} expected"
        np.testing.assert_allclose(g, w, rtol=0.0, atol=rtol * scale, err_msg=what)


def points(name: str) -> list[Flat]:
    return [Flat(PROGRAMS[name], point) for point in PROGRAMS[name].points]


# ---------------------------------------------------------------- dynamic mode


@pytest.mark.parametrize("name", PROGRAMS)
def test_reverse_against_finite_differences(name: str) -> None:
    for flat in points(name):
        got = flat.gradient(flat.xs)
        want = [np.zeros_like(x) for x in flat.xs]
        for k, x in enumerate(flat.xs):
            for i in np.ndindex(x.shape):
                want[k][i] = quotient(lambda h, flat=flat, k=k, i=i: flat.total(flat.nudged(k, i, h)))
        close(got, want, 2e-8, f"{name}: gradient against finite differences")
        assert any(g.any() for g in got), f"{name}: the gradient is zero, which proves nothing"


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_against_reverse(name: str) -> None:
    for flat in points(name):
        pushed = sum(float(t.sum()) for t in flat.pushed(flat.program.fn))
        pulled = sum(float((g * t).sum()) for g, t in zip(flat.gradient(flat.xs), flat.direction, strict=True))
        close([pushed], [pulled], 1e-11, f"{name}: jvp against grad")


@pytest.mark.parametrize("name", [p.name for p in PROGRAMS.values() if p.order2])
def test_second_order_against_differences_of_gradients(name: str) -> None:
    for flat in points(name):
        got = flat.pushed(ad.grad(flat.program.fn, flat.program.positions))
        want = [np.zeros_like(g) for g in got]
        for k in range(len(want)):
            want[k] = quotient(lambda h, k=k, flat=flat: flat.gradient(flat.moved(h))[k])
        close(got, want, 2e-7, f"{name}: jvp of grad against differences of grad")


# ---------------------------------------------------------------- static mode


@pytest.mark.parametrize("name", STATIC)
def test_static_value_gradient_and_tangent(name: str) -> None:
    """One graph serves all points, whichever branches they take; machine code and the interpreter give what dynamic mode gives."""
    program = PROGRAMS[name]
    jitted, gradient = ad.jit(program.fn), ad.jit(ad.grad(program.fn, program.positions))
    push = ad.jit(lambda inputs, along: ad.jvp(program.fn, inputs, along)[1])
    plain = ad.jit(program.fn, backend="interpreter")
    second = ad.jit(ad.value_and_grad(program.fn, program.positions), backend="interpreter")
    for flat in points(name):
        want, slope = arrays(program.fn(*flat.inputs(flat.xs))), flat.gradient(flat.xs)
        close(arrays(jitted(*flat.inputs(flat.xs))), want, 1e-9, f"{name}: jit(f)")
        close(flat.gradient(flat.xs, jitted), slope, 1e-9, f"{name}: grad(jit(f))")
        close(arrays(gradient(*flat.inputs(flat.xs))), slope, 1e-9, f"{name}: jit(grad(f))")
        close(arrays(second(*flat.inputs(flat.xs))), [*want, *slope], 1e-9, f"{name}: in the interpreter")
        tangents = flat.pushed(program.fn)
        close(flat.pushed(jitted), tangents, 1e-9, f"{name}: jvp(jit(f))")
        if len(program.positions) == len(flat.point):
            inputs, along = flat.inputs(flat.xs), flat.rebuild([ad.Tensor(t) for t in flat.direction])
            close(inexact(push(inputs, along)), tangents, 1e-9, f"{name}: jit(jvp(f))")
        if any(isinstance(x, float) for x in flat.leaves):  # Python numbers follow rules of their own
            close(arrays(plain(*flat.point)), want, 1e-9, f"{name}: jit(f) of Python numbers")
            found = arrays(ad.grad(plain, program.positions)(*flat.point))
            close(found, slope, 1e-9, f"{name}: grad(jit(f)) of Python numbers")
    assert len(jitted.compilations) == 1 or len({repr(list(map(np.shape, p))) for p in program.points}) > 1, (
        f"{name}: compiled again: {[c.reason for c in jitted.compilations]}"
    )


@pytest.mark.parametrize("name", STATIC)
def test_machine_code_against_finite_differences(name: str) -> None:
    """The gradient of compiled code is the slope of compiled code, and no other mode is asked."""
    program = PROGRAMS[name]
    compiled = ad.jit(ad.value_and_grad(program.fn, program.positions))
    for flat in points(name):

        def total(h: float, flat: Flat = flat) -> float:
            value, _ = compiled(*flat.inputs(flat.moved(h)))
            return sum(float(y.sum()) for y in inexact(value))

        _, gradient = compiled(*flat.inputs(flat.xs))
        along = sum(float((g * t).sum()) for g, t in zip(arrays(gradient), flat.direction, strict=True))
        close([along], [quotient(total)], 1e-7, f"{name}: jit(value_and_grad(f)) against its own differences")


@pytest.mark.parametrize("name", STATIC)
def test_static_with_passes_off(name: str) -> None:
    """Every program without all passes and without some, so that each pass is left out of many."""
    program = PROGRAMS[name]
    first, *_ = points(name)
    with_value = ad.value_and_grad(program.fn, program.positions)
    want = arrays(with_value(*first.inputs(first.xs)))
    for backend, off in switched_off(STATIC.index(name)):
        got = arrays(ad.jit(with_value, passes_off=off, backend=backend)(*first.inputs(first.xs)))
        close(got, want, 1e-9, f"{name}: jit(value_and_grad(f)) without {off}, {backend}")


def switched_off(k: int) -> list[tuple[str, tuple[str, ...]]]:
    """Which passes the k-th program leaves out, and where it runs then: in turn."""
    some = [(PASS_NAMES[(k + step) % len(PASS_NAMES)],) for step in (0, 5, 9)]
    return [("native", some[0]), ("interpreter", some[1]), ("interpreter", some[2]), (BACKENDS[k % 2], PASS_NAMES)]


# ---------------------------------------------------------------- the corpus itself


def test_corpus_is_large() -> None:
    assert len(PROGRAMS) >= 150
    assert all(p.reason for p in PROGRAMS.values() if not (p.static and p.order2))


def test_what_is_left_out_is_left_out_for_a_reason() -> None:
    """A program that static mode is said not to take is refused by it."""
    for program in PROGRAMS.values():
        if not program.static:
            flat = Flat(program, program.inputs)
            with pytest.raises(AdjointError):
                ad.jit(program.fn)(*flat.inputs(flat.xs))


def test_every_pass_is_left_out_of_many_programs_on_both_backends() -> None:
    turns = Counter((backend, name) for k in range(len(STATIC)) for backend, off in switched_off(k) for name in off)
    assert min(turns[backend, name] for backend in BACKENDS for name in PASS_NAMES) >= 20
