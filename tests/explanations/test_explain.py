"""Tables of traces: numbers agree with `ad.grad` and `ad.jvp`, formulas with the numbers, whatever the program does."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import tree
from adjoint.core.absent import ZERO
from adjoint.explanations import numpy_kernels
from adjoint.explanations.rule_formulas import Formulas
from adjoint.explanations.steps_taken import StepTaken, TableValue
from adjoint.ops import REGISTRY
from adjoint.testing.cases import assert_close, cases, flat, inexact
from corpus import PROGRAMS


def f(x1, x2):
    a = ops.log(x1)
    return a + x1 * x2 - ops.sin(x2)


TABLE = """f(x1, x2) at x1 = 2, x2 = 5

Forward primal trace ↓                   │ Where      │ Reverse adjoint trace ↑
─────────────────────────────────────────┼────────────┼───────────────────────────
v₋₁ = x1 = 2                             │            │ x̄1 = v̄₋₁ = 5.5
v₀ = x2 = 5                              │            │ x̄2 = v̄₀ = 1.716
─────────────────────────────────────────┼────────────┼───────────────────────────
v₁ = ln v₋₁ = ln 2 = 0.6931              │ line N, a  │ v̄₋₁ = v̄₋₁ + v̄₁ / v₋₁ = 5.5
v₂ = v₋₁ × v₀ = 2 × 5 = 10               │ line N     │ v̄₀ = v̄₀ + v̄₂ × v₋₁ = 1.716
                                         │            │ v̄₋₁ = v̄₂ × v₀ = 5
v₃ = v₁ + v₂ = 0.6931 + 10 = 10.69       │ line N     │ v̄₂ = v̄₃ = 1
                                         │            │ v̄₁ = v̄₃ = 1
v₄ = sin v₀ = sin 5 = -0.9589            │ line N     │ v̄₀ = v̄₄ × cos v₀ = -0.2837
v₅ = v₃ - v₄ = 10.69 - (-0.9589) = 11.65 │ line N     │ v̄₄ = -v̄₅ = -1
                                         │            │ v̄₃ = v̄₅ = 1
