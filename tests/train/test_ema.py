"""Averages of weights."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.train import EMA, load_checkpoint, save_checkpoint


def test_the_average_of_a_run_by_numpy(tmp_path) -> None:
    net = nn.SequentialCell(nn.Dense(2, 3), nn.BatchNorm1d(3), nn.Dense(3, 1)).set_train()
    optimiser = optim.SGD(net.trainable_params(), 0.5)
    step = optim.compiled_step(lambda x: (net(x) ** 2).mean(), net.trainable_params(), optimiser)
    for warmup in (False, True):
        ema = EMA(net, decay=0.9, warmup=warmup)
        average = {n: v.asnumpy() for n, v in net.state_dict().items()}
        for k in range(4):
            step(ad.Tensor(np.random.default_rng(k).standard_normal((4, 2)).astype(np.float32)))
            ema.update()
            decay = min(0.9, (1 + k) / (10 + k)) if warmup else 0.9
            for name, p in net.parameters_and_names():
                old = average[name]
                average[name] = decay * old + (1 - decay) * p.asnumpy() if p.requires_grad else p.asnumpy()
        own = {n: v.asnumpy() for n, v in net.state_dict().items()}
        with pytest.raises(KeyError), ema.applied():
            for name, value in net.state_dict().items():
                np.testing.assert_allclose(value.asnumpy(), average[name], rtol=1e-5, atol=1e-6)
            with pytest.raises(ad.AdjointError, match="the network has the averages now"):
                ema.update()
            raise KeyError
        assert all(np.array_equal(v.asnumpy(), own[n]) for n, v in net.state_dict().items())
    save_checkpoint([net, optimiser, ema], tmp_path / "a.safetensors")
    other = EMA(net, decay=0.9, warmup=True)
    load_checkpoint(tmp_path / "a.safetensors", [net, optimiser, other], strict_load=True)
    assert int(other.updates) == 4
    third = EMA(net)
    third.load_state_dict(ema.state_dict())
    for a, b, c in zip(ema.averages, other.averages, third.averages, strict=True):
        assert np.array_equal(a.asnumpy(), b.asnumpy()) and np.array_equal(a.asnumpy(), c.asnumpy())
    ema.copy_to()
    assert np.array_equal(net.state_dict()["0.weight"].asnumpy(), ema.averages[0].asnumpy())


def test_half_precision_is_averaged_in_float32_and_mistakes_are_named() -> None:
    w = ad.Parameter(np.ones(2, np.float16), name="w")
    ema = EMA([w], decay=0.999)
    w.set_data(np.zeros(2, np.float16))
    for _ in range(10):
        ema.update()
    np.testing.assert_allclose(ema.averages[0].asnumpy(), 0.999**10, rtol=1e-5)
    with ema.applied():
        assert w.dtype == np.float16 and w.asnumpy()[0] == np.float16(0.999**10)
    with pytest.raises(ValueError, match="decay must lie"):
        EMA([w], decay=1.0)
    with pytest.raises(TypeError, match="a network or its Parameters"):
        EMA([np.ones(2)])
    with pytest.raises(ad.AdjointError, match="inside grad"):
        ad.grad(lambda x: (ema.update(), x)[1])(1.0)


@pytest.mark.parametrize("jit", [False, True])
def test_training_inside_applied_is_refused(jit):
    w = ad.Parameter(ad.Tensor([3.0]), name="w")
    optimiser = ad.optim.SGD([w], learning_rate=0.25, jit=jit)
    ema = ad.train.EMA([w], 0.5)
    with (
        pytest.raises(ad.AdjointError, match=r"EMA.applied: the averages in the network were changed.*\(w\)"),
        ema.applied(),
    ):
        if jit:
            ad.optim.compiled_step(lambda x: (w * x).sum(), [w], optimiser)(ad.Tensor([1.0]))
        else:
            optimiser((ad.Tensor([1.0]),))
    assert w.asnumpy() == [3.0]
    with ema.applied():
        pass
