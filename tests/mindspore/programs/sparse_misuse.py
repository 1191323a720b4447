"""Sparse matrices that do not fit together."""

import mindspore as ms
import numpy as np
from mindspore import COOTensor, CSRTensor, Tensor, ops

GROWS = "MindSpore gives more places with each call"
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


def case_shape_is_no_list():
    return COOTensor(places(), values(), [3, 4])


def case_shape_of_three_axes():
    return COOTensor(places(), values(), (3, 4, 5))


def case_shape_is_not_positive():
    return COOTensor(places(), values(), (3, -4))


def case_shape_is_too_small():
    return COOTensor(places(), values(), (1, 2))


def case_fewer_values_than_places():
    return COOTensor(places(), Tensor([1.0]), (3, 4))


def case_places_of_floats():
    return COOTensor(Tensor([[0.0, 1.0]]), Tensor([1.0]), (3, 4))


def case_nothing_given():
    return COOTensor()


def case_copy_of_a_number():
    return COOTensor(coo_tensor=3)


def case_copy_and_parts():
    return COOTensor(places(), coo_tensor=coo())


def case_rows_begin_at_too_few_places():
    return CSRTensor(Tensor([0, 1], ms.int32), Tensor([3], ms.int32), Tensor([1.0]), (3, 4))


def case_columns_of_floats():
    return CSRTensor(Tensor([0, 1], ms.int32), Tensor([3.0]), Tensor([1.0]), (1, 4))


def case_sum_with_a_number():
    return coo() + 3


def case_sum_of_other_shapes():
    return coo() + Tensor([1.0])


def case_product_of_two():
    return coo() * coo()


def case_sum_of_rows_with_dense():
    return csr() + dense()


def case_function_of_the_other_format():
    return ops.csr_sin(coo())
