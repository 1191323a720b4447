"""Reductions, order, and functions that run along an axis: values and gradients."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.ops import operations as P

from mindspore_tables import case, numbers

X, Y, V = numbers(2, 3, 4), numbers(3, 4, seed=2), numbers(5, seed=3)
WHOLE = np.array([[3, 1, 2], [9, 4, -6]], np.int32)
TIES = np.array([[2, 5, 5], [1, 1, 1]], np.float32)
TRUTH = np.array([[True, False, True], [True, True, True]])

for _name in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"]:
    for _axis, _words in (((), "all"), (1, "one_axis"), ((0, 2), "two_axes"), (-1, "the_last_axis")):
        for _keep in (False, True):
            globals()[f"case_{_name}_of_{_words}{'_kept' if _keep else ''}"] = case(
                lambda name=_name, keep=_keep: getattr(P, name)(keep_dims=keep),
                X,
                constants=(_axis,),
                grad=(_name, _axis) != ("ReduceProd", ()),  # there MindSpore's gradient is wrong
            )
    globals()[f"case_{_name}_of_integers"] = case(
        lambda name=_name: getattr(P, name)(), WHOLE, constants=(1,), grad=False
    )

case_ReduceMax_of_equal_numbers = case(lambda: P.ReduceMax(), TIES, constants=(1,))
case_ReduceMin_of_equal_numbers = case(lambda: P.ReduceMin(), TIES, constants=(1,))
case_ReduceProd_with_a_zero = case(lambda: P.ReduceProd(), np.array([[2, 0, 3], [1, 5, 2]], np.float32), constants=(1,))
case_ReduceAll = case(lambda: P.ReduceAll(), TRUTH, constants=(1,), grad=False)
case_ReduceAny = case(lambda: P.ReduceAny(keep_dims=True), TRUTH, constants=(0,), grad=False)
case_ReduceStd = case(lambda: P.ReduceStd(axis=1, unbiased=True, keep_dims=False), X, kind="plain", grad=False)
case_Argmax = case(lambda: P.Argmax(axis=1), X, grad=False)
case_Argmin = case(lambda: P.Argmin(), X, grad=False)
case_ArgMaxWithValue = case(lambda: P.ArgMaxWithValue(axis=1), X, kind="second")
case_ArgMaxWithValue_kept = case(lambda: P.ArgMaxWithValue(axis=2, keep_dims=True), X, kind="second")
case_ArgMinWithValue = case(lambda: P.ArgMinWithValue(axis=0), X, kind="second")
case_ArgMaxWithValue_of_equal_numbers = case(lambda: P.ArgMaxWithValue(axis=1), TIES, kind="second")
case_LpNorm = case(lambda: P.LpNorm(axis=1, p=2, keep_dims=True), Y)
case_LpNorm_of_order_1 = case(lambda: P.LpNorm(axis=(0, 1), p=1), Y)
case_Sort = case(lambda: P.Sort(), Y, kind="first")
case_Sort_descending = case(lambda: P.Sort(axis=0, descending=True), Y, kind="first")
case_TopK = case(lambda: P.TopK(), Y, constants=(2,), kind="first")
case_CumSum = case(lambda: P.CumSum(), X, constants=(1,))
case_CumSum_exclusive = case(lambda: P.CumSum(exclusive=True), X, constants=(2,))
case_CumSum_reverse = case(lambda: P.CumSum(reverse=True), Y, constants=(0,))
case_CumSum_of_integers = case(lambda: P.CumSum(), WHOLE, constants=(1,), grad=False)
case_CumProd = case(lambda: P.CumProd(), Y, constants=(1,))
case_CumProd_exclusive_and_reverse = case(lambda: P.CumProd(exclusive=True, reverse=True), Y, constants=(1,))
case_CumProd_with_a_zero = case(lambda: P.CumProd(), np.array([2, 0, 3, 0.5], np.float32), constants=(0,), grad=False)
case_Cummax = case(lambda: ops.cummax, Y, constants=(1,), grad=False)
case_Cummin = case(lambda: ops.cummin, Y, constants=(0,), grad=False)
case_logcumsumexp = case(lambda: ops.logcumsumexp, Y, constants=(1,))
case_CumulativeLogsumexp_reverse = case(
    lambda: P.CumulativeLogsumexp(reverse=True), V, constants=(Tensor(0),), grad=False
)
case_logsumexp = case(lambda: ops.logsumexp, X, constants=((0, 2), True))
case_sum = case(lambda: ops.sum, X, constants=((0, 1), True))
case_sum_of_integers = case(lambda: ops.sum, WHOLE, constants=(1,), grad=False)
case_sum_of_truths = case(lambda: ops.sum, TRUTH, grad=False)
case_mean = case(lambda: ops.mean, X, constants=((1, 2),))
case_prod = case(lambda: ops.prod, X, constants=(2,))
case_var = case(lambda: ops.var, X, constants=(1,))
case_var_of_a_sample = case(lambda: ops.var, X, constants=((0, 1), 1, True))
case_std = case(lambda: ops.std, X, constants=(2,))
case_std_of_a_sample = case(lambda: ops.std, X, constants=(None, 1))
case_var_mean = case(lambda: ops.var_mean, X, constants=(1,), kind="plain")
case_std_mean = case(lambda: ops.std_mean, X, constants=(1, 1), kind="plain")
case_max_along_an_axis = case(lambda: ops.max, X, constants=(1,), kind="first")
case_max_of_all = case(lambda: ops.max, X, kind="first")
case_min_along_an_axis = case(lambda: ops.min, X, constants=(2, True), kind="first")
case_amax = case(lambda: ops.amax, X, constants=((0, 1),))
case_amin = case(lambda: ops.amin, TIES, constants=(1, True))
case_aminmax = case(lambda: ops.aminmax, X, kind="plain", grad=False)
case_median = case(lambda: ops.median, Y, constants=(1,), kind="first")
case_sort = case(lambda: ops.sort, Y, constants=(0, True), kind="first")
case_argsort = case(lambda: ops.argsort, Y, constants=(1, True), grad=False)
case_topk = case(lambda: ops.topk, X, constants=(2, 1), kind="first")
case_topk_smallest = case(lambda: ops.topk, X, constants=(2, 2, False), kind="first")
case_argmax = case(lambda: ops.argmax, X, constants=(1,), grad=False)
case_argmax_of_all = case(lambda: ops.argmax, X, grad=False)
case_argmin = case(lambda: ops.argmin, X, constants=(2, True), grad=False)
case_cumsum = case(lambda: ops.cumsum, X, constants=(2,))
case_cumprod = case(lambda: ops.cumprod, Y, constants=(0,))
case_count_nonzero = case(lambda: ops.count_nonzero, WHOLE, constants=(1,), grad=False)
case_all = case(lambda: ops.all, TRUTH, constants=(0,), grad=False)
case_any = case(lambda: ops.any, TRUTH, grad=False)
case_norm = case(lambda: ops.norm, Y)
case_norm_of_order_1 = case(lambda: ops.norm, Y, constants=(1, 1))
case_norm_of_order_3 = case(lambda: ops.norm, Y, constants=(3, 0, True))
case_nansum = case(
    lambda: ops.nansum, np.array([[1, np.nan, 3], [2, 5, np.nan]], np.float32), constants=(1,), grad=False
)
case_nanmean = case(
    lambda: ops.nanmean, np.array([[1, np.nan, 3], [2, 5, np.nan]], np.float32), constants=(0,), grad=False
)


def case_a_loss_with_reductions_in_a_network():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.sum, self.mean, self.max = P.ReduceSum(True), P.ReduceMean(), P.ReduceMax()

        def construct(self, x):
            y = x / self.sum(x * x, 1)
            return self.mean(y) + self.max(y, (0, 1)).sum()

    return ms.grad(Net())(Tensor(X))


def case_axes_in_a_list():
    return P.ReduceSum()(Tensor(X), [0, 2]), P.ReduceMean(True)(Tensor(X), [1])
