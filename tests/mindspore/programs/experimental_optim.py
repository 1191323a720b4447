"""mindspore.experimental.optim: a few steps of each optimizer, and the schedulers."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn
from mindspore.experimental import optim


def _params():
    w = np.linspace(-1.3, 2.1, 6, dtype=np.float32).reshape(3, 2)
    return [Parameter(Tensor(w), name="w"), Parameter(Tensor(np.array([0.7, -0.4], np.float32)), name="b")]


def _grads(step):
    a = np.cos(np.arange(6, dtype=np.float32) + step).reshape(3, 2)
    return Tensor(a), Tensor(np.array([0.3 - 0.2 * step, 1.1], np.float32))


def _run(make, steps=4):
    params = _params()
    opt = make(params)
    seen = []
    for step in range(steps):
        opt(_grads(step))
        seen.append([Tensor(p.asnumpy()) for p in params])
    return seen


def case_sgd():
    return _run(lambda p: optim.SGD(p, 0.1)), _run(lambda p: optim.SGD(p, 0.1, 0.9, weight_decay=0.1, nesterov=True))


def case_sgd_dampening_maximize():
    return _run(lambda p: optim.SGD(p, 0.1, 0.8, 0.3, maximize=True))


def case_adam():
    return _run(lambda p: optim.Adam(p, 0.05, weight_decay=0.1)), _run(lambda p: optim.Adam(p, 0.05, (0.5, 0.8)))


def case_adamw():
    return _run(lambda p: optim.AdamW(p, 0.05)), _run(lambda p: optim.AdamW(p, 0.05, amsgrad=True, weight_decay=0.3))


def case_adamax():
    return _run(lambda p: optim.Adamax(p, 0.05, weight_decay=0.1))


def case_nadam():
    return _run(lambda p: optim.NAdam(p, 0.05, weight_decay=0.1))


def case_radam():
    return _run(lambda p: optim.RAdam(p, 0.05), 7)


def case_rmsprop():
    return _run(lambda p: optim.RMSprop(p, 0.05)), _run(lambda p: optim.RMSprop(p, 0.05, momentum=0.5, centered=True))


def case_adagrad():
    return _run(lambda p: optim.Adagrad(p, 0.05, 0.1, 0.2, 0.3))


def case_adadelta():
    return _run(lambda p: optim.Adadelta(p, 0.5, 0.8, 1e-3))


def case_rprop():
    return _run(lambda p: optim.Rprop(p, 0.05))


def case_asgd():
    return _run(lambda p: optim.ASGD(p, 0.05, 0.01, 0.6, 1.0))


def case_groups():
    w, b = _params()
    opt = optim.Adam([{"params": [w], "lr": 0.1}, {"params": [b]}], lr=0.01)
    opt(_grads(0))
    return w, b, [g["lr"] + 0.0 for g in opt.param_groups], [g["lr"].name for g in opt.param_groups]


def case_a_rate_that_is_set():
    w, b = _params()
    opt = optim.SGD([w, b], lr=0.1)
    ms.ops.assign(opt.param_groups[0]["lr"], 0.5)
    opt(_grads(0))
    return w, b


def _rates(make, steps=7):
    opt = optim.SGD(_params(), lr=0.4)
    scheduler = make(opt)
    seen = [[r + 0.0 for r in scheduler.get_last_lr()]]
    for _ in range(steps):
        scheduler.step()
        seen.append([r + 0.0 for r in scheduler.get_last_lr()])
    return seen


S = optim.lr_scheduler


def case_step_lr():
    return _rates(lambda o: S.StepLR(o, 2, 0.5)), _rates(lambda o: S.MultiStepLR(o, [2, 3, 3, 5], 0.5))


def case_exponential_and_polynomial_lr():
    return _rates(lambda o: S.ExponentialLR(o, 0.7)), _rates(lambda o: S.PolynomialLR(o, 4, 1.5))


def case_linear_and_constant_lr():
    return _rates(lambda o: S.LinearLR(o, 0.25, 1.0, 4)), _rates(lambda o: S.ConstantLR(o, 0.5, 3))


def case_lambda_lr():
    return _rates(lambda o: S.LambdaLR(o, lambda e: 0.9**e)), _rates(lambda o: S.MultiplicativeLR(o, lambda e: 0.5))


def case_cosine_lr():
    return _rates(lambda o: S.CosineAnnealingLR(o, 3, 0.01)), _rates(lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2))


def case_cyclic_lr():
    return _rates(lambda o: S.CyclicLR(o, 0.1, 0.5, 2)), _rates(lambda o: S.CyclicLR(o, 0.1, 0.5, 2, 1, "triangular2"))


def case_sequential_lr():
    return _rates(lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [3]))


def case_plateau():
    opt = optim.SGD(_params(), lr=0.4)
    scheduler = S.ReduceLROnPlateau(opt, patience=1, factor=0.5)
    seen = []
    for value in (1.0, 0.9, 0.95, 0.95, 0.95, 0.8, 0.8, 0.8):
        scheduler.step(Tensor(value, ms.float32))
        seen.append([r + 0.0 for r in scheduler.get_last_lr()])
    return seen


def case_training():
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    opt = optim.Adam(net.trainable_params(), 0.1)
    x, y = Tensor(np.ones((3, 2), np.float32)), Tensor(np.zeros((3, 1), np.float32))
    loss_fn = nn.MSELoss()

    def forward(x, y):
        return loss_fn(net(x), y)

    step = ms.value_and_grad(forward, None, opt.parameters)
    losses = []
    for _ in range(3):
        loss, grads = step(x, y)
        opt(grads)
        losses.append(loss)
    return losses, net.weight


def case_no_parameters():
    return optim.SGD([], lr=0.1)


def case_a_rate_below_zero():
    return optim.Adam(_params(), lr=-1.0)


def case_a_scheduler_of_no_optimizer():
    return S.StepLR(nn.SGD(_params(), 0.1), 2)
