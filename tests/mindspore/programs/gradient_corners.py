"""Corners of gradients: keyword inputs, weights that are none, hooks from outside, stores in bprop, set_inputs, refusals."""

import itertools

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, grad, jacrev, jit, jvp, nn, ops, value_and_grad, vmap
from mindspore.nn.grad import Jvp, Vjp
from mindspore.ops import composite as C
from mindspore.ops import operations as P
from mindspore.ops._grad_experimental.grad_base import bprop_getters
from mindspore.ops.primitive import PrimitiveWithInfer, prim_attr_register

from mindspore_cases import right


def tensor(*values, dtype=np.float32):
    return Tensor(np.array(values, dtype))


def numbered(*shape):
    return Tensor(np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(np.float32))


def product(x, y, z=2.0):
    return x * y * y * z


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(tensor(2.0), name="weight")

    def construct(self, x, y=None, k=1):
        out = x * self.weight * k
        return out if y is None else out * y


NUMBERS = itertools.count()
by_all = C.GradOperation(get_all=True)


def case_keywords_of_all():
    return by_all(product)(tensor(3.0), y=tensor(4.0), z=tensor(5.0)), by_all(product)(tensor(3.0), z=3, y=tensor(4.0))


def case_keywords_in_the_order_of_the_call():
    return by_all(product)(y=tensor(2.0), x=tensor(3.0))


def case_keywords_of_a_cell():
    net = Scaled()
    return C.GradOperation(get_all=True, get_by_list=True)(net, [net.weight])(tensor(3.0), y=tensor(4.0), k=2)


def case_keywords_inside_a_cell():
    class Around(nn.Cell):
        def __init__(self):
            super().__init__()
            self.net, self.grad = Scaled(), by_all

        def construct(self, x, y):
            return self.grad(self.net)(x, y=y)

    return Around()(tensor(3.0), tensor(4.0))


def case_keywords_and_sens():
    return C.GradOperation(get_all=True, sens_param=True)(product)(tensor(2.0), y=tensor(3.0), sens=tensor(10.0))


@right("keywords are refused in GRAPH mode", ([36.0], [48.0]), ("graph",))
def case_keywords_by_position():
    a, b = grad(product, (0, 1))(tensor(2.0), y=tensor(3.0), z=4.0)
    return a.asnumpy().tolist(), b.asnumpy().tolist()


def case_no_inputs():
    def nothing():
        return tensor(1.0)

    return grad(nothing)()


def case_weights_of_a_cell_by_default():
    net = Scaled()
    return C.GradOperation(get_all=True, get_by_list=True)(net)(tensor(3.0))


def case_weights_a_number():
    return grad(Scaled(), 0, 3)(tensor(3.0))


def case_weights_a_string():
    return grad(Scaled(), 0, "weight")(tensor(3.0))


def case_weights_names():
    return grad(Scaled(), 0, ["weight"])(tensor(3.0))


def case_weights_a_number_of_gradoperation():
    return C.GradOperation(get_by_list=True)(Scaled(), 3)(tensor(3.0))


def case_get_grad_by_a_string():
    return ops.get_grad(grad(product, (0, 1), return_ids=True)(tensor(3.0), tensor(4.0)), "x")


def doubled(g):
    return g * 2


def square(x):
    return x * x


def case_hook_on_an_input():
    x = tensor(3.0, -1.5)
    handle = x.register_hook(doubled)
    hooked = grad(square)(x), value_and_grad(square)(x)
    handle.remove()
    return hooked, grad(square)(x)


def case_hook_on_an_input_with_numpy():
    def fivefold(g):
        return Tensor(g.asnumpy() * 5)

    x = tensor(3.0)
    x.register_hook(fivefold)
    return grad(square)(x)


@right("a compiled gradient keeps a hook that was removed", ([6.0], [3.0], [3.0]), ("graph",))
def case_hook_on_a_parameter_removed():
    net = Scaled()
    handle = net.weight.register_hook(doubled)
    step = grad(net, None, [net.weight])
    hooked = step(tensor(3.0))
    handle.remove()
    found = hooked, step(tensor(3.0)), grad(net, None, [net.weight])(tensor(3.0))
    return tuple(g[0].asnumpy().tolist() for g in found)


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(tensor(0.0), name="count", requires_grad=False)

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        ops.assign_add(self.count, dout)
        return (dout * 2 * x,)


def case_store_in_bprop():
    net = Counting()
    grads = [grad(net)(tensor(3.0)) for _ in range(3)]
    return grads, net.count.value()


class Listed(nn.Cell):
    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        return [dout, dout * 2]


def case_bprop_with_a_list():
    return by_all(Listed())(tensor(2.0), tensor(3.0))


class Tripled(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self):
        pass

    def infer_shape(self, x):
        return x

    def infer_dtype(self, x):
        return x

    def __call__(self, x):
        return x * 3


