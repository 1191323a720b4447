"""What a transform refuses is not caught by the function itself, which would go another way than plain Python: it is an error."""

from __future__ import annotations

import contextlib
import math
import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.errors import AdjointError


def stored_by_a_mask(x):
    array = np.zeros(5)
    array[np.arange(5) >= x] = 2.0
    return array @ np.arange(5.0)


ASKED = {
    "float": lambda x: float(x) * 2,
    "math": lambda x: math.sin(x),
    "complex": lambda x: complex(x).real,
    "array": lambda x: np.asarray(x, float).sum(),
    "store": lambda x: np.array([0.0, float(x)]).sum(),
    "key": lambda x: {1.5: 2.0}.get(x, 3.0),
    "if": lambda x: 2.0 if x > 1 else 3.0,
    "int": lambda x: [5.0, 6.0, 7.0][int(x)],
    "text": lambda x: float(len(str(x > 1))),
    "range": lambda x: sum(range(int(x) + 2)) * 1.0,
    "mask": lambda x: np.arange(5.0)[np.arange(5) >= x].sum(),
    "mask of one": lambda x: np.arange(5.0)[x > 1].sum(),
    "mask and column": lambda x: np.arange(10.0).reshape(5, 2)[np.arange(5) >= x, 1].sum(),
    "indices": lambda x: np.arange(5.0)[np.arange(3) * (x > 1)].sum(),
    "stored by a mask": stored_by_a_mask,
}


def handled(ask, x):
    try:
        y = ask(x)
    except (TypeError, ValueError, IndexError):
        y = 100.0
    return y * x


def bare(ask, x):
    try:
        y = ask(x)
    except:  # noqa: E722
        y = 100.0
    return y * x


def suppressed(ask, x):
    y = 100.0
    with contextlib.suppress(Exception):
        y = ask(x)
    return y * x


def in_a_loop(ask, x):
    s = 0.0 * x
    for k in range(9):
        try:
            s = s + ask(x) * k
        except Exception:  # the program under test: it would hide a refusal of ours
            s = s + 100.0
    return s


def stored(n):
    array = np.zeros(5)
    array[n] = 2.0
    return array @ np.arange(5.0)


def added(n):
    array = np.zeros(5)
    array[n:] += 2.0
    return array @ np.arange(5.0)


def stored_by_a_list(n):
    array = np.zeros(5)
    array[[n, 0]] = 2.0
    return array @ np.arange(5.0)


def in_a_list(n):
    items = [1.0, 2.0, 3.0, 4.0, 5.0]
    items[n] = 7.0
    return items[0] + 10 * items[1] + 100 * items[3]


#: What NumPy and Python ask of an integer; NumPy swallows the refusal, and raises an IndexError or a TypeError of its own.
OF_INTEGERS = {
    "item": lambda n: np.arange(5.0)[n],
    "stored": stored,
    "added": added,
    "in a list": in_a_list,
    "slice": lambda n: sum([1.0, 2.0, 3.0, 4.0][n:]),
    "ones": lambda n: np.ones(n).sum(),
    "full": lambda n: np.full((2, n), 1.5).sum(),
    "arange": lambda n: np.arange(n).sum() * 1.0,
    "eye": lambda n: np.eye(n).sum(),
    "linspace": lambda n: np.linspace(0.0, 1.0, n).sum(),
    "repeat": lambda n: np.repeat(np.ones(2), n).sum(),
    "roll": lambda n: np.roll(np.arange(5.0), n)[0],
    "take": lambda n: np.take(np.arange(5.0), n),
    "reshape": lambda n: np.arange(12.0).reshape(n, -1)[0].sum(),
    "range": lambda n: range(9)[n] * 1.0,
    "text": lambda n: float("12345"[n]),
    "comb": lambda n: math.comb(9, n) * 1.0,
    "bytes": lambda n: float(len(bytes(n))),
    "divmod": lambda n: divmod(17, n)[0] * 1.0,
    "mask": lambda n: (np.arange(5.0)[np.arange(5) >= n] * 1.0).sum(),
}
#: Of these NumPy makes an array of objects, and asks nothing: what it raises itself must not be caught either.
IN_LISTS = {
    "list": lambda n: np.arange(5.0)[[n, 0]].sum(),
    "array of indices": lambda n: np.arange(5.0)[np.array([n, 0])].sum(),
    "list and slice": lambda n: np.arange(10.0).reshape(5, 2)[[n, 0], 1:].sum(),
    "list of truths": lambda n: np.arange(2.0)[[n > 3, n > 2]].sum(),
    "stored by a list": stored_by_a_list,
}


