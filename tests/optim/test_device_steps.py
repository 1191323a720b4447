"""Training steps on a device: the numbers of the host, with Parameters that stay where the step is."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

jax = pytest.importorskip("jax")
PLACE = "cpu:1"


class Words(nn.Cell):
    """A table of words, dropout and two layers."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(3)
        self.table = ad.Parameter(rng.standard_normal((7, 5)).astype(np.float32), name="table")
        self.dense = nn.Dense(5, 3, weight_init=0.1, bias_init=0.2)
        self.dropout = nn.Dropout(p=0.3)

    def construct(self, ids):
        return self.dense(self.dropout(ops.tanh(ops.embedding(ids, self.table))))


def training(**where):
    net = Words().set_train()

    def loss(ids, wanted):
        y = net(ids)
        return ((y - wanted) ** 2).mean(), y

    optimiser = ad.optim.AdamW(net.trainable_params(), [0.1, 0.05, 0.2] * 5, weight_decay=0.0)
    step = ad.optim.compiled_step(loss, net.trainable_params(), optimiser, has_aux=True, **where)
    return net, optimiser, step


def batch(size=4):
    rng = np.random.default_rng(size)
    return rng.integers(-7, 7, (size, 2)), rng.standard_normal((size, 2, 3)).astype(np.float32)


def numbers(net):
    return [p.asnumpy() for p in net.trainable_params()]


def test_steps_on_a_device_are_those_of_the_host():
    ad.set_seed(5)
    host, _, plain_step = training(backend="interpreter")
    wanted = [plain_step(*map(ad.Tensor, batch())) for _ in range(4)]
    weights = numbers(host)
    ad.set_seed(5)
    net, optimiser, step = training(backend="xla", device=PLACE)
    ids, values = (ad.Tensor(x).to(PLACE) for x in batch())
    found = [step(ids, values) for _ in range(3)]
    assert step._on_device is not None, "the steps went the long way"
    old = net.table.value()
    before = old.asnumpy().copy()
    found.append(step(*batch()))  # from the host, and while somebody holds a Parameter's array
    np.testing.assert_array_equal(old.asnumpy(), before)
    for (loss, y), (want, wanted_y) in zip(found, wanted, strict=True):
        np.testing.assert_allclose(loss.asnumpy(), want.asnumpy(), rtol=2e-5)
        np.testing.assert_allclose(y.asnumpy(), wanted_y.asnumpy(), rtol=2e-4, atol=1e-5)
    for a, b in zip(numbers(net), weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)
    assert len(step.applying.compilations) == 1 and int(optimiser.global_step.asnumpy()) == 4
    assert {p.device for p in net.trainable_params()} == {PLACE}

    # A store between steps counts, and an index out of range changes nothing.
    net.table.set_data(np.zeros((7, 5), np.float32))
    step(ids, values)
    step(ids, values)
    assert np.abs(net.table.asnumpy()).max() < 1
    held = numbers(net)
    bad = batch()[0].copy()
    bad[1, 1] = 7
    with pytest.raises(IndexError):
        step(ad.Tensor(bad).to(PLACE), values)
    for a, b in zip(numbers(net), held, strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.isfinite(float(step(ids, values)[0]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("where", [{}, {"device": PLACE}], ids=["host", "device"])
def test_indices_of_every_dtype(dtype, where):
    found = []
    for kind in (dtype, np.int32):
        table = ad.Parameter(np.arange(600.0).reshape(200, 3), name="table")
        step = ad.optim.compiled_step(
            lambda i, table=table: (table[i] ** 2).sum(), [table], ad.optim.Adam([table], 0.1), **where
        )
        found.append([float(step(np.array(i, kind))) for i in ([0, 127], [3, 3, 1], [], [0, 127])])
        if kind != np.int8:
            with pytest.raises(IndexError, match="index 200 is out of bounds"):
                step(np.array([0, 200], kind))
    np.testing.assert_allclose(*found, rtol=1e-12)
