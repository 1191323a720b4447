"""Mixed precision, scaled losses, and checkpoints."""

import os
import tempfile

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, amp, nn, ops
from mindspore.train import FixedLossScaleManager

X = np.cos(np.arange(12)).reshape(4, 3).astype(np.float32)
Y = np.sin(np.arange(8)).reshape(4, 2).astype(np.float32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 2, weight_init=Tensor(X[:2]), bias_init=Tensor([0.25, -0.5]))
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.fc(x))


class WithNorm(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 2, weight_init=Tensor(X[:2]), has_bias=False)
        self.norm = nn.LayerNorm((2,))

    def construct(self, x):
        return self.norm(self.fc(x))


def case_to_float():
    y = Net().to_float(ms.float16)(Tensor(X))
    return y, y.dtype == ms.float16


def case_level_o0():
    return amp.auto_mixed_precision(Net(), "O0")(Tensor(X))


def case_level_o2():
    return amp.auto_mixed_precision(Net(), amp_level="O2")(Tensor(X)), amp.auto_mixed_precision(WithNorm(), "O2")(
        Tensor(X)
    )


def case_level_o3():
    return amp.auto_mixed_precision(Net(), amp_level="O3")(Tensor(X))


def case_gradients_in_level_o3():
    net = amp.auto_mixed_precision(Net(), amp_level="O3")
    return ms.grad(net, 0, net.trainable_params())(Tensor(X))


def case_dtypes_stay():
    net = amp.auto_mixed_precision(Net(), "O2")
    return [p.dtype == ms.float32 for p in net.trainable_params()]


def case_custom_black_list():
    net = amp.custom_mixed_precision(WithNorm(), black_list=[nn.Dense])
    return net(Tensor(X))


def case_black_list():
    return [kind.__name__ for kind in amp.get_black_list()]


def case_build_train_network():
    net = Net()
    step = amp.build_train_network(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), nn.MSELoss(), level="O0")
    return [step(Tensor(X), Tensor(Y)) for _ in range(2)], net.fc.weight


def case_build_train_network_o2():
    net = Net()
    step = amp.build_train_network(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), nn.MSELoss(), level="O2",
                                   loss_scale_manager=None)  # fmt: skip
    return step(Tensor(X), Tensor(Y))


def case_a_scale_that_stays():
    net = Net()
    manager = FixedLossScaleManager(64.0, drop_overflow_update=False)
    opt = nn.SGD(net.trainable_params(), 0.1, loss_scale=64.0)
    step = amp.build_train_network(net, opt, nn.MSELoss(), loss_scale_manager=manager)
    return step(Tensor(X), Tensor(Y)), net.fc.weight, manager.get_loss_scale(), manager.get_drop_overflow_update()


def case_a_manager_that_changes():
    manager = amp.DynamicLossScaleManager(64, 2, 2)
    seen = []
    for overflow in (False, True, False, False, True, False, False):
        manager.update_loss_scale(overflow)
        seen.append(float(manager.get_loss_scale()))
    return seen, type(manager.get_update_cell()).__name__, manager.get_drop_overflow_update()


def case_static_scaler():
    scaler = amp.StaticLossScaler(scale_value=2**10)
    grads = (Tensor([0.5, 1.0]), Tensor(np.ones((2,), np.float16)))
    return scaler.scale(grads), scaler.unscale(grads), scaler.adjust(True)


def case_dynamic_scaler():
    scaler = amp.DynamicLossScaler(2**4, 2, 2)
    seen = []
    for finite in (True, True, False, True, True):
        scaler.adjust(Tensor(finite))
        seen.append(scaler.scale_value + 0.0)
    return seen, scaler.counter + 0


def case_all_finite():
    x = Tensor([1.0, 2.0])
    return amp.all_finite((x, x)), amp.all_finite((x, Tensor([1.0, np.inf]))), amp.all_finite((Tensor([np.nan]),))


def case_a_step_with_a_scaler():
    net = Net()
    opt = nn.Adam(net.trainable_params(), 0.01)
    scaler = amp.DynamicLossScaler(1024, 2, 50)
    loss_fn = nn.MSELoss()

    def forward(x, y):
        return scaler.scale(loss_fn(net(x), y))

    grad_fn = ms.value_and_grad(forward, None, opt.parameters)

    @ms.jit
    def step(x, y):
        loss, grads = grad_fn(x, y)
        loss = scaler.unscale(loss)
        finite = amp.all_finite(grads)
        if finite:
            grads = scaler.unscale(grads)
            loss = ops.depend(loss, opt(grads))
        scaler.adjust(finite)
        return loss

    return [step(Tensor(X), Tensor(Y)) for _ in range(2)], net.fc.weight, scaler.counter + 0


def case_an_unknown_level():
    return amp.auto_mixed_precision(Net(), "O7")


def case_a_scale_below_one():
    return amp.StaticLossScaler(0.5)


# ------------------------------------------------------------ checkpoints


def _saved(obj, **kwargs):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.ckpt")
        ms.save_checkpoint(obj, path, **kwargs)
        return ms.load_checkpoint(path)


def case_a_checkpoint():
    found = _saved(Net())
    return dict(found), [type(p).__name__ for p in found.values()]


def case_a_checkpoint_with_more():
    found = _saved(Net(), append_dict={"epoch": 3, "rate": 0.5, "done": True})
    return {k: v.asnumpy() for k, v in found.items()}


def case_a_checkpoint_of_a_list():
    return _saved([{"name": "a", "data": Tensor([1, 2])}, {"name": "b", "data": Tensor(1.5, ms.float16)}])


def case_loading_into_a_network():
    net = Net()
    values = {"fc.weight": Parameter(Tensor(Y[:2].repeat(2, axis=1)[:, :3].copy()), name="fc.weight")}
    return ms.load_param_into_net(net, values), net.fc.weight


def case_loading_another_shape():
    return ms.load_param_into_net(
        Net(), {"fc.weight": Parameter(Tensor(np.ones((3, 3), np.float32)), name="fc.weight")}
    )


def case_loading_no_parameters():
    return ms.load_param_into_net(Net(), {"fc.weight": Tensor(X)})


def case_a_file_that_is_not_there():
    return ms.load_checkpoint("nowhere.ckpt")
