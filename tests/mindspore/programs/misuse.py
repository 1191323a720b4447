"""Programs that are wrong: what is raised, in both modes."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from mindspore_cases import right

REFUSED = "MindSpore takes Tensors only"


def x23():
    return Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


def case_shapes_of_a_sum():
    return x23() + Tensor([1.0, 2.0])


def case_shapes_of_a_primitive():
    return ops.Mul()(x23(), Tensor([1.0, 2.0]))


def case_shapes_of_a_product():
    return ops.matmul(x23(), x23())


def case_shapes_of_a_product_primitive():
    return ops.MatMul()(x23(), x23())


def case_shapes_of_a_product_of_vectors():
    return ops.MatMul()(Tensor([1.0, 2.0]), Tensor([1.0, 2.0]))


def case_reshape_to_another_size():
    return x23().reshape(4, 2)


def case_reshape_primitive():
    return ops.Reshape()(x23(), (7,))


def case_reshape_with_two_unknowns():
    return ops.reshape(x23(), (-1, -1))


def case_axis_of_a_sum():
    return ops.ReduceSum()(x23(), 5)


def case_axis_of_a_mean():
    return x23().mean(3)


def case_axis_of_a_sum_is_a_string():
    return ops.ReduceSum()(x23(), "0")


def case_axis_of_softmax():
    return ops.Softmax(4)(x23())


def case_axis_of_concat():
    return ops.Concat(3)((x23(), x23()))


def case_concat_of_unlike_shapes():
    return ops.concat((x23(), Tensor([[1.0]])), 0)


def case_concat_of_one_tensor():
    return ops.concat(x23())


def case_stack_of_unlike_shapes():
    return ops.stack((x23(), Tensor([1.0])))


def case_stack_of_nothing():
    return ops.stack(())


def case_transpose_with_a_missing_axis():
    return ops.Transpose()(x23(), (0,))


def case_transpose_with_an_axis_twice():
    return ops.transpose(x23(), (0, 0))


def case_squeeze_of_a_long_axis():
    return ops.Squeeze(1)(x23())


def case_expand_dims_too_far():
    return ops.expand_dims(x23(), 9)


def case_split_into_unequal_parts():
    return ops.Split(1, 2)(x23())


def case_index_out_of_range():
    return x23()[7]


def case_index_out_of_range_on_the_second_axis():
    return x23()[0, 5]


def case_too_many_indices():
    return x23()[0, 1, 2]


def case_index_by_a_string():
    return x23()["a"]


def case_index_by_a_float():
    return x23()[1.5]


def case_store_of_an_unlike_shape():
    x = x23()
    x[0] = Tensor([1.0, 2.0])
    return x


def case_gather_along_a_missing_axis():
    return ops.Gather()(x23(), Tensor([0]), 4)


def case_gather_with_float_indices():
    return ops.Gather()(x23(), Tensor([0.5]), 0)


def case_cast_to_a_string():
    return ops.Cast()(x23(), "float33")


def case_sum_with_a_string():
    return x23() + "a"


def case_sum_with_none():
    return x23() + None


def case_primitive_of_a_string():
    return ops.Add()(x23(), "a")


def case_primitive_of_none():
    return ops.Mul()(x23(), None)


@right(REFUSED, Tensor(0.14112))
def case_function_of_a_number():
    return ops.sin(3)


def case_function_of_none():
    return ops.exp(None)


@right(REFUSED, Tensor([1.0, 2.0], ms.float64))
def case_function_of_a_list():
    return ops.relu([1.0, 2.0])


def case_missing_argument():
    return ops.Mul()(x23())


def case_one_argument_too_many():
    return ops.Exp()(x23(), x23())


def case_missing_argument_of_a_function():
    return ops.matmul(x23())


def case_unknown_keyword():
    return ops.sin(x23(), nonsense=3)


def case_unknown_attribute_of_a_tensor():
    return x23().nonsense


def case_attribute_of_the_wrong_type():
    made = ops.ReduceSum(keep_dims="yes")
    return made is None


def case_attribute_that_is_unknown():
    made = ops.ReduceSum(nonsense=1)
    return made is None


def case_truth_of_several_elements():
    if x23() > 2:
        return 1
    return 0


def case_item_of_several_elements():
    return x23().item()


def case_tensor_of_a_string_list():
    return Tensor(["a"], ms.float32)


def case_tensor_of_ragged_lists():
    return Tensor([[1.0], [1.0, 2.0]])


def case_tensor_of_none():
    return Tensor(None)


def case_tensor_of_a_dict():
    return Tensor({"a": 1})


def case_tensor_of_an_unknown_dtype():
    return Tensor([1.0], "float33")
