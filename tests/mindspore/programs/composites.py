"""HyperMap, Map, MultitypeFuncGraph, partial and the primitives of containers, loops and order."""

import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P

from mindspore_cases import right
from mindspore_programs import Net, combine, hyper, of, plain, square

X = Tensor([0.5, -1.25, 2.0], ms.float32)
Y = Tensor([[1.5, 0.25, -0.75], [2.0, -0.5, 1.0]], ms.float32)
S = Tensor(1.75, ms.float32)


def case_dispatch_by_types():
    return square(X), square(4), square(2.5), combine(X, X), combine(2, X), combine((X, 1), X), combine("a", 2)


def case_dispatch_in_a_graph():
    def f(x):
        return combine(x, square(x)) + combine(square(2), x) + combine((x, 2), x)

    return of(f, X)


def case_dispatch_on_lists():
    def f(x):
        return combine([x, 1], [x * 2])

    return of(f, X)


def case_no_form_fits():
    return combine("a", "b")


def case_no_form_fits_in_a_graph():
    def f(x):
        return combine(x, "b")

    return ms.jit(f)(X)


def case_hyper_map_of_a_tuple():
    def f(x):
        return hyper(square, (x, x + 1, (x * 2, 3)))

    return of(f, X)


def case_hyper_map_of_two_tuples():
    def f(x, y):
        return hyper(combine, (x, y[0]), (y[1], x))

    return of(f, X, Y, wrt=(0, 1))


def case_hyper_map_of_a_list():
    def f(x):
        return hyper(square, [x, 2, [x + 1]])

    return Net(f)(X), ms.grad(f)(X)


def case_hyper_map_with_its_function():
    mapped = ops.HyperMap(square)

    def f(x):
        return mapped((x, (x, 2.5)))

    return of(f, X)


def case_hyper_map_with_a_lambda():
    def f(x, y):
        return hyper(lambda a, b: a * b + 1, (x, (x, x)), (y[0], (y[1], x)))

    return of(f, X, Y, wrt=(0, 1))


def case_hyper_map_with_partial():
    def scaled(k, v):
        return v * k

    def f(x, s):
        return hyper(ops.partial(scaled, s), (x, x + 1))

    return of(f, X, S, wrt=(0, 1))


def case_hyper_map_with_a_primitive():
    def f(x):
        return hyper(P.Add(), (x, x), (x * 2, x * 3)), hyper(F.sin, (x,))

    return of(f, X)


def case_hyper_map_of_one_tensor():
    def f(x):
        return hyper(square, x)

    return of(f, X)


def case_hyper_map_in_reverse():
    reverse = ops.HyperMap(square, True)

    def f(x):
        return reverse((x, x * 2))

    return of(f, X)


def case_map_of_tuples():
    def f(x, y):
        return plain(combine, (x, 2), (y[0], x))

    return of(f, X, Y, wrt=(0, 1))


def case_map_does_not_go_inside():
    def f(x):
        return plain(lambda t: t[0] * t[1], ((x, x), (x, x + 1)))

    return of(f, X)


@right("a Map with its function made inside is refused", (*[(X * X, X * X, 6)] * 2, X * 4))
def case_map_with_its_function():
    def f(x):
        return ops.Map(square)((x, x, 2))

    return of(f, X)


class Updates(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = Parameter(Tensor([1.0, 2.0, 3.0], ms.float32), name="a")
        self.b = Parameter(Tensor([0.5, 0.25, 4.0], ms.float32), name="b")
        self.weights = ParameterTuple((self.a, self.b))
        self.map = C.HyperMap()

    def construct(self, x):
        parts = self.map(F.partial(combine, x), self.weights)
        return parts[0] + parts[1]


def case_hyper_map_over_parameters():
    net = Updates()
    return net(X), ms.grad(net, 0, net.trainable_params())(X)


def clip(low, high, g):
    return ops.clip_by_value(g, low, high)


class ClippedGradients(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = Updates()
        self.weights = self.net.weights
        self.grad = ops.GradOperation(get_by_list=True)
        self.hyper_map = ops.HyperMap()

    def construct(self, x):
        grads = self.grad(self.net, self.weights)(x)
        return self.hyper_map(F.partial(clip, Tensor(-1.0), Tensor(1.0)), grads)


def case_gradients_through_a_hyper_map():
    return ClippedGradients()(X)


def case_partial():
    def g(a, b, c):
        return a * b + c

    def f(x, y):
        h = ops.partial(g, x)
        k = P.Partial()(g, x, y[0])
        return h(y[0], y[1]) + k(x)

    return of(f, X, Y, wrt=(0, 1))
