"""What optimizers refuse."""

import numpy as np
from mindspore import Parameter, Tensor, nn


def _params():
    w = np.linspace(-1.3, 2.1, 6, dtype=np.float32).reshape(3, 2)
    return [
        Parameter(Tensor(w), name="fc.weight"),
        Parameter(Tensor(np.array([0.7, -0.4], np.float32)), name="norm.gamma"),
    ]


def case_no_parameters():
    return nn.SGD([], 0.1)


def case_parameters_that_are_none():
    return nn.Adam([Tensor([1.0])])


def case_a_negative_rate():
    return nn.SGD(_params(), -0.1)


def case_a_rate_that_is_no_number():
    return nn.SGD(_params(), nn.Dense(1, 1))


def case_a_rate_of_two_axes():
    return nn.Adam(_params(), Tensor(np.ones((2, 2), np.float32)))


def case_beta_of_one():
    return nn.Adam(_params(), beta1=1.0)


def case_an_unknown_key():
    return nn.Adam([{"params": _params(), "rate": 0.1}])


def case_a_parameter_in_two_groups():
    w, b = _params()
    return nn.SGD([{"params": [w, b]}, {"params": [w]}])


def case_nesterov_without_momentum():
    return nn.SGD(_params(), nesterov=True)


def case_momentum_as_an_int():
    return nn.Momentum(_params(), 0.1, 1)


def case_a_negative_decay():
    return nn.Momentum(_params(), 0.1, 0.9, weight_decay=-0.1)


def case_a_loss_scale_of_zero():
    return nn.Momentum(_params(), 0.1, 0.9, loss_scale=0.0)


def case_ftrl_with_changing_rates():
    return nn.FTRL(_params(), learning_rate=[0.1, 0.2])


def case_adafactor_with_two_kinds_of_rate():
    return nn.AdaFactor(_params(), learning_rate=0.1)
