"""What a picture shows: the steps, where they come from, what belongs together, and the values."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.pictures.scopes import origin_of


def example(x, y):
    return ops.log(x) + x * y - ops.sin(y)


def loop(x):
    s = x
    for _ in range(20):
        s = s * 0.5 if s > 3.0 else s * ops.sin(x)
    return s


def part(x, w):
    return ops.tanh(x @ w) + x


def twice(x, w):
    return ops.sum(part(part(x, w), w) * 2.0)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.SequentialCell(nn.Dense(4, 6), nn.ReLU())
        self.norm = nn.LayerNorm((6,))
        self.head = nn.Dense(6, 3)

    def construct(self, x):
        return ops.mean(ops.softmax(self.head(self.norm(self.first(x)))))


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_values_and_gradients_are_those_of_the_function() -> None:
    said = " ".join(texts(ad.draw(example, 2.0, 5.0).svg()))
    value = np.log(2.0) + 10.0 - np.sin(5.0)
    for number in (value, 1 / 2.0 + 5.0, 2.0 - np.cos(5.0)):
        assert f"= {number:.4g}" in said
    assert {"log", "×", "sin", "+", "−", "∂/∂x", "∂/∂y", "result"} <= set(said.split())


def test_each_derivative_step_belongs_to_the_step_whose_rule_made_it() -> None:
    stage = ad.draw(example, 2.0, 5.0).program.stages[0]
    kind = {origin_of(n).key: type(n.op).__name__ for n in stage.forward.calls}
    assert len(kind) == 5
    made = {(kind[origin_of(n).key], type(n.op).__name__) for n in stage.derivative.calls}
    assert all(origin_of(n).backward for n in stage.derivative.calls)
    assert {("Log", "Div"), ("Sin", "Cos"), ("Sub", "Neg"), ("Mul", "MaskedMul")} <= made
    assert not [pair for pair in made if pair[1] == "Cos" and pair[0] != "Sin"]


def test_what_the_derivative_takes_from_the_forward_graph_is_told_apart() -> None:
    stage = ad.draw(lambda x: ops.exp(ops.sin(x)) * x, 0.3).program.stages[0]
    again = {type(n.op).__name__ for n in stage.derivative.calls if not origin_of(n).backward}
    own = {type(n.op).__name__ for n in stage.derivative.calls if origin_of(n).backward}
    assert again == {"Sin", "Exp"} and "Cos" in own and "Exp" not in own


@pytest.mark.parametrize("stage", [0, -1])
def test_the_graphs_drawn_compute_what_the_function_does(stage: int) -> None:
    from adjoint.graph.walk import replay

    for fn, args in ((example, (2.0, 5.0)), (loop, (2.0,)), (twice, (np.ones((2, 3)), np.full((3, 3), 0.1)))):
        picture, tensors = ad.draw(fn, *args), [ad.Tensor(np.asarray(a)) for a in args]
        pair, values = picture.program.stages[stage], picture.program.values
        (value,) = replay(pair.forward, values)
        np.testing.assert_allclose(value, fn(*tensors).numpy(), rtol=1e-12)
        seeds = [np.ones(n.shape) for n in pair.forward.outputs] if pair.seeded else []
        wanted = [ad.grad(fn, i)(*tensors) for i in range(len(args))]
        for found, g in zip(replay(pair.derivative, [*values, *seeds]), wanted, strict=True):
            np.testing.assert_allclose(found, g.numpy(), rtol=1e-12)


def test_groups_are_the_calls_of_functions_and_cells() -> None:
    left, right = ad.draw(Network(), ad.Tensor(np.ones((2, 4), "float32"))).scenes()
    frames = [(g.kind, g.label, g.detail) for g in left.groups]
    assert ("cell", "norm", "LayerNorm") in frames and ("cell", "head", "Dense") in frames
    assert ("cell", "0", "Dense") in frames or ("cell", "first", "SequentialCell") in frames
    assert ("op", "softmax", "") in frames
    weight = next(v for v in left.vertices if v.name == "head.weight")
    assert left.groups[weight.group].label == "head" and weight.label == "weight" and weight.kind == "parameter"
    pairs = {g.label: g.pair for g in left.groups if g.kind == "cell"}
    assert {("norm", pairs["norm"]), ("head", pairs["head"])} <= {(g.label, g.pair) for g in right.groups}
    gradient = next(v for v in right.vertices if v.name == "∂/∂head.weight")
    assert right.groups[gradient.group].label == "head"
    parts = [g for g in ad.draw(twice, np.ones((2, 3)), np.ones((3, 3))).scenes()[0].groups if g.label == "part"]
    assert len(parts) == 2 and parts[0].pair != parts[1].pair


def test_inside_loops_and_branches_all_iterations_count() -> None:
    def spoiled(x):
        s = x
        for _ in range(30):
            s = ops.sqrt(s) - 0.9
        return s

    left, right = ad.draw(spoiled, ad.Tensor([2.0, 4.0])).scenes()
    root = next(v for v in left.vertices if v.label == "sqrt")
    assert root.measured.runs == 30 and 0 < root.measured.nans < 60
    assert left.groups[root.group].kind == "control" and "30 times" in left.groups[root.group].label
    expected, x = 0, np.array([2.0, 4.0])
    with np.errstate(all="ignore"):
        for _ in range(30):
            expected += int(np.isnan(np.sqrt(x)).sum())
            x = np.sqrt(x) - 0.9
    assert root.measured.nans == expected
    assert any("backwards" in g.label for g in right.groups)


def test_drawing_leaves_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    def noisy(x):
        print("seen", x)
        assert (x > 0).all()
        return x * ops.sum(ops.rand((3,)))

    ad.set_seed(3)
    wanted = ops.rand((2,)).numpy()
    ad.set_seed(3)
    x = np.array([1.0, 2.0])
    ad.draw(noisy, x).svg()
    assert capsys.readouterr().out == "" and x.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(ops.rand((2,)).numpy(), wanted)


def test_what_a_function_makes_for_itself_is_let_go() -> None:
    def written(x):
        y = x * 1.0
        y[0] = 5.0
        return ops.sum(y * x)

    picture = ad.draw(written, ad.Tensor([1.0, 2.0]))
    assert "= 9" in texts(picture.svg("forward"))


def test_calls_are_told_apart_under_a_debugger_too() -> None:
    def calls():
        picture = ad.draw(twice, np.ones((2, 3)), np.ones((3, 3)), passes=False, values=False)
        return [g.label for g in picture.scenes()[0].groups[1:]]

    def in_a_loop(x, w):
        for _ in [1, 2, 3]:
            x = part(x, w)
        return x

    assert calls() == ["part", "part"]
    before = sys.gettrace()
    sys.settrace(lambda *_: lambda *_: None)
    try:
        assert calls() == ["part", "part"]
    finally:
        sys.settrace(before)
    assert len(ad.draw(in_a_loop, np.ones((2, 3)), np.ones((3, 3)), passes=False).scenes()[0].groups) == 4


def test_after_a_pass_the_graphs_are_those_that_the_passes_give() -> None:
    picture = ad.draw(lambda x: x * 1.0 + ops.exp(x) * 1.0, ad.Tensor([2.0]))
    names = [s.name for s in picture.program.stages]
    assert names[0] == "as derived" and "algebra" in names
    assert len(picture.program.stages[0].forward.calls) == 4 and len(picture.program.stages[-1].forward.calls) == 2
    assert "× 1" in texts(picture.svg("forward")) and "× 1" not in texts(picture.svg("forward", stage="algebra"))


def test_a_graph_is_drawn_too_and_shows_itself_in_notebooks() -> None:
    graph = ad.graph.trace_function(example, [2.0, 5.0])
    assert {"log", "sin", "x0", "x1"} <= set(texts(graph._repr_svg_()))
    assert "= 11.65" in " ".join(texts(ad.draw(graph, 2.0, 5.0).svg()))


def test_without_a_derivative_the_picture_says_why() -> None:
    picture = ad.draw(lambda n: n + 1, 3)
    assert picture.program.stages[0].derivative is None and "no input" in picture.program.note
    assert "result" in texts(picture.svg())
    with pytest.raises(ad.ArgumentError, match="no derivative"):
        picture.svg("derivative")


def test_arguments_by_name() -> None:
    picture = ad.draw(lambda x, *, k, n: x * k * n, 2.0, k=3.0, n=4)
    assert {"x", "k", "24"} <= set(" ".join(texts(picture.svg())).split())


def test_wrong_arguments_are_named(tmp_path) -> None:
    with pytest.raises(ad.ArgumentTypeError, match="path is the name of a file, not 3"):
        ad.draw(example, 2.0, 5.0, path=3)
    with pytest.raises(ad.ArgumentError, match="drawn with derivative=False"):
        ad.draw(example, 2.0, 5.0, derivative=False).svg("derivative")
    with pytest.raises(ad.ArgumentError, match="no arguments by name: x"):
        ad.draw(ad.jit(example).graph(2.0, 5.0), x=2.0)
    with pytest.raises(ad.ArgumentError, match=r"graph\.png.*must end with \.svg or \.html"):
        ad.draw(example, 2.0, 5.0, path=tmp_path / "graph.png")
    with pytest.raises(ad.ArgumentTypeError, match="a function, Cell or graph is needed, not int"):
        ad.draw(3)
    with pytest.raises(ad.ArgumentError, match="there is no stage 'fusion'; the stages are as derived, cse"):
        ad.draw(example, 2.0, 5.0).svg(stage="fusion")
    with pytest.raises(ad.ArgumentError, match="which must be"):
        ad.draw(example, 2.0, 5.0).svg("backward")
    with pytest.raises(ad.ArgumentError, match="has 2 inputs, 1 were given"):
        ad.draw(ad.graph.trace_function(example, [2.0, 5.0]), 2.0)


def test_a_long_program_is_cut_into_pieces() -> None:
    def long(x):
        y = x
        for k in [float(k) for k in range(200)]:
            y = ops.sin(y) * x + k
        return y

    left, right = ad.draw(long, 0.5, values=False, passes=False).scenes()
    for scene in (left, right):
        boxes = np.bincount([v.group for v in scene.vertices], minlength=len(scene.groups))
        groups = np.bincount([g.parent for g in scene.groups[1:]], minlength=len(scene.groups))
        assert len(scene.vertices) > 200 and max(boxes + groups) <= 160 and len(scene.groups) > 5
    assert re.search(r"v1 … v\d+", " ".join(g.label for g in left.groups))
