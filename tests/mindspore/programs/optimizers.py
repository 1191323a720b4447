"""Optimizers, a few steps each: Parameters, state and learning rates after every step."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.nn.learning_rate_schedule import LearningRateSchedule
from mindspore.nn.optim.momentum import Momentum

from mindspore_cases import right


def _params():
    w = np.linspace(-1.3, 2.1, 6, dtype=np.float32).reshape(3, 2)
    return [
        Parameter(Tensor(w), name="fc.weight"),
        Parameter(Tensor(np.array([0.7, -0.4], np.float32)), name="norm.gamma"),
    ]


def _grads(step):
    a = np.cos(np.arange(6, dtype=np.float32) + step).reshape(3, 2)
    b = np.array([0.3 - 0.2 * step, 1.1], np.float32)
    return Tensor(a), Tensor(b)


def _run(make, steps=3, *slots):
    params = _params()
    opt = make(params)
    seen = []
    for step in range(steps):
        opt(_grads(step))
        seen.append([Tensor(p.asnumpy()) for p in params])
    state = [[Tensor(p.asnumpy()) for p in getattr(opt, slot)] for slot in slots]
    return seen, state, opt.global_step.asnumpy()


def case_sgd():
    return _run(lambda p: nn.SGD(p, 0.07))


def case_sgd_momentum_dampening_decay():
    return _run(lambda p: nn.SGD(p, 0.07, momentum=0.8, dampening=0.3, weight_decay=0.1), 4, "accum", "stat")


def case_sgd_nesterov_loss_scale():
    return _run(lambda p: nn.SGD(p, 0.05, momentum=0.6, nesterov=True, loss_scale=4.0, weight_decay=0.2), 3, "accum")


def case_momentum():
    return _run(lambda p: nn.Momentum(p, 0.05, 0.9), 3, "moments")


def case_momentum_decay_scale():
    return _run(lambda p: Momentum(p, 0.05, 0.7, weight_decay=0.01, loss_scale=8.0), 3, "moments")


def _single(make, *grads):
    p = Parameter(Tensor([2.0], ms.float32), name="w")
    opt = make([p])
    for g in grads:
        opt((Tensor([g], ms.float32),))
    return p


@right("the CPU kernel takes no notice of use_nesterov", np.array([1.915], np.float32))
def case_momentum_nesterov():
    return _single(lambda p: nn.Momentum(p, 0.1, 0.7, use_nesterov=True), 0.5)


def case_adam():
    return _run(lambda p: nn.Adam(p, 0.1), 4, "moment1", "moment2")


def case_adam_nesterov_decay():
    return _run(lambda p: nn.Adam(p, 0.03, beta1=0.7, beta2=0.9, eps=1e-3, use_nesterov=True, weight_decay=0.3), 3)


def case_adam_amsgrad():
    return _run(lambda p: nn.Adam(p, 0.03, beta2=0.8, use_amsgrad=True), 4, "vhat", "moment2")


def case_adam_powers():
    opt = nn.Adam(_params(), 0.1, beta1=0.5)
    opt(_grads(0))
    opt(_grads(1))
    return opt.beta1_power, opt.beta2_power, opt.beta1, opt.eps


def case_adam_weight_decay():
    return _run(lambda p: nn.AdamWeightDecay(p, 0.02, weight_decay=0.4), 3, "moments1", "moments2")


def case_lazy_adam():
    return _run(lambda p: nn.LazyAdam(p, 0.02, weight_decay=0.1), 3, "moment1")


def case_adam_offload():
    return _run(lambda p: nn.AdamOffload(p, 0.02), 3, "moment1")


def case_adagrad():
    return _run(lambda p: nn.Adagrad(p, 0.2, 0.05, weight_decay=0.05), 3, "accum")


@right("the CPU kernel adds to the sums all the same", np.array([1.75], np.float32))
def case_adagrad_without_updates_of_its_sums():
    return _single(lambda p: nn.Adagrad(p, accum=0.25, learning_rate=0.25, update_slots=False), 0.5)


def case_adadelta():
    return _run(lambda p: nn.Adadelta(p, 0.5, rho=0.8, epsilon=1e-3, weight_decay=0.1), 3, "accum", "accum_update")


def case_adamax():
    return _run(lambda p: nn.AdaMax(p, 0.04, beta1=0.8, weight_decay=0.2), 3, "moment1", "moment2")


def case_asgd():
    return _run(lambda p: nn.ASGD(p, 0.1, lambd=0.05, alpha=0.6, t0=1.0), 4, "mu", "eta", "ax")


def case_rprop():
    return _run(lambda p: nn.Rprop(p, 0.03, (0.4, 1.5), (1e-3, 0.05)), 4, "prev", "step_size")


def case_rmsprop():
    return _run(lambda p: nn.RMSProp(p, 0.02, decay=0.7, momentum=0.3, epsilon=1e-4), 3, "ms", "moment")


def case_rmsprop_centered():
    return _run(lambda p: nn.RMSProp(p, 0.02, decay=0.7, momentum=0.3, centered=True, weight_decay=0.1), 3, "mg", "ms")


def case_ftrl():
    return _run(lambda p: nn.FTRL(p, 0.2, 0.1, lr_power=-0.4, l2=0.1, weight_decay=0.1), 3, "moments", "linear")


@right("the CPU kernel adds l1 with the wrong sign", np.array([0.5], np.float32))
def case_ftrl_l1():
    return _single(lambda p: nn.FTRL(p, 0.0, 1.0, l1=0.2), 0.4)


def case_proximal_adagrad():
    return _run(lambda p: nn.ProximalAdagrad(p, 0.2, 0.1, l1=0.05, l2=0.3), 3, "accum")


def case_adafactor():
    return _run(lambda p: nn.AdaFactor(p), 3, "exp_avg", "exp_avg_sq_row", "exp_avg_sq_col", "exp_avg_sq")


def case_adafactor_with_a_rate_and_decay():
    def make(p):
        return nn.AdaFactor(p, 0.05, relative_step=False, scale_parameter=False, beta1=0.0, weight_decay=0.1)

    return _run(make, 3, "exp_avg_sq_row")


def case_adafactor_warmup():
    return _run(lambda p: nn.AdaFactor(p, warmup_init=True, clip_threshold=0.7), 2)


# ------------------------------------------------------------ learning rates and groups


def _rates(learning_rate, steps=3):
    params = _params()
    opt = nn.SGD(params, learning_rate)
    seen = []
    for step in range(steps):
        seen.append(opt.get_lr() + 0.0)
        opt(_grads(step))
    return seen, params


def case_rates_in_a_list():
    return _rates([0.5, 0.25, 0.1])


def case_rates_in_a_tensor():
    return _rates(Tensor(np.array([0.5, 0.2, 0.1], np.float32)))


def case_a_scalar_tensor_as_rate():
    return _rates(Tensor(0.3, ms.float32))


def case_exponential_decay():
    return _rates(nn.ExponentialDecayLR(0.2, 0.7, 2))


def case_exponential_decay_in_stairs():
    return _rates(nn.ExponentialDecayLR(0.2, 0.7, 2, True), 4)


def case_natural_exp_decay():
    return _rates(nn.NaturalExpDecayLR(0.2, 0.7, 2)), _rates(nn.NaturalExpDecayLR(0.2, 0.7, 2, is_stair=True))


def case_inverse_decay():
    return _rates(nn.InverseDecayLR(0.2, 0.7, 2)), _rates(nn.InverseDecayLR(0.2, 0.7, 2, is_stair=True))


def case_cosine_decay():
    return _rates(nn.CosineDecayLR(0.01, 0.3, 4), 5)


def case_polynomial_decay():
    return _rates(nn.PolynomialDecayLR(0.3, 0.01, 2, 0.5)), _rates(nn.PolynomialDecayLR(0.3, 0.01, 2, 0.5, True), 5)


def case_warm_up():
    return _rates(nn.WarmUpLR(0.3, 2), 4)


def case_a_schedule_of_ones_own():
    class Alternating(LearningRateSchedule):
        def __init__(self):
            super().__init__()
            self.decay = nn.ExponentialDecayLR(0.3, 0.5, 1)

        def construct(self, global_step):
            return self.decay(global_step) + 0.01 * ops.cast(global_step % 2, ms.float32)

    return _rates(Alternating(), 3)


def case_schedules_called_with_steps():
    step = Tensor(3, ms.int32)
    return nn.CosineDecayLR(0.01, 0.2, 4)(step), nn.WarmUpLR(0.4, 8)(step), nn.InverseDecayLR(0.4, 0.5, 8)(step)


def case_lists_of_rates():
    return (
        nn.exponential_decay_lr(0.1, 0.9, 6, 2, 1),
        nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2, True),
        nn.inverse_decay_lr(0.1, 0.5, 6, 1, 1, True),
        nn.cosine_decay_lr(0.01, 0.1, 6, 2, 2),
        nn.polynomial_decay_lr(0.1, 0.01, 6, 2, 2, 0.5),
        nn.polynomial_decay_lr(0.1, 0.01, 6, 2, 2, 0.5, True),
        nn.piecewise_constant_lr([2, 5, 7], [0.1, 0.05, 0.01]),
        nn.warmup_lr(0.1, 12, 2, 3),
    )


def case_groups():
    w, b = _params()
    groups = [{"params": [w], "lr": 0.3, "weight_decay": 0.2}, {"params": [b]}]
    opt = nn.Momentum(groups, learning_rate=0.1, momentum=0.9, weight_decay=0.05)
    for step in range(3):
        opt(_grads(step))
    return w, b, [r + 0.0 for r in opt.get_lr()], [p.name for p in opt.parameters]


def case_groups_in_an_order():
    w, b = _params()
    groups = [{"params": [w], "lr": 0.3}, {"params": [b], "weight_decay": 0.5}, {"order_params": [b, w]}]
    opt = nn.Adam(groups, learning_rate=0.1)
    for step in range(2):
        opt(_grads(step)[::-1])
    return w, b, [p.name for p in opt.parameters], [p.name for p in opt.learning_rate]


def case_groups_with_rates_that_change():
    w, b = _params()
    groups = [{"params": [w], "lr": [0.3, 0.2, 0.1]}, {"params": [b], "lr": nn.WarmUpLR(0.5, 3)}]
    opt = nn.SGD(groups, learning_rate=0.1)
    for step in range(2):
        opt(_grads(step))
    return w, b, [r + 0.0 for r in opt.get_lr()]


def case_a_group_beside_a_rate_that_changes():
    w, b = _params()
    opt = nn.SGD([{"params": [w], "lr": 0.2}, {"params": [b]}], learning_rate=[0.1, 0.3, 0.5])
    for step in range(3):
        opt(_grads(step))
    return w, b


_centred = np.repeat(1 - 0.1 * (np.arange(16) - 7.5)[None], 2, 0).reshape(2, 16, 1, 1).astype(np.float32)
_whole = (1 - 0.1 * np.arange(6)).reshape(2, 3).astype(np.float32)


@right("there is no kernel for the CPU", (_centred, _whole))
def case_centralised_gradients():
    w = Parameter(Tensor(np.ones((2, 16, 1, 1), np.float32)), name="conv.weight")
    v = Parameter(Tensor(np.ones((2, 3), np.float32)), name="fc.weight")
    opt = nn.Momentum([{"params": [w, v], "grad_centralization": True}], 0.1, 0.9)
    g = np.arange(32, dtype=np.float32).reshape(2, 16, 1, 1)
    opt((Tensor(g), Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))))
    return w, v


def case_a_weight_decay_that_changes():
    class Decay(nn.Cell):
        def __init__(self):
            super().__init__()
            self.rate = 0.5

        def construct(self, global_step):
            return self.rate / (1.0 + ops.cast(global_step, ms.float32))

    w, b = _params()
    opt = nn.Momentum([{"params": [w], "weight_decay": Decay()}, {"params": [b], "weight_decay": 0.1}], 0.1, 0.9)
    for step in range(2):
        opt(_grads(step))
    return w, b


def case_the_rate_of_a_parameter():
    w, b = _params()
    opt = nn.Momentum([{"params": [w], "lr": 0.3}, {"params": [b]}], learning_rate=0.1, momentum=0.9)
    one, two = opt.get_lr_parameter([w, b])
    return one, two, opt.get_lr_parameter(b), one.name


_after = np.linspace(-1.3, 2.1, 6) - 0.6 * np.cos(np.arange(6))


@right(
    "the update goes on with the first rate",
    (_after.reshape(3, 2).astype(np.float32), np.array([0.52, -1.06], np.float32), np.float32(0.5)),
    modes=("pynative",),
)
def case_setting_a_learning_rate():
    w, b = _params()
    opt = nn.SGD([w, b], 0.1)
    opt(_grads(0))
    opt.learning_rate.set_data(Tensor(0.5, ms.float32))
    opt(_grads(0))
    return w, b, opt.get_lr() + 0.0


def case_names_of_the_state():
    def names(opt):
        return list(opt.parameters_dict())

    return (
        names(nn.Adam(_params(), use_amsgrad=True)),
        names(nn.RMSProp(_params(), centered=True)),
        names(nn.Rprop(_params())),
        names(nn.SGD([{"params": [_params()[0]], "lr": 0.2}, {"params": [_params()[1]]}])),
    )


def case_an_optimizer_of_ones_own():
    class Signs(nn.Optimizer):
        def __init__(self, params, learning_rate):
            super().__init__(learning_rate, params, weight_decay=0.1)
            self.count = self.parameters.clone(prefix="count", init="zeros")

        def construct(self, gradients):
            gradients = self.decay_weight(gradients)
            lr = self.get_lr()
            for p, c, g in zip(self.parameters, self.count, gradients):
                ops.assign_sub(p, lr * ops.sign(g))
                ops.assign_add(c, ops.ones_like(c))
            return True

    params = _params()
    opt = Signs(params, 0.25)
    opt(_grads(0))
    opt(_grads(1))
    return params, list(opt.count), [c.name for c in opt.count]
