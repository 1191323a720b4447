"""Tensors: how they are made, their attributes, their methods and the gradients through them."""

import pickle

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops
from mindspore.common.initializer import Constant, Normal, One, Zero

X = Tensor(np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], np.float32))
WEIGHTS = Tensor(np.array([[0.5, -1.0, 2.0], [3.0, 0.25, 1.5]], np.float32))
INDEX = Tensor(np.array([[0, 1, 1], [1, 0, 0]], np.int32))


def case_from_numbers():
    return Tensor(1), Tensor(1.5), Tensor(True), Tensor(2 + 1j)


def case_from_lists():
    return Tensor([1, 2]), Tensor((1.5, 2)), Tensor([[True], [False]]), Tensor([1, 2.5]), Tensor([])


def case_from_arrays():
    return Tensor(np.ones(2)), Tensor(np.arange(3, dtype=np.int16)), Tensor(np.float32(0.5)), Tensor(np.zeros((0, 2)))


def case_with_a_dtype():
    return (
        Tensor([1.7, -2.2], ms.int32),
        Tensor([0, 2], ms.bool_),
        Tensor(3, ms.float16),
        Tensor(np.ones(2), ms.float32),
    )


def case_from_a_tensor():
    x = Tensor([1.0, 2.0])
    return Tensor(x), Tensor(x, ms.int32)


def case_from_a_list_of_tensors():
    return Tensor([Tensor(1.0), Tensor(2.0)])


def case_from_text():
    return Tensor("abc")


def case_from_nothing():
    return Tensor(None)


def case_from_a_dict():
    return Tensor({1: 2})


def case_from_ragged_lists():
    return Tensor([[1, 2], [3]])


def case_with_a_text_for_a_dtype():
    return Tensor([1.0], "float32")


def case_from_a_shape_and_an_initializer():
    ones = Tensor(shape=(2, 3), dtype=ms.float32, init=One()).init_data()
    return (
        ones,
        Tensor(shape=(2,), dtype=ms.int32, init=Zero()).init_data(),
        Tensor(shape=(1, 2), dtype=ms.float16, init=Constant(2.5)).init_data(),
    )


def case_from_a_shape_and_noise():
    x = Tensor(shape=(4, 5), dtype=ms.float32, init=Normal()).init_data()
    return x.shape, x.asnumpy().dtype.name


def case_data_and_initializer():
    return Tensor([1.0], shape=(1,), dtype=ms.float32, init=One())


def case_from_a_shape_without_an_initializer():
    return Tensor(dtype=ms.float32, init=One())


def case_a_dynamic_shape():
    x = Tensor(shape=[None, 3], dtype=ms.float32)
    return x.shape


def case_the_function():
    return (
        ms.tensor([1, 2], ms.float32),
        ms.tensor(3),
        Tensor.from_numpy(np.array([1.0, 2.0])),
        ms.from_numpy(np.array([1, 2])),
    )


def case_attributes():
    return (
        X.shape,
        X.ndim,
        X.size,
        X.itemsize,
        X.nbytes,
        X.strides,
        len(X),
        X.T.shape,
        X.has_init,
        X.dtype == ms.float32,
    )


def case_text():
    return str(Tensor([1.5, 2.0])), repr(Tensor([1, 2])), repr(Tensor(1.5)), str(Tensor(True)), f"{Tensor(2.5)}"


def case_conversion_to_python():
    return int(Tensor(2.7)), float(Tensor(3)), bool(Tensor(0)), Tensor([4.5]).item(), X.tolist(), Tensor(7).__index__()


def case_truth_of_several():
    return bool(Tensor([1, 2]))


def case_length_of_a_scalar():
    return len(Tensor(1.0))


def case_iteration():
    return [row.sum() for row in X], [r.shape for r in X], 5.0 in X, 9.0 in X


def case_comparison_with_none():
    return X is None, (X == None) is False, (X != None) is True  # noqa: E711


def case_pickled():
    return pickle.loads(pickle.dumps(X))


def case_casts():
    x = Tensor([1.9, -2.9])
    return (
        x.int(),
        x.long(),
        x.half(),
        x.double(),
        x.bool(),
        x.short(),
        Tensor([3, 4]).float(),
        x.astype("int32"),
        x.to(ms.float16),
    )


def case_types():
    return Tensor([1, 2]).type_as(X), X.type(), Tensor([1.5]).type(ms.int32)


def case_is_tensor():
    return ops.is_tensor(X), ops.is_tensor(3), ms.is_tensor(X), isinstance(X, Tensor)


def case_itemset():
    return X.itemset(1, 9.0), X.itemset((1, 2), -1.0), X


def case_items_are_set():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    x[0, 1] = 7.0
    x[1] = Tensor([8.0, 9.0])
    return x


def case_values_of_the_same():
    return X.value(), X.contiguous(), X.copy(), X.is_contiguous(), X.numel(), X.view(3, 2), X.view(-1)


