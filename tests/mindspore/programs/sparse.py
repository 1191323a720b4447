"""Matrices by their nonzero elements: making them, arithmetic, as inputs and outputs of functions, gradients by values."""

import mindspore as ms
import numpy as np
from mindspore import COOTensor, CSRTensor, RowTensor, SparseTensor, Tensor, nn, ops

from mindspore_cases import right
from mindspore_programs import PLACES, coo, csr, dense, parts, places, values

GROWS = "MindSpore gives more places with each call"


def case_parts_of_coo():
    x = coo()
    return x.indices, x.values, x.shape, x.size, x.itemsize, x.ndim, str(x.dtype).lower()


def case_parts_of_csr():
    x = csr()
    return x.indptr, x.indices, x.values, x.shape, x.size, x.itemsize, x.ndim


def case_to_tuple():
    return coo().to_tuple(), csr().to_tuple()


def case_to_dense():
    return coo().to_dense(), csr().to_dense()


def case_values_of_one_place_are_summed():
    return COOTensor(Tensor([[1, 1], [1, 1]], ms.int32), Tensor([2.0, 5.0]), (2, 2)).to_dense()


def case_astype_and_abs():
    return parts(coo().astype(ms.float16)), parts(csr().astype(ms.float64)), parts(coo().abs()), parts(csr().abs())


def case_negated():
    return parts(-coo()), parts(-csr())


def case_coo_with_dense():
    return coo() + dense(), coo() - dense(), parts(coo() * dense()), parts(coo() / dense())


def case_coo_plus_coo():
    other = COOTensor(Tensor([[0, 0], [2, 1]], ms.int64), Tensor([10.0, 20.0]), (3, 4))
    return parts(coo(ms.int64) + other), parts(coo(ms.int64) - other)


@right(GROWS, (Tensor([[0, 2], [1, 0]], ms.int64), Tensor([-2.0, 5.5]), (2, 3)), modes=("graph",))
def case_coalesce():
    x = COOTensor(Tensor([[1, 0], [0, 2], [1, 0]], ms.int64), values(), (2, 3))
    return parts(x.coalesce())


def case_copy_of_another():
    return parts(COOTensor(coo_tensor=coo())), parts(CSRTensor(csr_tensor=csr()))


def case_from_dense():
    x = Tensor([[0.0, 1.5, 0.0], [2.5, 0.0, -1.0]])
    return parts(ops.dense_to_sparse_coo(x)), parts(ops.dense_to_sparse_csr(x))


def case_functions_of_values():
    x = coo()
    return ops.coo_sin(x).values, ops.coo_exp(x).values, ops.coo_relu(x).values, ops.coo_square(x).values


def case_more_functions_of_values():
    x = csr()
    return ops.csr_cos(x).values, ops.csr_tanh(x).values, ops.csr_neg(x).values, ops.csr_inv(x).values


def case_functions_to_other_dtypes():
    return ops.coo_isfinite(coo()).values, ops.csr_isnan(csr()).values, ops.csr_floor(csr()).values


def case_functions_near_the_edge():
    x = COOTensor(places(), Tensor([0.25, -0.5, 0.75]), (3, 4))
    return ops.coo_asin(x).values, ops.coo_atanh(x).values, ops.coo_log1p(x).values, ops.coo_sigmoid(x).values


def case_concat():
    a, b = coo(ms.int64), COOTensor(Tensor([[1, 0]], ms.int64), Tensor([9.0]), (3, 2))
    return parts(ops.coo_concat((a, b), 1)), parts(ops.coo_concat((a, a), 0))


def case_rows():
    x = RowTensor(Tensor([2], ms.int32), Tensor([[1.0, 2.0]]), (3, 2))
    return x.indices, x.values, x.dense_shape


def case_the_older_name():
    x = SparseTensor(places(), values(), (3, 4))
    return x.indices, x.values, x.shape


def case_compiled_identity():
    @ms.jit
    def f(x):
        return x

    return parts(f(coo())), parts(f(csr()))


def case_compiled_parts():
    @ms.jit
    def f(x):
        return x.indices, x.values * 2

    return f(coo()), f(csr())


def case_compiled_construction():
    @ms.jit
    def f(i, v):
        return COOTensor(i, v * 3, (3, 4))

    return parts(f(places(), values()))


def case_compiled_construction_of_rows():
    @ms.jit
    def f(p, i, v):
        return CSRTensor(p, i, v + 1, (3, 4))

    x = csr()
    return parts(f(x.indptr, x.indices, x.values))


def case_compiled_to_dense():
    @ms.jit
    def f(x):
        return x.to_dense() * 2

    return f(coo()), f(csr())


def case_in_a_cell():
    class Net(nn.Cell):
        def construct(self, i, v):
            x = COOTensor(i, v, (3, 4))
            return x.values, x.indices

    return Net()(places(), values())


