"""What MindSpore's users complain about, and what happens here: one test for each, in dynamic and static mode."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core.errors import AdjointError

HERE = Path(__file__).name
MODES = pytest.mark.parametrize("mode", [lambda f: f, ad.jit], ids=["dynamic", "static"])
X = np.array([1.0, 2.0])


@pytest.fixture(params=[ad.PYNATIVE_MODE, ad.GRAPH_MODE], ids=["pynative", "graph"])
def either(request):
    """Both settings of the global mode."""
    ad.set_context(mode=request.param)
    yield request.param
    ad.set_context(mode=ad.PYNATIVE_MODE)


def close(found, wanted):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-6, atol=1e-12)


# ---------------------------------------------------------------- 1


class Tools:
    @classmethod
    def doubled(cls, x):
        return x * 2


def one_language(x, options):
    """try, set, walrus, import, classmethod, generators."""
    import math

    try:
        scale = options["scale"]
    except KeyError:
        scale = math.sqrt(4.0)
    if (total := ops.sum(x)) > 100:
        total = total * 0.0
    names = {"a", "b"} | {"a"}
    return Tools.doubled(total) * scale + len(names) + sum(v for v in x)


@MODES
def test_mindspore_pain_01_one_language(mode):
    f = mode(lambda x: one_language(x, {}))
    close(f(X), (2 * 2 + 1) * 3 + 2)
    close(ad.grad(f)(X), [5, 5])


def test_mindspore_pain_01_what_a_graph_cannot_do_is_refused_at_its_line():
    def counts(x):
        calls = 0

        def counted(v):
            nonlocal calls
            calls += 1
            return v * calls

        return counted(x) + counted(x)

    assert float(ad.grad(counts)(2.0)) == 3
    with pytest.raises(SyntaxError, match="`calls` is a nonlocal variable") as caught:
        ad.jit(counts)(2.0)
    assert (caught.value.filename, caught.value.lineno) == (__file__, counts.__code__.co_firstlineno + 5)


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = 2.0

    def construct(self, x):
        return ops.sum(x) * self.scale


def test_mindspore_pain_01_later_changes_of_a_cell_count(either):
    net = Scaled()
    close(ad.grad(net)(X), [2, 2])
    net.scale = 5.0
    close(ad.grad(net)(X), [5, 5])


def test_mindspore_pain_01_later_changes_of_a_compiled_cell_count():
    net = Scaled()
    f = ad.jit(net)
    close(f(X), 6)
    net.scale = 5.0
    close(f(X), 15)


# ---------------------------------------------------------------- 2


def test_mindspore_pain_02_one_tensor_at_two_positions(either):
    def g(x, y):
        return 3 * x + 5 * y

    x = ad.Tensor(2.0)
    close(ad.grad(g, 0)(x, x), 3)
    close(ad.grad(g, (0, 1))(x, x), [3, 5])
    _, pull = ad.vjp(g, x, x)
    close(pull(ad.Tensor(1.0)), [3, 5])
    close(ad.grad(ad.grad(lambda a, b: a * a * b))(x, x), 4)


# ---------------------------------------------------------------- 3


def test_mindspore_pain_03_weights_that_need_no_gradient_have_one_when_asked_for(either):
    w = ad.Parameter(np.array([3.0]), name="w", requires_grad=False)
    close(ad.grad(lambda x: w * x, None, weights=w)(np.array([2.0])), [2])


def test_mindspore_pain_03_writing_to_the_input(either):
    def f(x):
        x[0] = x[1] * 3.0
        return ops.sum(x * x)

    x = ad.Tensor([1.0, 2.0])
    close(ad.grad(f)(x), [0, 40])
    close(x, [1, 2])


def test_mindspore_pain_03_division_of_whole_numbers(either):
    close(ad.value_and_grad(lambda x, n: x * (n / 8))(2.0, 4), (1.0, 0.5))


# ---------------------------------------------------------------- 4


def test_mindspore_pain_04_numpy_inside_is_differentiated_or_refused(either):
    close(ad.grad(lambda x: np.sum(np.sin(x) * np.exp(x)))(X), np.exp(X) * (np.sin(X) + np.cos(X)))
    with pytest.raises(TypeError, match="cut its gradient|Python needs a number"):
        ad.grad(lambda x: ops.sum(np.asarray(x, float) * x))(X)


# ---------------------------------------------------------------- 5


def test_mindspore_pain_05_numbers_arrays_and_containers_are_inputs(either):
    close(ad.grad(lambda x: x * x)(3.0), 6)
    close(ad.grad(lambda x: ops.sum(x * x))(X), 2 * X)
    close(ad.grad(lambda t: t[0] * t[1])((2.0, 3.0)), (3, 2))
    found = ad.grad(lambda p: ops.sum(p["w"] * X) * p["deep"][0])({"w": X, "deep": [4.0]})
    close(found["w"], 4 * X)
    close(found["deep"][0], 5)


# ---------------------------------------------------------------- 6


def test_mindspore_pain_06_what_changes_in_value_does_not_recompile():
    f = ad.jit(lambda p, scale, pair: ops.sum(p["w"]) * scale + pair[0] * pair[1])
    for k in range(4):
        found = f({"w": X * k}, float(k), [ad.Tensor(1.0 + k), 2.0])
        close(found, 3 * k * k + 2 * (1 + k))
    assert len(f.compilations) == 1


def test_mindspore_pain_06_batches_of_any_size_share_a_graph():
    f = ad.jit(ad.grad(lambda w, x: ops.mean(ops.tanh(x * w))), dynamic="x")
    for n in (3, 5, 30):
        x = np.linspace(-1, 1, n)
        close(f(0.5, x), np.mean(x / np.cosh(0.5 * x) ** 2))
    assert len(f.compilations) == 1


# ---------------------------------------------------------------- 13


def joins(x):
    y = ops.zeros((2,))
    if x > 0:
        y = ops.ones((3,))
    return ops.sum(y) * x


def adds(x):
    return x + ops.ones((4,))


def recursive(x):
    return recursive(x - 1.0) if x > 0 else x


@pytest.mark.parametrize(("fn", "x", "words"), [
    (joins, 1.0, ["`y`", "[2]", "[3]", "joins"]),
    (adds, np.ones(3), ["Add", "(3,)", "(4,)", "return x + ops.ones((4,))"]),
    (recursive, 2.0, ["recursive"]),
], ids=["branches", "shapes", "recursion"])  # fmt: skip
def test_mindspore_pain_13_compile_errors_name_the_users_line_and_the_reason(fn, x, words):
    with pytest.raises((AdjointError, RecursionError)) as caught:
        ad.jit(fn)(x)
    message = str(caught.value)
    line = fn.__code__.co_firstlineno
    places = [int(n) for n in re.findall(rf"{re.escape(HERE)}:(\d+)", message)]
    assert any(line <= n <= line + 6 for n in places), message
    for word in words:
        if word != fn.__name__:
            assert word in message, message


# ---------------------------------------------------------------- 14


def test_mindspore_pain_14_code_without_a_file(either):
    namespace = {"ops": ops}
    exec("def typed(x):\n    return ops.sin(x) * x", namespace)
    close(ad.grad(namespace["typed"])(0.5), np.cos(0.5) * 0.5 + np.sin(0.5))


def test_mindspore_pain_14_lambdas_anywhere(either):
    f, g = (lambda x: x * x if x > 0 else -x), (lambda x: x**3)
    close([ad.grad(f)(2.0), ad.grad(f)(-2.0), ad.grad(g)(2.0)], [4, -1, 12])
    close(ad.jacfwd(ad.jacrev(lambda x: ops.sum(x**3)))(X), np.diag(6 * X))


def test_mindspore_pain_14_construct_may_name_its_first_argument(either):
    class Net(nn.Cell):
        def construct(s, x):
            return ops.sum(x) * 2

    close(ad.grad(Net())(X), [2, 2])


def test_mindspore_pain_14_keyword_arguments(either):
    def f(x, y, scale=1.0):
        return ops.sum(x * y) * scale

    close(ad.grad(f)(X, y=3 * X, scale=2.0), 6 * X)