─────────────────────────────────────────┼────────────┼───────────────────────────
y = v₅ = 11.65                           │            │ v̄₅ = ȳ = 1"""


def test_the_table_of_the_lecture():
    shown = re.sub(r"line \d\d", "line N", str(ad.explain(f, 2.0, 5.0)))
    assert re.sub(r" +|─+", " ", shown) == re.sub(r" +|─+", " ", TABLE)


def test_forward_mode_and_both():
    table = ad.explain(f, 2.0, 5.0, mode="forward")
    assert "v̇₁ = v̇₋₁ / v₋₁ = 0.5" in str(table) and "ẏ = v̇₅ = 5.5" in str(table) and "v̇₀ = ẋ2 = 0" in str(table)
    assert table.tangent == 5.5 and table.gradients == {}
    both = ad.explain(f, 2.0, 5.0, mode="both", wrt=("x1", 1), tangents=(1.0, 2.0))
    np.testing.assert_allclose(both.tangent, 5.5 + 2 * (2 - np.cos(5)))
    assert list(both.gradients) == ["x1", "x2"]
    assert ad.explain(f, 2.0, 5.0, mode="both").tangent == 5.5  # along the first input


def test_other_forms():
    table = ad.explain(f, 2.0, 5.0)
    assert "| v₁ = ln v₋₁ = ln 2 = 0.6931 |" in table.markdown()
    assert all(line.count("|") == 4 for line in table.markdown().splitlines())
    chain = r"\bar{v}_{-1} = \bar{v}_{-1} + \bar{v}_{1} \times \frac{\partial v_{1}}{\partial v_{-1}}"
    assert rf"{chain} = \bar{{v}}_{{-1}} + \frac{{\bar{{v}}_{{1}}}}{{v_{{-1}}}} = 5.5" in table.latex()
    page = table.html()
    assert page == table._repr_html_()
    assert page.count("<tr") == 1 + len(table.rows) and "<i class='bar'>v</i><sub>−1</sub>" in page
    assert "http" not in page


def test_bars_and_angle_brackets_are_escaped():
    table = ad.explain(lambda x: ops.abs(x) * (x < 3.0), 2.0)
    assert r"\|v₀\|" in table.markdown()
    assert "&lt;" in table.html() and "v</i><sub>0</sub> < " not in table.html()


def test_only_what_is_asked_for():
    table = ad.explain(f, 2.0, 5.0, wrt="x2")
    assert list(table.gradients) == ["x2"] and "x̄1" not in str(table) and "v̄₁" not in str(table)


def test_refusals():
    with pytest.raises(ad.ArgumentError, match="mode must be"):
        ad.explain(f, 2.0, 5.0, mode="backward")
    with pytest.raises(ad.ArgumentError, match=r"no input 'z' here; there are x1, x2"):
        ad.explain(f, 2.0, 5.0, wrt="z")
    with pytest.raises(ad.ArgumentTypeError, match="positions and names"):
        ad.explain(f, 2.0, 5.0, wrt=1.5)
    with pytest.raises(ad.ArgumentError, match="max_rows"):
        ad.explain(f, 2.0, 5.0, max_rows=0)
    with pytest.raises(ad.ArgumentError, match="no argument of f has a derivative"):
        ad.explain(f, 2, 5)
    with pytest.raises(ad.NotDifferentiableError, match="did you forget `return`"):
        ad.explain(lambda x: None, 2.0)
    with pytest.raises(ad.ArgumentError, match="2 tangents for 1 inputs"):
        ad.explain(f, 2.0, 5.0, mode="forward", wrt="x1", tangents=(1.0, 2.0))
    with pytest.raises(ad.ArgumentTypeError, match="must be a function"):
        ad.explain(3.0, 2.0)
    with pytest.raises(ad.ArgumentError, match="reverse mode takes no tangents"):
        ad.explain(f, 2.0, 5.0, tangents=(1.0, 2.0))
    with pytest.raises(ad.ArgumentError, match="the names of the inputs, x1, x2, and not x2"):
        ad.explain(f, 2.0, 5.0, mode="forward", tangents={"x2": 1.0})
    with pytest.raises(ad.ArgumentError, match=r"\['b'\] where the inputs have p\['a'\]"):
        tangents = ({"b": 1.0, "a": 2.0},)
        ad.explain(lambda p: p["a"] * p["b"], {"a": 3.0, "b": 4.0}, mode="forward", tangents=tangents)


def test_tangents_by_name_are_those_of_the_inputs():
    table = ad.explain(lambda x, y: x * y, 2.0, 5.0, mode="forward", tangents={"y": 7.0, "x": 3.0})
    assert table.tangent == 3.0 * 5.0 + 7.0 * 2.0
    tangents = ({"a": 3.0, "b": 7.0},)
    table = ad.explain(lambda p: p["a"] * p["b"], {"a": 2.0, "b": 5.0}, mode="forward", tangents=tangents)
    assert table.tangent == 29.0


@pytest.mark.parametrize(
    ("program", "last"),
    [
        (lambda x, y: x * y, "z = v₁ = 10"),
        (lambda x, year: x * year, "y = v₁ = 10"),
        (lambda y1, z: y1 * z, "w = v₁ = 10"),
    ],
)
def test_the_result_has_a_name_of_its_own(program, last):
    assert str(ad.explain(program, 2.0, 5.0)).splitlines()[-1].startswith(last)


def test_open_arguments_have_names_of_their_own():
    def program(x, *rest, k):
        return x * rest[0] * rest[1] * k

    gradients = ad.explain(program, 2.0, 3.0, 5.0, k=7.0).gradients
    assert {s: g.item() for s, g in gradients.items()} == {"x": 105.0, "rest[0]": 70.0, "rest[1]": 42.0, "k": 30.0}
    assert list(ad.explain(program, 2.0, 3.0, 5.0, k=7.0, wrt="rest").gradients) == ["rest[0]", "rest[1]"]
    written = ad.source(ad.grad(program, 2), 2.0, 3.0, 5.0, k=7.0)
    assert written(2.0, 3.0, 5.0, k=7.0) == 42.0
    assert ad.draw(program, 2.0, 3.0, 5.0, k=7.0).program.inputs == ["x", "rest[0]", "rest[1]", "k"]


def test_signs_and_comparisons_can_be_read():
    table = str(ad.explain(lambda x: -x if x == -1.5 else x, ad.Tensor(-1.5)))
    assert "v₁ = v₀ == -1.5 = -1.5 == -1.5 = True" in table and "v₂ = -v₀ = -(-1.5) = 1.5" in table


def halved(x, n):
    for _ in range(n):
        x = x * 0.5 if x.sum() > 2 else x**2 + 1.0
    return x.mean()


@pytest.mark.parametrize("wrapped", [halved, ad.jit(halved)], ids=["dynamic", "compiled"])
def test_loops_and_branches_show_what_was_executed(wrapped):
    x = np.array([1.0, 2.0])
    table = ad.explain(wrapped, x, 3)
    np.testing.assert_allclose(table.gradients["x"], ad.grad(halved)(x, 3).asnumpy())
    text = str(table)
    assert text.count("× 0.5 = [") == 4  # two iterations, and their adjoints
    assert "> 2 = 1.5 > 2 = False" in text


def test_a_loop_inside_a_graph_is_gone_through():
    def grown(x, n):
        while x.sum() < n:
            x = x * x + 1.0
        return x.sum()

    x = ad.Tensor(np.array([1.0, 2.0]))
    table = ad.explain(ad.jit(grown), x, ad.Tensor(50.0))
    np.testing.assert_allclose(table.gradients["x"], ad.grad(grown)(x, ad.Tensor(50.0)).asnumpy())
    assert str(table).count(" < 50 = ") == 4  # three iterations, and the end


def test_long_programs_are_abbreviated():
    table = ad.explain(halved, np.array([1.0, 2.0]), 30, max_rows=7)
    assert table.left_out == 100 + 6 - 7
    assert f"… {table.left_out} steps left out (max_rows=7) …" in str(table)
    for form in (table.markdown(), table.html(), table.latex()):
        assert "steps left out" in form
    assert [r.kind for r in table.rows].count("step") == 7


def test_many_inputs_are_abbreviated():
    def total(*xs):
        return sum(xs)

    table = ad.explain(total, *map(float, range(50)), max_rows=5)
    assert "… 45 inputs left out (max_rows=5) …" in str(table) and len(table.gradients) == 50
    assert str(table).startswith("total of 50 inputs")


def test_networks_and_their_parameters():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 2))
    x, label = ad.Tensor(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)), ad.Tensor(np.array([0, 1]))
    weights = net.trainable_params()

    def loss(x, label):
        return nn.CrossEntropyLoss()(net(x), label)

    table = ad.explain(loss, x, label)
    want, by_weight = ad.grad(loss, 0, weights)(x, label)
    np.testing.assert_allclose(table.gradients["x"], want.asnumpy(), rtol=1e-6)
    for w, g in zip(weights, by_weight, strict=True):
        np.testing.assert_allclose(table.gradients[w.name], g.asnumpy(), rtol=1e-5, atol=1e-7)
    assert "2×3 [-1, -0.6, …, 1]" in str(table)


def test_containers_several_outputs_and_keywords():
    def g(p, *, scale):
        return {"a": p["w"] * scale, "b": [p["b"] + 2.0, "text"]}

    table = ad.explain(g, {"w": 2.0, "b": np.ones(3)}, scale=3.0)
    assert {k: v.tolist() for k, v in table.gradients.items()} == {"p['w']": 3.0, "p['b']": [1, 1, 1], "scale": 2.0}
    assert table.value["a"] == 6 and table.value["b"][1] == "text"
    assert "y2 = v₂ = [3, 3, 3]" in str(table)
    assert list(ad.explain(g, {"w": 2.0, "b": np.ones(3)}, scale=3.0, wrt="p").gradients) == ["p['w']", "p['b']"]


def test_a_rule_of_the_users_is_one_step():
    @ad.custom_vjp
    def clipped(x):
        return ops.clip(x, -1.0, 1.0)

    clipped.defvjp(lambda x, out, dout: (dout * 7.0,))
    for fn in (lambda x: clipped(x) * 2.0, ad.jit(lambda x: clipped(x) * 2.0)):
        table = ad.explain(fn, 3.0)
        assert table.gradients["x"] == 14.0 and table.value == 2.0
        assert "v₁ = clipped v₀" in str(table) and "v̄₀ = v̄₁ × 7 = 14" in str(table)


def test_nothing_is_left_behind():
    import sys

    p = ad.Parameter(2.0, name="p")
    before = sys.gettrace()
    with pytest.raises(ZeroDivisionError):
        ad.explain(lambda x: x * (1 // 0), 1.0)
    ad.explain(lambda x: x * p, 1.0)
    assert sys.gettrace() is before and float(p) == 2.0


@pytest.mark.parametrize("name", [n for n in sorted(REGISTRY) if REGISTRY[n].differentiable])
def test_formulas_of_rules_compute_what_the_rules_do(name):
    """The formula of each adjoint and tangent, evaluated, is what the card's rule gives."""
    import scipy.linalg
    import scipy.special

    for case, *_ in cases(REGISTRY[name]):
        if not case.smooth:
            continue
        ys = case.results()
        several = type(case.op.eval(np, *case.xs)) is tuple
        operands = [TableValue(x, None, index=-k) for k, x in enumerate(case.xs)]
        results = [TableValue(y, None, index=k + 1) for k, y in enumerate(ys)]
        step = StepTaken(case.op, list(case.xs), operands, results, several, None, None)
        gs, ts = case.directions(case.outputs()), case.directions(case.floats)
        positions = [k for k, x in enumerate(case.xs) if inexact(x)]
        given = {f"V_{y.index}": y.value for y in results} | {
            f"V_{x.index}".replace("-", "m"): x.value for x in operands
        }
        given |= {f"G_{y.index}": g for y, g in zip([y for y in results if inexact(y.value)], gs, strict=True)}
        given |= {f"T_{-k}".replace("-", "m"): t for k, t in zip(positions, ts, strict=True)}
        space = {**vars(numpy_kernels), "scipy": scipy, **given}
        tangents = [ZERO] * len(case.xs)
        for k, t in zip(positions, ts, strict=True):
            tangents[k] = t
        formulas = Formulas()
        pulled = formulas.pulled(step, gs, positions) if len(gs) == len(ys) else []
        pushed = formulas.pushed(step, tangents)
        for trees, want in ((pulled, case.pull(gs) if pulled else []), (pushed, case.push(ts))):
            for tree_, expected in zip(trees, want, strict=False):
                if tree_ is not None:
                    with np.errstate(all="ignore"):
                        got = eval(ast.unparse(ast.fix_missing_locations(tree_)), space)
                    assert_close(flat(np.broadcast_to(got, expected.shape)), [expected], ast.unparse(tree_), 1e-9)


@pytest.mark.parametrize("name", list(PROGRAMS)[::8])
def test_numbers_of_the_corpus(name):
    program = PROGRAMS[name]
    point = list(program.points[0])
    for i in program.positions:
        point[i] = tree.map(lambda x: ad.Tensor(np.asarray(x, np.float64)), point[i])
    table = ad.explain(program.fn, *point, max_rows=4, wrt=program.positions)
    want = tree.leaves(ad.grad(program.fn, program.positions)(*point))
    for got, expected in zip(table.gradients.values(), want, strict=True):
        np.testing.assert_allclose(got, expected.asnumpy(), rtol=1e-10, atol=1e-12)
    for form in (str(table), table.markdown(), table.html(), table.latex()):
        assert form


def test_arguments_behind_a_star_have_their_numbers():
    def f(a, *rest, k=2.0):
        return a * rest[0] + rest[1] * k

    assert "f(a, rest[0], rest[1], k) at a = 1, rest[0] = 5, rest[1] = 6, k = 3" in str(
        ad.explain(f, 1.0, 5.0, 6.0, k=3.0)
    )
