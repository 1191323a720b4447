"""One device and eight: the same losses, weights and state."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim, parallel
from networks_on_meshes import Block, LeNet, assert_equal_weights, mlp, normal, rng, split_mlp, trained

STEPS = 3


def labels(n):
    return rng.integers(0, 8, n).astype("int32")


@cache
def problem(name):
    """How to make the network, its batches and its loss."""
    if name == "lenet":
        return LeNet, [(normal(16, 1, 8, 8), labels(16)) for _ in range(STEPS)], ops.cross_entropy
    if name == "block":
        return Block, [(normal(16, 6, 16), labels(16)) for _ in range(STEPS)], ops.cross_entropy
    dtype = "float64" if name == "mlp64" else "float32"
    batches = [(normal(16, 12, dtype=dtype), normal(16, 16, dtype=dtype)) for _ in range(STEPS)]
    return lambda: mlp(np.dtype(dtype)), batches, ops.mse_loss


def rule(name):
    """Adam divides by the root of the second moment, which is rounding alone where a gradient is zero, as that of the bias of the keys."""
    return (lambda ps: optim.Momentum(ps, 0.1, 0.9)) if name == "block" else lambda ps: optim.Adam(ps, 0.01)


@cache
def on_one_device(name):
    """In machine code, which JAX has no part in."""
    return trained(*problem(name), rule=rule(name))


def on_a_mesh(name, mesh, stage=0, layouts=None):
    def around(net, optimiser, one):
        if layouts is not None:
            layouts(net)
        if stage:
            parallel.zero(optimiser, mesh, stage)
        return parallel.data_parallel(one(), mesh)

    return trained(*problem(name), around, rule(name))


CASES = [
    ("mlp64", {"data": 8}, 0, None),
    ("mlp64", {"data": 2, "model": 4}, 0, split_mlp),
    ("mlp64", {"data": 4}, 1, None),
    ("mlp", {"data": 8}, 2, None),
    ("mlp", {"data": 4, "model": 2}, 3, split_mlp),
    ("lenet", {"data": 8}, 0, None),
    ("block", {"data": 4, "model": 2}, 3, parallel.tensor_parallel),
]


@pytest.mark.parametrize(("name", "axes", "stage", "layouts"), CASES, ids=[f"{c[0]}-{c[1]}-zero{c[2]}" for c in CASES])
def test_many_devices_give_what_one_gives(name, axes, stage, layouts):
    mesh = parallel.mesh(axes)
    found = on_a_mesh(name, mesh, stage, layouts)
    assert_equal_weights(found, on_one_device(name), 1e-12 if name == "mlp64" else 1e-5)
    net, optimiser, step, _ = found
    sent = step.collectives()
    assert sent["all-reduce"] >= 1
    if name.startswith("mlp"):  # the others gather which labels are out of range
        assert ("all-gather" in sent) == (stage > 0)
    for p in [*optimiser.parameters, *optimiser.parameters_dict().values()]:
        assert p._value.sharding.device_set == set(mesh.jax.devices.flat), p.name
    assert len(step._programs()) == 1 and len(step.step.applying.compilations) == 1


def test_one_program_serves_all_steps():
    _, _, step, _ = on_a_mesh("mlp", parallel.mesh(data=8), 1)
    (run,) = step._executables()
    assert len({id(program) for program, _ in run.made.values()}) == 1


def held(what):
    """The bytes that each device holds."""
    return sum(p._value.addressable_shards[0].data.nbytes for p in what)


@pytest.mark.parametrize("stage", [1, 3])
def test_zero_cuts_the_memory_of_each_device(stage):
    mesh = parallel.mesh(data=8)
    net, optimiser, step, _ = on_a_mesh("mlp", mesh, stage)
    weights = sum(p._value.nbytes for p in net.get_parameters())
    state = [p for slot in optimiser.slots.values() for p in slot]
    assert held(state) == 2 * weights // 8
    assert held(net.get_parameters()) == (weights // 8 if stage == 3 else weights)
    arguments = step._programs()[0].memory_analysis().argument_size_in_bytes
    assert arguments < (weights * 3 // 8 if stage == 3 else weights * 10 // 8) + 2048


def test_state_lies_as_its_parameters_and_keeps_lying_so():
    net, optimiser, step, _ = on_a_mesh("mlp", parallel.mesh(data=2, model=4), 0, split_mlp)
    assert held([net[0].weight]) == net[0].weight._value.nbytes // 4
    for slot in optimiser.slots.values():
        for s, p in zip(slot, optimiser.parameters, strict=True):
            assert s._value.sharding == p._value.sharding


def test_sums_of_gradients_lie_as_the_state_in_stage_2():
    batches = problem("mlp")[1]
    make, loss = problem("mlp")[0], problem("mlp")[2]
    mesh = parallel.mesh(data=4)

    def around(net, optimiser, one):
        parallel.zero(optimiser, mesh, 2)
        return parallel.data_parallel(one(), mesh)

    several = [*batches, *batches[:1]]
    found = trained(make, several, loss, around, accumulate=2)
    assert_equal_weights(found, trained(make, several, loss, accumulate=2), 1e-5)
    sums = found[2].step._buffer
    assert all(x._value.addressable_shards[0].data.nbytes * 4 == x._value.nbytes for x in sums)


@pytest.mark.parametrize("stage", [0, 2])
def test_gradients_summed_over_devices_once_for_each_update(stage):
    mesh = parallel.mesh(data=4)
    make = lambda: nn.SequentialCell(nn.Dense(12, 32, activation="relu"), nn.Dense(32, 16))
    batches, loss = problem("mlp")[1], ops.mse_loss
    several = [*batches, *batches[:1]]

    def around(net, optimiser, one):
        if stage:
            parallel.zero(optimiser, mesh, stage)
        return parallel.data_parallel(one(), mesh, reduce_once=True)

    found = trained(make, several, loss, around, accumulate=2)
    assert_equal_weights(found, trained(make, several, loss, accumulate=2), 1e-5)
    collecting = next(x for x in found[2]._executables() if len(x.graph.outputs) == 5)
    text = list(collecting.made.values())[-1][0].as_text()
    (line,) = [line for line in text.splitlines() if " all-reduce(" in line]
    assert line.strip().startswith("%all-reduce") and " f32[] all-reduce(" in line  # the loss alone
    assert all(
        x._value.addressable_shards[0].data.shape == (1, *p.shape)
        for x, p in zip(found[2].step._buffer, found[1].parameters)
    )


def test_what_a_device_cannot_do_with_its_part_alone():
    mesh = parallel.mesh(data=4)
    for name in ("mlp", "lenet"):
        make, batches, loss = problem(name)
        around = lambda net, optimiser, one: parallel.data_parallel(one(), mesh, reduce_once=True)
        with pytest.raises(ad.ArgumentError, match="draws random samples|keeps moving averages"):
            trained(make, batches, loss, around, accumulate=2)
        with pytest.raises(ad.ArgumentError, match="with a GradientAccumulation"):
            trained(make, batches, loss, around)


def test_functions_and_networks_without_an_optimiser():
    net = nn.Dense(4, 3)
    f = parallel.data_parallel(net, parallel.mesh(data=4))
    x = normal(8, 4)
    y = f(x)
    expected = x @ net.weight.asnumpy().T + net.bias.asnumpy()
    np.testing.assert_allclose(np.asarray(parallel.gathered(y)), expected, rtol=1e-5, atol=1e-6)
    assert y._plain().addressable_shards[0].data.shape == (2, 3)
    g = parallel.data_parallel(ad.grad(lambda x, w: ((x @ w) ** 2).sum(), 1), parallel.mesh(data=4), batch=0)
    w = normal(4, 3)
    np.testing.assert_allclose(np.asarray(parallel.gathered(g(x, w))), 2 * x.T @ (x @ w), rtol=1e-4, atol=1e-5)


def test_numbers_and_containers_pass_through():
    f = parallel.data_parallel(lambda batch, scale, name: batch[name] * scale, parallel.mesh(data=2))
    y = f({"x": np.arange(4.0), "y": ad.Tensor(np.arange(6.0))}, 2.0, "y")
    assert np.asarray(parallel.gathered(y)).tolist() == [0, 2, 4, 6, 8, 10]


def test_layouts_inside_that_do_not_fit():
    mesh = parallel.mesh(data=4)
    for axes, said in (
        (("model",), "none called 'model'"),
        ((None, "data"), r"axis 1 of the shape \(8, 3\).*4 equal parts"),
    ):
        f = parallel.data_parallel(lambda x, axes=axes: parallel.constrain(x, axes).sum(), mesh)
        with pytest.raises(ad.AdjointError, match=said) as caught:
            f(np.ones((8, 3)))
        assert "called at test_data_parallel.py" in str(caught.value)


def test_arguments_that_are_written_to():
    def f(x):
        x[0] = 5.0
        return x.sum()

    with pytest.raises(ad.ArgumentError, match="writes to its argument"):
        parallel.data_parallel(f, parallel.mesh(data=4))(ad.Tensor(np.ones(8)))


def test_what_is_refused():
    mesh = parallel.mesh(data=8)
    f = parallel.data_parallel(lambda x: x.sum(), mesh)
    with pytest.raises(
        ad.ShapeError, match=r"argument 0 has 30 examples, which do not make 8 equal parts along 'data'.*24 or 32"
    ):
        f(np.ones((30, 2)))
    with pytest.raises(ad.ShapeError, match=r"`x` has 3 examples.*give 8,"):
        f(x=np.ones(3))
    with pytest.raises(ad.ArgumentError, match="none called 'rows'"):
        parallel.data_parallel(lambda x: x, mesh, axis="rows")
    with pytest.raises(ad.ArgumentError, match="compiled for the backend 'native'"):
        parallel.data_parallel(ad.jit(lambda x: x, backend="native"), mesh)
    with pytest.raises(ad.AdjointError, match="outside of grad"):
        ad.grad(lambda x: f(x))(np.ones(8))
    with pytest.raises(ad.ArgumentTypeError, match="split over devices already"):
        parallel.data_parallel(f, mesh)
    with pytest.raises(ad.ArgumentTypeError, match="what parallel.mesh gives"):
        parallel.data_parallel(lambda x: x, 8)
    with pytest.raises(ad.ArgumentError, match="batch names argument 2"):
        parallel.data_parallel(lambda x: x, mesh, batch=2)(np.ones(8))
    optimiser = optim.SGD(nn.Dense(2, 2).trainable_params(), 0.1)
    with pytest.raises(ad.ArgumentError, match="stage must be 1, 2 or 3"):
        parallel.zero(optimiser, mesh, 4)
    with pytest.raises(ad.ArgumentTypeError, match="an optimiser with state for each Parameter"):
        parallel.zero(nn.Dense(2, 2), mesh)
    with pytest.raises(ad.ArgumentError, match="split already, by stage 1"):
        parallel.zero(parallel.zero(optimiser, mesh), mesh)
