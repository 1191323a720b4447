"""Whether `reshape` shows elements or copies them depends on the order in memory: every mode decides as NumPy does, or refuses."""

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import AdjointError

SOURCES = """
x + 1 | x.T + 1 | x * y | x.T * y.T | y.T + x.T.copy() | np.sin(x.T) | np.where(x > 2, x, y) | x.astype(np.float32) | x.copy()
x.T.copy() * 2 | np.copy(x) | np.positive(x.T) | np.zeros_like(x.T) * 1 | np.full_like(x, 2.0) + 0 | np.concatenate([x, x], -1)
np.stack([x, x]) | np.tile(x, 2) | np.repeat(x, 2, axis=-1) | np.roll(x, 1) | np.roll(x, 1, axis=0) + 1 | np.cumsum(x, 0)
np.cumprod(x, 0) * 2 | x.sum(0) | x.max(-1) | np.sort(x, 0) + 1 | x[[0, 1]] | x[:, [0, 1]] | x[:, [1, 0]] * 2 | x[..., ::-1] * 2
np.take(x, [0, 1], axis=1) | np.take(x, [0, 1], axis=-1) + 1 | np.pad(x, 1) | np.matmul(np.swapaxes(x, -1, -2), x)
np.einsum('abc,abd->dca', x, y) | np.einsum('abc->cab', x) * 1 | np.real(x + 1j) | np.rot90(x) + 0 | np.broadcast_to(x, (2, *x.shape)) + 1
x.reshape(-1, x.shape[-1]) + 1 | np.insert(x, 0, 1.0, axis=0) | np.delete(x, 0, axis=0) * 2 | np.select([x > 3], [x], 0.0)
np.gradient(x, axis=0) | np.round(x.T, 1) | np.meshgrid(x[0, 0], x[1, 0])[0] | np.median(x, axis=0) | np.fft.fft(x, axis=0)
np.flip(x) + 0 | np.diff(x, axis=0) | np.moveaxis(x, 0, -1) + 1
"""
RESULTS = {s: eval(f"lambda x, y: {s}") for s in map(str.strip, SOURCES.strip().replace("\n", "|").split("|"))}
SHOWN = {"ravel": lambda z: z.ravel(), "T.reshape": lambda z: z.T.reshape(-1)}


def write_view(z, r):
    r[1] = 100.0


def write_root(z, r):
    z[0] = 50.0


def update_root(z, r):
    z += np.ones(z.shape)


MODES = {
    "dynamic": lambda f: lambda x, y: f(ad.Tensor(x), ad.Tensor(y)),
    "tape": lambda f: lambda x, y: ad.vjp(f, x, y)[0],
    "jit": lambda f: ad.jit(f, backend="interpreter"),
    "vmap": lambda f: lambda x, y: [z[0] for z in ad.vmap(f)(x[None], y[None])],
    "jit of vmap": lambda f: (
        lambda x, y: [z[1] for z in ad.jit(ad.vmap(f), backend="interpreter")(np.stack([x, x]), np.stack([y, y]))]
    ),
}
X = np.arange(1.0, 25.0).reshape(2, 3, 4)
UNKNOWN = {"np.median(x, axis=0)"}  # of the order of its results NumPy says nothing


def program(result, shown, write):
    def run(x, y):
        z = result(x, y)
        r = shown(z)
        write(z, r)
        return z, r

    return run


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", RESULTS)
def test_a_write_is_seen_where_numpy_shows_it(source, mode):
    for shown, write, order in itertools.product(SHOWN, (write_view, write_root, update_root), "CF"):
        f = program(RESULTS[source], SHOWN[shown], write)
        x, y = np.array(X, order=order), np.array(X * 0.5, order=order)
        want = f(x.copy("K"), y.copy("K"))
        if source in UNKNOWN and order == "F" and mode != "dynamic":
            with pytest.raises(AdjointError, match="order in memory that is not known"):
                MODES[mode](f)(x, y)
            continue
        got = MODES[mode](f)(x, y)
        for a, b in zip(got, want, strict=True):
            assert np.allclose(np.asarray(a), b), (shown, write.__name__, order, a, b)


def through_a_loop(x):
    y = x.T + 1
    for i in range(12):
        r = y.ravel()
        r[i] = 0.0
    return y


def through_a_branch(x):
    y = x.T * 1.0 if x[0, 0] > 0 else x.T + 1
    r = y.reshape(-1)
    r[1] = 100.0
    return y


def one_of_two_orders(x):
    y = x * 1.0
    if x[0, 0] > 0:
        y = x.T * 1.0
    r = y.reshape(-1)
    r[1] = 100.0
    return y


@pytest.mark.parametrize("f", [through_a_loop, through_a_branch, one_of_two_orders])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_loops_and_branches_keep_the_order_or_refuse(f, backend):
    x = np.arange(1.0, 17.0).reshape(4, 4)
    compiled = ad.jit(f, backend=backend)
    if f is one_of_two_orders:
        with pytest.raises(AdjointError, match="order in memory that is not known"):
            compiled(x)
    else:
        assert np.array_equal(compiled(x), f(x))


def test_a_compiled_function_is_made_anew_for_arguments_in_another_order_where_it_matters():
    def writes(x):
        y = x * 1.0
        r = y.reshape(-1)
        r[1] = 100.0
        return y

    compiled, pure = ad.jit(writes), ad.jit(lambda x: (x * 2.0).reshape(-1))
    rows = np.arange(6.0).reshape(2, 3)
    columns = np.asfortranarray(rows)
    for x in (rows, rows, rows, columns, rows, columns, columns):
        assert np.array_equal(compiled(x), writes(x)) and np.array_equal(pure(x), rows.ravel() * 2)
    assert [c.reason[:23] for c in compiled.compilations] == ["first call", "the order of `x` in mem"]
    assert len(pure.compilations) == 1


def test_views_of_diagonals_and_broadcasts_are_read_only():
    def diagonal(x):
        m = x * 1.0
        d = np.diagonal(m)
        m[0, 0] = 10.0
        return d * 2 + m.diagonal()

    def broadcast(x):
        m = x[0] * 1.0
        b = np.broadcast_to(m, (2, 3))
        m[1] = 7.0
        return b

    def written(x):
        m = x * 1.0
        np.diagonal(m)[0] = 1.0
        return m

    x = np.arange(1.0, 10.0).reshape(3, 3)
    for mode in ("dynamic", "tape", "jit", "vmap"):
        for f in (diagonal, broadcast):
            g = MODES[mode](lambda x, y, f=f: (f(x), y))
            assert np.allclose(np.asarray(g(x, x)[0]), f(x)), (mode, f)
        with pytest.raises(AdjointError, match="read-only"):
            MODES[mode](lambda x, y: (written(x), y))(x, x)