def case_cell_with_a_sparse_input():
    class Net(nn.Cell):
        def construct(self, x, d):
            return x.to_dense() + d

    return Net()(coo(), dense())


def case_cell_with_a_sparse_constant():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.i = places()

        def construct(self, v):
            return COOTensor(self.i, v, (3, 4)).to_dense()

    net = Net()
    return net(values()), ms.grad(net)(values())


def case_gradient_through_construction():
    def f(v):
        return COOTensor(places(), v * v, (3, 4)).values

    return ms.grad(f)(values())


def case_gradient_through_construction_of_rows():
    def f(v):
        x = csr()
        return CSRTensor(x.indptr, x.indices, v * v, (3, 4)).values

    return ms.grad(f)(values())


def case_gradient_of_a_sparse_output():
    def f(v):
        return COOTensor(places(), v * v, (3, 4))

    return ms.grad(f)(values())


def case_gradient_through_to_dense():
    def f(v, d):
        return COOTensor(places(), v, (3, 4)).to_dense() * d

    return ms.grad(f, (0, 1))(values(), dense())


def case_gradient_through_product_with_dense():
    def f(v, d):
        return (COOTensor(places(), v, (3, 4)) * d).values

    return ms.grad(f, (0, 1))(values(), dense())


def case_gradient_through_quotient_with_dense():
    def f(v, d):
        return (COOTensor(places(), v, (3, 4)) / d).values

    return ms.grad(f, (0, 1))(values(), dense())


def case_gradient_through_sum_with_dense():
    def f(v, d):
        return (COOTensor(places(), v, (3, 4)) + d) * d

    return ms.grad(f, (0, 1))(values(), dense())


def case_gradient_through_functions():
    def f(v):
        return ops.coo_sin(COOTensor(places(), v, (3, 4))).values

    return ms.grad(f)(values())


def case_gradient_through_abs_and_astype():
    def f(v):
        return COOTensor(places(), v, (3, 4)).abs().astype(ms.float64).values

    return ms.grad(f)(values())


def case_gradient_by_a_sparse_input():
    def f(x):
        return x.values * 3

    g = ms.grad(f)(coo())
    return g.values if isinstance(g, COOTensor) else g


def case_gradient_by_a_sparse_input_through_to_dense():
    def f(x):
        return x.to_dense() * x.to_dense()

    g = ms.grad(f)(coo())
    return g.values if isinstance(g, COOTensor) else g


def case_gradient_by_rows():
    def f(x):
        return x.abs().values

    g = ms.grad(f)(csr())
    return g.values if isinstance(g, CSRTensor) else g


@right(PLACES, places())
def case_places_of_a_gradient():
    def f(x):
        return x.values * x.values

    @ms.jit
    def g(x):
        return ms.grad(f)(x)

    return g(coo()).indices


def case_compiled_gradient_by_a_sparse_input():
    def f(x):
        return x.values * x.values

    @ms.jit
    def g(x):
        return ms.grad(f)(x)

    return g(coo()).values, g(coo()).shape


def case_gradient_by_sparse_and_dense():
    def f(x, d):
        return (x * d).values

    g, h = ms.grad(f, (0, 1))(coo(), dense())
    return g.values if isinstance(g, COOTensor) else g, h


def case_second_order():
    def f(v):
        return COOTensor(places(), v * v * v, (3, 4)).to_dense()

    return ms.grad(ms.grad(f))(values())


def case_sparse_times_dense():
    op = ops.SparseTensorDenseMatmul()
    d = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2))

    def f(v, m):
        return op(places(), v, (3, 4), m)

    return f(values(), d), ms.grad(f, (0, 1))(values(), d)


def case_sparse_times_dense_transposed():
    op = ops.SparseTensorDenseMatmul(adjoint_st=True, adjoint_dt=True)
    d = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))

    def f(v, m):
        return op(places(), v, (3, 4), m)

    return f(values(), d), ms.grad(f, (0, 1))(values(), d)


def case_sparse_times_dense_as_a_cell():
    net = nn.SparseTensorDenseMatmul()
    return net(places(), values(), (3, 4), Tensor(np.eye(4, dtype=np.float32)))


def case_sparse_to_dense():
    op = ops.SparseToDense()

    def f(v):
        return op(places(), v * v, (3, 4))

    return op(places(), values(), (3, 4)), ms.grad(f)(values())


def case_sparse_to_dense_as_a_cell():
    return nn.SparseToDense()(coo())


@right(GROWS, (Tensor([[0, 1], [2, 0]], ms.int64), Tensor([-2.0, 5.5]), Tensor([2, 3], ms.int64)))
def case_coalesce_of_parts():
    from mindspore.ops.function.sparse_func import coalesce

    return coalesce(Tensor([[1, 0, 1], [0, 2, 0]], ms.int64), values(), Tensor([2, 3], ms.int64))