CAUGHT = [handled, bare, suppressed, in_a_loop]
MODES = {
    "jit": lambda f, x: ad.jit(f)(x),
    "grad": lambda f, x: ad.value_and_grad(f)(x)[0],
    "jit of grad": lambda f, x: ad.jit(ad.value_and_grad(f))(x)[0],
    "grad of jit": lambda f, x: ad.value_and_grad(ad.jit(f))(x)[0],
    "jvp": lambda f, x: ad.jvp(f, x, 1.0)[0],
    "vjp": lambda f, x: ad.vjp(f, x)[0],
    "linearize": lambda f, x: ad.linearize(f, x)[0],
    "second order": lambda f, x: ad.jvp(ad.value_and_grad(f), x, 1.0)[0][0],
    "vmap": lambda f, x: ad.vmap(f)(np.array([x, x]))[1],
    "jit of vmap": lambda f, x: ad.jit(ad.vmap(f))(np.array([x, x]))[1],
    "vmap of jit": lambda f, x: ad.vmap(ad.jit(f))(np.array([x, x]))[1],
    "per example": lambda f, x: ad.vmap(ad.value_and_grad(f))(np.array([x, x]))[0][1],
}


def agrees(run, f, x):
    """Whether a mode gives what plain Python gives, or refuses at a line of this file."""
    try:
        return np.isclose(float(run(f, x)), f(x))
    except AdjointError as error:
        return "test_caught_refusals.py" in str(error)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("way", CAUGHT, ids=lambda f: f.__name__)
def test_as_plain_python_or_refused(way, ask, mode):
    assert all(agrees(MODES[mode], lambda x: way(ASKED[ask], x), x) for x in (1.5, 0.5))


@pytest.mark.parametrize("mode", [mode for mode in MODES if "jit" in mode])
@pytest.mark.parametrize("ask", [*OF_INTEGERS, *IN_LISTS])
@pytest.mark.parametrize("way", CAUGHT, ids=lambda f: f.__name__)
def test_of_integers_that_the_graph_knows(way, ask, mode):
    def f(x):
        n = 3 if x > 1 else 4
        return way(lambda _: (OF_INTEGERS | IN_LISTS)[ask](n), x)

    assert all(agrees(MODES[mode], f, x) for x in (1.5, 0.5))


@pytest.mark.parametrize("iterations", [3, 9])
@pytest.mark.parametrize("ask", OF_INTEGERS)
def test_without_an_except_it_is_named(ask, iterations):
    """What leaves the compiled function is the refusal, and not what NumPy makes of it."""

    def f(x):
        n, s = 3, 0.0
        while x < iterations:
            s = s + OF_INTEGERS[ask](n)
            n = 4 if s > 5 else 3
            x = x + 1.0
        return s * x

    assert agrees(MODES["jit"], f, 0.5)


def test_lists_of_integers_that_the_graph_knows_index_an_array():
    def f(x):
        n = 3 if x > 1 else 4
        return sum(IN_LISTS[ask](n) for ask in ("list", "array of indices")) * x

    for x in (1.5, 0.5):
        assert ad.jit(f)(x) == f(x) and ad.jit(ad.grad(f))(x) == f(x) / x


def test_errors_of_the_program_itself_are_caught():
    def f(x):
        n = 3 if x > 1 else 4
        s = x
        for k in range(12):
            try:
                s = s + np.arange(5.0)[n] + {3: 1.0, 10: 2.0}[k]  # the index is the graph's, the key is Python's
            except KeyError:
                s = s * 1.1
            try:
                s = s + [1.0, 2.0][k]
            except IndexError:
                s = s - 0.5
        return s

    for x in (1.5, 0.5):
        assert np.isclose(ad.jit(f)(x), f(x))