@right("a primitive without a kernel is refused in a graph", ([12.0], [6.0], [200.0], [200.0]))
def case_rule_registered_after_compiling():
    Late = type(f"Late{next(NUMBERS)}", (Tripled,), {})  # rules are registered by name
    primitive = Late()

    def f(x):
        return primitive(x) * 2

    compiled = jit(f)
    value, before = compiled(tensor(2.0)), grad(compiled)(tensor(2.0))

    @bprop_getters.register(Late)
    def get_bprop(self):
        def bprop(x, out, dout):
            return (dout * 100,)

        return bprop

    after = grad(compiled)(tensor(2.0)), grad(f)(tensor(2.0))
    return tuple(g.asnumpy().tolist() for g in (value, before, *after))


def case_gradients_made_in_a_loop():
    net = Scaled()
    found = []
    for k in range(3):
        found.append(grad(net, 0, [net.weight])(tensor(float(k + 1))))
        net.weight.set_data(net.weight.value() + 1)
    return found


def case_missing_key_in_jit():
    @jit
    def f(x):
        return {"a": x}["b"]

    return f(tensor(1.0))


def case_missing_key_in_a_cell():
    class Net(nn.Cell):
        def construct(self, x):
            return {"a": x}["b"]

    return Net()(tensor(1.0))


def case_fullgraph():
    @jit(fullgraph=True)
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x

    return f(tensor(1.5)), grad(f)(tensor(-1.5))


def case_fullgraph_with_a_number():
    @jit(fullgraph=True)
    def f(x):
        return x * float(x.sum()) * x[0].item()

    return f(tensor(1.5, 2.0))


def case_fullgraph_with_an_array():
    @jit(fullgraph=True)
    def f(x):
        return Tensor(x.asnumpy()) * 2

    return f(tensor(1.5))


def case_fullgraph_with_a_list():
    @jit(fullgraph=True)
    def f(x):
        return x * x.tolist()[0]

    return f(tensor(1.5))


def case_strict_jit_with_an_array():
    @jit(jit_config=ms.JitConfig(jit_syntax_level="STRICT"))
    def f(x):
        return Tensor(np.sin(x.asnumpy())) * 2

    return f(tensor(1.5))


def case_jvp_of_no_function():
    return jvp(1, tensor(1.0), tensor(1.0))


def case_jvp_of_another_dtype():
    return jvp(square, tensor(1.0), tensor(1.0, dtype=np.float16))


def case_jacrev_of_no_function():
    return jacrev(1)(tensor(1.0))


def case_jvp_cell_with_one_direction_for_two():
    return Jvp(product)(tensor(1.0), tensor(2.0), tensor(1.0))


def case_vjp_cell_with_one_cotangent_for_two():
    class Two(nn.Cell):
        def construct(self, x, y):
            return x * y, x + y

    return Vjp(Two())(tensor(1.0), tensor(2.0), tensor(1.0))


def case_vmap_without_out_axes():
    return vmap(product, (0, 0), None)(numbered(2, 3), numbered(2, 3))


class Squared(nn.Cell):
    def construct(self, x):
        return x * x


def with_inputs(given):
    net = Squared()
    net.set_inputs(Tensor(shape=[None, 2], dtype=ms.float32))
    return net(given)


def case_set_inputs():
    return with_inputs(numbered(3, 2)), with_inputs(numbered(1, 2))


def case_set_inputs_of_another_shape():
    return with_inputs(numbered(3, 3))


def case_set_inputs_of_another_rank():
    return with_inputs(numbered(2))


def case_set_inputs_of_another_dtype():
    return with_inputs(Tensor(np.ones((3, 2), np.int32)))


@right("ReduceProd over all axes has the gradient one", [720.0, 360.0, 240.0, 180.0, 144.0, 120.0])
def case_product_of_everything():
    product_of = P.ReduceProd()

    def f(x):
        return product_of(x)

    return grad(f)(numbered(2, 3)).asnumpy().ravel().tolist()


@right(
    "the masks of StridedSlice are left out of its gradient", [0.0, 4.0, 6.0, 8.0, 0.0, 12.0, 14.0, 16.0] + [0.0] * 4
)
def case_strided_slice_with_an_end_mask():
    part = P.StridedSlice(end_mask=2)

    def f(x):
        return part(x, (0, 1), (2, 2), (1, 1)) ** 2

    return grad(f)(numbered(3, 4)).asnumpy().ravel().tolist()


@right("Mod rounds down in its gradient by the divisor", ([1.0, 1.0, 1.0], [-3.0, 3.0, -2.0]))
def case_mod():
    remainder = P.Mod()

    def f(x, y):
        return remainder(x, y)

    found = grad(f, (0, 1))(tensor(7.5, -7.5, 9.0), tensor(2.0, 2.0, 4.0))
    return tuple(g.asnumpy().tolist() for g in found)


def adjoint_inverse(a):
    return np.linalg.inv(a).T


@right("the gradient of an adjoint inverse is transposed", True)
def case_adjoint_of_an_inverse():
    inverse = P.MatrixInverse(adjoint=True)
    a, weights = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([[1.0, 2.0], [3.0, 5.0]])

    def f(x):
        return inverse(x) * Tensor(weights)

    found, slopes = grad(f)(Tensor(a)).asnumpy(), np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            step = np.zeros((2, 2))
            step[i, j] = 1e-6
            change = adjoint_inverse(a + step) - adjoint_inverse(a - step)
            slopes[i, j] = (change * weights).sum() / 2e-6
    return bool(np.allclose(found, slopes, atol=1e-5))
