"""mindspore.mint: functions and layers with `dim` and `keepdim`, and their gradients."""

import numpy as np
from mindspore import Tensor, mint

from mindspore_programs import in_either_mode

X = np.cos(np.arange(12)).reshape(3, 4).astype(np.float32)
Y = np.sin(np.arange(12) * 0.7).reshape(3, 4).astype(np.float32)


def case_add_and_sub_with_a_factor():
    return in_either_mode(lambda x, y: mint.add(x, y, alpha=3), X, Y), in_either_mode(
        lambda x, y: mint.sub(x, y, alpha=0.5), X, Y
    )


def case_sum():
    return in_either_mode(lambda x: mint.sum(x, dim=1, keepdim=True), X), mint.sum(Tensor([True, True, False]))


def case_mean():
    return in_either_mode(lambda x: mint.mean(x, dim=(0, 1)), X), in_either_mode(lambda x: mint.mean(x, 0, True), X)


def case_max_of_all():
    return in_either_mode(lambda x: mint.max(x), X), in_either_mode(lambda x: mint.min(x), X)


def case_max_along_an_axis():
    values, places = mint.max(Tensor(X), 1, keepdim=True)
    return values, places.asnumpy().tolist(), in_either_mode(lambda x: mint.max(x, 1)[0], X)


def case_any_and_all():
    x = Tensor(X > 0)
    return mint.all(x, dim=1), mint.any(x), mint.any(x, dim=0, keepdim=True), mint.all(x)


def case_split_and_chunk():
    return mint.split(Tensor(X), 2, dim=1), mint.chunk(Tensor(X), 3), mint.split(Tensor(X), [1, 3], 1)


def case_permute_and_transpose():
    return in_either_mode(lambda x: mint.permute(x, (1, 0)), X), mint.transpose(Tensor(X), 0, 1)


def case_flatten():
    return mint.flatten(Tensor(X.reshape(3, 2, 2)), 1), mint.flatten(Tensor(X))


def case_gather():
    index = Tensor([[0, 3], [1, 1], [2, 0]])
    return in_either_mode(lambda x: mint.gather(x, 1, index), X)


def case_scatter():
    index = Tensor([[0, 3], [1, 2], [2, 0]])
    return in_either_mode(lambda x, y: mint.scatter(x, 1, index, y), X, Y[:, :2])


def case_softmax():
    return in_either_mode(lambda x: mint.nn.functional.softmax(x, dim=1) * Tensor(Y), X)


def case_squeeze_and_unsqueeze():
    x = Tensor(X[:, None])
    return mint.squeeze(x, 1), mint.squeeze(x, 0).shape, mint.unsqueeze(Tensor(X), -1).shape


def case_where():
    return in_either_mode(lambda x, y: mint.where(x > y, x, y), X, Y)


def case_matmul_and_bmm():
    return in_either_mode(mint.matmul, X, Y.T.copy()), in_either_mode(mint.bmm, X.reshape(3, 2, 2), Y.reshape(3, 2, 2))


def case_meshgrid():
    return mint.meshgrid(Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0]), indexing="ij")


def case_linear_layer():
    net = mint.nn.Linear(4, 2)
    net.weight.set_data(Tensor(Y[:2]))
    net.bias.set_data(Tensor([0.5, -0.5]))
    return in_either_mode(net, X), [p.name for p in net.trainable_params()]


def case_binary_cross_entropy():
    p, y = np.abs(X) * 0.9, (Y > 0).astype(np.float32)
    return (
        in_either_mode(lambda x: mint.nn.functional.binary_cross_entropy(x, Tensor(y)), p),
        in_either_mode(lambda x: mint.nn.functional.binary_cross_entropy_with_logits(x, Tensor(y)), X),
    )


def case_clamp_and_pow():
    return in_either_mode(lambda x: mint.clamp(x, -0.5, 0.5), X), in_either_mode(lambda x: mint.pow(x, 3), X)


def case_comparisons():
    x, y = Tensor(X), Tensor(Y)
    return (
        [f(x, y) for f in (mint.eq, mint.ne, mint.lt, mint.le, mint.gt, mint.ge)]
        if hasattr(mint, "ge")
        else mint.gt(x, y)
    )
