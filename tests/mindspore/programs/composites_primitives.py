"""Primitives of order, loops, containers and Python numbers, and functions of constants."""

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P
from mindspore.ops.composite.base import core

from mindspore_programs import Net, hyper, of, square_tensor

X = Tensor([0.5, -1.25, 2.0], ms.float32)
Y = Tensor([[1.5, 0.25, -0.75], [2.0, -0.5, 1.0]], ms.float32)
S = Tensor(1.75, ms.float32)


def case_depend_keeps_the_value():
    depend = P.Depend()

    def f(x):
        y = x * 2
        return depend(y, x.sum()) * ops.depend(x, y)

    return of(f, X)


def case_print_leaves_values_alone():
    show = P.Print()

    def f(x):
        show("x is", x)
        ops.print_("and", x.sum())
        return x * x

    return of(f, X)


def case_while_loop():
    loop = ops.WhileLoop()

    def f(s):
        return loop(lambda v: v < 20, lambda v: v * 2 + 1, s)

    return Net(f)(S)


def case_while_loop_of_a_list():
    loop = ops.WhileLoop()

    def more(v):
        return v[1] < 4

    def step(v):
        return [v[0] * 2, v[1] + 1]

    def f(x):
        return loop(more, step, [x, Tensor(0)])

    return Net(f)(X)


def case_fori_loop():
    loop = ops.ForiLoop()

    def step(i, v):
        return v * 1.5 + i

    def f(x):
        return loop(1, 4, step, x)

    return of(f, X)


def case_scan():
    scan = ops.Scan()

    def step(carry, x):
        return carry + x, carry * x

    def f(x):
        return scan(step, x, [x * 2, x * 3], 2, True)

    return of(f, X)


def case_sequence_primitives():
    def f(x):
        t = F.make_tuple(x, 2)
        return F.tuple_getitem(t, 0) * F.tuple_len(t), F.make_range(1, 4), C.tail((1, 2, 3))

    return ms.jit(f)(X), ms.grad(ms.jit(f))(X)


def case_list_and_dict_primitives():
    def f(x):
        items = F.make_list(x, x * 2)
        d = F.make_dict(("a", "b"), (x, x * 3))
        return F.list_getitem(items, 1) + F.dict_getitem(d, "b"), F.list_len(items)

    return ms.jit(f)(X), ms.grad(ms.jit(f))(X)


def case_scalar_primitives():
    def f(x):
        n = F.scalar_add(2, 3) * F.scalar_mul(2, 2) - F.scalar_sub(7, 1)
        m = F.scalar_floordiv(7, 2) + F.scalar_mod(7, 4) + F.scalar_div(9, 2)
        flags = F.scalar_gt(2, 1), F.scalar_le(2, 1), F.scalar_eq(2, 2), F.bool_not(True)
        return x * n + m, flags

    return ms.jit(f)(X)


def case_mixed_precision_cast():
    def f(x):
        return ops.mixed_precision_cast(ms.float16, (x, 2, (x * 2,)))

    return Net(f)(X)


def case_switch_layer():
    layers = nn.CellList([nn.ReLU(), nn.Tanh(), nn.Sigmoid()])

    class Chooses(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def construct(self, i, x):
            return self.layers[i](x)

    net = Chooses()
    return [net(i, X) for i in (0, 1, 2)]


def case_add_flags():
    @C.add_flags(has_effect=True)
    def f(x):
        return x * 2

    @core
    def g(x):
        return x * 3

    return f(X), g(X), f._func_graph_flags


def case_functional_and_operations_agree():
    return F.add(X, X), P.Add()(X, X), F.grad(ops.sin)(X), C.GradOperation()(ops.cos)(X)


def case_constexpr():
    @ms.ops.constexpr
    def half(n):
        return n // 2

    def f(x):
        return x * half(x.shape[0] + 4)

    return of(f, X)


def case_primexpr():
    from mindspore.ops.primitive import _primexpr

    @_primexpr
    def doubled(shape):
        return tuple(n * 2 for n in shape)

    def f(x):
        return x * doubled(x.shape)[0]

    return ms.jit(f)(X)


def case_zeros_like_over_containers():
    def f(x):
        return hyper(ops.zeros_like, (x, (x, x)))

    return Net(f)(X)


def case_unknown_names_of_types():
    f = ops.MultitypeFuncGraph("f")
    f.register(3)(square_tensor)