def test_the_error_says_that_it_was_caught():
    with pytest.raises(
        ad.CutGradientError, match=r"float\(x\) would cut(.|\n)*caught this(.|\n)*isinstance\(x, ad.Tensor\)"
    ):
        ad.grad(lambda x: handled(float, x))(1.0)
    with pytest.raises(ad.BatchedError, match="caught this"):
        ad.vmap(lambda x: bare(lambda y: 1.0 if y > 0 else 2.0, x))(np.ones(2))
    assert issubclass(ad.BatchedError, ad.DtypeError)


@pytest.mark.parametrize("ask", ["mask", "mask of one", "mask and column", "indices", "stored by a mask"])
def test_a_batch_as_an_index_of_an_array_is_named(ask):
    """NumPy swallows what `__index__` raises, and raises an IndexError of its own."""
    with pytest.raises(ad.BatchedError, match=r"whole batch(.|\n)*ad.Tensor\(array\)(.|\n)*test_caught_refusals.py"):
        ad.vmap(ASKED[ask])(np.array([0.5, 1.5]))
    with pytest.raises(ad.BatchedError, match="caught this"):
        ad.vmap(lambda x: handled(ASKED[ask], x))(np.array([0.5, 1.5]))


def test_what_is_asked_first_is_fine():
    def sine(x):
        return ops.sin(x) if isinstance(x, ad.Tensor) else math.sin(x)

    assert ad.grad(sine)(0.5) == math.cos(0.5)


def test_an_error_that_comes_out_is_forgotten():
    for run in (lambda: ad.grad(float)(1.0), lambda: ad.vmap(lambda x: bool(x > 0))(np.ones(2))):
        with pytest.raises(TypeError):
            run()
        assert ad.grad(lambda x: x * x)(3.0) == 6.0

    def outer(x):  # here the user meets the error of a whole transform
        try:
            return ad.grad(float)(1.0)
        except TypeError:
            return x * 2

    assert outer(1.0) == 2.0 and ad.grad(outer)(1.0) == 2.0

    def stopped(x):
        handled(float, x)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ad.grad(stopped)(1.0)
    assert ad.grad(lambda x: x * x)(3.0) == 6.0


def test_another_thread_is_not_concerned():
    entered, leave, found = threading.Event(), threading.Event(), []

    def waits(x):
        y = handled(float, x)
        entered.set()
        assert leave.wait(10)
        return y

    def run():
        with pytest.raises(ad.CutGradientError, match="caught this"):
            ad.grad(waits)(1.0)
        found.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    assert entered.wait(10)
    assert ad.grad(lambda x: x * x)(3.0) == 6.0
    leave.set()
    thread.join()
    assert found == [True]


def test_outside_of_transforms_nothing_is_kept():
    x = ad.Tensor([3.0])
    with ad.GradientTape() as tape:
        y = x * x
        with contextlib.suppress(TypeError):
            float(y[0])
    assert tape.gradient(y, x) == 6.0
    assert ad.grad(lambda x: x * x)(3.0) == 6.0


def test_a_loop_that_python_runs_is_no_refusal():
    def f(x):
        s = 0.0
        for k in range(12):
            s = s + x * np.asarray(k, float) + x * float(k)
        return s

    for run in (ad.jit(ad.grad(f)), ad.grad(ad.jit(f)), ad.grad(f)):
        assert run(2.0) == 132.0


def test_integers_have_no_gradient_to_cut():
    with pytest.raises(ad.BatchedError, match="whole batch"):
        ad.vmap(lambda n: float(n))(np.arange(3))
    with pytest.raises(ad.NeedsNumberError, match=r"this is int64\[\] inside jit"):
        ad.jit(lambda x: x * math.sin(1 if x > 0 else 2))(1.0)
    assert ad.jvp(lambda x: x * float(np.argmax(x)), np.array([1.0, 3.0]), np.ones(2))[1].tolist() == [1.0, 1.0]
