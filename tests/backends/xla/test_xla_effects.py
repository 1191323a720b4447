"""What a program prints, raises and keeps on XLA is what it does in the interpreter."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.api.host_calls import HostCall
from adjoint.core import tree
from adjoint.core.spec import Spec


class TooLargeError(Exception):
    def __init__(self, value: Any, where: str) -> None:
        super().__init__(value, where)


def outcome(f: Any, args: Any, backend: str) -> tuple[str, Any, Any]:
    """What it prints, and its results or its error."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            found = tree.leaves(ad.jit(f, backend=backend)(*args))
        except Exception as error:
            return said.getvalue(), type(error), [str(a) for a in error.args]
    return said.getvalue(), None, [np.asarray(x) for x in found]


def same(f: Any, *args: Any) -> tuple[str, Any, Any]:
    """The outcome on XLA, which is the interpreter's."""
    text, error, found = outcome(f, args, "xla")
    expected, kind, wanted = outcome(f, args, "interpreter")
    assert (text, error) == (expected, kind)
    if error is not None:
        assert found == wanted
    else:
        for x, y in zip(found, wanted, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    return text, error, found


def told(x, n):
    print("start", x.sum(), n)
    i = 0
    while i < n:
        if i == 2:
            print("two:", f"{x.sum():.3f}", sep=" ", end=";\n")
        x = x * 1.5
        i = i + 1
    assert x.sum() < 30, f"the sum is {x.sum():.2f}"
    print("end", x)
    return x.sum()


@pytest.mark.parametrize("n", [0, 4, 7])
def test_prints_and_checks_with_the_derivative(n):
    text, error, _ = same(ad.value_and_grad(told), np.arange(3.0), ad.Tensor(n))
    assert text.startswith("start 3.0") and (error is AssertionError) == (n == 7) and ("end" in text) == (n < 7)


def raising_in_a_loop(x):
    for k in range(6):
        if x > 10:
            print("too large", k)
            raise TooLargeError(x, "in the loop")
        x = x * 2.0
        print("after", k, x)
    return x


def test_an_error_of_the_users_with_its_values():
    text, error, _ = same(raising_in_a_loop, np.float64(1.5))
    assert error is TooLargeError and text.endswith("too large 3\n")
    assert same(raising_in_a_loop, np.float64(0.1))[1] is None


def checked(x):
    assert x > 0, f"{x} is not positive"
    if x > 2:
        print("large", x)
    return ops.log(x)


def test_a_batch_prints_and_fails_by_example():
    text, _, _ = same(ad.vmap(checked), np.array([1.0, 3.0, 2.5]))
    assert text == "large 3.0\nlarge 2.5\n"
    assert same(ad.vmap(checked), np.array([3.0, 1.0, -2.0, -3.0, 4.0]))[2] == same(checked, np.float64(-2.0))[2]


def longer_than_a_buffer(x):
    k = 0
    print("once")
    while x < 300:
        x = x + 0.3 * x / (1 + x)
        k = k + 1
        if k % 400 == 0:
            print("at", k, f"{x:.3f}")
    print("done")
    return x


def test_a_loop_that_is_run_again_prints_once():
    text, _, _ = same(ad.value_and_grad(longer_than_a_buffer), np.float64(1.3))
    assert text.count("once") == text.count("done") == 1 and text.count("at") == 2


HALVED = HostCall(
    "halved", lambda x, n: (x / 2, x * 1j, n + 2**40), tuple(Spec((3,), np.dtype(d)) for d in ("f8", "c16", "i8"))
)


def of_three_kinds(x, n):
    half, rotated, far = HALVED(x, n)
    return half.sum(), ops.imag(rotated), far * 2, ops.cast(half, ad.float32)


def test_a_function_of_the_users_in_all_precisions():
    same(of_three_kinds, np.arange(3.0), np.arange(3))


def sine_by_numpy(x):
    return HostCall("sine", np.sin, Spec(x.shape, x.dtype))(x)


@ad.custom_vjp
def sine(x):
    return sine_by_numpy(x)


@sine.defvjp
def sine_vjp(x, out, dout):
    return (dout * HostCall("cosine", np.cos, Spec(x.shape, x.dtype))(x),)


def in_a_loop(x):
    while (x**2).sum() < 20:
        x = x + 1.0 + sine(x) * 0.5
    return x.sum()


def test_the_derivative_through_a_rule_that_calls_numpy():
    same(ad.value_and_grad(in_a_loop), np.array([0.3, -0.2]))


def test_what_a_function_of_the_users_raises():
    def refuse(x):
        raise TooLargeError(float(x), "on the host")

    call = HostCall("refusing", refuse, Spec((), np.dtype("f8")))

    def f(x):
        print("before")
        y = x * 2.0
        if y > 1:
            y = call(y)
        print("after", y)
        return y

    assert same(f, np.float64(3.0))[:2] == ("before\n", TooLargeError)
    assert same(f, np.float64(0.25))[:2] == ("before\nafter 0.5\n", None)


@pytest.mark.parametrize("looped", [False, True])
def test_moving_averages(looped):
    x = np.random.default_rng(0).standard_normal((5, 3))
    found = []
    for backend in ("xla", "interpreter"):
        norm = nn.BatchNorm1d(3)
        norm.set_train()

        def f(x, n, norm=norm):
            y = norm(x)
            if looped:
                for _ in range(n):
                    y = norm(y + 1.0)
            return y.sum()

        run = ad.jit(f, backend=backend)
        run(x, ad.Tensor(3))
        run(x * 2, ad.Tensor(2))
        found.append([np.asarray(norm.moving_mean), np.asarray(norm.moving_variance)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    assert np.abs(found[0][0]).max() > 0


def test_on_several_devices():
    """What stands outside of branches and loops is printed and checked when the results are there; else it is refused by name."""
    from jax import device_put, devices, sharding

    from adjoint.core.dispatch import wrap

    mesh = sharding.Mesh(np.array(devices()[:2]), ("data",))
    x = wrap(device_put(np.arange(4, dtype=np.float32), sharding.NamedSharding(mesh, sharding.PartitionSpec("data"))))

    def f(x, least):
        print("first", x.sum())
        assert x.sum() > least, f"the sum is {x.sum():.1f}"
        print("second")
        return x * 2.0

    assert outcome(f, (x, 1.0), "xla")[:2] == ("first 6.0\nsecond\n", None)
    text, error, (said,) = outcome(f, (x, 7.0), "xla")
    assert (text, error) == ("first 6.0\n", AssertionError) and said.startswith("the sum is 6.0")
    with pytest.raises(ad.DeviceError, match="runs on 2 devices cannot call Python"):
        ad.jit(raising_in_a_loop, backend="xla")(x.sum())
