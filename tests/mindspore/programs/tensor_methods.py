"""Methods of Tensors that reduce, order and shape, with MindSpore's arguments: values and gradients."""

import mindspore as ms
import numpy as np
from mindspore import Tensor

from mindspore_tables import numbers

X, Y, V = numbers(2, 3, 4), numbers(3, 4, seed=2), numbers(5, seed=3)
WHOLE = np.array([[3, 1, 2], [9, 4, -6]], np.int32)


def _with_gradient(function, x):
    """What a function gives, and the gradient of its sum."""
    return lambda: (function(Tensor(x)), ms.grad(function)(Tensor(x)))


def max_of_all(x):
    return x.max()


def max_along_an_axis(x):
    return x.max(axis=1)


def max_along_an_axis_kept(x):
    return x.max(axis=2, keepdims=True)


def max_with_indices(x):
    return x.max(axis=1, return_indices=True)[0]


def min_of_all(x):
    return x.min()


def min_along_an_axis(x):
    return x.min(axis=0)


def sum_of_all(x):
    return x.sum()


def sum_along_an_axis(x):
    return x.sum(1)


def sum_along_axes_kept(x):
    return x.sum(axis=(0, 2), keepdims=True)


def sum_with_a_start(x):
    return x.sum(axis=1, initial=2.0)


def mean_of_all(x):
    return x.mean()


def mean_along_axes(x):
    return x.mean((0, 1))


def mean_kept(x):
    return x.mean(axis=1, keep_dims=True)


def prod_along_an_axis(x):
    return x.prod(1)


def std_of_all(x):
    return x.std()


def std_along_an_axis(x):
    return x.std(1)


def std_of_a_sample(x):
    return x.std(axis=1, ddof=1, keepdims=True)


def var_along_an_axis(x):
    return x.var(2)


def var_of_a_sample(x):
    return x.var(axis=0, ddof=1)


def ptp_along_an_axis(x):
    return x.ptp(1)


def norm_of_all(x):
    return x.norm()


def logsumexp_along_an_axis(x):
    return x.logsumexp(1)


def argmax_with_value(x):
    return x.argmax_with_value(1)[0]


def argmin_with_value(x):
    return x.argmin_with_value(0, True)[0]


def sort_first(x):
    return x.sort(axis=1)[0]


def topk_first(x):
    return x.topk(2)[0]


def cumsum_along_an_axis(x):
    return x.cumsum(1)


def cumprod_along_an_axis(x):
    return x.cumprod(1)


def reshape_by_numbers(x):
    return x.reshape(4, -1)


def reshape_by_a_tuple(x):
    return x.reshape((4, 6))


def view_by_numbers(x):
    return x.view(6, 4)


def flatten_all(x):
    return x.flatten()


def transpose_all(x):
    return x.transpose()


def transpose_by_numbers(x):
    return x.transpose(2, 0, 1)


def transpose_by_a_tuple(x):
    return x.transpose((1, 0, 2))


def swapaxes_of_two(x):
    return x.swapaxes(0, 2)


def T_of_a_matrix(x):
    return x.T


def expand_dims_in_front(x):
    return x.expand_dims(0)


def unsqueeze_at_the_end(x):
    return x.unsqueeze(-1)


def squeeze_all(x):
    return x.squeeze()


def all_of_truths(x):
    return (x > -2).all()


def any_along_an_axis(x):
    return (x > 1).any(axis=1)


def argmax_of_all(x):
    return x.argmax()


def argmax_along_an_axis(x):
    return x.argmax(axis=1)


def argmin_along_an_axis(x):
    return x.argmin(axis=2)


def argsort_of_rows(x):
    return x.argsort()


def nonzero_places(x):
    return (x > 1).nonzero()


def sum_of_integers(x):
    return x.sum()


def mean_of_integers(x):
    return x.mean()


def searchsorted_places(x):
    return x.searchsorted(Tensor([1.0, 2.0]))


