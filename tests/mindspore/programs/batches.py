"""vmap: axes, composition with gradients, ensembles of networks."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.ops import functional as F

from mindspore_cases import right

X = np.array([[0.5, -1.25], [2.0, 0.75], [1.5, -0.5]], np.float32)
Y = np.array([[4.0, 1.5], [-3.0, 0.25], [2.0, 1.0]], np.float32)


def dot(x, y):
    return (x * y).sum()


def scaled(x, y):
    return x * 2 + y


def case_both_by_axis_zero():
    return ms.vmap(dot)(Tensor(X), Tensor(Y))


def case_axes_in_a_tuple():
    return ops.vmap(dot, in_axes=(0, None))(Tensor(X), Tensor(Y[0])), F.vmap(scaled, (1, None), 1)(
        Tensor(X), Tensor(Y[:, 0])
    )


def case_out_axes():
    return ms.vmap(scaled, in_axes=(0, 0), out_axes=1)(Tensor(X), Tensor(Y))


def case_negative_axes():
    return ms.vmap(dot, in_axes=-1)(Tensor(X), Tensor(Y)), ms.vmap(scaled, (-1, -1), -1)(Tensor(X), Tensor(Y))


def case_nested_axes():
    def f(x, pair):
        return x * pair[0] + pair[1]

    return ms.vmap(f, in_axes=(0, (0, None)))(Tensor(X), (Tensor(Y), Tensor(Y[0])))


def case_several_outputs():
    def f(x, y):
        return x + y, (x * y).sum()

    return ms.vmap(f, in_axes=0, out_axes=(1, 0))(Tensor(X), Tensor(Y))


def case_nested_vmap():
    def add(x, y):
        return x + y

    return ms.vmap(ms.vmap(add, (None, 0)), (0, None))(Tensor(X[:, 0]), Tensor(Y[:, 1]))


def case_of_grad():
    def f(x, y):
        return (x * x * y).sum()

    return ms.vmap(ms.grad(f, (0, 1)), (0, None))(Tensor(X), Tensor(Y[0]))


def case_grad_of():
    def f(x, y):
        return ms.vmap(dot, (0, None))(x, y) ** 2

    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y[0]))


def case_of_a_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, -1.0]), name="w")

        def construct(self, x):
            return (self.w * x).sum()

    return ms.vmap(Net())(Tensor(X))


def case_inside_a_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.each = ops.vmap(dot, (0, 0))

        def construct(self, x, y):
            return self.each(x, y) * 2

    return Net()(Tensor(X), Tensor(Y)), ms.grad(Net(), (0, 1))(Tensor(X), Tensor(Y))


@right("a primitive is refused", (X.sum(1), X[:, None] @ Y[:, :, None]))
def case_of_a_primitive():
    return ms.vmap(ops.ReduceSum())(Tensor(X)), ms.vmap(ops.MatMul())(Tensor(X[:, None]), Tensor(Y[:, :, None]))


class Affine(nn.Cell):
    def __init__(self, w, b):
        super().__init__()
        self.w = Parameter(Tensor(w, ms.float32), name="w")
        self.b = Parameter(Tensor(b, ms.float32), name="b")

    def construct(self, x):
        return self.w * x + self.b


def case_of_a_list_of_cells():
    cells = nn.CellList([Affine([1.0, 2.0], 0.5), Affine([3.0, -1.0], 1.5), Affine([0.0, 4.0], -2.0)])
    return ops.vmap(cells, in_axes=0)(Tensor(X)), ops.vmap(cells, in_axes=None)(Tensor(X[0]))


def case_per_example_gradients():
    net = Affine([1.0, 2.0], 0.5)

    def loss(x, y):
        return ((net(x) - y) ** 2).sum()

    return ms.vmap(ms.grad(loss, 0))(Tensor(X), Tensor(Y))


def case_axis_beyond():
    return ms.vmap(dot, in_axes=3)(Tensor(X), Tensor(Y))


def case_axes_of_another_count():
    return ms.vmap(dot, in_axes=(0, 0, 0))(Tensor(X), Tensor(Y))


def case_no_axis():
    return ms.vmap(dot, in_axes=None)(Tensor(X), Tensor(Y))


def case_sizes_differ():
    return ms.vmap(dot)(Tensor(X), Tensor(Y[:2]))


def case_axis_of_another_type():
    return ms.vmap(dot, in_axes=1.5)(Tensor(X), Tensor(Y))


def case_axis_bool():
    return ms.vmap(dot, in_axes=True)(Tensor(X), Tensor(Y))


def case_not_a_function():
    return ms.vmap(3)(Tensor(X))
