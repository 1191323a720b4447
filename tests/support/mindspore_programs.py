"""What several families of programs for MindSpore have in common; it runs with MindSpore itself too."""

import mindspore as ms
import numpy as np
from mindspore import COOTensor, CSRTensor, Tensor, nn, ops
from mindspore.ops import PrimitiveWithInfer, prim_attr_register
from mindspore.ops import composite as C

# ---------------------------------------------------------------- values and gradients


def numbers(*shape, seed=0.0, scale=1.5):
    """Numbers without a pattern, the same everywhere."""
    count = int(np.prod(shape))
    return Tensor((scale * np.sin(1.7 * np.arange(count) + seed) + 0.1).reshape(shape).astype(np.float32))


class Run(nn.Cell):
    def __init__(self, op):
        super().__init__()
        self.op = op

    def construct(self, *inputs):
        return self.op(*inputs)


class Squared(nn.Cell):
    def __init__(self, op):
        super().__init__()
        self.op = op

    def construct(self, *inputs):
        y = self.op(*inputs)
        return y * y * 0.5


def both_squared(op, *inputs):
    """The value, and the gradients of half its square by all inputs."""
    return Run(op)(*inputs), ms.grad(Squared(op), tuple(range(len(inputs))))(*inputs)


def compiled(fn, *inputs, wrt=0):
    """The value of a compiled function, and its gradient, compiled in two ways."""
    return ms.jit(fn)(*inputs), ms.grad(fn, wrt)(*inputs), ms.grad(ms.jit(fn), wrt)(*inputs)


def value(fn, *inputs):
    """What a compiled function gives, and what a Cell around it gives."""

    class Net(nn.Cell):
        def construct(self, *args):
            return fn(*args)

    return ms.jit(fn)(*inputs), Net()(*inputs)


def in_either_mode(fn, *arrays):
    inputs = [Tensor(a) for a in arrays]
    try:
        return fn(*inputs), ms.grad(fn, tuple(range(len(inputs))))(*inputs)
    except TypeError:  # MindSpore's compiler does not read lambdas
        ms.set_context(mode=ms.PYNATIVE_MODE)
        return fn(*inputs), ms.grad(fn, tuple(range(len(inputs))))(*inputs)


# ---------------------------------------------------------------- functions by the types of their arguments

square = C.MultitypeFuncGraph("square")


@square.register("Tensor")
def square_tensor(x):
    return x * x


@square.register("Number")
def square_number(x):
    return x * 3


combine = ops.MultitypeFuncGraph("combine")


@combine.register("Tensor", "Tensor")
def combine_tensors(x, y):
    return x * y


@combine.register("Number", "Tensor")
def combine_number(x, y):
    return y + x


@combine.register("Tuple", "Tensor")
def combine_tuple(x, y):
    return x[0] * y + x[1]


@combine.register("String", "Number")
def combine_text(x, y):
    return x + "!" * y


@combine.register("List", "List")
def combine_lists(x, y):
    return x[0] + y[0]


hyper, plain = C.HyperMap(), C.Map()


class Net(nn.Cell):
    """A Cell around a function."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def construct(self, *args):
        return self.fn(*args)


def of(fn, *inputs, wrt=0):
    """What a function gives as a Cell and compiled, and its gradient."""
    return Net(fn)(*inputs), ms.jit(fn)(*inputs), ms.grad(Net(fn), wrt)(*inputs)


# ---------------------------------------------------------------- sparse matrices

PLACES = "MindSpore gives the gradient of a sparse input zeros for places; they are those of the input"


def places(dtype=ms.int32):
    return Tensor([[0, 3], [2, 1], [2, 2]], dtype)


def values():
    return Tensor([1.5, -2.0, 4.0])


def coo(dtype=ms.int32):
    return COOTensor(places(dtype), values(), (3, 4))


def csr():
    return CSRTensor(Tensor([0, 1, 1, 3], ms.int32), Tensor([3, 1, 2], ms.int32), values(), (3, 4))


def dense():
    return Tensor(np.arange(1, 13, dtype=np.float32).reshape(3, 4))


def parts(x):
    return x.to_tuple()


# ---------------------------------------------------------------- primitives

IGNORED = "MindSpore keeps its own rule: one registered for an operator that has one is ignored without a word"


def x2():
    return Tensor([1.5, -0.5])


class Scaled(PrimitiveWithInfer):
    """Known by its shape, its dtype and its derivative only."""

    @prim_attr_register
    def __init__(self, factor=2.0, label="s"):
        self.add_prim_attr("twice", 2 * factor)

    def infer_shape(self, x):
        return x

    def infer_dtype(self, x):
        return x
