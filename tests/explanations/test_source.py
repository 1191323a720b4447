"""Derivatives as Python source: run in a namespace of its own with NumPy alone, it gives the interpreter's numbers."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import tree
from adjoint.explanations.spelling import REFUSED
from adjoint.ops import REGISTRY
from adjoint.testing.cases import cases, inexact
from corpus import PROGRAMS


def arrays(out):
    """The numbers of a container."""
    kinds = (ad.Tensor, np.ndarray, np.generic, float, complex)
    return [
        np.asarray(y.asnumpy() if isinstance(y, ad.Tensor) else y) for y in tree.leaves(out) if isinstance(y, kinds)
    ]


def plain(x):
    """Arguments without a Tensor of ours."""
    return tree.map(lambda v: v.asnumpy() if isinstance(v, ad.Tensor) else v, x)


def agrees(fn, *args, rtol=1e-10):
    """The source for a function at a point, run and compared with the interpreter."""
    written = ad.source(fn, *args)
    assert "import adjoint" not in written.text and "ops." not in "".join(
        x for x in written.text.splitlines() if "#" not in x
    )
    with np.errstate(all="ignore"):
        got = arrays(written(*plain(args)))
    want = arrays(ad.jit(fn, backend="interpreter")(*args))
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), written.text
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=written.text)
    return written


# ---------------------------------------------------------------- how it looks


def f(x1, x2):
    a = ops.log(x1)
    b = x1 * x2
    c = ops.sin(x2)
    return a + b - c


FUNCTION = """def f(x1, x2):
    # line N: a = ops.log(x1)
    a = np.log(x1)
    # line N: b = x1 * x2
    b = x1 * x2
    # line N: c = ops.sin(x2)
    c = np.sin(x2)
    return a + b - c"""

GRADIENT = """def grad_f(x1, x2):
    x1 = np.float64(x1)  # so that dividing by zero gives infinity
    x2 = np.float64(x2)
    # line N: a = ops.log(x1)
    dx1 = x2 + 1.0 / x1
    # line N: b = x1 * x2
    dx2 = x1 - np.cos(x2)
    return dx1, dx2"""


def body(written):
    """The function of a source, line numbers aside."""
    lines = written.text.split("\n\n\n")[-1].splitlines()
    return "\n".join("    # line N: " + x.partition(": ")[2] if x.strip().startswith("# line") else x for x in lines)


def test_the_function_of_the_lecture():
    assert body(ad.source(f, 2.0, 5.0)) == FUNCTION
    assert body(ad.source(ad.grad(f, (0, 1)), 2.0, 5.0)) == GRADIENT
    assert ad.source(ad.grad(f, (0, 1)), 2.0, 5.0)(2.0, 5.0) == (5.5, 2 - np.cos(5.0))


def test_it_needs_numpy_alone(tmp_path):
    """The text in a file, run by a Python that never imports adjoint."""
    file = tmp_path / "written.py"
    file.write_text(
        str(ad.source(ad.grad(f, (0, 1)), 2.0, 5.0))
        + "\nimport sys\nprint(*grad_f(2.0, 5.0), 'adjoint' in sys.modules)\n"
    )
    out = subprocess.run([sys.executable, "-I", str(file)], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["5.5", str(2 - np.cos(5.0)), "False"]


def test_division_by_zero_is_as_in_the_original():
    written = ad.source(ad.grad(lambda x: ops.log(x)), 2.0)
    with np.errstate(all="ignore"):
        assert written(0.0) == np.inf == float(ad.grad(lambda x: ops.log(x))(0.0))


def test_loops_and_branches_are_pythons():
    def grown(x, n):
        y = x
        while y.sum() < n:
            y = y * 3.0 if y.sum() > 8.0 else y * y + 1.0
        return y.sum()

    x, n = ad.Tensor(np.array([1.0, 2.0])), ad.Tensor(50.0)
    for fn in (grown, ad.grad(grown), ad.jit(ad.value_and_grad(grown))):
        written = agrees(fn, x, n)
        assert all(word in written.text for word in ("while np.sum(", "if ", "else:"))
        for other in ([0.5, 0.1], [20.0, 40.0], [9.0, 1.0]):  # one text for all paths
            want = arrays(fn(ad.Tensor(np.array(other)), n))
            for a, b in zip(arrays(written(np.array(other), np.float32(50.0))), want, strict=True):
                np.testing.assert_allclose(a, b)


def test_a_loop_over_rows_with_what_it_keeps():
    def running(xs, decay):
        s = ops.zeros(2, ad.float64)
        for k in range(40):
            s = s * decay + xs[k]
        return (s * s).sum()

    xs = np.random.default_rng(0).normal(size=(40, 2))
    agrees(ad.grad(running, (0, 1)), xs, 0.5)


def test_networks_take_their_weights_as_keywords():
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(18, 3))
    rng = np.random.default_rng(0)
    x, label = ad.Tensor(rng.normal(size=(2, 1, 6, 6)).astype(np.float32)), ad.Tensor(np.array([0, 2]))

    def loss(x, label):
        return nn.CrossEntropyLoss()(net(x), label)

    weights = net.trainable_params()
    written = agrees(ad.grad(loss, None, weights), x, label, rtol=1e-5)
    assert len(written.weights) == len(weights)
    moved = {name: w + 1 for name, w in written.weights.items()}
    assert not np.allclose(written(x.asnumpy(), label.asnumpy(), **moved)[0], written(x.asnumpy(), label.asnumpy())[0])
    assert ", *, " in written.text


class Pair(NamedTuple):
    a: object
    b: object


@dataclasses.dataclass
class Box:
    inner: object
    label: str


def test_containers_of_arguments_and_results():
    def g(p, q, box, n):
        return {"y": (p["w"] * q[0] + q[1].b) * n, "rest": [box.inner, "text", None], "pair": Pair(q[0], 2.0 * q[0])}

    args = {"w": 2.0}, [np.ones(3), Pair(1.0, np.arange(3.0))], Box(4.0, "label"), 3
    written = ad.source(g, *args)
    out = written(*args)
    np.testing.assert_allclose(out["y"], (2 + np.arange(3.0)) * 3)
    assert out["rest"] == [4.0, "text", None] and len(out["pair"]) == 2
    assert "n=3" in written.text and "w = p['w']" in written.text and "b = q[1].b" in written.text
    grads = ad.source(ad.grad(lambda *a: g(*a)["y"], (0, 1)), *args)(*args)
    assert grads[0] == {"w": 9.0} and grads[1][1][1].tolist() == [3, 3, 3]


def test_numbers_are_numpys_where_pythons_would_fail():
    def summed(xs):
        s = 1.0
        for _ in range(30):
            s = s * 0.5
        return (ops.sum(xs) + s)[None] / s

    agrees(ad.grad(summed), np.ones(3))
    agrees(lambda x: ops.mean(x, axis=1), np.zeros((3, 0), np.float32))


def test_names_of_variables_and_keywords_do_not_clash():
    def awkward(np_, lambda_, len, t1):
        np = np_ * lambda_
        conv = np + len
        return conv * t1

    agrees(ad.grad(awkward, (0, 1, 2, 3)), 2.0, 3.0, 4.0, 5.0)
    agrees(ad.grad(lambda x, *rest, **more: x * rest[0] * rest[1]), 2.0, 3.0, np.ones(2))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_dtypes_are_kept(dtype):
    def g(x, w):
        y = ops.exp(x * 0.1) @ w + 1.0
        return ops.sum(y * y)

    rng = np.random.default_rng(0)
    x, w = (ad.Tensor(rng.normal(size=s).astype(dtype)) for s in ((3, 4), (4, 2)))
    agrees(
        ad.value_and_grad(g, (0, 1)), x, w, rtol=1e-3 if dtype == "float16" else 1e-5 if dtype == "float32" else 1e-10
    )


def test_constants_stand_at_the_head():
    rng = np.random.default_rng(0)
    small, large = rng.normal(size=(3, 3)), rng.normal(size=(20, 3)).astype(np.float32)
    written = agrees(
        ad.grad(lambda x: ops.sum(ops.tanh(small @ x)) + ops.sum(ops.sin(large.astype(np.float64) @ x))), np.ones(3)
    )
    assert "\nC1 = np.array([[" in written.text
    big = agrees(lambda x: np.linspace(0, 1, 3000) * x, 2.0)
    assert "import base64" in big.text and "b85decode" in big.text


def test_other_derivatives():
    agrees(lambda x, t: ad.jvp(f, (x, 2.0), (t, 0.0))[1], 2.0, 1.0)
    agrees(ad.vmap(ad.grad(lambda x: ops.sin(x) * x)), np.linspace(0, 1, 5))
    agrees(ad.hessian(lambda x: ops.sum(x**3)), np.arange(1.0, 4.0))
    agrees(ad.grad(ad.grad(lambda x: x**4)), 3.0)
    agrees(ad.jacrev(lambda x: ops.sin(x) * x[0]), np.arange(1.0, 4.0))


def test_rules_of_the_users_are_written_out():
    @ad.custom_vjp
    def clipped(x):
        return ops.clip(x, -1.0, 1.0)

    clipped.defvjp(lambda x, out, dout: (dout * 7.0,))
    assert agrees(ad.grad(lambda x: clipped(x) * 2.0), 3.0)(3.0) == 14.0


def test_refusals():
    with pytest.raises(ad.NoSpellingError, match="draws random numbers"):
        ad.source(lambda x: x + ops.rand(3), np.ones(3))
    with pytest.raises(ad.NoSpellingError, match="stop_gradient"):
        ad.source(ad.grad(lambda a: ops.gammainc(a, 2.0)), np.float64(1.0))
    with pytest.raises(ad.ArgumentTypeError, match="must be a function"):
        ad.source(3.0, 1.0)
    by_scipy = {"BandedSolve", "LU", "Logm", "Recurrence", "RowOrder", "SparseSolve", "Sqrtm", "Sylvester"}
    assert REFUSED.keys() == {"Bits", "PolarFactor"} | by_scipy


def test_what_prints_or_stores_is_left_out_with_a_comment():
    p = ad.Parameter(np.ones(2), name="total")

    def g(x):
        print(x)
        ops.assign_add(p, x)
        assert (x > 0).all()
        return x * 2.0

    written = ad.source(g, np.ones(2))
    assert "# Left out: what is stored in the Parameter total." in written.text
    assert "# Left out: print at line" in written.text and "# Left out: check at line" in written.text
    assert written(np.ones(2)).tolist() == [2, 2] and p.asnumpy().tolist() == [1, 1]


def test_tensors_from_outside_that_backward_tracks():
    outside = ad.Tensor(np.array([1.0, 2.0]), requires_grad=True)
    written = agrees(ad.grad(lambda x: (x * outside).sum()), np.array([3.0, 4.0]))
    assert ", *, outside" in written.text and len(written.weights) > 0
    (outside * outside).sum().backward()  # nothing of the source is left in it
    assert outside.grad.asnumpy().tolist() == [2, 4] and outside._extra.hooks is None
    with pytest.raises(ad.ArgumentError, match="a value of a transform around it"):
        ad.grad(lambda x: (ad.source(lambda y: y * x, 2.0), x)[1])(3.0)


def test_lines_of_several_files_have_their_names(tmp_path, monkeypatch):
    (tmp_path / "lines_elsewhere.py").write_text("def twice(z):\n    q = z * 2.0\n    return q * q\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from lines_elsewhere import twice

    def g(x):
        y = x + 1.0
        return twice(y)

    assert "# lines_elsewhere.py:2: q = z * 2.0" in ad.source(g, 2.0).text
    table = str(ad.explain(g, 2.0))
    assert "lines_elsewhere.py:2, q" in table and "test_source.py:" in table


# ---------------------------------------------------------------- cards and programs


def test_every_card_forward_and_backward():
    """Each card's first case: the source of the call and of its gradient."""
    for name in sorted(set(REGISTRY) - set(REFUSED)):
        for case, *_ in list(cases(REGISTRY[name], rounds=1))[:1]:
            xs = [np.array(x) for x in case.xs]
            agrees(lambda *xs, op=case.op: op(*xs), *xs)
            floats = tuple(k for k, x in enumerate(xs) if inexact(x))
            if case.smooth and name not in (
                "Betainc",
                "Gammainc",
                "Gammaincc",
                "Zeta",
            ):  # not differentiable in all of them
                agrees(ad.grad(lambda *xs, op=case.op: op(*xs), floats), *xs, rtol=1e-8)


@pytest.mark.parametrize("name", [n for n, p in PROGRAMS.items() if p.static][::12])
def test_programs_of_the_corpus(name):
    program = PROGRAMS[name]
    agrees(program.fn, *program.points[0])
    written = agrees(ad.grad(program.fn, program.positions), *program.points[0], rtol=1e-9)
    ast.parse(written.text)
