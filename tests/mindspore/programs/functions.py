"""Functions of mindspore.ops whose arguments or results are MindSpore's own: values and gradients."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from mindspore_tables import case, numbers

X, Y, V = numbers(2, 3, 4), numbers(3, 4, seed=2), numbers(5, seed=3)
WHOLE = np.array([[7, -3, 12], [5, 0, -8]], np.int32)
MASK = np.array([[True, False, True, False], [False, False, True, True], [True, True, True, False]])
I = np.array([2, 0, 2], np.int32)

for _name in [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "floor_mod",
    "fmod",
    "remainder",
    "xdivy",
    "hypot",
    "atan2",
    "logaddexp",
    "logaddexp2",
]:
    globals()[f"case_{_name}"] = case(lambda name=_name: getattr(ops, name), Y, numbers(4, seed=8, low=0.5))
for _name in ["add", "mul", "sub", "div", "maximum"]:
    globals()[f"case_{_name}_of_integers_and_floats"] = case(
        lambda name=_name: getattr(ops, name), np.array([3, 1, 2, 5, -4], np.int32), V, grad=False
    )
ONE = "abs neg sign square exp expm1 sin cos tanh sinh cosh atan asinh erf erfc sigmoid frac deg2rad rad2deg sinc exp2 positive"
for _name in ONE.split():
    globals()[f"case_{_name}"] = case(lambda name=_name: getattr(ops, name), Y)
for _name in ["sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal", "inv", "lgamma", "digamma"]:
    globals()[f"case_{_name}"] = case(lambda name=_name: getattr(ops, name), np.abs(Y) + np.float32(0.1))

case_div_towards_zero = case(lambda: ops.truncate_div, Y, numbers(4, seed=8, low=0.5), grad=False)
case_truncate_mod = case(lambda: ops.truncate_mod, Y, numbers(4, seed=8, low=0.5), grad=False)
case_pow = case(lambda: ops.pow, np.abs(Y), constants=(2.5,))
case_pow_of_a_number = case(lambda: ops.pow, Y, Y)
case_float_power = case(lambda: ops.float_power, np.abs(Y), constants=(2,), grad=False)
case_xlogy = case(lambda: ops.xlogy, V, np.abs(V))
case_clamp = case(lambda: ops.clamp, Y, constants=(-0.5, 0.8))
case_clamp_from_below = case(lambda: ops.clamp, Y, constants=(0.1,))
case_clip_by_value_of_tensors = case(lambda: ops.clip_by_value, Y, constants=(Tensor(-0.5), Tensor(0.8)))
case_lerp = case(lambda: ops.lerp, Y, Y * 2, np.array(0.3, np.float32))
case_addcmul = case(lambda: ops.addcmul, Y, Y + 1, Y - 2, constants=(0.5,))
case_addcdiv = case(lambda: ops.addcdiv, Y, Y + 1, np.abs(Y) + 1, constants=(Tensor([2.0]),))
case_heaviside = case(lambda: ops.heaviside, V, np.array(0.5, np.float32), grad=False)
case_copysign = case(lambda: ops.copysign, np.abs(Y), Y, grad=False)
case_logit = case(lambda: ops.logit, np.array([0.1, 0.4, 0.95], np.float32), constants=(0.2,))
case_nan_to_num = case(
    lambda: ops.nan_to_num, np.array([1, np.nan, np.inf, -np.inf], np.float32), constants=(1.0, 2.0, 3.0)
)
case_logical_and_of_numbers = case(lambda: ops.logical_and, WHOLE, WHOLE[0], grad=False)
case_gcd = case(lambda: ops.gcd, WHOLE, np.array([2, 5, 4], np.int32), grad=False)
case_lcm = case(lambda: ops.lcm, WHOLE, np.array([2, 5, 4], np.int32), grad=False)
case_bitwise_left_shift = case(lambda: ops.bitwise_left_shift, np.abs(WHOLE), constants=(2,), grad=False)
case_isclose = case(lambda: ops.isclose, Y, Y + np.float32(1e-6), grad=False)
case_where = case(lambda: ops.where, MASK, Y, Y * 3)
case_where_with_a_number = case(lambda: ops.where, MASK, Y, constants=(0.25,))
case_select_with_a_number = case(lambda: ops.select, MASK, Y, constants=(0.25,))
case_masked_fill = case(lambda: ops.masked_fill, Y, MASK, constants=(2.5,))
case_masked_select = case(lambda: ops.masked_select, Y, MASK)
case_gather = case(lambda: ops.gather, Y, I, constants=(1,))
case_gather_d = case(lambda: ops.gather_d, Y, constants=(0, Tensor([[0, 2, 1, 1]])), grad=(0,))
case_gather_elements = case(lambda: ops.gather_elements, Y, constants=(1, Tensor([[0], [2], [3]])), grad=(0,))
case_gather_nd = case(lambda: ops.gather_nd, Y, np.array([[0, 3], [2, 1]], np.int32))
case_index_select = case(lambda: ops.index_select, Y, constants=(1, Tensor([3, 0])), grad=(0,))
case_tensor_scatter_add = case(lambda: ops.tensor_scatter_add, Y, np.array([[0, 3], [0, 3]], np.int32), numbers(2))
case_tensor_scatter_elements = case(
    lambda: ops.tensor_scatter_elements, Y, np.array([[0, 1, 2, 0]], np.int32), numbers(1, 4)
)
case_scatter_nd = case(lambda: ops.scatter_nd, np.array([[0], [2], [0]], np.int32), numbers(3, 2), constants=((4, 2),))
case_unsorted_segment_sum = case(lambda: ops.unsorted_segment_sum, Y, I, constants=(3,))
case_scatter = case(
    lambda: ops.scatter, Y, constants=(1, Tensor([[1], [0], [3]]), Tensor([[1.5], [2.5], [3.5]])), grad=(0,)
)

case_cat = case(lambda: ops.cat, Y, Y * 2, kind="tuple", constants=(1,))
case_stack = case(lambda: ops.stack, Y, Y * 2, kind="tuple", constants=(1,))
case_concat = case(lambda: ops.concat, V, V, kind="tuple")
case_hstack = case(lambda: ops.hstack, Y, Y * 2, kind="tuple")
case_vstack = case(lambda: ops.vstack, Y, Y * 2, kind="tuple")
case_dstack = case(lambda: ops.dstack, Y, Y * 2, kind="tuple")
case_unstack = case(lambda: ops.unstack, Y, kind="first")
case_unbind = case(lambda: ops.unbind, Y, constants=(1,), kind="second")
case_split_by_size = case(lambda: ops.split, Y, constants=(3, 1), kind="second")
case_split_into_sizes = case(lambda: ops.split, X, constants=([1, 3], 2), kind="second")
case_chunk = case(lambda: ops.chunk, Y, constants=(3, 1), kind="first")
case_tensor_split = case(lambda: ops.tensor_split, V, constants=(2,), kind="first")
case_hsplit = case(lambda: ops.hsplit, Y, constants=(2,), kind="first")
case_tile = case(lambda: ops.tile, Y, constants=((2, 1, 2),))
case_repeat_interleave = case(lambda: ops.repeat_interleave, Y, constants=(2, 1))
case_repeat_elements = case(lambda: ops.repeat_elements, Y, constants=(2, 0))
case_broadcast_to = case(lambda: ops.broadcast_to, V, constants=((2, -1),))
case_expand_dims = case(lambda: ops.expand_dims, Y, constants=(1,))
case_unsqueeze = case(lambda: ops.unsqueeze, Y, constants=(-1,))
case_squeeze = case(lambda: ops.squeeze, numbers(1, 3, 1), constants=(2,))
case_reshape = case(lambda: ops.reshape, X, constants=((4, -1),))
case_flatten = case(lambda: ops.flatten, X)
case_transpose = case(lambda: ops.transpose, X, constants=((2, 0, 1),))
case_permute = case(lambda: ops.permute, X, constants=((1, 2, 0),))
case_swapaxes = case(lambda: ops.swapaxes, X, constants=(0, 2))
case_movedim = case(lambda: ops.movedim, X, constants=(0, 2))
case_flip = case(lambda: ops.flip, X, constants=((0, 2),))
case_fliplr = case(lambda: ops.fliplr, Y)
case_rot90 = case(lambda: ops.rot90, Y, constants=(1, (0, 1)))
case_slice = case(lambda: ops.slice, X, constants=((0, 1, 1), (1, 2, 3)))
case_strided_slice = case(lambda: ops.strided_slice, X, constants=((0, 0, 1), (2, 3, 4), (1, 2, 1)))
case_narrow = case(lambda: ops.narrow, Y, constants=(1, 1, 2))
case_tril = case(lambda: ops.tril, Y, constants=(-1,))
case_triu = case(lambda: ops.triu, Y, constants=(1,))
case_diag = case(lambda: ops.diag, V)
case_diff = case(lambda: ops.diff, Y)
case_trapz = case(lambda: ops.trapz, Y)
case_reverse_sequence = case(lambda: ops.reverse_sequence, Y, np.array([4, 2, 1], np.int64), constants=(1, 0))
case_block_diag = case(lambda: ops.block_diag, Y, numbers(2, 2), grad=False)
case_meshgrid = case(lambda: ops.meshgrid, V, numbers(3), kind="first")
case_one_hot = case(lambda: ops.one_hot, I, constants=(3,), grad=False)
case_one_hot_of_values = case(lambda: ops.one_hot, I, constants=(3, Tensor(2.5), Tensor(0.5), 0), grad=False)
case_sequence_mask = case(lambda: ops.sequence_mask, I, constants=(4,), grad=False)
case_unique = case(lambda: ops.unique, np.array([3, 1, 3, 2, 1], np.int32), grad=False)
case_searchsorted = case(lambda: ops.searchsorted, np.array([0.5, 1.5, 2.5], np.float32), V, grad=False)
case_bincount = case(lambda: ops.bincount, np.array([3, 1, 3, 2, 1], np.int32), grad=False)
case_cov = case(lambda: ops.cov, Y, grad=False)
case_fft = case(lambda: ops.fft, V, grad=False)
case_rfft = case(lambda: ops.rfft, V, grad=False)
case_vander = case(lambda: ops.vander, V, constants=(3,), grad=False)


def case_made_from_nothing():
    made = ops.zeros((2, 3)), ops.ones(2, ms.int32), ops.eye(2), ops.arange(2, 8, 3), ops.linspace(0, 1, 3)
    return (*made, ops.full((2,), 3), ops.fill(ms.float32, (2,), 1), ops.arange(0.0, 1.0, 0.25))


def case_made_like_another():
    x = Tensor(WHOLE)
    return ops.zeros_like(x), ops.ones_like(x, dtype=ms.float32), ops.full_like(x, 2)


def case_what_a_tensor_is():
    x = Tensor(X)
    return ops.shape(x), ops.rank(x), ops.size(x), ops.numel(x), ops.is_tensor(x), ops.is_floating_point(x)


def case_short_names_of_primitives():
    x, y = Tensor(Y), Tensor(Y[0])
    found = ops.tensor_add(x, y), ops.tensor_sub(x, y), ops.tensor_mul(x, y), ops.tensor_div(x, y), ops.tensor_pow(x, 2)
    return (*found, ops.reduce_sum(x, 1), ops.reduce_mean(x), ops.scalar_to_tensor(2), ops.tuple_to_array((1, 2)))


def case_random_numbers_have_their_shapes():
    drawn = ops.randn(2, 3), ops.rand((3,)), ops.randint(0, 5, (2,)), ops.standard_normal((2, 2)), ops.randperm(4)
    drawn += (ops.normal((2, 3), Tensor(1.0), Tensor(2.0)), ops.uniform((4,), Tensor(1.0), Tensor(2.0)))
    return [(x.shape, str(x.asnumpy().dtype)) for x in drawn]


def case_seeds_repeat_numbers():
    ms.set_seed(5)
    a = ops.standard_normal((3,), seed=2)
    ms.set_seed(5)
    b = ops.standard_normal((3,), seed=2)
    return bool((a.asnumpy() == b.asnumpy()).all())
