"""mindspore.numpy: default dtypes, functions and their gradients."""

import mindspore as ms
import mindspore.numpy as mnp
import numpy as np
from mindspore import Tensor

from mindspore_programs import in_either_mode

X = np.cos(np.arange(12)).reshape(3, 4).astype(np.float32)
Y = np.sin(np.arange(12) * 0.7).reshape(3, 4).astype(np.float32) + 1.5


def case_dtypes_of_what_is_made():
    return mnp.array([1, 2]), mnp.array([1.5, 2]), mnp.ones((2, 2)), mnp.zeros(3), mnp.full((2,), 7), mnp.eye(2)


def case_arange():
    return mnp.arange(5), mnp.arange(1, 3, 0.5), mnp.arange(2, 8, 3, mnp.float32)


def case_linspace():
    return mnp.linspace(0, 1, 5), mnp.linspace(1, 2, 3, endpoint=False), mnp.logspace(0, 2, 3)


def case_like():
    return mnp.ones_like(Tensor(X)), mnp.zeros_like(Tensor([1, 2])), mnp.full_like(Tensor(X), 2.5)


def case_stack_and_concatenate():
    return in_either_mode(lambda x, y: mnp.stack([x, y], 1), X, Y), in_either_mode(
        lambda x, y: mnp.concatenate((x, y), axis=1), X, Y
    )


def case_dot():
    return in_either_mode(mnp.dot, X, Y.T.copy()), mnp.dot(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))


def case_unique():
    return mnp.unique(Tensor([3, 1, 3, 2])), mnp.unique(Tensor([3, 1, 3, 2]), return_inverse=True)


def case_sums():
    return (
        in_either_mode(lambda x: mnp.sum(x, axis=0), X),
        in_either_mode(lambda x: mnp.mean(x, 1, True), X),
        mnp.sum(Tensor([1, 2])),
    )


def case_extremes():
    return (
        in_either_mode(lambda x: mnp.max(x, 1), X),
        in_either_mode(lambda x: mnp.amin(x), X),
        mnp.argmax(Tensor(X), 1),
    )


def case_variance():
    return in_either_mode(lambda x: mnp.var(x, 0), X), in_either_mode(lambda x: mnp.std(x, 1, ddof=1), X)


def case_elementary():
    return [in_either_mode(f, Y) for f in (mnp.sqrt, mnp.log, mnp.exp, mnp.tanh, mnp.square, mnp.reciprocal, mnp.log1p)]


def case_arithmetic():
    return [
        in_either_mode(f, X, Y) for f in (mnp.add, mnp.subtract, mnp.multiply, mnp.divide, mnp.maximum, mnp.arctan2)
    ]


def case_numbers_and_lists():
    return mnp.add(Tensor([1, 2]), 3), mnp.sqrt(Tensor([4.0, 9.0]))


def case_where():
    return in_either_mode(lambda x, y: mnp.where(x > 0, x, y), X, Y)


def case_shapes():
    return (
        mnp.transpose(Tensor(X)),
        mnp.expand_dims(Tensor(X), 1).shape,
        mnp.ravel(Tensor(X)),
        mnp.moveaxis(Tensor(X), 0, 1),
    )


def case_tile_and_repeat():
    return in_either_mode(lambda x: mnp.tile(x, (2, 1)), X), in_either_mode(lambda x: mnp.repeat(x, 2, 1), X)


def case_take_and_diag():
    return (
        in_either_mode(lambda x: mnp.take(x, Tensor([2, 0]), 1), X),
        mnp.diag(Tensor([1.0, 2.0])),
        mnp.trace(Tensor(X)),
    )


def case_cumulative():
    return in_either_mode(lambda x: mnp.cumsum(x, 1), X), mnp.diff(Tensor(X), axis=0)


def case_products():
    return (
        in_either_mode(mnp.matmul, X, Y.T.copy()),
        in_either_mode(lambda x, y: mnp.tensordot(x, y, 2), X, Y),
        mnp.outer(Tensor([1, 2]), Tensor([3, 4])),
    )


def case_norms():
    return in_either_mode(lambda x: mnp.norm(x), X), mnp.matrix_power(Tensor([[1.0, 1.0], [0.0, 1.0]]), 3)


def case_logic():
    return (
        mnp.logical_and(Tensor(X > 0), Tensor(Y > 1)),
        mnp.isnan(Tensor(X)).any(),
        mnp.equal(Tensor(X), Tensor(X)).all(),
    )


def case_sets():
    return (
        mnp.isin(Tensor([1, 2, 3]), Tensor([2])),
        mnp.setdiff1d([1, 2, 3], [2]),
        mnp.intersect1d([1, 3, 4], [3, 4, 5]),
    )


def case_histogram():
    return mnp.histogram(Tensor([1.0, 2.0, 1.0, 3.5]), bins=3), mnp.bincount(Tensor([0, 1, 1, 3]))


def case_grids():
    return mnp.meshgrid(Tensor([1, 2]), Tensor([3, 4, 5])), mnp.mgrid[0:2, 0:3], mnp.tril_indices(3)


def case_triangles():
    return in_either_mode(mnp.tril, X), mnp.triu(Tensor(X), 1), mnp.tri(3)


def case_split():
    return mnp.split(Tensor(X), 2, 1), mnp.array_split(Tensor(X), 2), mnp.hsplit(Tensor(X), 2)


def case_rounding():
    return mnp.floor(Tensor(X)), mnp.ceil(Tensor(X)), mnp.clip(Tensor(X), -0.5, 0.5), mnp.around(Tensor(X), 1)


def case_inside_a_network():
    class Net(ms.nn.Cell):
        def construct(self, x):
            return mnp.sum(mnp.sin(x) * mnp.arange(4))

    return ms.grad(Net())(Tensor(X))
