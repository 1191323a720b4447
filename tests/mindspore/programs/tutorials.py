"""What MindSpore's tutorials do, in their order: Tensors, networks, derivatives, training, files, mixed precision, graphs."""

import itertools
import pickle

import mindspore as ms
import numpy as np
from mindspore import COOTensor, CSRTensor, Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.common import dtype as mstype
from mindspore.common.initializer import One

from mindspore_cases import right

SHOWN = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16 complex64 complex128 half intc "
    "int float bool string number int_ float_ uint"
)


def numbers(*shape, start=0.0, dtype=np.float32):
    count = int(np.prod(shape))
    return np.sin(np.arange(count) * 1.7 + start).reshape(shape).astype(dtype)


class Net(nn.Cell):
    def __init__(self, sizes=(6, 5, 3)):
        super().__init__()
        self.flatten = nn.Flatten()
        layers = []
        for k, (n, m) in enumerate(itertools.pairwise(sizes)):
            layers += [nn.Dense(n, m, Tensor(numbers(m, n, start=k)), Tensor(numbers(m, start=k + 9))), nn.ReLU()]
        self.layers = nn.SequentialCell(*layers[:-1])

    def construct(self, x):
        return self.layers(self.flatten(x))


# ---------------------------------------------------------------- Tensors


def case_dtypes_are_shown():
    kinds = [getattr(mstype, name) for name in SHOWN.split()]
    x = Tensor(numbers(2, 3), ms.float16)
    return (
        [str(k) for k in kinds],
        repr(kinds),
        f"{x.dtype}",
        f"{x.dtype} and {x.dtype!r}",
        f"{ms.uint8!s:>8}|",
    )


def case_dtypes_are_compared():
    x = Tensor([3, 4], ms.int32)
    same = (
        x.dtype is ms.int32,
        x.dtype == mstype.int32,
        x.dtype == ms.int64,
        x.dtype != ms.float32,
        x.dtype is x.copy().dtype,
    )
    others = x.dtype is None, x.dtype == None, x.dtype in (ms.int8, ms.int32), {ms.int32: 7}[x.dtype]  # noqa: E711
    kept = pickle.loads(pickle.dumps(ms.float16)) == ms.float16
    return (
        *same,
        *others,
        kept,
        mstype.int_ == ms.int64,
        isinstance(ms.float32, mstype.Type),
        hash(ms.bool_) == hash(mstype.bool_),
    )


def case_what_a_dtype_knows():
    kinds = ms.float16, ms.int32, ms.complex64, ms.bool_, ms.uint8
    told = [(k.itemsize, k.is_floating_point, k.is_complex, k.is_signed) for k in kinds]
    return told, repr(ms.float64.to_complex()), repr(ms.complex64.to_real()), isinstance(ms.int16, mstype.Int)


def case_dtypes_of_python_and_numpy():
    found = [mstype.pytype_to_dtype(k) for k in (int, float, bool, np.float32, np.int8)]
    return (
        repr(found), mstype.dtype_to_nptype(ms.float16).__name__, mstype.dtype_to_pytype(ms.uint8).__name__, str(mstype.TensorType(ms.int8)),
        repr(mstype.TensorType(ms.float32)), mstype.TensorType(ms.int8).element_type() is ms.int8, repr(ops.dtype(Tensor(2.5))),
    )  # fmt: skip


def case_a_dtype_of_numpy_is_refused():
    return Tensor([1, 2], np.float32)


def case_a_dtype_in_a_function():
    @ms.jit
    def halved(x):
        if x.dtype == ms.float32:
            return x.astype(ms.float16) / 2
        return ops.zeros((2,), x.dtype)

    return halved(Tensor([3.0, 5.0])), halved(Tensor([3, 5], ms.int16)), str(halved(Tensor([3.0])).dtype)


def case_what_a_tensor_knows():
    x = Tensor(numbers(3, 5), ms.float64)
    return x.shape, str(x.dtype), x.itemsize, x.nbytes, x.ndim, x.size, x.strides, len(x), str(type(x.asnumpy()))


def case_tensors_are_shown():
    values = [
        2.0, 0.1, -7, True, 1e-9, float("nan"), 3 - 2j, [1, 20, -300], [[True], [False]], [1.5, float("inf")], [2.5e-8], [1 + 2j],
        np.arange(24).reshape(2, 3, 4), np.zeros((2, 0)), np.zeros(0), np.arange(2002), np.arange(1300.0).reshape(13, 100),
        np.array([1.5, -2], np.float16), np.arange(31), np.arange(14.0), np.array([9, 200], np.uint8), np.arange(2400).reshape(4, 6, 100),
    ]  # fmt: skip
    return [repr(Tensor(v)) for v in values]


def case_tensors_and_parameters_inside_others():
    p = Parameter(Tensor(numbers(2, 3)), name="weight")
    frozen = Parameter(Tensor([1, 2], ms.int8), name="steps", requires_grad=False)
    return (
        str(p),
        repr(frozen),
        str([Tensor([1.0])]),
        str({"a": Tensor(4)}),
        str(p.value().shape),
        f"{Tensor([1, 2])} {(p,)}",
    )


