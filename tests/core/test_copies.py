"""Copies and writes: what NumPy copies is copied, and what is written is kept or refused."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import AdjointError
from like_numpy import disagreements

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.5]])


COPIES = {
    "roll": lambda y: np.roll(y, 0),
    "roll_all": lambda y: np.roll(y, 9),
    "roll_axis": lambda y: np.roll(y, 3, axis=1),
    "pad": lambda y: np.pad(y, 0),
    "pad_edge": lambda y: np.pad(y, 0, mode="edge"),
    "positive": np.positive,
    "astype": lambda y: np.astype(y, float),
    "prod": lambda y: np.prod(y[None], axis=0),
    "cumprod": lambda y: np.cumprod(y[None], axis=0)[0],
    "fftshift": lambda y: np.fft.fftshift(y, axes=()),
    "flatten": lambda y: y.flatten(),
    "squeeze": np.squeeze,
    "atleast_1d": np.atleast_1d,
    "diff": lambda y: np.diff(y, 0),
}


def check_writes(f):
    """A write to the result, and one to the input, show where NumPy shows them."""

    def to_result(x):
        y = x * 1.0
        r = f(y)
        r[...] = r * 2 + 1
        return y * r.sum()

    def to_input(x):
        y = x * 1.0
        r = f(y)
        y[0] = 77.0
        return r * y.sum()

    assert not disagreements(to_result, X)
    assert not disagreements(to_input, X)


@pytest.mark.parametrize("name", COPIES)
def test_a_function_with_nothing_to_do_copies_where_numpy_does(name):
    check_writes(COPIES[name])


@pytest.mark.parametrize(
    "f",
    [
        lambda y: ad.ops.roll(y, 0),
        lambda y: ad.ops.prod(y[None], 0),
        lambda y: ad.ops.dropout(y, 0.0),
        lambda y: ad.ops.dropout(y, 0.5, training=False),
        lambda y: ad.ops.adaptive_avg_pool1d(y, 3),
        ad.nn.Dropout(p=0.5).set_train(False),
    ],
)
@pytest.mark.parametrize("run", [lambda f: lambda x: f(ad.Tensor(x)), ad.jit, lambda f: lambda x: ad.vjp(f, x)[0]])
def test_an_op_with_nothing_to_do_gives_a_tensor_of_its_own(f, run):
    def program(x):
        y = x * 1.0
        r = f(y)
        r += 1
        return y

    np.testing.assert_array_equal(run(program)(X).asnumpy(), X)


@pytest.mark.parametrize("run", [ad.grad, ad.jit])
@pytest.mark.parametrize("f", [np.asarray, np.asanyarray, np.ascontiguousarray])
def test_a_write_to_an_array_of_a_tracked_tensor_is_refused(run, f):
    def program(x):
        y = x * 1.0
        f(y)[0] = 4.0
        return y.sum()

    with pytest.raises(ValueError, match="read-only"):
        run(program)(X)


def test_what_is_written_to_a_gradient_is_kept():
    x = ad.Tensor(np.ones(3), requires_grad=True)
    p = ad.Parameter(np.ones(3), name="p")
    (x * 2 + p * 2).sum().backward()
    x.grad[0] = 5
    g = x.grad
    x.grad *= 3
    g[1:] = 0
    np.clip(p.grad, -1, 1, out=p.grad)
    assert x.grad.tolist() == [15, 0, 0]
    assert p.grad.tolist() == [1, 1, 1]
    (x * 2).sum().backward()
    assert x.grad.tolist() == [17, 2, 2]


def test_a_leaf_is_written_to_under_no_grad():
    x = ad.Tensor(np.ones(3), requires_grad=True)
    before = x[1:]
    with ad.no_grad():
        part = x[1:]
        x[:] = 2
        x[0] -= 1
        part[1] += 5
        x += 1
        x[1:] -= 1
    assert x.requires_grad
    assert x.tolist() == [2, 2, 7]
    assert part.tolist() == [2, 7]
    assert before.tolist() == [1, 1]
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 4, 14]
    with pytest.raises(AdjointError, match="no_grad"):
        x[0] = 1


LAYOUTS = {
    "ravel_T": lambda y: y.T.ravel(),
    "ravel_step": lambda y: y[::2].ravel(),
    "ravel_column": lambda y: y[:, :1].ravel(),
    "np_ravel_reversed": lambda y: np.ravel(y[::-1]),
    "np_ravel_F": lambda y: np.ravel(y, order="F"),
    "ravel_rows": lambda y: y[1:].ravel(),
    "reshape_step": lambda y: y[0, ::2].reshape(-1),
    "reshape_T": lambda y: y.T.reshape(-1),
    "real": lambda y: y.real,
    "np_real": np.real,
    "conj": lambda y: y.conj(),
    "np_conj": np.conj,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_ravel_and_reshape_share_where_numpy_does(name):
    check_writes(LAYOUTS[name])


def test_a_part_of_a_tensor_that_is_gone_has_its_layout():
    def transposed(x):
        y = (x * 1.0).T
        v = y.ravel()
        v *= 2
        return y

    def reshaped(x):
        y = (x * 1.0).T
        v = y.reshape(-1)
        v *= 2
        return y[1:] * v[0]

    def stepped(x):
        y = (x * 1.0)[:, ::2]
        v = y.reshape(-1)
        v *= 2
        return y

    for f in (transposed, reshaped, stepped):
        assert not disagreements(f, X)


def test_the_parts_of_complex_tensors_are_views():
    def program(x):
        z = x * (1 + 2j)
        z.real[1] = x[0] * 3
        v = z.imag
        v *= 2
        w = z.T.real.ravel()
        w += 1
        u = z[0].imag
        u[0] = 7
        return np.stack([z.real, z.imag]) * v.sum()

    assert not disagreements(program, X)
