"""`ad.tree`, and trees as inputs and outputs of every transform: what is no number is passed through."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import adjoint as ad

Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Model:
    w: object
    act: str = ad.tree.static_field(default="relu")
    scale: float = ad.tree.static_field(default=2.0)


class Pair:
    def __init__(self, left, right, name):
        self.left, self.right, self.name = left, right, name


ad.tree.register(Pair, lambda p: ((p.left, p.right), p.name), lambda name, xs: Pair(*xs, name))


@ad.tree.register
class Marked:
    def __init__(self, x):
        self.x = x

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, static, children):
        return cls(*children)


def close(a, b, tol=1e-9):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tol, atol=tol)


# ---------------------------------------------------------------- the functions


@pytest.mark.parametrize(
    ("tree", "leaves"),
    [
        (1.0, [1.0]), (None, []), ((), []), ({"b": 1, "a": [2, None, "s"]}, [2, "s", 1]), (Point(1, (2, 3)), [1, 2, 3]),
        (Model(5.0), [5.0]), (Pair(1, {"k": 2}, "n"), [1, 2]), (Marked(4), [4]), ({2: "x", "a": "y"}, ["x", "y"]),
        (OrderedDict(b=1, a=2), [1, 2]), ([True, 3j], [True, 3j]),
    ],
)  # fmt: skip
def test_flatten_and_unflatten_are_inverse(tree, leaves):
    found, structure = ad.tree.flatten(tree)
    assert found == leaves == ad.tree.leaves(tree)
    assert structure == ad.tree.structure(tree) and hash(structure) == hash(ad.tree.structure(tree))
    assert structure.num_leaves == len(leaves)
    again = ad.tree.unflatten(structure, found)
    assert type(again) is type(tree) and ad.tree.leaves(again) == leaves
    assert ad.tree.structure(again) == structure


def test_structures_are_compared_with_what_is_static():
    same = ad.tree.structure
    assert same({"a": 1, "b": 2}) == same({"b": 0, "a": 0})
    assert list(ad.tree.unflatten(same({"b": 1, "a": 2}), [10, 20]).items()) == [("b", 20), ("a", 10)]
    assert same(Model(1.0)) != same(Model(1.0, "tanh")) and same(Model(1.0, "a", 1.5)) == same(Model(2.0, "a", 1.5))
    assert same(Pair(1, 2, "n")) != same(Pair(1, 2, "m")) and same((1,)) != same([1])
    assert same(Pair(1, 2, [1, {"a": np.ones(2)}])) == same(Pair(0, 0, [1, {"a": np.ones(2)}]))
    assert repr(same({"w": [1, None]})) == "Structure({'w': [*, None]})"


def test_map_of_several_trees():
    assert ad.tree.map(lambda a, b, c: a + b * c, {"x": 1, "y": [2]}, {"y": [3], "x": 4}, {"x": 5, "y": (6,)}) == {
        "x": 21,
        "y": [20],
    }
    pairs = {"w": (1, 2), "b": (3, 4)}
    assert ad.tree.map(sum, pairs, is_leaf=lambda x: isinstance(x, tuple)) == {"w": 3, "b": 7}
    assert ad.tree.map(lambda x: x is None, (None, 1), is_leaf=lambda x: x is None) == (True, False)
    moved = ad.tree.map(lambda p, g: p - g, {"w": 3.0, "s": "relu", "n": 4}, {"w": 1.0, "s": None, "n": None})
    assert moved == {"w": 2.0, "s": "relu", "n": 4}
    kept = ad.tree.map(lambda p, g: (p, g), {"s": "a"}, {"s": None}, is_leaf=lambda x: x is None)
    assert kept == {"s": ("a", None)}
    assert ad.tree.map(lambda x: x * 2, Pair(1, 2, "n")).right == 4
    assert ad.tree.reduce(lambda a, b: a * b, {"x": 2, "y": [3]}, 10) == 60
    assert not ad.tree.all([1, {"a": 0}])


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"w": [1, 2]}, {"w": [1]}, r"tree 2\['w'\] is a list of 1, the first is Structure\(\[\*, \*\]\)"),
        ({"p": {"w": [1]}}, {"p": {"v": [1]}}, r"tree 2\['p'\]\['v'\] has no counterpart"),
        ({"w": 1}, {}, r"tree 2\['w'\] is missing"),
        (
            {"w": [0, 1]},
            {"w": [0, {"a": 1}]},
            r"tree 2\['w'\]\[1\] is a dict with the keys \['a'\] where the first is a leaf",
        ),
        (Point(1, 2), {"x": 1, "y": 2}, r"tree 2 is a dict .* the first is Structure\(Point"),
    ],
)
def test_trees_that_differ_are_refused_by_their_path(first, second, said):
    with pytest.raises(ValueError, match=said):
        ad.tree.map(lambda a, b: a, first, second)


def test_paths_and_refusals():
    assert ad.tree.paths({"w": [1, Pair(2, 3, "n")], "m": Model(4)}, "p") == [
        ("p['m'].w", 4), ("p['w'][0]", 1), ("p['w'][1].left", 2), ("p['w'][1].right", 3),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="3 leaves for a structure of 2"):
        ad.tree.unflatten(ad.tree.structure((1, 2)), [1, 2, 3])
    with pytest.raises(TypeError, match="takes the structure first"):
        ad.tree.unflatten([1, 2], ad.tree.structure((1, 2)))
    with pytest.raises(TypeError, match="no methods tree_flatten"):
        ad.tree.register(type("Plain", (), {}))
    with pytest.raises(ValueError, match="is a container, or a leaf, already"):
        ad.tree.register(dict, lambda d: ((), None), lambda s, xs: {})
    with pytest.raises(TypeError, match="is no dataclass"):
        ad.tree.register_dataclass(type("Plain", (), {}))
    with pytest.raises(ValueError, match="has no field 'q'"):
        ad.tree.register_dataclass(Model, static=("q",))
    with pytest.raises(ValueError, match="neither in data_fields nor in meta_fields"):
        ad.tree.register_dataclass(Model, data_fields=["w"], meta_fields=["act"])


# ---------------------------------------------------------------- ravel


def test_ravel_of_mixed_leaves_and_its_derivatives():
    tree = {
        "c": 2.0,
        "a": np.float32([1, 2]),
        "b": ad.Tensor(np.arange(4.0).reshape(2, 2)),
        "s": "q",
        "n": 4,
        "z": None,
    }
    vector, unravel = ad.tree.ravel(tree)
    close(vector, [1, 2, 0, 1, 2, 3, 2])
    again = unravel(vector)
    assert (again["s"], again["n"], again["z"], vector.dtype) == ("q", 4, None, np.float64)
    assert again["a"].dtype == np.float32 and again["b"].shape == (2, 2) and again["c"].shape == ()
    f = lambda v: (unravel(v)["b"] ** 3).sum() + unravel(v)["a"][0] * unravel(v)["c"]
    close(ad.grad(f)(np.ones(7)), [1, 0, 3, 3, 3, 3, 1])
    close(ad.jit(ad.grad(f))(np.ones(7)), [1, 0, 3, 3, 3, 3, 1])
    by_tree = ad.grad(lambda t: (ad.tree.ravel(t)[0] ** 2).sum())(tree)
    assert by_tree["s"] is None and by_tree["n"] is None
    close(by_tree["b"], 2 * np.arange(4.0).reshape(2, 2))
    close(ad.vmap(lambda v: unravel(v)["b"].sum())(np.ones((3, 7))), [4, 4, 4])
    close(ad.jvp(lambda v: unravel(v)["b"][1, 1], np.ones(7), np.arange(7.0))[1], 5)
    assert ad.tree.ravel(())[0].shape == (0,) and ad.tree.ravel(np.float32(1))[0].dtype == np.float32
    narrow = {"w": np.ones(2, np.float32), "b": 0.1}
    assert float(ad.tree.ravel(narrow)[1](ad.tree.ravel(narrow)[0])["b"]) == 0.1
    with pytest.raises(ValueError, match="no leaf is a float"):
        ad.tree.ravel({"n": 3})
    with pytest.raises(ValueError, match=r"a vector of 7 elements is needed, not shape \(6,\)"):
        unravel(np.ones(6))


# ---------------------------------------------------------------- trees in transforms

PARAMS = {"w": np.array([1.0, 2.0]), "act": "relu", "n": 3, "flag": True, "none": None, "counts": np.arange(3)}


def outputs(p, x):
    y = p["w"] * x * p["n"]
    y = ad.ops.relu(y) if p["act"] == "relu" else y * y
    return {"loss": y.sum(), "name": p["act"], "n": p["n"]}


def loss(p, x):
    return outputs(p, x)["loss"]


def only_w(found):
    assert {k: v for k, v in found.items() if k != "w"} == dict.fromkeys(["act", "n", "flag", "none", "counts"])
    return found["w"]


def test_what_is_no_number_is_passed_through_and_has_no_derivative():
    close(only_w(ad.grad(loss)(PARAMS, 2.0)), [6, 6])
    value, gradient = ad.value_and_grad(loss)(PARAMS, 2.0)
    close(value, 18), close(only_w(gradient), [6, 6])
    still = dict.fromkeys(PARAMS) | {"w": np.ones(2)}
    out, tangent = ad.jvp(outputs, (PARAMS, 2.0), (still, 0.0))
    assert (out["name"], tangent["name"], int(out["n"])) == ("relu", None, 3)
    close(tangent["loss"], 12)
    out, pull = ad.vjp(outputs, PARAMS, 2.0)
    close(only_w(pull({"loss": 1.0, "name": None, "n": None})[0]), [6, 6])
    close(ad.linearize(loss, (PARAMS, 2.0))[1](still, 0.0), 12)
    for jacobian in (ad.jacfwd, ad.jacrev, ad.jacobian):
        close(only_w(jacobian(loss)(PARAMS, 2.0)), [6, 6])
    second = ad.hessian(lambda p: (p["w"] ** 3).sum())(PARAMS)
    close(only_w(only_w(second)), [[6, 0], [0, 12]])
    close(only_w(ad.grad(ad.checkpoint(loss))(PARAMS, 2.0)), [6, 6])
    assert ad.grad(lambda p: p.x * p.y)(Point(2.0, 3))[1] is None
    for jacobian in (ad.jacfwd, ad.jacrev):
        rows = jacobian(outputs)(PARAMS, 2.0)
        close(only_w(rows["loss"]), [6, 6]), close(only_w(rows["n"]), [0, 0])
        assert rows["name"] is None


def test_a_compiled_function_is_compiled_again_for_another_static_value():
    gradient = ad.jit(ad.grad(loss))
    close(only_w(gradient(PARAMS, 2.0)), [6, 6])
    close(only_w(gradient({**PARAMS, "act": "square"}, 2.0)), [72, 144])
    close(only_w(gradient(PARAMS, 2.0)), [6, 6])
    assert [c.reason for c in gradient.compilations][1:] == [
        "static value of `p['act']` changed from 'relu' to 'square'"
    ]
    f = ad.jit(lambda m, x: m.w * x * m.scale if m.act == "relu" else m.w)
    models = [
        Model(np.ones(2)),
        Model(np.ones(2), scale=4.0),
        Model(np.ones(2), scale=float("4.0")),
        Model(np.ones(2), "id"),
    ]
    assert [float(f(m, 3.0)[0]) for m in models] == [6, 12, 12, 1]
    assert len(f.compilations) == 3
    found = ad.grad(f)(Model(np.ones(2)), 3.0)
    assert isinstance(found, Model) and found.act == "relu"
    close(found.w, [6, 6])
    g = ad.jit(lambda p: Pair(p.left * 2, p.right if p.name == "a" else -p.right, p.name))
    assert [float(g(Pair(1.0, 2.0, name)).right) for name in "aba"] == [2, -2, 2] and len(g.compilations) == 2
    assert g(Pair(1.0, 2.0, "b")).name == "b"


def test_registered_classes_go_through_transforms():
    f = lambda p: p.left**2 * p.right + (1.0 if p.name == "n" else 0.0)
    g = ad.grad(f)(Pair(3.0, 2.0, "n"))
    assert type(g) is Pair and g.name == "n"
    close(g.left, 12), close(g.right, 9)
    close(ad.jvp(f, (Pair(3.0, 2.0, "n"),), (Pair(1.0, 0.0, "n"),))[1], 12)
    y = ad.vmap(f, in_axes=(Pair(0, None, "n"),))(Pair(np.arange(3.0), 2.0, "n"))
    close(y, 2 * np.arange(3.0) ** 2 + 1)
    out = ad.vmap(lambda x: Pair(x, Marked(x * 2), "o"))(np.arange(3.0))
    close(out.right.x, [0, 2, 4])
    close(ad.vmap(lambda m: m.w * m.scale, in_axes=(Model(0),))(Model(np.ones((3, 2)))), np.full((3, 2), 2.0))
    close(ad.vmap(lambda q: q["w"] * q["n"])({"w": np.ones((3, 2)), "n": 2, "s": "a"}), np.full((3, 2), 2.0))


def test_integers_say_that_they_have_no_derivative_where_they_are_all_there_is():
    with pytest.raises(
        TypeError, match=r"argument 0\['n'\] is the int 3; integers and booleans have no derivative: pass 3.0"
    ):
        ad.grad(lambda p: p["n"] * 1.0)({"n": 3, "s": None})
    with pytest.raises(TypeError, match="argument 0 is the int 3"):
        ad.grad(lambda x: x * 1.0)(3)
    with pytest.raises(ValueError, match=r"the tangent of input 0\['act'\] is missing"):
        ad.jvp(loss, (PARAMS, 2.0), ({"w": np.ones(2)}, 1.0))
