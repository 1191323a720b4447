"""What is made for, or restored beside, Parameters that lie on many devices."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim, parallel
from networks_on_meshes import normal


def on_a_mesh():
    mesh = parallel.mesh(data=2, model=2)
    net = parallel.lay_out(nn.Dense(5, 6), {"weight": ("model", None)})
    return parallel.place(net, mesh), mesh


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSProp", "AdaGrad", "Lamb"])
def test_an_optimiser_for_a_network_that_is_on_the_mesh_already(kind):
    x, y = normal(8, 5), normal(8, 6)
    losses = []
    net, mesh = on_a_mesh()
    first = {name: p.asnumpy() for name, p in net.parameters_dict().items()}
    for spread in (True, False):
        if not spread:
            net = nn.Dense(5, 6)
            for name, p in net.parameters_dict().items():
                p.set_data(ad.Tensor(first[name]))
        optimiser = getattr(optim, kind)(net.trainable_params(), learning_rate=0.05)
        step = optim.compiled_step(lambda x, y, net=net: ops.mse_loss(net(x), y), optimiser.parameters, optimiser)
        step = parallel.data_parallel(step, mesh) if spread else step
        losses.append([float(step(x, y)) for _ in range(3)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


def test_a_number_as_wide_as_a_value_on_the_mesh():
    net, _ = on_a_mesh()
    assert (parallel.gathered(ops.full_like(net.weight, 7)) == np.full((6, 5), 7, "float32")).all()


def test_errors_about_two_places_name_ways_that_work():
    net, mesh = on_a_mesh()
    x = normal(8, 5)
    for call in (lambda: net(ad.Tensor(x)), lambda: ad.jit(net)(ad.Tensor(x))):
        with pytest.raises(ad.DeviceError, match=r"parallel\.global_batch\(x, mesh\).*parallel\.to_host\(net\)"):
            call()
    far = parallel.gathered(net(parallel.global_batch(x, mesh)))
    compiled = parallel.gathered(parallel.data_parallel(net, mesh)(x))
    near = parallel.to_host(net)(ad.Tensor(x)).asnumpy()
    np.testing.assert_allclose(far, near, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(compiled, near, rtol=1e-5, atol=1e-6)


def test_restoring_puts_arrays_numbers_and_texts_back_into_their_dicts(tmp_path):
    kept = parallel.Checkpoints(tmp_path)
    net = nn.Dense(2, 3)
    parts = {"epoch": 4, "note": "warm", "mean": np.arange(3.0), "t": ad.Tensor([1.0, 2.0]), "in": {"best": 0.25}}
    kept.save(1, {"net": net, **parts})
    kept.save(2, [net, {"epoch": 9, "mean": np.ones(2)}])
    other = nn.Dense(2, 3)
    state = {"net": other, "epoch": 0, "note": "", "mean": np.zeros(3), "t": ad.Tensor([0.0, 0.0]), "in": {"best": 1.0}}
    assert kept.restore(state, step=1) == 1 and state["net"] is other
    assert (state["epoch"], state["note"], state["in"]) == (4, "warm", {"best": 0.25})
    assert state["mean"].tolist() == [0, 1, 2] and state["t"].asnumpy().tolist() == [1, 2]
    assert (other.weight.asnumpy() == net.weight.asnumpy()).all()
    listed = [other, {"epoch": 0, "mean": np.zeros(2)}]
    assert parallel.load(kept.path(2), like=listed)[1]["epoch"] == 9
    assert kept.restore(listed) == 2 and listed[1]["epoch"] == 9 and listed[1]["mean"].tolist() == [1, 1]
    with pytest.raises(ad.ArgumentTypeError, match="cannot be replaced: give a dict"):
        kept.restore(MappingProxyType({"epoch": 0}))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: parallel.mesh(8), "the axes have names"),
        (lambda: parallel.data_parallel(ops.sum, parallel.mesh(data=2), batch="x"), "positions of arguments"),
        (lambda: parallel.data_parallel(ops.sum, parallel.mesh(data=2), batch=True), "positions of arguments"),
        (lambda: parallel.data_parallel(ops.sum, parallel.mesh(data=2), batch=[1.0]), "positions of arguments"),
        (lambda: parallel.layer_counts(parallel.LLAMA_70B, sequence=0), "sequence must be above zero"),
        (lambda: parallel.layer_counts(parallel.LLAMA_70B, 8, micro_batch=0), "micro_batch must be above zero"),
    ],
)
def test_arguments_of_another_kind_are_refused_by_name(call, match):
    with pytest.raises((ad.ArgumentError, ad.ArgumentTypeError), match=match):
        call()
