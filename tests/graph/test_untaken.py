"""Batches go through both branches, and through iterations that are over: what is not wanted there is no error, and takes no time."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from like_numpy import Programs

V = np.array([1.0, 2.0, 3.0, -1.0, 5.0])
I = np.array([0, 3, 4, 5, 9, 100])
program = PROGRAMS = Programs()


@program
def ternary(i, v):
    return v[i] * 2 if i < 5 else 0.0 * v[0]


@program
def nested(i, v):
    y = v[0] * 0
    if i < 5:
        y = v[i] ** 2
        if v[i] > 0:
            y = y + v[i - 1]
    return y


@program
def counted_while(i, v):
    s = v[0] * 0
    while i < 5:
        s = s + v[i]
        i = i + 1
    return s


@program
def short_circuit(i, v):
    s = v[0] * 0
    while i < 5 and v[i] > 0:
        s = s + v[i] * v[i]
        i = i + 1
    return s


@program
def loop_in_a_branch(i, v):
    s = v[0] * 0
    if i < 5:
        while i < 5:
            s = s + v[i]
            i = i + 1
    return s


@program
def write(i, v):
    y = v * 1.0
    if i < 5:
        y[i] = 7.0 * v[0]
    return y.sum()


@program
def endless_where_not_taken(i, v):
    s = v[0] * 1.0
    if i < 5:
        while i != 5:
            s = s * 1.1
            i = i + 1
    return s


@program
def branch_in_a_loop(i, v):
    s = v[0] * 0
    for k in range(9):
        if i + k < 5:
            s = s + v[i + k] * k
    return s


@program
def either(i, v):
    return v[0] if i >= 5 or v[i] < 0 else v[i] * 3


@program
def row(i, v):
    m = ops.stack([v, v * v])
    return m[:, i].sum() if i < 5 else m[0, 0]


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_index_that_an_example_does_not_use_is_no_error(name, backend):
    f = PROGRAMS[name]
    want = np.array([float(f(int(i), ad.Tensor(V.copy()))) for i in I])
    slopes = np.stack([np.asarray(ad.grad(f, 1)(int(i), V)) for i in I])
    batch = ad.vmap(f, in_axes=(0, None))
    assert np.allclose(ad.jit(batch, backend=backend)(I, V), want)
    assert np.allclose(ad.jit(ad.vmap(ad.grad(f, 1), in_axes=(0, None)), backend=backend)(I, V), slopes)
    total = ad.grad(lambda i, v: batch(i, v).sum(), 1)
    assert np.allclose(ad.jit(total, backend=backend)(I, V), slopes.sum(0))
    assert np.allclose(ad.vmap(ad.jit(f, backend=backend), in_axes=(0, None))(I, V), want)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_an_index_that_is_used_is_an_error(backend):
    def wrong_guard(i, v):
        return v[i] if i < 9 else v[0]

    def late(i, v):
        s = v[0] * 0
        while i < 7:
            s = s + v[i]
            i = i + 1
        return s

    for f, right, wrong in ((wrong_guard, [0, 4, 10], [0, 7, 10]), (late, [7, 8, 9], [7, 8, 1])):
        run = ad.jit(ad.vmap(f, in_axes=(0, None)), backend=backend)
        run(np.array(right), V)
        with pytest.raises(IndexError):
            run(np.array(wrong), V)
