"""Lists and arrays of other libraries as operands and inputs: they work, or are refused by name with the way in."""

import json
import math
import time

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

X = np.array([0.5, 1.5, 2.0])
L = [1.0, 2.0, 4.0]


def stand_in(library, name, **extra):
    """A class as another library has it: what counts is where it comes from."""

    def __init__(self, array):
        self.array = np.asarray(array)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype)

    return type(name, (), {"__module__": library, "__init__": __init__, "__array__": __array__, **extra})


LISTS = {
    "times": lambda x: x * L,
    "list first": lambda x: L + x - [1.0, 0.0, 1.0],
    "divided": lambda x: L / x,
    "power": lambda x: x ** [1, 2, 3],
    "product": lambda x: x @ L,
    "product, list first": lambda x: L @ x,
    "tuple": lambda x: x - (1.0, 2.0, 3.0),
    "with Tensors": lambda x: x * [x[0], 2.0, x[1] * x[2]],
    "with Tensors first": lambda x: [x[0], 2.0, x[1]] * x,
    "nested": lambda x: x * [[1.0, 2.0, 3.0], L],
    "where": lambda x: ops.where(x > 1, x, L) + np.where([True, False, True], x, 0.0),
    "where of numbers": lambda x: np.where(x > 1, 1.0, 2.0) * x,
    "compared": lambda x: x * (x > [1.0, 1.0, 3.0]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_operands(name):
    ad.check_grads(lambda x: ops.sum(LISTS[name](x) * 1.0), X)


def test_lists_are_operands_in_a_compiled_function():
    def f(x):
        return [ops.sum(LISTS[name](x) * 1.0) for name in LISTS]

    def total(x):
        return sum(f(x))

    np.testing.assert_allclose(ad.jit(f)(X), f(ad.Tensor(X)))
    np.testing.assert_allclose(ad.jit(ad.grad(total))(X), ad.grad(total)(X), rtol=1e-12)


LABELLED = [
    ("pandas.core.series", "Series"),
    ("xarray.core.dataarray", "DataArray"),
    ("pandas.core.frame", "DataFrame"),
]


@pytest.mark.parametrize(("library", "name"), LABELLED)
def test_labelled_arrays_are_operands(library, name):
    s = stand_in(library, name)(np.array(L))
    for f in (
        lambda x: x * s,
        lambda x: s * x,
        lambda x: np.hypot(x, s),
        lambda x: np.concatenate([x, s]),
        lambda x: x @ s,
    ):
        y = f(ad.Tensor(X))
        assert isinstance(y, ad.Tensor) and y.dtype == np.float64
        np.testing.assert_allclose(y, f(X) if f(X).dtype != object else X * L)
        ad.check_grads(lambda x, f=f: ops.sum(f(x)), X)
    np.testing.assert_allclose(ad.jit(lambda x: x * s + np.maximum(s, x))(X), X * L + np.maximum(L, X))
    assert ad.Tensor(s).dtype == np.float64


@pytest.mark.parametrize(("library", "name"), LABELLED)
def test_labelled_arrays_are_no_inputs(library, name):
    s = stand_in(library, name)(np.array(L))
    words = rf"a[n]? {library.partition('.')[0]} {name}, whose labels a Tensor does not keep: pass x.to_numpy\(\)"
    for call in (
        lambda: ad.grad(ops.sum)(s),
        lambda: ad.jit(ops.sum)(s),
        lambda: ad.jvp(ops.sum, s, s),
        lambda: ad.jit(lambda x: s)(X),
    ):
        with pytest.raises(ad.ArgumentTypeError, match=words):
            call()
    with pytest.raises(ad.NotDifferentiableError, match=r"returned a[n]? \w+ \w+ \(return x.to_numpy\(\)"):
        ad.grad(lambda x: s)(X)


@pytest.mark.parametrize(("library", "name", "way"), [
    ("torch", "Tensor", r"ad.from_dlpack\(t\)"), ("torch.nn.parameter", "Parameter", r"ad.from_dlpack\(t\)"),
    ("cupy", "ndarray", r"ad.from_dlpack\(t\)"), ("tensorflow.python.framework.ops", "EagerTensor", r"t.numpy\(\)"),
])  # fmt: skip
def test_tensors_of_other_libraries_name_the_way_in(library, name, way):
    t = stand_in(library, name)(np.array(L))
    words = rf"is a {library.partition('.')[0]} {name}: pass {way}"
    for call in (
        lambda: ad.Tensor(X) * t,
        lambda: t + ad.Tensor(X),
        lambda: ops.sin(t),
        lambda: np.add(ad.Tensor(X), t),
        lambda: ad.grad(lambda x: np.stack([x, t]).sum())(X),
        lambda: ad.grad(ops.sum)(t),
        lambda: ad.grad(lambda p: p["w"].sum())({"w": t}),
        lambda: ad.grad(lambda x: (x * t).sum())(X),
        lambda: ad.jit(lambda x: x * t)(X),
        lambda: ad.jit(lambda x: x)(t),
        lambda: ad.vmap(ops.sin)(t),
        lambda: ad.jvp(ops.sin, X, t),
        lambda: nn.Dense(3, 2)(t),
    ):
        with pytest.raises(ad.ArgumentTypeError, match=words):
            call()
    assert ad.Tensor(t).tolist() == L  # said in full, it is one


def test_subclasses_count_too():
    t = type("MyTensor", (stand_in("torch", "Tensor"),), {})(X)
    with pytest.raises(ad.ArgumentTypeError, match="a torch MyTensor"):
        ops.sin(t)


# ---------------------------------------------------------------- results outside of every transform


def test_results_of_a_network_are_plain_to_numpy():
    net, x = nn.Dense(3, 2), ad.Tensor(np.ones((4, 3), np.float32))
    y, loss = net(x), net(x).sum()
    for array in (np.asarray(y), np.array([y, y]), np.asarray(y, float), np.atleast_1d(y).asnumpy()):
        assert array.dtype.kind == "f"
    assert np.mean([loss, loss]).dtype == np.float32 and np.std([loss, loss]) == 0.0
    np.testing.assert_allclose(np.array([loss, loss]), [loss.item()] * 2)
    buffer = np.zeros(2)
    buffer[1] = loss
    assert buffer[1] == math.fsum([loss]) == float(loss) == json.loads(json.dumps(float(loss)))
    assert sorted([loss, loss - 1])[0].item() == (loss - 1).item()  # in single precision
    loss.backward()  # the gradient is still there
    np.testing.assert_allclose(net.weight.grad, np.full((2, 3), 4.0))


def test_what_the_user_tracks_stays_tracked():
    w = ad.Tensor(X, requires_grad=True)
    y = np.asarray(w * 2)
    assert y.dtype == object
    (y * y).sum().backward()
    np.testing.assert_allclose(w.grad, 8 * X)
    with pytest.raises(ad.CutGradientError, match="would cut its gradient"):
        np.asarray(w, np.float32)
    loss = (w * w).sum()
    assert np.float32(loss) == np.mean([loss, loss]).item() == pytest.approx(6.5)


# ---------------------------------------------------------------- many numbers in one array


def seconds(fn, n):
    xs = [float(i) for i in range(n)]
    fn(xs[:10])
    times = []
    for _ in range(2):
        begin = time.process_time()
        fn(xs)
        times.append(time.process_time() - begin)
    return min(times)


@pytest.mark.parametrize("join", [np.array, ops.stack, ops.array], ids=["np.array", "stack", "ops.array"])
def test_the_gradient_of_an_array_of_n_floats_takes_linear_time(join):
    def gradient(xs):
        return ad.grad(lambda xs: join(xs)[-1] + join(list(xs[::2]))[0])(xs)

    assert [float(g) for g in gradient([1.0, 2.0, 3.0])] == [1.0, 0.0, 1.0]
    assert seconds(gradient, 2400) < 8 * seconds(gradient, 600) + 0.05  # 16 times if it were quadratic
