"""Sparse matrices that do not fit together."""

import mindspore as ms
from mindspore import COOTensor, CSRTensor, Tensor, ops

from mindspore_programs import coo, csr, dense, places, values

GROWS = "MindSpore gives more places with each call"


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
