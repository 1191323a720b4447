"""Tensors that know their device, and dynamic mode on one: the same numbers as on the host, and errors that name both devices."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

HERE = os.environ.get("ADJOINT_TEST_DEVICE", "cpu:1")  # "gpu:0" on a machine with one
X = np.linspace(-1.3, 2.1, 6).reshape(2, 3)


def on(device: str = HERE, array: np.ndarray = X) -> ad.Tensor:
    return ad.Tensor(array, device=device)


def f(x):
    return (ops.sin(x) * x + x**2).sum()


def same(y, want, device: str = HERE) -> None:
    assert y.device == device
    np.testing.assert_allclose(y.asnumpy(), np.asarray(want), rtol=1e-12, atol=1e-14)


# ---------------------------------------------------------------- where a Tensor is


def test_importing_does_not_load_jax():
    code = "import sys, adjoint as ad; x = ad.Tensor([1.0]); ad.grad(lambda x: x * x)(2.0); assert x.device == 'cpu'; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_tensor_is_made_on_a_device_and_moved():
    x = on()
    assert (x.device, x.to("cpu").device, x.cpu().device, x.to("cpu:2").device) == (HERE, "cpu", "cpu", "cpu:2")
    assert x.to(HERE) is x and x.to(HERE, copy=True) is not x
    y = x.to("cpu:2", ad.float32)
    assert (y.device, y.dtype) == ("cpu:2", ad.float32)
    assert x.to("float32").dtype == ad.float32 and x.to(ad.Tensor(1, "int32")).device == "cpu"
    same(x, X)


def test_unknown_devices_are_refused_by_name():
    for name in ("gpux", "cpu:99", "gpu"):
        with pytest.raises(ad.ArgumentError, match=f"no device '{name}'"):
            on().to(name)
    for make in (lambda d: on().to(device=d), lambda d: on(d), lambda d: ad.Tensor(on(), device=d)):
        with pytest.raises(ad.ArgumentTypeError, match="a device is a text"):
            make(3)
        with pytest.raises(ad.ArgumentError, match="no device ''"):
            make("")


def test_conversions():
    x = on()
    assert (float(x.max()), x.tolist(), x[1, 2].item()) == (X.max(), X.tolist(), X[1, 2])
    np.testing.assert_array_equal(np.asarray(x), X)
    np.testing.assert_array_equal(np.from_dlpack(x), X)
    assert str(x) == str(X) and "Float64" in repr(x) and len(x) == 2 and x.nbytes == 48
    assert pickle.loads(pickle.dumps(x)).device == "cpu"
    assert copy.deepcopy(x).device == copy.copy(x).device == x.copy().device == HERE


def test_leaves_are_copied_with_their_gradients():
    x = ad.Tensor(X, device=HERE, requires_grad=True)
    f(x).backward()
    fresh = copy.deepcopy(x)
    assert (fresh.device, fresh.grad.device, fresh.requires_grad) == (HERE, HERE, True)
    np.testing.assert_array_equal(fresh.grad.asnumpy(), x.grad.asnumpy())
    assert pickle.loads(pickle.dumps(x)).grad.device == "cpu"


def test_jax_arrays_are_taken_as_they_are():
    import jax

    array = jax.device_put(np.ones(3, "float32"), jax.devices("cpu")[2])
    x = ad.Tensor(array)
    assert x.device == "cpu:2" and x._value is array
    assert ops.exp(array).device == ad.grad(lambda x: (x * x).sum())(array).device == "cpu:2"
    assert ad.jit(lambda x: x * 2)(array).device == "cpu:2"
    with pytest.raises(ad.ArgumentTypeError, match="JAX is tracing"):
        jax.jit(lambda x: ops.exp(x))(array)


# ---------------------------------------------------------------- mixing


HOST = ad.Tensor(X)
MIXED = {
    "operator": lambda x: x + HOST,
    "reflected": lambda x: X * x,
    "array": lambda x: x - X,
    "ufunc": lambda x: np.multiply(X, x),
    "function": lambda x: ops.where(x > 0, x, X),
    "concatenate": lambda x: np.concatenate([x, HOST]),
    "stack": lambda x: ops.stack([X, x]),
    "matmul": lambda x: x @ HOST.T,
    "two devices": lambda x: x + x.to("cpu:2"),
    "closure": lambda x: ad.grad(lambda x: (x * HOST).sum())(x),
    "array inside grad": lambda x: ad.grad(lambda x: (x * X).sum())(x),
    "both inputs": lambda x: ad.grad(lambda x, y: (x * y).sum())(x, HOST),
    "device closure": lambda x: ad.grad(lambda y: (x * y).sum())(HOST),
    "batch": lambda x: ad.vmap(lambda a, b: a * b)(x, HOST),
    "tangent": lambda x: ad.jvp(f, x, HOST),
    "cotangent": lambda x: ad.vjp(lambda x: x * x, x)[1](HOST),
    "compiled": lambda x: ad.jit(lambda x, y: x * y)(x, HOST),
    "native": lambda x: ad.jit(f, backend="native")(x),
    "parameter": lambda x: nn.Dense(3, 2)(x.to(ad.float32)),
    "bound parameter": lambda x: ad.value_and_grad(net := nn.Dense(3, 2), None, net.trainable_params())(x.to("float32")),
    "inside jit": lambda x: ad.jit(lambda x: x.to("cpu:2"))(x),
    "made inside jit": lambda x: ad.jit(lambda x: x * ad.Tensor(X, device="cpu:2"))(x),
}  # fmt: skip


@pytest.mark.parametrize("case", MIXED)
def test_mixing_devices_names_both(case):
    with pytest.raises(ad.DeviceError) as caught:
        MIXED[case](on())
    text = str(caught.value)
    assert f'"{HERE}"' in text and ('"cpu"' in text or '"cpu:2"' in text or '"native"' in text)


def test_in_place_mixing():
    x = on()
    with pytest.raises(ad.DeviceError):
        x += HOST
    with pytest.raises(ad.DeviceError):
        x.copy()[0] = X[0]
    same(x, X)


def test_numbers_and_indices_mix_with_everything():
    x = on()
    same(x * 2 + np.float64(3) - ad.Tensor(1.0) + np.array(0.5), X * 2 + 2.5)
    same(x[np.array([1, 0, 1])], X[[1, 0, 1]])
    same(ops.gather(x, ad.Tensor([1]), 0), X[[1]])
    same(x[:, ::2], X[:, ::2])


def test_constants_of_functions_go_where_they_are_needed():
    for function in (
        np.median, lambda x: np.gradient(x[0]), lambda x: np.insert(x, 1, 5.0, 0), np.argwhere, ops.tril,
        lambda x: np.searchsorted(x[0], x[1]), lambda x: x * [1.0, 2.0, 3.0], lambda x: ops.full_like(x, 2),
        lambda x: ops.one_hot(ops.cast(x > 0, ad.int64), 2),
    ):  # fmt: skip
        got, want = function(on()), function(HOST)
        assert (got.device, got.dtype) == (HERE, want.dtype)
        same(got, want)


def test_views_and_writes():
    def program(x):
        y = x.copy()
        part, turned, line = y[0], y.T, y.reshape(-1)
        part *= 2
        y[1, :2] = 7
        turned[2] = x[:, 0]
        line[0] = 9
        y[[0, 1], [1, 1]] += 1
        y[y > 8] = 0
        return (y**2).sum() + (part * turned[:, 0].sum()).sum() + line[0]

    same(program(on()), program(HOST))
    same(ad.grad(program)(on()), ad.grad(program)(HOST))
    same(ad.jit(ad.grad(program))(on()), ad.grad(program)(HOST))


def test_failures_are_those_of_the_host():
    for case in (lambda x: x[5], lambda x: ops.gather(x, ad.Tensor([7]), 0), lambda x: ops.cholesky(x[:, :2] * 0 - 1)):
        with pytest.raises(Exception) as here:
            case(HOST)
        with pytest.raises(type(here.value)) as there:
            case(on())
        assert str(there.value).split("\n")[0] == str(here.value).split("\n")[0]
    with ad.debug_nan(), pytest.raises(ad.NonFiniteError, match="Log"):
        ops.log(on())
    with ad.debug_nan():
        assert ad.jit(ops.exp)(on()).device == HERE


# ---------------------------------------------------------------- derivatives


def test_every_mode_of_differentiation():
    x, h = on(), ad.Tensor(X)
    same(ad.grad(f)(x), ad.grad(f)(h))
    same(ad.jvp(f, x, on())[1], ad.jvp(f, h, h)[1])
    same(ad.vjp(f, x)[1](1.0)[0], ad.grad(f)(h))
    same(ad.vmap(f)(x), ad.vmap(f)(h))
    same(ad.jacobian(lambda x: ops.tanh(x).sum(0))(x), ad.jacobian(lambda x: ops.tanh(x).sum(0))(h))
    same(ad.hessian(f)(x), ad.hessian(f)(h))
    same(ad.grad(lambda x: ad.grad(f)(x).sum())(x), ad.grad(lambda x: ad.grad(f)(x).sum())(h))
    same(ad.derivative(ops.sin, x, 2)[1], ad.derivative(ops.sin, h, 2)[1])
    same(ad.grad(lambda x: (ops.zeros_like(x) * x).sum())(x), np.zeros((2, 3)))


def test_backward_tapes_and_hooks():
    x, seen = ad.Tensor(X, device=HERE, requires_grad=True), []
    x.register_hook(lambda g: seen.append(g.device))
    for _ in range(2):
        f(x).backward()
    assert seen == [HERE, HERE]
    same(x.grad, 2 * ad.grad(f)(ad.Tensor(X)).asnumpy())
    with ad.GradientTape() as tape:
        y = f(w := on())
    same(tape.gradient(y, w), ad.grad(f)(ad.Tensor(X)))


def test_moving_is_differentiable_and_the_cotangent_comes_back():
    same(ad.grad(lambda x: (x.to("cpu") * HOST).sum())(on()), X)
    same(ad.grad(lambda x: (x.to(HERE) * on()).sum())(HOST), X, "cpu")
    t = ad.jvp(lambda x: x.to("cpu:2") * 2, on(), on())[1]
    same(t, X * 2, "cpu:2")
    same(ad.vmap(lambda x: x.to("cpu").sum())(on()), X.sum(1), "cpu")


def test_custom_rules_and_checkpoints():
    @ad.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x, out, dout: (3 * x**2 * dout,))
    same(ad.grad(lambda x: cube(x).sum())(on()), 3 * X**2)
    same(ad.grad(ad.checkpoint(f))(on()), ad.grad(f)(HOST))


# ---------------------------------------------------------------- compiled


def test_compiled_functions_run_where_their_inputs_are():
    g = ad.jit(ad.grad(f))
    for _ in range(3):
        same(g(on()), ad.grad(f)(HOST))
        same(g(HOST), ad.grad(f)(HOST), "cpu")
    assert [c.reason for c in g.compilations] == ["first call", f"the device changed from {HERE} to cpu"]
    same(ad.grad(ad.jit(f))(on()), ad.grad(f)(HOST))
    assert ad.jit(lambda x: x.to(HERE) * (2 if x.device == HERE else 3))(on()).tolist() == (X * 2).tolist()


def test_tensors_around_a_compiled_function_are_inputs():
    w = on(array=np.arange(3.0))
    g = ad.jit(lambda x: x * w)
    for _ in range(3):
        same(g(on()), X * np.arange(3.0))
    assert len(g.compilations) == 1
    w[0] = 7.0
    same(g(on()), X * [7.0, 1.0, 2.0])


def test_donated_arrays_are_gone():
    step = ad.jit(lambda x: x * 2 + 1, donate="x")
    x = on()
    other = x.copy()
    same(step(x), X * 2 + 1)
    same(other, X)
    with pytest.raises(ad.DonatedError):
        x + 1


def test_parameters_stay_where_they_are_stored():
    p = ad.Parameter(ad.Tensor(X), name="p")
    assert p.to(HERE) is p and p.device == HERE
    p.set_data(X * 2)
    same(p, X * 2)
    assert (p.clone("zeros").device, copy.deepcopy(p).device, pickle.loads(pickle.dumps(p)).device) == (
        HERE,
        HERE,
        "cpu",
    )

    def write(x):
        p.set_data(x + p)
        return p.sum()

    ad.jit(write)(on())
    same(p, X * 3)
    p[0] = 0.0
    same(p, np.concatenate([[np.zeros(3)], X[1:] * 3]))


# ---------------------------------------------------------------- a whole program on a device


def test_the_device_of_the_context():
    ad.set_context(device_target=HERE)
    try:
        assert (ad.get_context("device_target"), ad.get_context("backend")) == (HERE, f"xla:{HERE}")
        x = ad.Tensor(X)
        same(x * X + ops.ones((2, 3), ad.float64), X * X + 1)
        assert nn.Dense(3, 2).weight.device == ops.rand(2).device == ad.numpy.zeros(3).device == HERE
        same(ad.grad(f)(X), ad.grad(f)(HOST))
        same(ad.jit(f)(X), f(HOST))
    finally:
        ad.set_context(device_target="cpu")
    assert (ad.get_context("device_target"), ad.Tensor(X).device) == ("cpu", "cpu")
    assert ad.jit(f)(X).device == "cpu"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_float32(dtype):
    x = np.asarray(X, getattr(ad, dtype))
    program = lambda x: ops.softmax(x * 3, -1) @ ops.exp(x).T
    got, want = program(on(array=x)), program(ad.Tensor(x))
    assert (got.dtype, got.device) == (x.dtype, HERE)
    np.testing.assert_array_equal(got.asnumpy().astype("float32"), want.asnumpy().astype("float32"))


def test_integers_of_more_than_64_bits_are_refused_beside_integers() -> None:
    calls = [lambda x, n: x + n, lambda x, n: n - x, lambda x, n: x // n, lambda x, n: x * n]
    calls += [ops.maximum, lambda x, n: ops.where(x > 0, x, n), lambda x, n: ops.pad(x, (1, 1), value=n)]
    for n in (2**64, -(2**63) - 1):
        for dtype in ("int64", "uint8", "uint64", "bool"):
            x = on(array=np.arange(3).astype(dtype))
            for f in calls:
                with pytest.raises(OverflowError):
                    f(x, n)
    x = on(array=np.arange(3))
    assert (x / 2**64).dtype == (x * 1.0 + 2**64).dtype == ad.float64 and not (x > 2**64).asnumpy().any()
    y = on(array=np.arange(3, dtype=np.uint64)) + 2**63
    assert y.dtype == np.uint64 and y.tolist() == [2**63, 2**63 + 1, 2**63 + 2]
