"""jvp, vjp, jacfwd, jacrev, vmap, linearize, jet, derivative and the Cells Jvp and Vjp."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.nn.grad import Jvp, Vjp
from mindspore.ops import functional as F

from mindspore_cases import right

X = np.array([[0.5, -1.25], [2.0, 0.75], [1.5, -0.5]], np.float32)
Y = np.array([[4.0, 1.5], [-3.0, 0.25], [2.0, 1.0]], np.float32)
V = np.array([[1.0, 0.0], [0.5, -1.0], [2.0, 3.0]], np.float32)


def cube(x):
    return x * x * x


def product(x, y):
    return x * y * y


def two(x, y):
    return x * y, x + 3 * y


def with_aux(x, y):
    return x * y, x + 1


def with_two_aux(x, y):
    return x * y, x + 1, y


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, -1.0]), name="w")
        self.b = Parameter(Tensor([[1.0], [3.0], [0.5]]), name="b")

    def construct(self, x, y):
        return self.w * x * x + y * self.b


class One(nn.Cell):
    def construct(self, x):
        return x**3


class Pair(nn.Cell):
    def construct(self, x, y):
        return 2 * x, y**3


def case_jvp_bare():
    return ms.jvp(cube, Tensor(X), Tensor(V))


def case_jvp_tuples():
    return ms.jvp(product, (Tensor(X), Tensor(Y)), (Tensor(V), Tensor(X)))


def case_jvp_lists():
    return ops.jvp(product, [Tensor(X), Tensor(Y)], [Tensor(V), Tensor(X)])


def case_jvp_several_outputs():
    return F.jvp(two, (Tensor(X), Tensor(Y)), (Tensor(V), Tensor(X)))


def case_jvp_of_a_cell():
    return ms.jvp(Net(), (Tensor(X), Tensor(Y)), (Tensor(V), Tensor(V)))


def case_jvp_aux():
    return (
        ms.jvp(with_aux, (Tensor(X), Tensor(Y)), (Tensor(V), Tensor(X)), has_aux=True),
        ms.jvp(with_two_aux, (Tensor(X), Tensor(Y)), (Tensor(V), Tensor(X)), has_aux=True),
    )


@right("a tuple of one direction is refused", (X**3, 3 * X * X * V))
def case_jvp_tuple_of_one():
    return ms.jvp(cube, (Tensor(X),), (Tensor(V),))


def case_jvp_of_an_unused_input():
    def f(x, y):
        return x * 2

    return ms.jvp(f, (Tensor(X), Tensor(Y)), (Tensor(V), Tensor(V)))


def case_jvp_count():
    return ms.jvp(product, (Tensor(X), Tensor(Y)), (Tensor(V),))


def case_jvp_of_numbers():
    return ms.jvp(cube, 2.0, 1.0)


def case_jvp_shape():
    return ms.jvp(cube, Tensor(X), Tensor([1.0]))


def case_jvp_aux_not_bool():
    return ms.jvp(with_aux, (Tensor(X), Tensor(Y)), (Tensor(V), Tensor(X)), has_aux=1)


def case_jvp_aux_missing():
    return ms.jvp(cube, Tensor(X), Tensor(V), has_aux=True)


def case_jvp_inside_a_network():
    class Pushed(nn.Cell):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def construct(self, x, v):
            return ops.jvp(self.net, x, v)

    return Pushed(One())(Tensor(X), Tensor(V))


def case_vjp():
    out, pull = ms.vjp(cube, Tensor(X))
    return out, pull(Tensor(V))


def case_vjp_two_inputs():
    out, pull = ms.vjp(product, Tensor(X), Tensor(Y))
    return out, pull(Tensor(V))


def case_vjp_several_outputs():
    out, pull = ops.vjp(two, Tensor(X), Tensor(Y))
    return out, pull(Tensor(V), Tensor(X))


def case_vjp_several_outputs_in_a_tuple():
    out, pull = ops.vjp(two, Tensor(X), Tensor(Y))
    return out, pull((Tensor(V), Tensor(X)))


def case_vjp_weights():
    net = Net()
    out, pull = F.vjp(net, Tensor(X), Tensor(Y), weights=ParameterTuple(net.trainable_params()))
    return out, pull(Tensor(V))


def case_vjp_one_weight():
    net = Net()
    out, pull = F.vjp(net, Tensor(X), Tensor(Y), weights=net.w)
    return out, pull(Tensor(V))


def case_vjp_aux():
    out, pull, aux = ms.vjp(with_aux, Tensor(X), Tensor(Y), has_aux=True)
    return out, pull(Tensor(V)), aux


def case_vjp_two_aux():
    out, pull, rest = ms.vjp(with_two_aux, Tensor(X), Tensor(Y), has_aux=True)
    return out, pull(Tensor(V)), rest


def case_vjp_of_a_number():
    return ms.vjp(cube, 2.0)


def case_vjp_aux_missing():
    return ms.vjp(cube, Tensor(X), has_aux=True)


def case_vjp_aux_not_bool():
    return ms.vjp(cube, Tensor(X), has_aux="yes")


def case_vjp_twice():
    _, pull = ms.vjp(cube, Tensor(X))
    return pull(Tensor(V)), pull(Tensor(X))


def case_jacfwd():
    return ms.jacfwd(cube)(Tensor(X))


def case_jacrev():
    return ms.jacrev(cube)(Tensor(X))


def case_jacobians_by_a_position():
    x, y = Tensor(X[:2]), Tensor(Y[:2])
    return ms.jacfwd(product, 1)(x, y), ms.jacrev(product, 1)(x, y), ops.jacrev(product, (1,))(x, y)


def case_jacobians_by_positions():
    x, y = Tensor(X[0]), Tensor(Y[0])
    return ms.jacfwd(product, (0, 1))(x, y), ms.jacrev(product, (0, 1))(x, y)


def case_jacobians_of_several_outputs():
    x, y = Tensor(X[0]), Tensor(Y[0])
    return ms.jacfwd(two, 0)(x, y), ms.jacrev(two, 0)(x, y), ms.jacfwd(two, (0, 1))(x, y), ms.jacrev(two, (0, 1))(x, y)


def case_jacobians_with_aux():
    x, y = Tensor(X[0]), Tensor(Y[0])
    return ms.jacfwd(with_aux, 0, has_aux=True)(x, y), ms.jacrev(with_two_aux, 1, has_aux=True)(x, y)


def case_jacobian_of_another_shape():
    def f(x):
        return ops.concat((x.sum(1), x[0] * x[1]))

    return ms.jacfwd(f)(Tensor(X)), ms.jacrev(f)(Tensor(X))


def case_jacobian_of_a_cell():
    return ms.jacrev(Net(), (0, 1))(Tensor(X), Tensor(Y)), ms.jacfwd(One())(Tensor(X))


def case_hessian():
    return ms.jacfwd(ms.jacrev(cube))(Tensor(X[0]))


def case_hessian_the_other_way():
    return ms.jacrev(ms.jacfwd(cube))(Tensor(X[0]))


def case_jacobian_position_list():
    return ms.jacfwd(product, [0])(Tensor(X), Tensor(Y))


def case_jacobian_position_beyond():
    return ms.jacrev(product, 5)(Tensor(X), Tensor(Y))


def case_jacobian_position_negative():
    return ms.jacrev(product, -1)(Tensor(X), Tensor(Y))


def case_jacobian_aux_not_bool():
    return ms.jacrev(product, 0, 3)(Tensor(X), Tensor(Y))


def case_linearize():
    out, push = ops.linearize(cube, Tensor(X))
    return out, push(Tensor(V)), push(Tensor(Y))


def case_linearize_two_inputs():
    out, push = ops.linearize(product, (Tensor(X), Tensor(Y)))
    return out, push((Tensor(V), Tensor(V)))


def case_linearize_of_a_number():
    return ops.linearize(cube, 3.0)


def case_jet():
    return ops.jet(
        cube, Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor(np.stack([np.ones((2, 2)), np.zeros((2, 2))]), ms.float32)
    )


def case_jet_two_inputs():
    class Sum(nn.Cell):
        def __init__(self):
            super().__init__()
            self.sin, self.exp = ops.Sin(), ops.Exp()

        def construct(self, x, y):
            return self.sin(x) + self.exp(y)

    one = np.array([[[1.0, 1.0]], [[0.0, 0.0]], [[0.0, 0.0]]], np.float32)
    return ops.jet(Sum(), (Tensor(X[:1]), Tensor(Y[:1])), (Tensor(one), Tensor(one)))


def case_jet_of_integers():
    return ops.jet(ops.exp, Tensor([1, 2]), Tensor([[1, 1], [0, 0]]))


def case_jet_of_first_order():
    return ops.jet(ops.sin, Tensor(X[0]), Tensor(V[0]))


def case_jet_types():
    return ops.jet(ops.sin, Tensor(X[0]), 3.0)


def case_jet_shapes():
    return ops.jet(ops.sin, Tensor(X[0]), Tensor([[1.0, 1.0, 1.0]]))


def case_derivative():
    return ops.derivative(cube, Tensor(X[0]), 2), ops.derivative(ops.sin, Tensor(X), 3)


def case_derivative_two_inputs():
    class Sum(nn.Cell):
        def __init__(self):
            super().__init__()
            self.sin, self.exp = ops.Sin(), ops.Exp()

        def construct(self, x, y):
            return self.sin(x) + self.exp(y)

    return ops.derivative(Sum(), (Tensor(X[0]), Tensor(Y[0])), 3)


def case_derivative_order_zero():
    return ops.derivative(ops.sin, Tensor(X), 0)


def case_derivative_order_float():
    return ops.derivative(ops.sin, Tensor(X), 1.5)


def case_jvp_cell():
    return Jvp(One())(Tensor(X), Tensor(V))


def case_jvp_cell_two_inputs():
    return Jvp(Pair())(Tensor(X), Tensor(Y), (Tensor(V), Tensor(V)))


def case_jvp_cell_of_a_function():
    return nn.Jvp(cube)(Tensor(X), Tensor(V))


def case_vjp_cell():
    return Vjp(One())(Tensor(X), Tensor(V))


def case_vjp_cell_two_inputs():
    return Vjp(Pair())(Tensor(X), Tensor(Y), (Tensor(V), Tensor(V)))


def case_vjp_cell_of_a_sum():
    return nn.Vjp(Net())(Tensor(X), Tensor(Y), Tensor(V))
