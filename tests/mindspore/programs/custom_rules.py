"""Rules of derivatives that programs register for primitives."""

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.ops import PrimitiveWithInfer, prim_attr_register
from mindspore.ops._grad_experimental.grad_base import bprop_getters, bprops, get_bprop_fn

from mindspore_cases import right
from mindspore_programs import IGNORED, Scaled, x2


@bprop_getters.register(Scaled)
def get_bprop_scaled(self):
    factor = self.factor

    def bprop(x, out, dout):
        return (dout * factor,)

    return bprop


class Unruled(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self):
        pass

    def infer_shape(self, x):
        return x

    def infer_dtype(self, x):
        return x


class Pair(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self):
        self.init_prim_io_names(inputs=["x", "y", "n"], outputs=["p", "q"])

    def infer_shape(self, x, y, n):
        return x, y

    def infer_dtype(self, x, y, n):
        return x, y


@bprop_getters.register(Pair)
def get_bprop_pair(self):
    def bprop(x, y, n, out, dout):
        return dout[0] * 10 + y, dout[1] * n, 0

    return bprop


def case_rule_without_kernel_compiled():
    op = Scaled(7.0)

    def f(x):
        return op(x)

    @ms.jit
    def g(x):
        return ms.grad(f)(x)

    return g(x2())


def case_rule_without_kernel():
    op = Scaled(7.0)

    def f(x):
        return op(x)

    return ms.grad(f)(x2())


def case_rule_in_a_chain_compiled():
    op = Scaled(3.0)

    def f(x):
        return op(x * x)

    @ms.jit
    def g(x):
        return ms.grad(f)(x)

    return g(x2())


def case_rule_of_a_cell_s_primitive():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.op = Scaled(6.0)

        def construct(self, x):
            return self.op(x)

    net = Net()

    @ms.jit
    def g(x):
        return ms.grad(net)(x)

    return g(x2())


def case_no_rule():
    op = Unruled()

    def f(x):
        return op(x)

    return ms.grad(f)(x2())


def case_no_rule_compiled():
    op = Unruled()

    @ms.jit
    def g(x):
        return ms.grad(lambda y: op(y))(x)

    return g(x2())


def case_several_results_compiled():
    op = Pair()

    def f(x, y):
        p, q = op(x, y, 5)
        return p, q

    @ms.jit
    def g(x, y):
        return ms.grad(f, (0, 1))(x, y)

    return g(x2(), Tensor([3.0, 4.0]))


def case_too_few_gradients():
    class Few(Scaled):
        pass

    @bprop_getters.register(Few)
    def get_bprop_few(self):
        def bprop(x, out, dout):
            return ()

        return bprop

    op = Few()

    @ms.jit
    def g(x):
        return ms.grad(lambda y: op(y))(x)

    return g(x2())


def case_more_gradients_than_inputs():
    class Many(Scaled):
        pass

    @bprop_getters.register(Many)
    def get_bprop_many(self):
        def bprop(x, out, dout):
            return dout * 4, dout

        return bprop

    op = Many()

    def f(x):
        return op(x)

    @ms.jit
    def g(x):
        return ms.grad(f)(x)

    return g(x2())


def case_infer_with_dicts():
    class Told(PrimitiveWithInfer):
        @prim_attr_register
        def __init__(self):
            pass

        def __infer__(self, x, n):
            return {"shape": x["shape"], "dtype": x["dtype"], "value": None}

    @bprop_getters.register(Told)
    def get_bprop_told(self):
        def bprop(x, n, out, dout):
            return dout * n, 0

        return bprop

    op = Told()

    def f(x):
        return op(x, 9)

    @ms.jit
    def g(x):
        return ms.grad(f)(x)

    return g(x2())


class Ruled(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self):
        pass

    def infer_shape(self, x):
        return x

    def infer_dtype(self, x):
        return x

    def __call__(self, x):
        return x * 2


@bprop_getters.register(Ruled)
def get_bprop_ruled(self):
    def bprop(x, out, dout):
        return (dout * 100,)

    return bprop


@right("MindSpore uses the rule in one mode and the body in the other", Tensor([100.0, 100.0]), modes=("pynative",))
def case_call_with_a_rule():
    op = Ruled()

    def f(x):
        return op(x)

    return ms.grad(f)(x2())


@right(IGNORED, (Tensor([100.0, 100.0]), Tensor([100.0, 100.0])))
def case_rule_of_an_operator_by_name():
    @bprop_getters.register("Sigmoid")
    def get_bprop_sigmoid(self):
        def bprop(x, out, dout):
            return (dout * 100,)

        return bprop

    op = ops.Sigmoid()

    def f(x):
        return op(x)

    def g(x):
        return ops.sigmoid(x)

    try:
        return ms.grad(f)(x2()), ms.grad(g)(x2())
    finally:
        del bprop_getters["Sigmoid"]


def case_a_rule_that_was_taken_back():
    @bprop_getters.register("Tanh")
    def get_bprop_tanh(self):
        def bprop(x, out, dout):
            return (dout * 100,)

        return bprop

    del bprop_getters["Tanh"]
    op = ops.Tanh()

    def f(x):
        return op(x)

    return ms.grad(f)(x2())


@right(IGNORED, Tensor([50.0, 50.0]))
def case_plain_rule_of_an_operator():
    @bprops.register("ReLU")
    def bprop_relu(x, out, dout):
        return (dout * 50,)

    op = ops.ReLU()

    def f(x):
        return op(x)

    try:
        return ms.grad(f)(x2())
    finally:
        del bprops["ReLU"]


def case_rule_registered_after_compilation():
    class Later(PrimitiveWithInfer):
        @prim_attr_register
        def __init__(self):
            pass

        def infer_shape(self, x):
            return x

        def infer_dtype(self, x):
            return x

    @bprop_getters.register(Later)
    def get_bprop_later(self):
        def bprop(x, out, dout):
            return (dout * 3,)

        return bprop

    op = Later()

    def f(x):
        return op(x)

    @ms.jit
    def g(x):
        return ms.grad(f)(x)

    return g(x2())


def case_rules_can_be_looked_up():
    found = get_bprop_fn(Scaled(5.0))
    return found(x2(), None, Tensor([2.0, 4.0])), get_bprop_fn("NoSuchOperator") is None
