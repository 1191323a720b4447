"""Misuse of layers and primitives of networks: errors of the same kind."""

import mindspore.ops.operations as P
import numpy as np
from mindspore import Tensor, nn, ops

IMAGE = Tensor(np.ones((1, 2, 4, 4), np.float32))
ROWS = Tensor(np.ones((2, 3), np.float32))


def case_dense_with_a_float_for_a_size():
    return nn.Dense(3.0, 2)


def case_dense_with_a_size_of_zero():
    return nn.Dense(0, 2)


def case_dense_of_rows_that_do_not_fit():
    return nn.Dense(4, 2)(ROWS)


def case_dense_with_an_unknown_activation():
    return nn.Dense(3, 2, activation="nothing")


def case_conv2d_with_padding_that_is_not_used():
    return nn.Conv2d(2, 3, 3, pad_mode="same", padding=1)


def case_conv2d_with_an_unknown_pad_mode():
    return nn.Conv2d(2, 3, 3, pad_mode="full")


def case_conv2d_with_groups_that_do_not_divide():
    return nn.Conv2d(2, 3, 3, group=2)


def case_softmax_over_an_axis_that_is_not_there():
    return P.Softmax(5)(ROWS)


def case_softmax_with_a_word_for_an_axis():
    return P.Softmax("last")


def case_max_pool_with_an_empty_window():
    return P.MaxPool(0)


def case_max_pool_with_a_float_for_a_window():
    return P.MaxPool(2.5)


def case_max_pool_with_an_unknown_pad_mode():
    return P.MaxPool(2, 1, "full")


def case_conv_primitive_with_an_unknown_pad_mode():
    return P.Conv2D(3, 2, pad_mode="full")


def case_conv_primitive_with_a_stride_of_zero():
    return P.Conv2D(3, 2, stride=0)


def case_dropout_with_too_much():
    return nn.Dropout(p=2.0)


def case_loss_with_an_unknown_reduction():
    return nn.BCELoss(reduction="all")


def case_batch_norm_with_momentum_beyond_one():
    return nn.BatchNorm2d(3, momentum=1.5)


def case_batch_norm_of_no_features():
    return nn.BatchNorm2d(0)


def case_embedding_with_padding_outside():
    return nn.Embedding(5, 2, padding_idx=9)


def case_cell_list_of_something_else():
    return nn.CellList([ROWS])


def case_sequential_with_something_else():
    return nn.SequentialCell([nn.ReLU(), 3])


def case_gelu_with_an_unknown_approximation():
    return ops.gelu(ROWS, approximate="often")


def case_interpolate_with_nothing_to_go_by():
    return ops.interpolate(IMAGE, mode="bilinear")


def case_upsample_with_both():
    return nn.Upsample(size=(2, 2), scale_factor=2.0)(IMAGE)


def case_group_norm_with_groups_that_do_not_divide():
    return nn.GroupNorm(3, 4)


def case_one_argument_too_many():
    return P.ReLU()(ROWS, ROWS)
