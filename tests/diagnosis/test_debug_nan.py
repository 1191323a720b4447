"""`ad.debug_nan`: the line, the op, the element and the iteration, in both modes; nothing where all is finite."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core import watching
from adjoint.core.parsing import line_of

MODES: dict[str, Callable[..., Any]] = {"dynamic": lambda f: f, "static": ad.jit}


def caught(fn: Callable[..., Any], *args: Any, **options: Any) -> ad.NonFiniteError:
    with pytest.raises(ad.NonFiniteError) as found, ad.debug_nan(**options):
        fn(*args)
    assert not watching.active
    return found.value


def line(error: ad.NonFiniteError) -> str:
    assert error.place is not None
    assert error.place[0] == __file__
    return line_of(*error.place).strip()


def log_of_negative(x: Any) -> Any:
    shifted = x - 1.0
    logs = ops.log(shifted)
    return ops.sum(logs * 2.0)


def root(x: Any) -> Any:
    y = ops.sqrt(x)
    return ops.sum(y * 2.0)


def squares(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x * x
    return ops.sum(x)


def until_large(x: Any) -> Any:
    while ops.sum(x) < 1e30:
        x = x * x
        y = ops.log(x - 16.0)
        x = x + 0.0 * y
    return ops.sum(x)


def small_powers(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = ops.sqrt(x)
    return ops.sum(x)


X = np.array([4.0, 0.0, 9.0], np.float32)


@pytest.mark.parametrize("mode", MODES)
def test_the_forward_pass(mode: str) -> None:
    error = caught(MODES[mode](log_of_negative), X)
    assert line(error) == "logs = ops.log(shifted)"
    assert (error.kind, error.stage, error.index, error.shape) == ("nan", "forward", (1,), (3,))
    assert isinstance(error.op, ops.Log)
    for part in ("NaN in the result of Log()", "element [1] of shape (3,)", "from -1 to 8", "negative number"):
        assert part in str(error)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("outer", [lambda f: f, lambda f: lambda x: ad.jit(f)(x)])
def test_the_backward_pass(mode: str, outer: Callable[..., Any]) -> None:
    error = caught(MODES[mode](ad.grad(outer(root))), X)
    assert line(error) == "y = ops.sqrt(x)"
    assert (error.kind, error.stage, error.index) == ("inf", "backward", (1,))
    assert "derivative of Sqrt()" in str(error)
    assert caught(MODES[mode](ad.value_and_grad(root)), X).index == (1,)


def test_backward_of_tensors_and_tapes() -> None:
    def by_backward() -> None:
        x = ad.Tensor(X)
        x.requires_grad = True
        root(x).backward()

    def by_tape() -> None:
        x = ad.Tensor(X)
        with ad.GradientTape() as tape:
            y = root(x)
        tape.gradient(y, x)

    for fn in (by_backward, by_tape):
        assert line(caught(fn)) == "y = ops.sqrt(x)"


def test_forward_mode_and_batches() -> None:
    error = caught(lambda: ad.jvp(root, (ad.Tensor(X),), (ad.Tensor(X) + 1,)))
    assert (error.stage, error.index, line(error)) == ("tangent", (1,), "y = ops.sqrt(x)")
    batch = np.stack([X + 2, X + 2, X])
    for mode in MODES.values():
        error = caught(mode(ad.vmap(log_of_negative)), batch)
        assert (error.index, error.shape) == ((2, 1), (3, 3))
        assert line(caught(mode(ad.vmap(ad.grad(root))), batch)) == "y = ops.sqrt(x)"
        assert line(caught(mode(ad.hessian(root)), X)) == "y = ops.sqrt(x)"


def test_forward_mode_in_graphs_and_of_recorded_programs() -> None:
    error = caught(ad.jit(ad.jacfwd(root)), X)
    assert (error.stage, line(error)) == ("tangent", "y = ops.sqrt(x)")
    assert "a step of the derivative of Sqrt()" in str(error)
    error = caught(lambda: ad.linearize(root, ad.Tensor(X))[1](ad.Tensor(X) + 1.0))
    assert (error.stage, line(error)) == ("tangent", "y = ops.sqrt(x)")
    with ad.debug_nan():  # what is given infinite may stay so
        assert ad.jvp(lambda x: x * 2, (1.0,), (np.inf,))[1] == np.inf
        _, pull = ad.vjp(lambda x: x * 2.0, ad.Tensor([1.0]))
        assert pull(ad.Tensor([np.inf]))[0] == np.inf
    assert "came to this op" in str(caught(lambda: ad.vjp(ops.sin, ad.Tensor([1.0]))[1](ad.Tensor([np.nan]))))


def test_a_compiled_step_of_training() -> None:
    net = ad.nn.Dense(3, 1)
    weights = net.trainable_params()
    step = ad.optim.compiled_step(lambda x, y: ops.mean((net(x) - y) ** 2), weights, ad.optim.SGD(weights, 1e30))
    x = np.ones((8, 3), np.float32)

    def train() -> None:
        for _ in range(5):
            step(x, x[:, :1] + 2)

    assert caught(train).kind == "inf"


def second(x: Any) -> Any:
    return ad.grad(lambda y: ops.sum(y**1.5))(x).sum()


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_of_derivatives(mode: str) -> None:
    error = caught(MODES[mode](ad.grad(second)), X)
    assert line(error) == "return ad.grad(lambda y: ops.sum(y**1.5))(x).sum()"
    assert (error.stage, error.index) == ("backward", (1,))


def test_iterations_of_loops() -> None:
    """3**(2**7) is too large for float32: the square of iteration 6."""
    x = ad.Tensor([1.0, 3.0], dtype=ad.float32)
    error = caught(squares, x, 20)
    assert "ran for the 7th time" in str(error)
    for n, mode in ((20, ad.jit), (ad.Tensor(20), ad.jit)):
        error = caught(mode(squares), x, n)
        assert (error.iterations, line(error)) == ((6,), "x = x * x")
        assert "in iteration 6 of the loop" in str(error)
    assert caught(ad.jit(ad.grad(squares)), x, ad.Tensor(20)).iterations == (6,)
    error = caught(ad.jit(ad.grad(small_powers)), np.array([0.0]), ad.Tensor(9))
    assert (error.iterations, error.stage, line(error)) == ((8,), "backward", "x = ops.sqrt(x)")


def test_iterations_of_a_loop_with_a_condition() -> None:
    error = caught(ad.jit(until_large), np.array([2.0, 2.0]))
    assert (error.iterations, line(error)) == ((0,), "y = ops.log(x - 16.0)")


def nested(x: Any, n: Any) -> Any:
    for i in range(n):
        for k in range(n):
            x = x + 1.0 / (5.0 * (i - 2) ** 2 + (k - 1.0) ** 2)
    return x


def test_loops_inside_loops() -> None:
    assert caught(ad.jit(nested), 1.0, ad.Tensor(4)).iterations == (2, 1)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_branch_or_a_where_drops(mode: str) -> None:
    """A graph goes through both branches of a batch; what is dropped there did no harm, and is not reported."""

    def choose(x: Any) -> Any:
        ok = x > 0
        return ops.sum(ops.where(ok, ops.sqrt(ops.where(ok, x, 1.0)), 0.0))

    def branch(x: Any) -> Any:
        if x > 0.0:
            return ops.log(x)
        return x * 2.0

    with ad.debug_nan():
        assert np.allclose(MODES[mode](ad.grad(choose))(X).asnumpy(), [0.25, 0.0, 1 / 6])
        found = ad.jit(ad.vmap(ad.jit(branch)))(np.array([1.0, -1.0, 0.0]))
    assert found.asnumpy().tolist() == [0.0, -2.0, 0.0]


@pytest.mark.parametrize("mode", MODES)
def test_an_infinity_that_a_zero_takes_away(mode: str) -> None:
    """The derivative of the root is infinite, that of the product is 0 there: the gradient is finite, and nothing is said."""
    with ad.debug_nan():
        found = MODES[mode](ad.grad(lambda x: ops.sum(ops.sqrt(x) * x)))(X)
    assert np.allclose(found.asnumpy(), [3.0, 0.0, 4.5])


def test_infinities_that_are_given() -> None:
    """A mask of -inf is no mistake; what is made of it, and NaN, is."""
    mask = ad.Tensor([0.0, -np.inf, 0.0])
    for mode in MODES.values():
        with ad.debug_nan():
            found = mode(lambda x: ops.softmax(x + mask))(ad.Tensor(X))
            assert mode(lambda x: ops.exp(x))(ad.Tensor([-np.inf])) == 0.0
        assert found.asnumpy()[1] == 0.0
        assert caught(mode(lambda x: ops.sum(x - x)), mask).kind == "nan"


def test_infinities_may_pass() -> None:
    for mode in MODES.values():
        with ad.debug_nan(inf=False):
            assert mode(lambda x: 1.0 / x)(ad.Tensor([0.0, 0.0])).asnumpy().tolist() == [np.inf] * 2
        assert caught(mode(lambda x: 1.0 / x - 1.0 / x), ad.Tensor([0.0, 0.0]), inf=False).kind == "nan"


def test_what_comes_in_with_nan() -> None:
    data = ad.Tensor([[1.0, 2.0], [np.nan, 3.0]])
    for mode in MODES.values():
        error = caught(mode(lambda x: ops.sum(x.reshape(4) * 2.0)), data)
        assert "came in" in str(error)
        with ad.debug_nan():
            assert mode(lambda x: ops.sum(ops.where(ops.isnan(x), 0.0, x)))(data) == 6.0


@pytest.mark.parametrize(
    ("fn", "x", "hint"),
    [
        (ops.exp, 1000.0, "exp overflows float64 above 709.8"),
        (ops.log, 0.0, "log(0) is minus infinity"),
        (ops.sqrt, -1.0, "square root of a negative"),
        (lambda x: x / 0.0, 0.0, "0/0"),
        (lambda x: x / 0.0, 1.0, "division by zero"),
        (lambda x: x**0.5, -1.0, "not an integer"),
        (lambda x: x**2, 1e200, "larger than the dtype can hold"),
        (ops.acos, 2.0, "between -1 and 1"),
        (lambda x: x * x, 1e200, "larger than the dtype can hold"),
    ],
)
def test_hints(fn: Callable[..., Any], x: float, hint: str) -> None:
    for mode in MODES.values():
        assert hint in str(caught(mode(fn), ad.Tensor(x, dtype=ad.float64)))


def test_a_function_with_a_rule_of_its_own() -> None:
    @ad.custom_vjp
    def f(x: Any) -> Any:
        return x * 2.0

    def backward(x: Any, out: Any, g: Any) -> Any:
        return (g / (x * 0.0),)

    f.defvjp(backward)
    assert line(caught(ad.grad(lambda x: ops.sum(f(x))), X)) == "return (g / (x * 0.0),)"


def test_a_network_in_both_modes() -> None:
    net = ad.nn.SequentialCell(ad.nn.Dense(3, 4), ad.nn.ReLU(), ad.nn.Dense(4, 1))

    def loss(x: Any) -> Any:
        return ops.mean(ops.log(net(x) * 0.0))

    for mode in MODES.values():
        error = caught(mode(ad.grad(loss, None, net.trainable_params())), np.ones((5, 3), np.float32))
        assert (line(error), error.kind) == ("return ops.mean(ops.log(net(x) * 0.0))", "inf")


def test_half_precision_and_complex_numbers() -> None:
    assert caught(lambda x: x * x, ad.Tensor([300.0], dtype=ad.float16)).kind == "inf"
    assert caught(ad.jit(lambda x: x * x), ad.Tensor([300.0], dtype=ad.float16)).kind == "inf"
    assert caught(lambda x: x / 0.0, ad.Tensor([1j])).kind == "nan"


def test_compiled_functions_are_fast_again_afterwards() -> None:
    f = ad.jit(lambda x: ops.log(x))
    x = np.array([1.0])
    for _ in range(4):
        f(x)
    assert f._whole
    with ad.debug_nan():
        assert not f._whole
        assert f(x) == 0.0
        assert f(x) == 0.0
    assert np.isnan(f(-x).item())
    for _ in range(4):
        f(x)
    assert f._whole
    assert len(f.compilations) == 1


def test_the_switch() -> None:
    """`on()` is for all threads, a `with` block for its own."""
    outcomes: list[str] = []

    def other() -> None:
        try:
            with np.errstate(all="ignore"):
                ops.log(ad.Tensor([-1.0]))
            outcomes.append("passed")
        except ad.NonFiniteError:
            outcomes.append("stopped")

    def in_a_thread() -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    switch = ad.debug_nan().on()
    in_a_thread()
    other()
    switch.off()
    other()
    with ad.debug_nan():
        in_a_thread()
    assert outcomes == ["stopped", "stopped", "passed", "passed"]
    switch.off()  # a second time: nothing
    assert not watching.active


def test_misuse() -> None:
    with pytest.raises(ad.ArgumentTypeError, match="inf is True or False"):
        ad.debug_nan(inf=lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(ad.ArgumentTypeError, match="no decorator"):
        ad.debug_nan()(lambda x: x)
    with pytest.raises(ad.ArgumentTypeError, match="takes no function"):
        ad.debug_nan(lambda x: x)


def test_hints_for_complex_numbers() -> None:
    zero = ad.Tensor(np.array([0j]))
    for f, hint in ((ops.log, r"log\(0\) is infinite"), (lambda x: 1 / x, "division by zero")):
        with pytest.raises(ad.NonFiniteError, match=hint), ad.debug_nan(), np.errstate(all="ignore"):
            f(zero)
