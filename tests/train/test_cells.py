"""Steps of training as Cells, in both modes, and half precision."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.train import (
    DynamicLossScaleManager,
    DynamicLossScaler,
    FixedLossScaleManager,
    ForwardValueAndGrad,
    StaticLossScaler,
    TrainOneStepCell,
    TrainOneStepWithLossScaleCell,
    WithEvalCell,
    WithLossCell,
    all_finite,
    auto_mixed_precision,
)


class Line(nn.Cell):
    """y = w·x + b, negative results made half as large."""

    def __init__(self):
        super().__init__()
        self.w = ad.Parameter(ad.Tensor([[2.0]]))
        self.b = ad.Parameter(ad.Tensor([1.0]))

    def construct(self, x):
        y = x @ self.w + self.b
        if y.sum() > 0:
            return y
        return 0.5 * y


X, Y = ad.Tensor([[1.0], [2.0]]), ad.Tensor([[0.0], [0.0]])  # y = 3, 5: loss 17, dw = 13, db = 8


def line_step(net, rate=0.1):
    return TrainOneStepCell(WithLossCell(net, ops.mse_loss), optim.SGD(net.trainable_params(), rate))


@pytest.mark.usefixtures("mode")
def test_one_step_by_hand():
    net = Line()
    loss = line_step(net)(X, Y)
    assert loss.item() == pytest.approx(17)
    assert net.w.item() == pytest.approx(2 - 0.1 * 13) and net.b.item() == pytest.approx(1 - 0.1 * 8)


@pytest.mark.usefixtures("mode")
def test_a_branch_on_values_goes_both_ways():
    net = Line()
    step = line_step(net)
    step(X, Y)
    net.b.set_data([-10.0])  # now half the result
    w = net.w.item()
    assert step(X, Y).item() == pytest.approx(np.mean([(0.5 * (w * x - 10)) ** 2 for x in (1, 2)]), rel=1e-6)


@pytest.mark.usefixtures("mode")
def test_any_function_may_be_the_optimiser_and_gradients_can_be_had():
    net, seen = Line(), []
    step = TrainOneStepCell(WithLossCell(net, ops.mse_loss), seen.append, sens=2.0, return_grad=True)
    loss, grads = step(X, Y)
    assert {k: g.item() for k, g in grads.items()} == pytest.approx({"w": 26, "b": 16}) and loss.item() == 17
    assert len(seen) == 1


@pytest.mark.usefixtures("mode")
def test_gradients_gathered_over_two_batches():
    whole, parts = Line(), Line()
    line_step(whole)(X, Y)
    gathering = optim.GradientAccumulation(2, optim.SGD(parts.trainable_params(), 0.1))
    step = TrainOneStepCell(WithLossCell(parts, ops.mse_loss), gathering)
    step(X[:1], Y[:1])
    assert parts.w.item() == 2
    step(X[1:], Y[1:])
    assert parts.w.item() == pytest.approx(whole.w.item()) and parts.b.item() == pytest.approx(whole.b.item())


def test_wrappers_leave_the_names_of_parameters_alone():
    net = Line()
    step = line_step(net)
    assert [p.name for p in step.get_parameters()] == ["w", "b"] and [p.name for p in net.get_parameters()] == [
        "w",
        "b",
    ]
    step.set_train()
    assert net.training


@pytest.mark.usefixtures("mode")
def test_with_eval_cell():
    loss, out, label = WithEvalCell(Line(), ops.mse_loss)(X, Y)
    assert loss.item() == 17 and out.asnumpy().ravel().tolist() == [3, 5] and label.shape == (2, 1)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("get_all, get_by_list", [(False, False), (True, False), (False, True), (True, True)])
def test_forward_value_and_grad(get_all, get_by_list):
    net = Line()
    value, grads = ForwardValueAndGrad(net, get_all=get_all, get_by_list=get_by_list)(X)
    assert value.asnumpy().ravel().tolist() == [3, 5]
    if get_all and get_by_list:
        inputs, weights = grads
    else:
        inputs, weights = (grads, None) if not get_by_list else (None, grads)
    if inputs is not None:
        assert isinstance(inputs, tuple) == get_all
        assert (inputs[0] if get_all else inputs).asnumpy().ravel().tolist() == [2, 2]
    if weights is not None:
        assert [g.asnumpy().ravel().tolist() for g in weights] == [[3], [2]]


@pytest.mark.usefixtures("mode")
def test_forward_value_and_grad_with_a_cotangent():
    _, (dx, dy) = ForwardValueAndGrad(lambda x, y: x * y, get_all=True, sens_param=True)(
        ad.Tensor([2.0]), ad.Tensor([3.0]), ad.Tensor([10.0])
    )
    assert (dx.item(), dy.item()) == (30, 20)


# ---------------------------------------------------------------- scaled losses


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("scale", [1024.0, FixedLossScaleManager(8.0), DynamicLossScaler(64, 2, 5)])
def test_a_scale_changes_nothing_in_a_step_without_overflow(scale):
    net = Line()
    step = TrainOneStepWithLossScaleCell(WithLossCell(net, ops.mse_loss), optim.SGD(net.trainable_params(), 0.1), scale)
    loss, overflow, _ = step(X, Y)
    assert loss.item() == 17 and overflow is False and net.w.item() == pytest.approx(0.7)


@pytest.mark.usefixtures("mode")
def test_an_overflow_changes_no_parameter_and_halves_the_scale():
    net, scaler = Line(), DynamicLossScaler(2.0**127, 2.0, 2)
    step = TrainOneStepWithLossScaleCell(
        WithLossCell(net, ops.mse_loss), optim.SGD(net.trainable_params(), 0.1), scaler
    )
    seen = [step(X, Y)[1:] for _ in range(7)]
    assert [overflow for overflow, _ in seen][:3] == [True] * 3 and not seen[-1][0]
    assert [scale for _, scale in seen[:3]] == [2.0**127, 2.0**126, 2.0**125]
    assert net.w.item() != 2 and all_finite([net.w])


def test_scales():
    scaler = DynamicLossScaleManager(4.0, 2, 2)
    for finite, expected in [
        (True, 4),
        (True, 8),
        (False, 4),
        (False, 2),
        (False, 1),
        (False, 1),
        (True, 1),
        (True, 2),
    ]:
        scaler.adjust(finite)
        assert scaler.get_loss_scale() == expected
    assert [t.item() for t in StaticLossScaler(4).unscale((ad.Tensor([8.0]), ad.Tensor([4.0])))] == [2, 1]
    with pytest.raises(ValueError, match="above 0"):
        StaticLossScaler(0)
    with pytest.raises(ValueError, match="above 1"):
        DynamicLossScaler(1, 1, 1)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_trains_with_parameters_in_float32(dtype):
    ad.set_seed(0)
    net = nn.SequentialCell(nn.Dense(2, 8), nn.LayerNorm((8,)), nn.Tanh(), nn.Dense(8, 1))
    half = auto_mixed_precision(net, "O2", getattr(ad, dtype))
    x = ops.randn(16, 2)
    y = ops.reshape(x[:, 0] * x[:, 1], (16, 1))
    step = TrainOneStepWithLossScaleCell(
        WithLossCell(half, ops.mse_loss), optim.Adam(net.trainable_params(), 0.05), DynamicLossScaler(2.0**16, 2, 50)
    )
    losses = [step(x, y)[0].item() for _ in range(40)]
    assert losses[-1] < 0.3 * losses[0]
    assert all(p.dtype == "float32" for p in net.get_parameters()) and half(x).dtype == "float32"
    ad.set_context(mode=ad.PYNATIVE_MODE)
    assert net(x).dtype == getattr(ad, dtype)


def test_unknown_levels():
    with pytest.raises(ValueError, match="O0, O1, O2 or O3"):
        auto_mixed_precision(Line(), "O7")
