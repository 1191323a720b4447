"""Where samples stand: read, set, and kept in checkpoints, so that a loop of one's own goes on bit for bit."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.data import ArrayDataset
from adjoint.train import load_checkpoint, save_checkpoint

X = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)


def begin():
    net = nn.SequentialCell(nn.Dense(3, 5), nn.Dropout(p=0.5), nn.Dense(5, 1)).set_train()
    return net, optim.Adam(net.trainable_params(), 0.01), ArrayDataset(X).shuffle().batch(4)


def epochs(net, optimiser, batches, count, compiled):
    loss = lambda x: (net(x) ** 2).mean()
    if compiled:
        step = optim.compiled_step(loss, net.trainable_params(), optimiser)
    else:
        forward = ad.value_and_grad(loss, None, weights=net.trainable_params())

        def step(x):
            value, grads = forward(x)
            optimiser(grads)
            return value

    return [float(step(x)) for _ in range(count) for (x,) in batches]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loop_of_ones_own_resumes_bit_for_bit(compiled, tmp_path) -> None:
    ad.set_seed(1)
    net, optimiser, batches = begin()
    epochs(net, optimiser, batches, 1, compiled)
    path = tmp_path / "run.safetensors"
    save_checkpoint([net, optimiser], path, append_dict={"epoch": 1}, save_random=True)
    rest = epochs(net, optimiser, batches, 2, compiled)
    ad.set_seed(99)
    net, optimiser, batches = begin()
    found = load_checkpoint(path, [net, optimiser], strict_load=True, restore_random=True)
    assert found["epoch"] == 1
    assert epochs(net, optimiser, batches, 2, compiled) == rest


def test_the_state_is_an_integer_that_can_be_set() -> None:
    state = ad.get_rng_state()
    first = [ops.randn(3).asnumpy(), ad.jit(lambda x: ops.dropout(x, 0.5))(ops.ones(20)).asnumpy()]
    ad.set_rng_state(state)
    again = [ops.randn(3).asnumpy(), ops.dropout(ops.ones(20), 0.5).asnumpy()]
    assert isinstance(state, int) and all(map(np.array_equal, first, again))
    for wrong in (-1, 1.5, True, "x", 2**63):
        with pytest.raises(ValueError, match="the state is what get_rng_state gave"):
            ad.set_rng_state(wrong)
    with pytest.raises(ValueError, match="inside a function that is being compiled"):
        ad.jit(lambda x: x * ad.get_rng_state())(1.0)
    with pytest.raises(ValueError, match="set_seed: inside a function that is being compiled"):
        ad.jit(lambda x: x * (ad.set_seed(1) or 2.0))(1.0)
