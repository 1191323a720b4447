"""`print`, `assert` and `raise` of graph values happen when the graph runs, in the program's order."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.frontend import ControlFlowError


def printed(capsys: Any, f: Any, *args: Any) -> list[str]:
    """The lines that a second call prints: what was printed while the graph was built does not count."""
    f(*args)
    capsys.readouterr()
    f(*args)
    return capsys.readouterr().out.splitlines()


def several(x):
    print("x is", x, [1, x])
    y = x * 2
    print(f"y: {y:.3f}|{y!s:>5}|{3:>{4}}", y, sep=" & ", end=".\n")
    print("sum", x + y)
    return y


def in_branches(x):
    if x > 0:
        print("positive")
        if x > 10:
            print(f"large {x}")
        return x
    print("not positive", x)
    return -x


def in_loops(x):
    for i in range(12):
        if i > 9:
            print(i, x)
        x = x + 1
    while x > 10:
        print("while", x)
        x = x / 2
    return x


class Noisy:
    def __call__(self, x):
        print("called with", x)
        return x * x


@pytest.mark.parametrize("x", [3.0, -2.0, 20.0])
@pytest.mark.parametrize("f", [several, in_branches, in_loops, Noisy()], ids=["several", "branches", "loops", "object"])
def test_prints_what_the_original_prints(f: Any, x: float, capsys: Any) -> None:
    f(ad.Tensor(np.float64(x)))
    wanted = capsys.readouterr().out.splitlines()
    assert printed(capsys, ad.jit(f), np.float64(x)) == wanted


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: ad.grad(ad.jit(f)),
        lambda f: ad.jit(ad.grad(f)),
        lambda f: ad.jit(ad.value_and_grad(f)),
        lambda f: ad.jit(ad.grad(ad.jit(f))),
    ],
    ids=["grad of jit", "jit of grad", "jit of value_and_grad", "jit of grad of jit"],
)
@pytest.mark.parametrize("f", [several, in_branches, in_loops])
def test_printed_once_under_grad(f: Any, transform: Any, capsys: Any) -> None:
    f(ad.Tensor(np.float64(3.0)))
    wanted = capsys.readouterr().out.splitlines()
    assert printed(capsys, transform(f), np.float64(3.0)) == wanted


def test_jvp_prints_once(capsys: Any) -> None:
    f = ad.jit(in_loops)
    assert len(printed(capsys, lambda x: ad.jvp(f, (x,), (x,)), np.float64(3.0))) == 3


@pytest.mark.parametrize("transform", [lambda f: ad.vmap(ad.jit(f)), lambda f: ad.jit(ad.vmap(f))])
@pytest.mark.parametrize("f", [several, in_branches, in_loops])
def test_vmap_prints_what_each_example_prints(f: Any, transform: Any, capsys: Any) -> None:
    xs = np.array([3.0, -2.0, 20.0])
    wanted = [line for x in xs for line in printed(capsys, f, ad.Tensor(x))]
    assert sorted(printed(capsys, transform(f), xs)) == sorted(wanted)


def test_files_and_other_functions_called_print(capsys: Any) -> None:
    stream = io.StringIO()

    def f(x):
        print(x, file=stream, flush=True)
        return x

    assert printed(capsys, ad.jit(f), np.float64(2.0)) == []
    assert stream.getvalue() == "2.0\n2.0\n"

    def g(x, print=lambda text, y: y * len(text)):
        return print(f"{3}", x)

    assert ad.jit(g)(np.float64(2.0)) == 2.0


def test_static_text_is_printed_in_every_run(capsys: Any) -> None:
    def f(x):
        print("start", x.shape)
        print(x)
        print("end")
        return x * x

    wanted = ["start ()", "2.0", "end"]
    assert printed(capsys, ad.jit(f), np.float64(2.0)) == wanted
    assert printed(capsys, ad.jit(ad.grad(f)), np.float64(2.0)) == wanted
    assert printed(capsys, ad.jit(ad.grad(ad.jit(f))), np.float64(2.0)) == wanted


# ---------------------------------------------------------------- assert


def asserts(x):
    y = x * 2
    assert y > 0, f"y must be positive, but is {y:.1f}"
    for i in range(10):
        assert y < 100 + i
        y = y + 1
    return y


def asserts_in_a_branch(x):
    if x > 0:
        assert x < 5, "too large"
        return x
    assert -x < 5
    return -x


def test_asserts_are_checked_when_the_graph_runs() -> None:
    f = ad.jit(asserts)
    assert f(np.float64(3.0)) == 16.0
    line = asserts.__code__.co_firstlineno
    with pytest.raises(AssertionError, match=rf"y must be positive, but is -2.0 \(test_effects.py:{line + 2}:5\)"):
        f(np.float64(-1.0))
    with pytest.raises(AssertionError, match=rf"`y < 100 \+ i` does not hold \(test_effects.py:{line + 4}:9\)"):
        f(np.float64(50.0))
    with pytest.raises(AssertionError, match="y must be positive"):
        ad.jit(ad.grad(asserts))(np.float64(-1.0))
    with pytest.raises(AssertionError, match="y must be positive"):
        ad.vmap(f)(np.array([1.0, -1.0]))
    assert ad.grad(f)(np.float64(3.0)) == 2.0


def test_asserts_in_branches_hold_for_their_branch_alone() -> None:
    f = ad.jit(asserts_in_a_branch)
    assert f(np.float64(3.0)) == 3.0 and f(np.float64(-4.0)) == 4.0
    with pytest.raises(AssertionError, match="too large"):
        f(np.float64(7.0))
    with pytest.raises(AssertionError, match="`-x < 5` does not hold"):
        f(np.float64(-7.0))
    assert ad.vmap(f)(np.array([3.0, -4.0])).tolist() == [3.0, 4.0]
    with pytest.raises(AssertionError, match="too large"):
        ad.vmap(f)(np.array([-3.0, 7.0]))


# ---------------------------------------------------------------- raise


class OwnError(Exception):
    def __init__(self, what: str, value: Any) -> None:
        super().__init__(what, value)
        self.value = value


def raises(x):
    if x > 5:
        raise ValueError(f"{x} is too large")
    if x < 0:
        print("negative")
        raise OwnError("negative", x)
    return ops.sqrt(x)


def raises_in_a_loop(x):
    n = 0
    while x > 1:
        x = x / 2
        n += 1
        if n > 5:
            raise RuntimeError("no convergence")
    return x


def fail(message):
    raise KeyError(message)


def raises_in_a_function(x):
    if x > 5:
        y = x
    elif x > 0:
        y = fail("no")
    else:
        raise ZeroDivisionError
    return y


def raises_otherwise(x):
    if x > 5:
        return x, "large"
    elif x > 0:
        return -x, "large"
    else:
        raise ValueError("neither")


def test_raises_when_the_graph_runs(capsys: Any) -> None:
    f = ad.jit(raises)
    assert f(np.float64(4.0)) == 2.0 and ad.grad(f)(np.float64(4.0)) == 0.25
    with pytest.raises(ValueError, match="7.0 is too large"):
        f(np.float64(7.0))
    with pytest.raises(OwnError) as caught:
        f(np.float64(-1.0))
    assert caught.value.value == -1.0
    assert capsys.readouterr().out == "negative\n"
    with pytest.raises(ValueError, match="7.0 is too large"):
        ad.vmap(f)(np.array([1.0, 7.0]))
    assert ad.vmap(f)(np.array([1.0, 4.0])).tolist() == [1.0, 2.0]


def test_raises_in_loops_and_functions() -> None:
    f = ad.jit(raises_in_a_loop)
    assert f(np.float64(12.0)) == 0.75
    with pytest.raises(RuntimeError, match="no convergence"):
        f(np.float64(1000.0))
    g = ad.jit(raises_in_a_function)
    assert g(np.float64(6.0)) == 6.0 and ad.jit(ad.grad(raises_in_a_function))(np.float64(6.0)) == 1.0
    with pytest.raises(KeyError, match="no"):
        g(np.float64(2.0))
    with pytest.raises(ZeroDivisionError):
        g(np.float64(-2.0))
    h = ad.jit(raises_otherwise)
    assert h(np.float64(6.0)) == (6.0, "large") and h(np.float64(1.0)) == (-1.0, "large")
    with pytest.raises(ValueError, match="neither"):
        h(np.float64(-1.0))


def test_a_static_assert_in_a_branch_belongs_to_the_branch() -> None:
    @ad.jit
    def f(x):
        if x.sum() > 0:
            assert x.ndim == 2, "a matrix is needed"
        return x

    assert f(-np.ones(2)).tolist() == [-1.0, -1.0]
    with pytest.raises(AssertionError, match="a matrix is needed"):
        f(np.ones(2))


def test_both_branches_raise() -> None:
    def f(x):
        if x > 0:
            raise ValueError("yes")
        else:
            raise ValueError("no")

    with pytest.raises(ControlFlowError, match=r"both branches of the `if` at test_effects.py:\d+:9 raise"):
        ad.jit(f)(np.float64(1.0))


def test_a_raise_that_a_try_would_catch_is_refused() -> None:
    def f(x):
        try:
            if x > 0:
                raise ValueError("caught")
        except ValueError:
            x = x * 2
        return x

    with pytest.raises(ControlFlowError, match=r"`raise` at test_effects.py:\d+:17 .*Move it out of the `try`"):
        ad.jit(f)(np.float64(1.0))


def shown_numbers(x):
    n, found = 0, False
    while n < 11:
        n += 1
        found = found or x * n > 4
        if n > 8:
            print(n, [n, x], (x, n, found), {"x": x, "n": [n]}, f"{[n]} {(x,)!r}")
        x = x * 1.5
    return x


@pytest.mark.parametrize("x", [1.0, -2.0, 0.25])
def test_numbers_in_containers_are_shown_as_numbers(x: float, capsys: Any) -> None:
    shown_numbers(x)
    wanted = capsys.readouterr().out.splitlines()
    assert len(wanted) == 3 and "Tensor" not in wanted[0]
    assert printed(capsys, ad.jit(shown_numbers), x) == wanted


class Stopped(Exception):
    def __init__(self, at: Any, why: Any = None) -> None:
        self.at, self.why = at, why
        super().__init__(at, why)


@pytest.mark.parametrize("iterations", [5, 8, 9, 17])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_what_is_raised_holds_numbers(iterations: int, backend: str) -> None:
    def with_arguments(x):
        for k in range(iterations):
            if k * x > 3:
                raise ValueError(f"at {k}", k, [x, k], {"large": k * x > 3})
        return x

    def own_class(x):
        for k in range(iterations):
            if k * x > 3:
                raise Stopped(k + 1, why=x)
        return x

    def key(x):
        for k in range(iterations):
            if k * x > 3:
                raise KeyError(k)
        return x

    for f in (with_arguments, own_class, key):
        for run in (f, ad.jit(f, backend=backend)):
            with pytest.raises((ValueError, Stopped, KeyError)) as caught:
                run(1.0)
            if run is f:
                wanted = caught.value
        assert type(caught.value) is type(wanted) and repr(caught.value.args) == repr(wanted.args)
        assert repr(vars(caught.value).get("why")) == repr(vars(wanted).get("why"))