def case_made_in_several_ways():
    ones = Tensor(shape=(2, 3), dtype=ms.float32, init=One())
    x = Tensor([1, 0, 1])
    return (
        ones,
        ops.ones_like(x),
        ops.zeros_like(x),
        Tensor(np.array([1.5, 2.5])),
        Tensor((True, False)),
        x[0],
        x[..., -1],
    )


def case_memory_of_an_array():
    n = np.ones(5)
    t = Tensor.from_numpy(n)
    before = str(t + 0)
    np.add(n, 1, out=n)
    t[2] = -4.0
    again = ms.from_numpy(n)
    return before, str(t), n.tolist(), again.shape, str(again.dtype)


@right("MindSpore's graphs keep what the array held when they were made", (True, True), modes=("graph",))
def case_memory_of_an_array_and_derivatives():
    n = numbers(4)
    t = Tensor.from_numpy(n)

    def weighted(x):
        return (x * x * t).sum()

    slope, x = ms.grad(weighted), numbers(4, start=2)
    first = np.allclose(slope(Tensor(x)).asnumpy(), 2 * x * n, atol=1e-5)
    n[:] = 2.0
    return first, np.allclose(slope(Tensor(x)).asnumpy(), 4 * x, atol=1e-5)


def case_what_is_no_array():
    return Tensor.from_numpy([1.0, 2.0])


def case_sparse_tensors():
    csr = CSRTensor(Tensor([0, 1, 2]), Tensor([0, 1]), Tensor([1, 2], dtype=ms.float32), (2, 4))
    coo = COOTensor(Tensor([[0, 1], [1, 2]], dtype=ms.int32), Tensor([1, 2], dtype=ms.float32), (3, 4))
    return str(csr.astype(ms.float64).dtype), coo.values, coo.indices, coo.shape, str(coo.astype(ms.float16).dtype)


# ---------------------------------------------------------------- networks


def case_a_network_is_shown():
    return (
        str(Net()),
        repr(nn.SequentialCell(nn.Softmax(), nn.LeakyReLU(), nn.CrossEntropyLoss())),
        str(nn.CellList([nn.Flatten()])),
    )


def case_the_parameters_of_a_network():
    net = Net((4, 3, 2))
    return [(name, p.shape, p[:1]) for name, p in net.parameters_and_names()], [str(p) for p in net.trainable_params()]


def case_layer_after_layer():
    net = Net((6, 4, 5))
    x = ops.ones((3, 2, 3), ms.float32)
    odds = nn.Softmax(axis=1)(net(x))
    return nn.Flatten()(x).shape, odds, odds.argmax(1), str(odds.argmax(1).dtype)


# ---------------------------------------------------------------- derivatives


def _loss(x, y, w, b):
    z = ops.matmul(x, w) + b
    return ops.binary_cross_entropy_with_logits(z, y, ops.ones_like(z), ops.ones_like(z)), z


def _inputs():
    return (
        ops.ones(5, ms.float32),
        ops.zeros(3, ms.float32),
        Parameter(Tensor(numbers(5, 3)), name="w"),
        Parameter(Tensor(numbers(3)), name="b"),
    )


def case_by_two_inputs():
    def loss(x, y, w, b):
        return _loss(x, y, w, b)[0]

    return ms.grad(loss, (2, 3))(*_inputs())


def case_by_two_inputs_of_all_results():
    return ms.grad(_loss, (2, 3))(*_inputs())


def case_a_result_that_is_cut_off():
    def cut(x, y, w, b):
        loss, z = _loss(x, y, w, b)
        return loss, ops.stop_gradient(z)

    return ms.grad(cut, (2, 3))(*_inputs())


def case_a_result_beside():
    grads, (z,) = ms.grad(_loss, (2, 3), has_aux=True)(*_inputs())
    return grads, z


def case_by_the_weights_of_a_network():
    x, y, w, b = _inputs()

    class Line(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w, self.b = w, b

        def construct(self, x):
            return ops.matmul(x, self.w) + self.b

    net, loss = Line(), nn.BCEWithLogitsLoss()

    def forward(a, c):
        return loss(net(a), c)

    return ms.value_and_grad(forward, None, weights=net.trainable_params())(x, y)


class _Slope(nn.Cell):
    def __init__(self, net, by_weights, scale=None):
        super().__init__()
        self.net, self.scale, self.by_weights = net, scale, by_weights
        self.params = ParameterTuple(net.trainable_params())
        self.grad_op = ops.GradOperation(get_by_list=by_weights, sens_param=scale is not None)

    def construct(self, x):
        rest = () if self.scale is None else (self.scale,)
        return (self.grad_op(self.net, self.params) if self.by_weights else self.grad_op(self.net))(x, *rest)


class _Scaled(nn.Cell):
    def __init__(self, learns=True):
        super().__init__()
        self.w = Parameter(Tensor(np.array([6], np.float32)), name="w")
        self.b = Parameter(Tensor(np.array([1.0], np.float32)), name="b", requires_grad=learns)

    def construct(self, x):
        return x * self.w + self.b


def case_in_the_older_manner():
    x = Tensor([7.0, 9.0])
    return (
        _Slope(_Scaled(), False)(x),
        _Slope(_Scaled(), True)(x),
        _Slope(_Scaled(False), True)(x),
        _Slope(_Scaled(), False, Tensor([0.1, 0.2]))(x),
    )