def case_new_ones():
    return X.new_zeros((2, 2)), X.new_ones((3,)), X.new_zeros((2,), dtype=ms.int32)


def case_max_and_min():
    return X.max(), X.max(axis=0), X.max(0), X.max(dim=1, keepdim=True), X.min(), X.min(axis=1, keepdims=True), X.min(1)


def case_gradient_of_max_along_an_axis():
    def f1(x):
        return x.max(axis=1) * 2

    def f2(x):
        return x.max(0)[0]

    def f3(x):
        return x.min()

    return ms.grad(f1)(X), ms.grad(f2)(X), ms.grad(f3)(X)


def case_sums():
    return (
        X.sum(),
        X.sum(0),
        X.sum(axis=1, keepdims=True),
        X.sum(dim=0, keepdim=True),
        X.sum(dtype=ms.float64),
        Tensor([True, True]).sum(),
    )


def case_means_and_spreads():
    return (
        X.mean(),
        X.mean(0),
        X.mean(axis=1, keep_dims=True),
        X.std(),
        X.std(axis=0),
        X.var(ddof=1),
        X.var(0),
        X.prod(0),
    )


def case_gradients_of_means_and_spreads():
    def f1(x):
        return x.mean(1)

    def f2(x):
        return x.std()

    def f3(x):
        return x.var(axis=0)

    def f4(x):
        return x.prod()

    return (
        ms.grad(f1)(X),
        ms.grad(f2)(X),
        ms.grad(f3)(X),
        ms.grad(f4)(X),
    )


def case_orders():
    return X.sort(), X.sort(axis=0, descending=True), X.argsort(), X.topk(2), X.argmax(), X.argmin(axis=1), X.argmax(1)


def case_gradients_of_orders():
    def f1(x):
        return x.sort()[0] * Tensor([1.0, 2.0, 3.0])

    def f2(x):
        return x.topk(2)[0]

    def f3(x):
        return x.median(1)[0]

    return (
        ms.grad(f1)(X),
        ms.grad(f2)(X),
        ms.grad(f3)(X),
    )


def case_transposed():
    z = X.reshape(1, 2, 3)
    return z.transpose(0, 2), z.transpose(2, 0, 1), z.transpose((1, 0, 2)), z.transpose(), X.T, X.swapaxes(0, 1)


def case_flattened():
    z = X.reshape(1, 2, 3)
    return (
        z.flatten(),
        z.flatten("F"),
        z.flatten(start_dim=1),
        z.flatten(0, 1),
        z.ravel(),
        z.squeeze(),
        X.expand_dims(1),
    )


def case_parts():
    return X.split(1), X.split(2, axis=1), X.chunk(3, axis=1), X.chunk(2, dim=0)


def case_gathered():
    return (
        X.gather(1, INDEX),
        X.gather(Tensor([1, 0]), 0),
        X.take(Tensor([0, 4])),
        X.index_select(1, Tensor([2, 2])),
        X.select(0, 1),
    )


def case_gradients_of_gathered():
    def f1(x):
        return x.gather(1, INDEX) * WEIGHTS

    def f2(x):
        return x.gather(Tensor([1, 1]), 0)

    def f3(x):
        return x.index_select(1, Tensor([2])) ** 2

    return (
        ms.grad(f1)(X),
        ms.grad(f2)(X),
        ms.grad(f3)(X),
    )


def case_chosen():
    return (
        X.where(X > 2, 0.0),
        X.masked_fill(X > 3, -1.0),
        X.clip(2, 4),
        X.clamp(min=2.5),
        X.masked_select(X > 3),
        X.nonzero(),
    )


def case_gradients_of_chosen():
    def f1(x):
        return x.where(x > 2, x * 3)

    def f2(x):
        return x.masked_fill(x > 3, 0.0) ** 2

    def f3(x):
        return x.clip(2, 4) ** 2

    return (
        ms.grad(f1)(X),
        ms.grad(f2)(X),
        ms.grad(f3)(X),
    )


def case_arithmetic_methods():
    return (
        X.add(1),
        X.add(X, alpha=2),
        X.sub(X, alpha=3),
        X.mul(2),
        X.div(2),
        Tensor([7, 8]).div(2),
        Tensor([7, -7]).div(2, rounding_mode="floor"),
        X.pow(2),
    )


def case_gradients_of_arithmetic_methods():
    def f1(x):
        return x.add(x, alpha=2) * x

    def f2(x):
        return x.div(2).pow(3)

    def f3(x):
        return x.matmul(x.T)

    return (
        ms.grad(f1)(X),
        ms.grad(f2)(X),
        ms.grad(f3)(X),
    )


def case_copies_in_place():
    x = Tensor([1.0, 2.0])
    x.copy_(Tensor([5.0, 6.0]))
    return x


def case_with_a_const_argument():
    x = Tensor([1.0], const_arg=True)
    x.set_const_arg(False)
    return x * 2
