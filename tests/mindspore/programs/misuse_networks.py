"""Networks and functions that are wrong, or called wrongly: what is raised, in both modes."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops


def x23():
    return Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0]), name="w")

    def construct(self, x, y):
        return x * y * self.w


def case_parameter_of_nothing():
    made = Parameter()
    return made is None


def case_parameter_with_a_number_for_a_name():
    made = Parameter(Tensor([1.0]), name=3)
    return made is None


def case_parameter_set_to_another_shape():
    return Parameter(Tensor([1.0]), name="p").set_data(Tensor([1.0, 2.0]))


def case_cell_called_with_too_few():
    return Scale()(x23())


def case_cell_called_with_too_many():
    return Scale()(x23(), x23(), x23())


def case_cell_called_with_an_unknown_keyword():
    return Scale()(x23(), z=x23())


def case_cell_without_construct():
    class Empty(nn.Cell):
        pass

    return Empty()(x23())


def case_cell_inside_before_init():
    class Early(nn.Cell):
        def __init__(self):
            self.inner = nn.ReLU()
            super().__init__()

    made = Early()
    return made is None


def case_parameter_before_init():
    class Early(nn.Cell):
        def __init__(self):
            self.w = Parameter(Tensor([1.0]), name="w")
            super().__init__()

    made = Early()
    return made is None


def case_unknown_attribute_of_a_cell():
    return Scale().nonsense


def case_unknown_attribute_in_construct():
    class Wrong(nn.Cell):
        def construct(self, x):
            return self.nonsense(x)

    return Wrong()(x23())


def case_unknown_name_in_construct():
    class Wrong(nn.Cell):
        def construct(self, x):
            return undefined_name(x)  # noqa: F821

    return Wrong()(x23())


def case_raise_in_construct():
    class Wrong(nn.Cell):
        def construct(self, x):
            raise ValueError("mine")

    return Wrong()(x23())


def case_raise_in_a_branch():
    class Wrong(nn.Cell):
        def construct(self, x):
            if x.shape[0] == 2:
                raise TypeError("two rows")
            return x

    return Wrong()(x23())


def case_assert_in_construct():
    class Wrong(nn.Cell):
        def construct(self, x):
            assert x.shape[0] == 9
            return x

    return Wrong()(x23())


def case_wrong_op_in_a_gradient():
    def f(x):
        return ops.matmul(x, x)

    return ms.grad(f)(x23())


def case_gradient_of_a_number():
    return ms.grad(3)(x23())


def case_gradient_without_arguments():
    def f(x):
        return x

    return ms.grad(f)()


def case_gradient_with_too_many_arguments():
    def f(x):
        return x * 2

    return ms.grad(f)(x23(), x23())


def case_negative_position():
    def f(x):
        return x

    return ms.grad(f, -1)(x23())


def case_position_out_of_range():
    def f(x):
        return x

    return ms.grad(f, 3)(x23())


def case_flag_of_the_wrong_type():
    made = ops.GradOperation(get_all=1)
    return made is None


def case_mode_that_there_is_not():
    return ms.set_context(mode=7)


def case_setting_that_there_is_not():
    return ms.set_context(nonsense=1)


def case_dense_of_the_wrong_width():
    return nn.Dense(4, 2)(x23())


def case_dense_with_a_negative_width():
    made = nn.Dense(-1, 2)
    return made is None


def case_conv_of_the_wrong_channels():
    return nn.Conv2d(2, 3, 3)(Tensor(np.ones((1, 5, 8, 8), np.float32)))


def case_conv_of_too_few_axes():
    return nn.Conv2d(2, 3, 3)(x23())


def case_dropout_of_a_wrong_probability():
    made = nn.Dropout(p=3.0)
    return made is None


def case_activation_that_there_is_not():
    made = nn.get_activation("nonsense")
    return made is None


def case_loss_with_unlike_shapes():
    return nn.MSELoss()(x23(), Tensor([1.0, 2.0]))


def case_reduction_that_there_is_not():
    made = nn.MSELoss(reduction="nonsense")
    return made is None


def case_cell_list_of_numbers():
    made = nn.CellList([1, 2])
    return made is None


def case_sequence_of_numbers():
    made = nn.SequentialCell([1, 2])
    return made is None


def case_optimizer_without_parameters():
    made = nn.SGD([], 0.1)
    return made is None


def case_optimizer_with_a_negative_rate():
    made = nn.SGD(Scale().trainable_params(), -0.1)
    return made is None


def case_one_hot_of_floats():
    return ops.one_hot(Tensor([0.5]), 3)


def case_broadcast_to_a_smaller_shape():
    return ops.broadcast_to(x23(), (3,))


def case_tile_with_a_float():
    return ops.tile(x23(), (1.5, 2))


def case_arange_of_a_zero_step():
    return ops.arange(0, 5, 0)


def case_eye_of_a_negative_size():
    return ops.eye(-1)


def case_zeros_of_a_negative_size():
    return ops.zeros((-1, 2))


def case_topk_larger_than_the_axis():
    return ops.topk(x23(), 9)


def case_where_of_unlike_shapes():
    return ops.where(x23() > 2, Tensor([1.0, 2.0]), x23())


def case_jit_of_a_number():
    made = ms.jit(3)
    return made is None


def case_vmap_of_unlike_batches():
    def f(x, y):
        return x + y

    return ms.vmap(f)(x23(), Tensor([1.0, 2.0, 3.0]))


def case_vmap_axis_out_of_range():
    def f(x):
        return x

    return ms.vmap(f, 5)(x23())


def case_jvp_with_unlike_tangents():
    def f(x):
        return x * x

    return ms.jvp(f, x23(), Tensor([1.0]))
