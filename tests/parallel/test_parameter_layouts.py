"""Layouts of Parameters: noted, obeyed, shown, and of no consequence for the numbers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import nn, ops, optim, parallel
from adjoint.parallel.sharded_state import split_further
from networks_on_meshes import normal


def dense(n, m):
    return nn.SequentialCell(nn.Dense(n, m, activation="tanh", dtype=ad.float64), nn.Dense(m, n, dtype=ad.float64))


@st.composite
def programs(draw):
    """Sizes of a mesh, of a batch and of the layers, and layouts that fit them."""
    data, model = draw(st.sampled_from([(1, 1), (2, 1), (3, 2), (2, 4), (1, 3), (8, 1)]))
    n, m = draw(st.integers(1, 3)) * model, draw(st.integers(1, 3)) * model
    along = st.sampled_from([(), ("model",), (None, "model")])
    return {
        "data": data, "model": model, "batch": data * draw(st.integers(1, 3)), "sizes": (n, m),
        "layouts": {"0.weight": draw(along), "1.weight": draw(along), "0.bias": draw(st.sampled_from([(), ("model",)]))},
        "stage": draw(st.integers(0, 3)),
    }  # fmt: skip


@given(programs())
@settings(max_examples=5)
def test_no_layout_changes_the_numbers(program):
    mesh = parallel.mesh(data=program["data"], model=program["model"])
    n, m = program["sizes"]
    batch = normal(program["batch"], n, dtype="float64")
    results = []
    for spread in (False, True):
        ad.set_seed(5)
        net = dense(n, m)
        optimiser = optim.Momentum(net.trainable_params(), 0.1, 0.9)
        step = optim.compiled_step(lambda x, net=net: (net(x) ** 2).sum(), net.trainable_params(), optimiser)
        if spread:
            parallel.lay_out(net, program["layouts"])
            if program["stage"]:
                parallel.zero(optimiser, mesh, program["stage"])
            step = parallel.data_parallel(step, mesh)
        losses = [np.asarray(parallel.gathered(step(batch))) for _ in range(2)]
        results.append([*losses, *(np.asarray(parallel.gathered(p)) for p in net.get_parameters())])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


def test_patterns():
    net = dense(4, 8)
    parallel.lay_out(net, {"0.*": ("model",), "*.weight": (None, "model")})
    assert [parallel.layout_of(p) for p in net.get_parameters()] == [("model",), ("model",), (None, "model"), ()]
    with pytest.raises(ad.ArgumentError, match=r"no Parameter is called like '2\.\*'; there are 0\.weight, 0\.bias"):
        parallel.lay_out(net, {"2.*": ("model",)})
    with pytest.raises(ad.ArgumentError, match=r"is for 2 axes, '0\.bias' has the shape \(8,\)"):
        parallel.lay_out(net, {"0.bias": (None, "model")})
    with pytest.raises(
        ad.ShapeError, match=r"Parameter '0\.weight': axis 0 of the shape \(8, 4\) has 8 elements.*3 equal parts"
    ):
        parallel.place(net, parallel.mesh(model=3))


def test_layouts_of_a_transformer():
    net = nn.SequentialCell(nn.Dense(8, 8), nn.TransformerEncoderLayer(8, 2, 16))
    parallel.tensor_parallel(net, mesh=parallel.mesh(model=2))
    found = {p.name: parallel.layout_of(p) for p in net.get_parameters() if parallel.layout_of(p)}
    assert found == {
        "1.self_attn.in_proj_weight": ("model",), "1.self_attn.in_proj_bias": ("model",),
        "1.self_attn.out_proj.weight": (None, "model"),
        "1.dense1.weight": ("model",), "1.dense1.bias": ("model",), "1.dense2.weight": (None, "model"),
    }  # fmt: skip
    with pytest.raises(ad.ArgumentError, match="no attention and no pair of Dense layers"):
        parallel.tensor_parallel(nn.Dense(2, 2))
    with pytest.raises(ad.ArgumentTypeError, match=r"expected an nn\.Dense, not ReLU"):
        parallel.split_rows(nn.ReLU())
    with pytest.raises(ad.ArgumentTypeError, match="expected a Parameter, not ndarray"):
        parallel.layout(np.ones(2), ("model",))


def test_the_axis_that_is_split_further():
    mesh = parallel.mesh(data=4, model=2)
    assert split_further((), (8, 12), mesh, "data") == (None, "data")
    assert split_further(("model",), (8, 3), mesh, "data") == ("model",)
    assert split_further((None, "model"), (8, 16), mesh, "data") == ("data", "model")
    assert split_further((), (3, 5), mesh, "data") == ()
    assert split_further((), (), mesh, "data") == ()
    assert split_further((), (0, 4), mesh, "data") == (None, "data")
    assert split_further((("data", "model"),), (8, 8), mesh, "data") == (("data", "model"),)


def test_tables_and_pictures():
    mesh = parallel.mesh(data=2, model=2)
    net = nn.Dense(4, 8)
    parallel.layout(net.weight, (("data", "model"), None))
    assert "host, to be data*model x -" in parallel.show(net)
    parallel.place(net, mesh)
    assert parallel.show(net).splitlines() == [
        "Parameter  shape   layout          each device",
        "weight     (8, 4)  data*model x -  32 B",
        "bias       (8,)    whole           32 B",
        "in all                             64 B",
    ]
    assert parallel.picture(net.weight).splitlines()[:2] == ["     0:4", "0:2  cpu:0"]
    assert "cpu:0, cpu:1, cpu:2, cpu:3" in parallel.picture(net.bias)
    with pytest.raises(ad.ArgumentError, match="on the host"):
        parallel.picture(np.ones(3))
    with pytest.raises(ad.ArgumentError, match="one or two axes"):
        parallel.picture(parallel.place(ad.Parameter(np.ones((2, 2, 2))), mesh))


def test_back_to_the_host():
    mesh = parallel.mesh(data=4)
    net = nn.Dense(4, 8)
    before = net.weight.asnumpy()
    optimiser = parallel.zero(optim.Adam(net.trainable_params(), 0.1), mesh, 3)
    found = parallel.gathered({"w": net.weight, "n": 3, "more": [optimiser.global_step]})
    np.testing.assert_array_equal(found["w"].asnumpy(), before)
    assert found["n"] == 3 and isinstance(found["w"]._value, np.ndarray)
    parallel.to_host([net, optimiser])
    assert all(isinstance(p._value, np.ndarray) for p in optimiser.parameters_dict().values())
    np.testing.assert_array_equal(net.weight.asnumpy(), before)
    with pytest.raises(ad.ArgumentTypeError, match="expected a network, an optimiser"):
        parallel.to_host(3)


def test_copies_keep_values_and_layouts():
    net = parallel.place(parallel.split_columns(nn.Dense(4, 8)), parallel.mesh(model=2))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_array_equal(
            np.asarray(parallel.gathered(other.weight)), np.asarray(parallel.gathered(net.weight))
        )
        assert parallel.layout_of(other.weight) == ("model",)


def test_values_that_are_set_by_hand_are_placed_again():
    mesh = parallel.mesh(data=4)
    w = ad.Parameter(np.ones(8, "float32"), name="w")
    optimiser = parallel.zero(optim.SGD([w], 0.25), mesh, 3)
    step = parallel.data_parallel(optim.compiled_step(lambda x: ops.mean(x * x) * (w * w).sum(), [w], optimiser), mesh)
    assert float(step(np.ones(4, "float32"))) == 8.0
    w.set_data(np.full(8, 2.0, "float32"))
    assert float(step(np.ones(4, "float32"))) == 32.0
    np.testing.assert_allclose(np.asarray(parallel.gathered(w)), np.ones(8))
    assert w._value.addressable_shards[0].data.shape == (2,)
    assert len(step.step.applying.compilations) == 1
