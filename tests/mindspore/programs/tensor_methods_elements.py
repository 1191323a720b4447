"""Methods of Tensors for parts and elements, with MindSpore's arguments: values and gradients."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from mindspore_tables import numbers

X, Y, V = numbers(2, 3, 4), numbers(3, 4, seed=2), numbers(5, seed=3)
WHOLE = np.array([[3, 1, 2], [9, 4, -6]], np.int32)


def _with_gradient(function, x):
    """What a function gives, and the gradient of its sum."""
    return lambda: (function(Tensor(x)), ms.grad(function)(Tensor(x)))


def squeeze_one(x):
    return x.squeeze(2)


def split_second(x):
    return x.split(2, 1)[1]


def chunk_first(x):
    return x.chunk(2, 1)[0]


def unbind_second(x):
    return x.unbind(1)[1]


def tile_pair(x):
    return x.tile((2, 1))


def broadcast_to_more(x):
    return x.broadcast_to((2, 5))


def expand_as_another(x):
    return x.expand_as(ops.ones((2, 5)))


def flip_rows(x):
    return x.flip((0,))


def clip_between(x):
    return x.clip(-0.5, 0.8)


def clamp_above(x):
    return x.clamp(None, 0.3)


def abs_of_each(x):
    return x.abs()


def pow_squared(x):
    return x.pow(2)


def add_a_number(x):
    return x.add(1.5)


def sub_a_tensor(x):
    return x.sub(x * 2)


def mul_by_itself(x):
    return x.mul(x)


def div_by_a_number(x):
    return x.div(3)


def matmul_with_transposed(x):
    return x.matmul(x.T)


def maximum_with_zero(x):
    return x.maximum(Tensor(0.1))


def exp_of_each(x):
    return x.exp()


def log_of_positive(x):
    return x.log()


def sqrt_of_positive(x):
    return x.sqrt()


def tanh_of_each(x):
    return x.tanh()


def erf_of_each(x):
    return x.erf()


def round_of_each(x):
    return x.round()


def where_positive(x):
    return x.where(x > 0, x * 0.1)


def masked_fill_positive(x):
    return x.masked_fill(x > 0, 0.5)


def select_positive(x):
    return x.select(x > 0, x * 0.1)


def gather_slices(x):
    return x.gather(Tensor([0, 2, 2]), 1)


def gather_elements_by_index(x):
    return x.gather_elements(1, Tensor([[0], [2], [3]]))


def index_select_slices(x):
    return x.index_select(1, Tensor([3, 0]))


def take_along_an_axis(x):
    return x.take(Tensor([0, 2]), 1)


def diagonal_of_a_matrix(x):
    return x.diagonal()


def trace_of_a_square(x):
    return x.trace()


def tril_of_a_matrix(x):
    return x.tril()


def triu_of_a_matrix(x):
    return x.triu(1)


def astype_half(x):
    return x.astype(ms.float16)


def diff_of_neighbours(x):
    return x.diff()


def narrow_columns(x):
    return x.narrow(1, 1, 2)


def item_by_index(x):
    return x[1, 2] * x[0]


def getitem_slices(x):
    return x[:, 1:, ::2]


def getitem_with_an_index_tensor(x):
    return x[Tensor([0, 2])]


def inner_product(x):
    return x.inner(x)


def outer_product(x):
    return x.outer(x)


def isclose_to_itself(x):
    return x.isclose(x)


def size_and_rank(x):
    return (x.shape, x.size, x.ndim, x.itemsize, x.nbytes)


def unique_consecutive_numbers(x):
    return x.unique_consecutive()


def bincount_of_numbers(x):
    return x.bincount()


def to_other_dtypes(x):
    return (x.half(), x.int(), x.float(), x.bool())


case_squeeze_one = _with_gradient(squeeze_one, numbers(1, 3, 1))
case_split_second = _with_gradient(split_second, Y)
case_chunk_first = _with_gradient(chunk_first, Y)
case_unbind_second = _with_gradient(unbind_second, Y)
case_tile_pair = _with_gradient(tile_pair, Y)
case_broadcast_to_more = _with_gradient(broadcast_to_more, V)
case_expand_as_another = _with_gradient(expand_as_another, V)
case_flip_rows = _with_gradient(flip_rows, Y)
case_clip_between = _with_gradient(clip_between, Y)
case_clamp_above = _with_gradient(clamp_above, Y)
case_abs_of_each = _with_gradient(abs_of_each, Y)
case_pow_squared = _with_gradient(pow_squared, Y)
case_add_a_number = _with_gradient(add_a_number, Y)
case_sub_a_tensor = _with_gradient(sub_a_tensor, Y)
case_mul_by_itself = _with_gradient(mul_by_itself, Y)
case_div_by_a_number = _with_gradient(div_by_a_number, Y)
case_matmul_with_transposed = _with_gradient(matmul_with_transposed, Y)
case_maximum_with_zero = _with_gradient(maximum_with_zero, Y)
case_exp_of_each = _with_gradient(exp_of_each, Y)
case_log_of_positive = _with_gradient(log_of_positive, numbers(4, low=0.2))
case_sqrt_of_positive = _with_gradient(sqrt_of_positive, numbers(4, low=0.2))
case_tanh_of_each = _with_gradient(tanh_of_each, Y)
case_erf_of_each = _with_gradient(erf_of_each, Y)
case_round_of_each = _with_gradient(round_of_each, Y)
case_where_positive = _with_gradient(where_positive, Y)
case_masked_fill_positive = _with_gradient(masked_fill_positive, Y)
case_select_positive = _with_gradient(select_positive, Y)
case_gather_slices = _with_gradient(gather_slices, Y)
case_gather_elements_by_index = _with_gradient(gather_elements_by_index, Y)
case_index_select_slices = _with_gradient(index_select_slices, Y)
case_take_along_an_axis = _with_gradient(take_along_an_axis, Y)
case_diagonal_of_a_matrix = _with_gradient(diagonal_of_a_matrix, Y)
case_trace_of_a_square = _with_gradient(trace_of_a_square, numbers(3, 3))
case_tril_of_a_matrix = _with_gradient(tril_of_a_matrix, Y)
case_triu_of_a_matrix = _with_gradient(triu_of_a_matrix, Y)
case_astype_half = _with_gradient(astype_half, Y)
case_diff_of_neighbours = _with_gradient(diff_of_neighbours, Y)
case_narrow_columns = _with_gradient(narrow_columns, Y)
case_item_by_index = _with_gradient(item_by_index, Y)
case_getitem_slices = _with_gradient(getitem_slices, X)
case_getitem_with_an_index_tensor = _with_gradient(getitem_with_an_index_tensor, Y)
case_inner_product = _with_gradient(inner_product, V)
case_outer_product = _with_gradient(outer_product, V)


def case_isclose_to_itself():
    return isclose_to_itself(Tensor(Y))


def case_size_and_rank():
    return size_and_rank(Tensor(X))


def case_unique_consecutive_numbers():
    return unique_consecutive_numbers(Tensor(np.array([1, 1, 2, 2, 1], np.int32)))


def case_bincount_of_numbers():
    return bincount_of_numbers(Tensor(np.array([1, 1, 2, 0], np.int32)))


def case_to_other_dtypes():
    return to_other_dtypes(Tensor(Y))
