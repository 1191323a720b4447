"""Python called by a program: once a call, in order, in both modes, with a derivative where one is given."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

X = np.array([3.0, 1.0, 2.0])


class OwnError(Exception):
    pass


class Host:
    """A function that counts its calls."""

    def __init__(self):
        self.seen = []

    def __call__(self, x):
        assert type(x) is np.ndarray
        self.seen.append(np.array(x).tolist())
        return np.sort(x) * 2 if x.ndim else x * 2

    def taken(self):
        seen, self.seen = self.seen, []
        return seen


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9)


@pytest.mark.parametrize("run", [lambda f: f, ad.jit], ids=["dynamic", "static"])
def test_calls_derivatives_and_batches(run):
    host = Host()
    f = run(lambda x: ad.host_callback(host, x, x) + 1)
    for k in range(3):
        close(f(X + k), np.sort(X + k) * 2 + 1)
    assert host.taken() == [(X + k).tolist() for k in range(3)]
    batch = np.stack([X, -X])
    close(run(ad.vmap(lambda x: ad.host_callback(host, x, x)))(batch), np.sort(batch) * 2)
    assert host.taken() == batch.tolist()
    back = lambda x: ad.host_callback(host, ((3,), "float64"), x, vjp=lambda x, out, dout: (dout * out,)).sum()
    ahead = lambda x: ad.host_callback(host, x, x, jvp=lambda xs, ts: (None, ts[0] * 3)).sum()
    close(run(ad.grad(back))(X), [2, 4, 6])
    assert host.taken() == [X.tolist()]
    close(run(ad.vmap(ad.grad(back)))(batch), np.sort(batch) * 2)
    close(run(ad.grad(ahead))(X), [3, 3, 3])
    close(run(lambda x: ad.jvp(ahead, x, x)[1])(X), 18)
    trees = lambda p, text: {"s": p["q"].sum(), "n": np.int32(len(text)), "none": None}
    found = run(lambda x: ad.host_callback(trees, {"s": 0.0, "n": ((), "int32"), "none": None}, {"q": x}, "text"))(X)
    assert (float(found["s"]), int(found["n"]), found["none"], found["n"].dtype) == (6, 4, None, np.int32)


@pytest.mark.parametrize("run", [lambda f: f, ad.jit], ids=["dynamic", "static"])
def test_effects_take_place_once_and_in_order(run):
    said = []
    log = lambda *xs: said.append([float(x) for x in xs])

    def total(xs):
        ad.host_callback(lambda: said.append("begin"), ())

        def step(c, x):
            ad.host_callback(log, (), c, x)
            return c + x, None

        return ad.scan(step, 0.0, xs)[0]

    expected = ["begin", [0, 3], [3, 1], [4, 2]]
    for f, y in ((total, 6), (ad.grad(total), [1, 1, 1]), (lambda x: ad.jvp(total, x, x)[1], 6)):
        close(run(f)(X), y)
        assert said == expected
        said.clear()
    host = Host()
    used = lambda xs: ad.scan(
        lambda c, x: (c + ad.host_callback(host, x, x, vjp=lambda x, o, d: (2 * d,)), None), 0.0, xs
    )[0]
    close(run(ad.grad(used))(np.arange(12.0)), np.full(12, 2.0))
    assert host.taken() == list(range(12))


def test_branches_call_only_where_they_are_taken():
    host = Host()

    def f(x):
        return ad.host_callback(host, x, x) if x > 0 else x

    for run, y, calls in (
        (ad.jit(f), -2.0, 0),
        (ad.jit(f), 2.0, 1),
        (ad.jit(ad.vmap(f)), np.array([1.0, -1.0, 2.0]), 2),
    ):
        run(y)
        assert len(host.taken()) == calls
    close(ad.jit(ad.vmap(f))(np.array([1.0, -1.0, 2.0])), [2, -1, 4])


def test_on_xla():
    pytest.importorskip("jax")
    host = Host()
    f = lambda xs: ad.scan(
        lambda c, x: (c + ad.host_callback(host, x, x, vjp=lambda x, o, d: (2 * d,)), None), 0.0, xs
    )[0]
    close(ad.jit(ad.grad(f), backend="xla")(X), [2, 2, 2])
    assert host.taken() == X.tolist()

    def fails(x):
        raise OwnError("mine")

    with pytest.raises(OwnError, match="mine"):
        ad.jit(lambda x: ad.host_callback(fails, x, x), backend="xla")(X)


def _fails(x):
    raise OwnError("mine", 3)


def _two(x):
    return np.ones(2)


@pytest.mark.parametrize(
    ("f", "kind", "said"),
    [
        (lambda x: ad.host_callback(_fails, x, x), OwnError, "mine"),
        (lambda x: ad.host_callback(_two, x, x), ValueError, r"_two gave a result of shape \(2,\), announced was \(3,\)"),
        (lambda x: ad.host_callback(lambda x: 1j * x, x, x), TypeError, "dtype complex128, announced was float64"),
        (lambda x: ad.host_callback(lambda x: {"b": x}, {"a": x}, x), ValueError, r"gave\['b'\] has no counterpart"),
        (lambda x: ad.host_callback(np.sin, "q", x), TypeError, r"announced by an array like it, or by a pair \(shape, dtype\)"),
        (lambda x: ad.host_callback(3, x, x), TypeError, "must be a function"),
        (lambda x: ad.host_callback(_two, x, x, vjp=_two, jvp=_two), ValueError, "give vjp or jvp"),
        (ad.grad(lambda x: ad.host_callback(np.sin, x, x).sum()), ad.NoRuleError, "give vjp= or jvp="),
        (lambda x: ad.jvp(lambda x: ad.host_callback(np.sin, x, x), x, x), ad.NoRuleError, "give vjp= or jvp="),
    ],
)  # fmt: skip
def test_refusals_in_both_modes(f, kind, said):
    for run in (f, ad.jit(f, backend="interpreter")):
        with pytest.raises(kind, match=said):
            run(X)


def test_results_that_are_not_announced():
    found = ad.host_callback(lambda a: {"s": a.sum(), "m": [a.max()]}, None, X)
    assert float(found["s"]) == 6 and float(found["m"][0]) == 3
    assert ad.host_callback(lambda: None, None) is None
    close(ad.grad(lambda x: ad.host_callback(np.exp, None, x, vjp=lambda x, out, d: (d * out,)).sum())(X), np.exp(X))
    with pytest.raises(ValueError, match="in a compiled function the shapes and dtypes"):
        ad.jit(lambda x: ad.host_callback(np.sin, None, x))(X)