case_max_of_all = _with_gradient(max_of_all, X)
case_max_along_an_axis = _with_gradient(max_along_an_axis, X)
case_max_along_an_axis_kept = _with_gradient(max_along_an_axis_kept, X)
case_max_with_indices = _with_gradient(max_with_indices, X)
case_min_of_all = _with_gradient(min_of_all, X)
case_min_along_an_axis = _with_gradient(min_along_an_axis, X)
case_sum_of_all = _with_gradient(sum_of_all, X)
case_sum_along_an_axis = _with_gradient(sum_along_an_axis, X)
case_sum_along_axes_kept = _with_gradient(sum_along_axes_kept, X)
case_sum_with_a_start = _with_gradient(sum_with_a_start, X)
case_mean_of_all = _with_gradient(mean_of_all, X)
case_mean_along_axes = _with_gradient(mean_along_axes, X)
case_mean_kept = _with_gradient(mean_kept, X)
case_prod_along_an_axis = _with_gradient(prod_along_an_axis, Y)
case_std_of_all = _with_gradient(std_of_all, X)
case_std_along_an_axis = _with_gradient(std_along_an_axis, X)
case_std_of_a_sample = _with_gradient(std_of_a_sample, X)
case_var_along_an_axis = _with_gradient(var_along_an_axis, X)
case_var_of_a_sample = _with_gradient(var_of_a_sample, X)
case_ptp_along_an_axis = _with_gradient(ptp_along_an_axis, X)
case_norm_of_all = _with_gradient(norm_of_all, Y)
case_logsumexp_along_an_axis = _with_gradient(logsumexp_along_an_axis, X)
case_argmax_with_value = _with_gradient(argmax_with_value, X)
case_argmin_with_value = _with_gradient(argmin_with_value, X)
case_sort_first = _with_gradient(sort_first, Y)
case_topk_first = _with_gradient(topk_first, Y)
case_cumsum_along_an_axis = _with_gradient(cumsum_along_an_axis, X)
case_cumprod_along_an_axis = _with_gradient(cumprod_along_an_axis, Y)
case_reshape_by_numbers = _with_gradient(reshape_by_numbers, X)
case_reshape_by_a_tuple = _with_gradient(reshape_by_a_tuple, X)
case_view_by_numbers = _with_gradient(view_by_numbers, X)
case_flatten_all = _with_gradient(flatten_all, X)
case_transpose_all = _with_gradient(transpose_all, X)
case_transpose_by_numbers = _with_gradient(transpose_by_numbers, X)
case_transpose_by_a_tuple = _with_gradient(transpose_by_a_tuple, X)
case_swapaxes_of_two = _with_gradient(swapaxes_of_two, X)
case_T_of_a_matrix = _with_gradient(T_of_a_matrix, Y)
case_expand_dims_in_front = _with_gradient(expand_dims_in_front, Y)
case_unsqueeze_at_the_end = _with_gradient(unsqueeze_at_the_end, Y)
case_squeeze_all = _with_gradient(squeeze_all, numbers(1, 3, 1))


def case_all_of_truths():
    return all_of_truths(Tensor(Y))


def case_any_along_an_axis():
    return any_along_an_axis(Tensor(Y))


def case_argmax_of_all():
    return argmax_of_all(Tensor(X))


def case_argmax_along_an_axis():
    return argmax_along_an_axis(Tensor(X))


def case_argmin_along_an_axis():
    return argmin_along_an_axis(Tensor(X))


def case_argsort_of_rows():
    return argsort_of_rows(Tensor(Y))


def case_nonzero_places():
    return nonzero_places(Tensor(Y))


def case_sum_of_integers():
    return sum_of_integers(Tensor(WHOLE))


def case_mean_of_integers():
    return mean_of_integers(Tensor(WHOLE))


def case_searchsorted_places():
    return searchsorted_places(Tensor(np.array([0.5, 1.5, 2.5], np.float32)))
