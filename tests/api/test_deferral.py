"""Gradients of dynamic mode that are deferred: what a program computes does not depend on it, to rounding."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.api import deferral
from adjoint.core import context, tree
from adjoint.core.errors import CutGradientError, EndedTransformError, ShapeError
from corpus import PROGRAMS
from deferred_calls import X, alike, at_once, numbers

__all__ = ["at_once"]


def known() -> deferral.KnownFunction:
    """The one function that was seen."""
    (found,) = deferral._functions.values()
    return found


def is_compiled() -> bool:
    return known().following == 0


# ---------------------------------------------------------------- programs


@pytest.mark.parametrize("name", sorted(PROGRAMS)[::3])
def test_programs_of_the_corpus(name: str) -> None:
    program = PROGRAMS[name]
    point = [
        tree.map(lambda x: ad.Tensor(np.asarray(x)) if isinstance(x, np.ndarray) or type(x) is float else x, a)
        if i in program.positions
        else a
        for i, a in enumerate(program.inputs)
    ]
    alike(lambda: ad.value_and_grad(program.fn, program.positions)(*point), 3)


def test_an_elementwise_program_is_compiled() -> None:
    alike(lambda: ad.value_and_grad(lambda x: (ops.tanh(x) * ops.exp(-(x**2)) + ops.sin(x)).sum())(ad.Tensor(X)))
    assert is_compiled()


def test_a_network_is_compiled_and_sees_new_weights() -> None:
    ad.set_seed(0)
    net = nn.SequentialCell(nn.Dense(3, 8), nn.Tanh(), nn.Dense(8, 2))
    step = ad.value_and_grad(lambda x, y: ops.mean((net(x) - y) ** 2), None, net.trainable_params())
    x, y = ad.Tensor(X), ad.Tensor(X[:, :2])
    alike(lambda: step(x, y))
    assert is_compiled()
    before = numbers(step(x, y))
    for p in net.trainable_params():
        p.set_data(p * 2.0)
    alike(lambda: step(x, y))
    assert not np.allclose(before[0], numbers(step(x, y))[0])


def test_arrays_around_the_function_are_read_in_each_call() -> None:
    scale = np.array([1.0, 2.0, 3.0])
    gradient = ad.grad(lambda x: (x * scale * scale).sum())
    for k in range(6):
        scale[1] = k
        np.testing.assert_allclose(gradient(ad.Tensor(X)).asnumpy()[0], [1.0, k * k, 9.0])
    assert is_compiled()


def test_an_array_that_changes_in_the_function() -> None:
    def f(x: Any) -> Any:
        weights = np.ones(3)
        y = (x * weights).sum()
        weights[0] = 5.0
        return y + (x * weights).sum() * 2.0

    gradient = ad.grad(f)
    for _ in range(4):
        np.testing.assert_allclose(gradient(ad.Tensor(X)).asnumpy()[0], [11.0, 3.0, 3.0])
    assert is_compiled()


def test_the_argument_may_change_after_the_call() -> None:
    gradient = ad.value_and_grad(lambda x: (x * x).sum())
    for k in range(1, 6):
        x = np.full(3, float(k))
        value, slope = gradient(x)
        x[:] = 0.0
        np.testing.assert_allclose([float(value), *slope.asnumpy()], [3.0 * k * k, *[2.0 * k] * 3])


def test_several_inputs_in_containers() -> None:
    params = {"w": ad.Tensor(X.T.copy()), "b": [ad.Tensor(X[0]), ad.Tensor(X[1])]}

    def loss(p: Any, x: Any) -> Any:
        return ((x @ p["w"]) ** 2).sum() + (p["b"][0] * p["b"][1]).sum(), {"aux": x @ p["w"], "n": 3}

    alike(lambda: ad.value_and_grad(loss, has_aux=True)(params, ad.Tensor(X)))
    assert is_compiled()


def test_cotangents() -> None:
    g = ad.Tensor(X * 2)
    alike(lambda: ad.grad(lambda x: ops.sin(x) * x, sens_param=True)(ad.Tensor(X), g))
    assert is_compiled()


def test_writes_and_views() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        y[0] = x[1] * 3.0
        y[:, 1] += 1.0
        row = y[2]
        row *= 4.0
        return (y**2).sum() + sum(v.sum() for v in y)

    alike(lambda: ad.value_and_grad(f)(ad.Tensor(X)))
    assert is_compiled()


def test_gradients_inside_a_gradient() -> None:
    alike(lambda: ad.grad(lambda x: (ad.grad(lambda z: ops.sin(z * x).sum())(x) ** 2).sum())(ad.Tensor(X)))
    assert is_compiled()
    deferral._functions.clear()
    alike(lambda: ad.grad(lambda x: ad.vmap(lambda row: (row * ops.exp(row)).sum())(x).prod())(ad.Tensor(X)))
    assert is_compiled()
    deferral._functions.clear()
    alike(lambda: ad.grad(lambda x: ad.jvp(ops.tanh, x, x * x)[1].sum())(ad.Tensor(X)))
    assert is_compiled()


def test_a_compiled_function_inside() -> None:
    inner = ad.jit(lambda x: ops.exp(x) * x)
    alike(lambda: ad.value_and_grad(lambda x: inner(x * 2.0).sum())(ad.Tensor(X)))
    assert is_compiled()


def test_no_grad_and_detach() -> None:
    def f(x: Any) -> Any:
        with ad.no_grad():
            scale = x * 3.0
        return (x * scale + x.detach() * x).sum()

    want = alike(lambda: ad.grad(f)(ad.Tensor(X)))
    np.testing.assert_allclose(want[0], 4.0 * X)
    assert is_compiled()


def test_masks_and_indices() -> None:
    def f(x: Any) -> Any:
        best = ops.argmax(x, 1)
        return (ops.where(x > 0.0, x, x * 0.1) ** 2).sum() + ops.gather(x, best, 0).sum()

    alike(lambda: ad.value_and_grad(f)(ad.Tensor(X)))
    assert is_compiled()


# ---------------------------------------------------------------- programs that need their numbers


def test_a_branch_that_depends_on_numbers() -> None:
    def f(x: Any) -> Any:
        return (x * 2.0).sum() if (x * x).sum() > 3.0 else (x * 3.0).sum()

    gradient = ad.grad(f)
    for k in range(8):
        x = ad.Tensor(np.full(2, 2.0 if k % 2 else 1.0))
        np.testing.assert_allclose(gradient(x).asnumpy(), 2.0 if k % 2 else 3.0)
    assert known().following == np.inf


def test_what_is_printed_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        y = (x * 2.0).sum()
        print("sum", f"{float(y.detach()):.1f}", y.shape)
        return y * y

    gradient = ad.grad(f)
    for _ in range(4):
        gradient(ad.Tensor([1.0, 2.0]))
    assert capsys.readouterr().out == "sum 6.0 ()\n" * 4


def test_a_program_that_is_another_in_some_calls() -> None:
    count = 0

    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        y = ops.sin(x)
        for _ in range(count % 3):
            y = y * x
        return y.sum()

    def want(x: np.ndarray, n: int) -> np.ndarray:
        return np.cos(x) * x**n + (n * np.sin(x) * x ** (n - 1) if n else 0.0)

    gradient = ad.grad(f)
    for k in range(1, 16):
        np.testing.assert_allclose(gradient(ad.Tensor(X)).asnumpy(), want(X, k % 3), rtol=1e-9)
    assert count == 15


def test_the_function_runs_once_in_each_call() -> None:
    seen: list[int] = []

    def f(x: Any) -> Any:
        seen.append(len(seen))
        return (x * x).sum() if len(seen) % 4 else (x * float(x.sum().item())).sum()

    gradient = ad.grad(f)
    for _ in range(12):
        gradient(ad.Tensor(X))
    assert seen == list(range(12))


def test_numbers_of_python_are_part_of_the_program() -> None:
    factors = [0.0, -0.0, 1, 1.0, True, 2.5, 0.0, -0.0]
    gradient = ad.grad(lambda x, k: (1.0 / (x * k)).sum())
    with np.errstate(all="ignore"):
        for factor in factors * 3:
            with context.setting(context.deferred, False):
                want = gradient(ad.Tensor([1.0, 2.0]), factor)
            np.testing.assert_array_equal(gradient(ad.Tensor([1.0, 2.0]), factor).asnumpy(), want.asnumpy())


def test_an_intermediate_value_that_is_kept() -> None:
    held: list[Any] = []

    def f(x: Any) -> Any:
        y = ops.exp(x)
        held.append(y)
        return y.sum()

    gradient = ad.grad(f)
    for _ in range(20):
        gradient(ad.Tensor([1.0, 2.0]))
    assert known().following == np.inf  # it would be computed twice in each call
    for y in held:
        np.testing.assert_allclose(y.asnumpy(), np.exp([1.0, 2.0]), rtol=1e-6)
    for y in held:
        with pytest.raises(EndedTransformError):
            y * 2.0


def test_a_kept_value_does_not_change_with_its_inputs() -> None:
    held: list[Any] = []
    w = ad.Parameter(ad.Tensor([2.0, 3.0]), name="w")

    def f(x: Any) -> Any:
        held.append(w * x)
        return (held[-1] ** 2).sum()

    gradient = ad.grad(f, None, w)
    for _ in range(20):
        gradient(ad.Tensor([1.0, 1.0]))
        w._value[...] += 1.0  # as a compiled step does
    for k, y in enumerate(held):
        np.testing.assert_allclose(y.asnumpy(), [2.0 + k, 3.0 + k])


def test_what_nobody_keeps_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    call = lambda: ad.value_and_grad(lambda x: ops.sin(ops.cos(x)).sum())(ad.Tensor(X))
    call(), call()
    monkeypatch.setattr("adjoint.transforms.deferred.Deferral.compute", None)
    alike(call, 2)
    other = lambda: ad.hvp(lambda x: ops.sin(ops.cos(x)).sum())(ad.Tensor(X), ad.Tensor(X))
    monkeypatch.undo()
    other(), other()
    monkeypatch.setattr("adjoint.transforms.deferred.Deferral.compute", None)
    other()


def test_an_error_that_the_function_catches() -> None:
    def f(a: Any) -> Any:
        b = a * 1.0
        try:
            return ops.inverse(b).sum()
        except np.linalg.LinAlgError:
            return (b * 3.0).sum()

    gradient = ad.grad(f)
    for k in range(8):
        a = np.zeros((2, 2)) if k in (5, 7) else np.eye(2)
        np.testing.assert_allclose(gradient(ad.Tensor(a)).asnumpy(), 3.0 if k in (5, 7) else -1.0)


def test_code_that_is_not_used_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferral, "COMPILED", 2)
    functions = [lambda x, k=k: (x * float(k)).sum() + (x**k).sum() for k in range(1, 5)]
    for _ in range(6):
        for k, f in enumerate(functions, 1):
            want = k + k * X ** (k - 1)
            np.testing.assert_allclose(ad.grad(f)(ad.Tensor(X)).asnumpy(), want)


def test_stores_in_parameters() -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4))
    net.set_train()
    gradient = ad.grad(lambda x: (net(x) ** 2).sum(), None, net.trainable_params())
    means = []
    for _ in range(5):
        gradient(ad.Tensor(X.astype(np.float32)))
        means.append(net[1].moving_mean.asnumpy().copy())
    assert all(not np.allclose(a, b) for a, b in itertools.pairwise(means))


def test_random_samples_are_new_in_each_call() -> None:
    ad.set_seed(3)
    gradient = ad.grad(lambda x: (ops.dropout(x, 0.5) * 3.0).sum())
    found = [gradient(ad.Tensor(np.ones(200))).asnumpy() for _ in range(5)]
    ad.set_seed(3)
    with context.setting(context.deferred, False):
        want = [gradient(ad.Tensor(np.ones(200))).asnumpy() for _ in range(5)]
    for a, b in zip(found, want, strict=True):
        np.testing.assert_array_equal(a, b)
    assert is_compiled() and not np.array_equal(found[3], found[4])


# ---------------------------------------------------------------- errors


def test_errors_name_the_line() -> None:
    def f(x: Any, y: Any) -> Any:
        z = ops.sin(x)
        return (z @ y).sum()

    gradient = ad.grad(f)
    for _ in range(4):
        gradient(ad.Tensor(X), ad.Tensor(X.T.copy()))
    with pytest.raises(ShapeError, match=r"return \(z @ y\)\.sum\(\)"):
        gradient(ad.Tensor(X), ad.Tensor(X))


def test_an_error_that_only_a_run_can_find() -> None:
    def f(a: Any) -> Any:
        b = a * 1.0
        return ops.inverse(b).sum()

    gradient = ad.grad(f)
    for _ in range(4):
        gradient(ad.Tensor(np.eye(3) * 2.0))
    with pytest.raises(np.linalg.LinAlgError, match=r"ops\.inverse\(b\)"):
        gradient(ad.Tensor(np.zeros((3, 3))))
    np.testing.assert_allclose(gradient(ad.Tensor(np.eye(3) * 2.0)).asnumpy(), -np.full((3, 3), 0.25))


def test_an_exception_of_the_users_leaves_nothing_behind() -> None:
    def f(x: Any, stop: bool) -> Any:
        y = ops.exp(x)
        if stop:
            raise KeyError("stop")
        return y.sum()

    gradient = ad.grad(f)
    for k in range(8):
        if k % 2:
            with pytest.raises(KeyError, match="stop"):
                gradient(ad.Tensor(X), True)
        else:
            np.testing.assert_allclose(gradient(ad.Tensor(X), False).asnumpy(), np.exp(X))


def test_conversions_that_would_cut_the_gradient_are_refused() -> None:
    gradient = ad.grad(lambda x: (x * float((x * x).sum())).sum())
    for _ in range(4):
        with pytest.raises(CutGradientError):
            gradient(ad.Tensor(X))


def test_it_can_be_switched_off() -> None:
    gradient = ad.grad(lambda x: (x * x).sum())
    ad.set_context(deferred=False)
    try:
        for _ in range(4):
            gradient(ad.Tensor(X))
        assert ad.get_context("deferred") is False
        assert not is_compiled()
    finally:
        ad.set_context(deferred=True)
