"""Fourier transforms in machine code: every length and layout, as accurate as SciPy's, in loops, branches, batches and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft

import adjoint as ad
from adjoint import ops
from adjoint.backends.native.compiler import Program
from adjoint.backends.native.kernels.fourier_transform import radices, stages
from adjoint.backends.native.rewrite.fourier_steps import FourierStep, factors, unit_roots
from adjoint.core.spec import spec_of
from adjoint.graph.node import Builder, Graph
from adjoint.ops.fourier import Fft
from adjoint.ops.real_fourier import Irfft, Rfft

LENGTHS = [*range(1, 21), 31, 64, 97, 100, 121, 1000, 1024]
#: Before the axis and behind it: one transform, rows in lanes, lanes behind, both; more and fewer than there are lanes.
LAYOUTS = [((), ()), ((3,), ()), ((17,), ()), ((), (3,)), ((2,), (17,)), ((), (16,))]


def program_of(graph: Graph) -> Program:
    """A program of which nothing is left to the interpreter."""
    program = Program(graph)
    assert not program.left_out, [n.op for n in program.left_out]
    return program


def whole(f: Callable[..., Any], *xs: Any) -> Program:
    return program_of(ad.jit(f).graph(*xs))


def error_of(found: Any, wanted: Any, eps: float) -> float:
    """The relative error of all numbers together, in units of the rounding error."""
    return float(np.linalg.norm((found - wanted).ravel()) / max(np.linalg.norm(wanted.ravel()), 1e-30)) / eps


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize(
    "lengths", [LENGTHS[k::4] for k in range(4)], ids=lambda lengths: f"{lengths[0]} to {lengths[-1]}"
)
def test_every_length(lengths: list[int], dtype: str) -> None:
    draw, eps = np.random.default_rng(0), float(np.finfo(dtype).eps)
    for n in lengths:
        builder, values, wanted = Builder(), [], []
        outputs = []
        for before, behind in LAYOUTS if n < 500 else LAYOUTS[:4]:
            axis, shape = len(before), (*before, n, *behind)
            z = (draw.standard_normal(shape) + 1j * draw.standard_normal(shape)).astype(dtype)
            half = np.asarray(scipy.fft.rfft(z.real.astype(float), axis=axis), dtype)
            cards = Fft((axis,)), Fft((axis,), True, "ortho"), Rfft(axis), Irfft(n, axis)
            for card, x in zip(cards, (z, z, z.real.copy(), half), strict=True):
                outputs.append(builder.build(card, [builder.param(spec_of(x))]))
                values.append(x)
            wide = z.astype(np.clongdouble)
            wanted += [scipy.fft.fft(wide, axis=axis), scipy.fft.ifft(wide, axis=axis, norm="ortho")]
            wanted.append(scipy.fft.rfft(wide.real, axis=axis))
            wanted.append(scipy.fft.irfft(half.astype(np.clongdouble), n, axis=axis))
        graph = Graph(tuple(builder.params), tuple(outputs))
        for node, found, exact in zip(outputs, program_of(graph)(*values), wanted, strict=True):
            called, spec = f"{node.op} of {n} points: {node.spec}", spec_of(found)
            assert spec == node.spec, called
            assert error_of(found, exact, eps) < 1.5 + 0.3 * np.log2(n), called


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_several_axes_and_norms(norm: str) -> None:
    draw = np.random.default_rng(1)
    x, n = draw.standard_normal((4, 6, 10)), (5, 8)

    def f(x: Any) -> Any:
        z = ops.fftn(x, norm=norm)
        return (
            *(ops.ifft2(z, norm=norm), ops.fft2(x + 1j, n, axes=(0, 2), norm=norm), ops.rfft2(x, norm=norm)),
            *(ops.irfftn(z, (4, 6, 9), norm=norm), ops.hfft(z, axis=1, norm=norm), ops.ihfft(x, axis=0, norm=norm)),
            ops.fftshift(z, axes=(0, 1)),
        )

    z = np.fft.fftn(x, norm=norm)
    wanted = (
        *(np.fft.ifft2(z, norm=norm), np.fft.fft2(x + 1j, n, axes=(0, 2), norm=norm), np.fft.rfft2(x, norm=norm)),
        *(np.fft.irfftn(z, (4, 6, 9), axes=(0, 1, 2), norm=norm), np.fft.hfft(z, axis=1, norm=norm)),
        *(np.fft.ihfft(x, axis=0, norm=norm), np.fft.fftshift(z, axes=(0, 1))),
    )
    for found, y in zip(whole(f, x)(x), wanted, strict=True):
        np.testing.assert_allclose(found, y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(256, 40), (40, 256), (1 << 14,), (3, 4096)])
def test_large_ones_on_several_threads(shape: tuple[int, ...]) -> None:
    draw = np.random.default_rng(2)
    z = draw.standard_normal(shape) + 1j * draw.standard_normal(shape)
    for axis in range(z.ndim):
        found = whole(lambda z, axis=axis: ops.fft(z, axis=axis), z)(z)[0]
        np.testing.assert_allclose(found, np.fft.fft(z, axis=axis), rtol=1e-12, atol=1e-11)


def test_numbers_that_are_not_arrays_of_one_layout() -> None:
    x = np.random.default_rng(3).standard_normal((12, 9))
    run = ad.jit(lambda x: ops.rfft(x, axis=0))
    for y in (
        x,
        np.asfortranarray(x),
        x[::-1],
        np.repeat(x, 2, 0)[::2],
        x.astype(np.float32),
        np.arange(12).reshape(12, 1),
    ):
        np.testing.assert_allclose(np.asarray(run(y)), np.fft.rfft(y, axis=0), rtol=1e-5, atol=1e-5)
    empty = np.zeros((0, 8))
    for f in (ops.fft, ops.rfft, ops.irfft):
        assert np.asarray(ad.jit(f)(empty)).shape == np.asarray(f(empty)).shape


def test_what_is_infinite_or_nan_is_not_lost() -> None:
    for n in (8, 9, 17):
        for bad in (np.nan, np.inf):
            x = np.ones(n)
            x[3] = bad
            for f in (ops.fft, ops.rfft):
                assert not np.isfinite(np.asarray(ad.jit(f)(x))).any()


# ---------------------------------------------------------------- loops, branches, batches, gradients


def schroedinger(v: Any, psi: Any, kinetic: Any, steps: Any) -> Any:
    """Split-step propagation in a potential; how much is then on the right."""
    half = ops.exp(-0.005j * v)
    for _ in range(steps):
        psi = half * ops.ifft(kinetic * ops.fft(half * psi))
    return ops.sum(abs(psi[psi.shape[0] // 2 :]) ** 2)


@pytest.mark.parametrize("n", [16, 15, 17])
def test_a_split_step_loop_and_its_gradient(n: int) -> None:
    """Nothing of it is interpreted; NumPy and differences agree."""
    x = np.linspace(-3, 3, n)
    psi, v = np.exp(-((x + 1) ** 2)) * (1 + 0j), 0.5 * x**2
    kinetic = np.exp(-0.05j * (2 * np.pi * np.fft.fftfreq(n, x[1] - x[0])) ** 2)
    for steps in (ad.Tensor(6), 6):
        value, gradient = ad.jit(ad.value_and_grad(schroedinger))(v, psi, kinetic, steps)
        half, at = np.exp(-0.005j * v), psi
        for _ in range(6):
            at = half * np.fft.ifft(kinetic * np.fft.fft(half * at))
        np.testing.assert_allclose(float(value), np.sum(abs(at[n // 2 :]) ** 2), rtol=1e-13)
        plain = ad.grad(schroedinger)(ad.Tensor(v), psi, kinetic, 6)
        np.testing.assert_allclose(np.asarray(gradient), np.asarray(plain), rtol=1e-11, atol=1e-14)
        whole(lambda v, k, s: ad.grad(schroedinger)(v, psi, k, s), ad.Tensor(v), ad.Tensor(kinetic), steps)
    run, h, along = ad.jit(lambda v: schroedinger(v, psi, kinetic, 3)), 1e-5, np.cos(3 * x)
    slope = (float(run(v + h * along)) - float(run(v - h * along))) / (2 * h)
    np.testing.assert_allclose(np.asarray(ad.grad(run)(v)) @ along, slope, rtol=1e-5, atol=1e-9)


def deblurred(x: Any, passed: np.ndarray, seen: np.ndarray) -> Any:
    image = ops.reshape(x, seen.shape)
    return ops.sum((np.fft.irfft2(np.fft.rfft2(image) * passed, seen.shape) - seen) ** 2)


@pytest.mark.parametrize("n", [12, 9])
def test_convolution_by_transforms(n: int) -> None:
    draw = np.random.default_rng(4)
    seen, x = draw.standard_normal((2, n, n))
    passed = draw.uniform(size=(n, n // 2 + 1))
    gradient = ad.grad(lambda x: deblurred(x, passed, seen))
    program = whole(gradient, ad.Tensor(x.ravel()))
    np.testing.assert_allclose(
        program(x.ravel())[0], np.asarray(gradient(ad.Tensor(x.ravel()))), rtol=1e-12, atol=1e-12
    )


def test_batches_and_second_derivatives() -> None:
    draw = np.random.default_rng(5)
    x = draw.standard_normal((5, 6))

    def f(x: Any) -> Any:
        return ops.sum(abs(ops.fft(x * x)) ** 2) + ops.sum(ops.irfft(ops.rfft(x) ** 2, 6) ** 3)

    for g in (ad.grad(f), ad.grad(lambda x: ops.sum(ad.grad(f)(x) ** 2))):
        plain = np.stack([np.asarray(g(ad.Tensor(row))) for row in x])
        np.testing.assert_allclose(np.asarray(ad.jit(ad.vmap(g))(x)), plain, rtol=1e-11, atol=1e-10)
        whole(ad.vmap(g), ad.Tensor(x))


def test_in_a_branch_and_a_loop_until_it_is_small() -> None:
    def f(x: Any) -> Any:
        while ops.sum(abs(x) ** 2) > 1e-3:
            x = ops.fft(x) * 0.1 if ops.sum(ops.real(x)) > 0 else ops.ifft(x) * (0.5 - 1j)
        return x

    x = np.random.default_rng(6).standard_normal(12) * (1 + 1j)
    program = whole(f, ad.Tensor(x))
    np.testing.assert_allclose(program(x)[0], np.asarray(f(x)), rtol=1e-11, atol=1e-14)


# ---------------------------------------------------------------- parts


def test_stages_and_roots() -> None:
    for n in [*range(2, 100), 1000, 1024, 2048]:
        assert np.prod(radices(n)) == n == np.prod(factors(n))
        assert all(s.radix * s.count * s.alike == n for s in stages(n))
        cosine, sine = unit_roots(np.arange(-n, 2 * n), n)
        angle = np.arange(-n, 2 * n).astype(np.longdouble) * (-8 * np.arctan(np.longdouble(1)) / n)
        assert max(np.max(abs(cosine - np.cos(angle))), np.max(abs(sine - np.sin(angle)))) < 1.2e-16
    assert unit_roots(np.array([1]), 4) == (0.0, -1.0)


def test_the_interpreter_takes_the_step_too() -> None:
    x = np.random.default_rng(7).standard_normal((2, 5)).astype(np.float32)
    re, im = FourierStep(1).eval(np, x, 2 * x)
    np.testing.assert_allclose(re + 1j * im, np.fft.fft(x + 2j * x), rtol=1e-5)
