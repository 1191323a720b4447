"""Sparse matrices where MindSpore's package for CPUs lacks what it needs: against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint.mindspore as ms
from adjoint.mindspore import COOTensor, CSRTensor, Tensor, ops

VECTOR = Tensor([[1.0], [3.0], [8.0], [10.0]])


def csr(values: Tensor | None = None) -> CSRTensor:
    stored = Tensor([1.5, -2.0, 4.0]) if values is None else values
    return CSRTensor(Tensor([0, 1, 1, 3], ms.int32), Tensor([3, 1, 2], ms.int32), stored, (3, 4))


DENSE = csr().to_dense().asnumpy()


@pytest.fixture(params=["dynamic", "compiled"])
def run(request: pytest.FixtureRequest) -> object:
    return (lambda f: f) if request.param == "dynamic" else ms.jit


def test_products(run) -> None:
    assert np.allclose(run(lambda d: csr().mv(d))(VECTOR).asnumpy(), DENSE @ VECTOR.asnumpy())
    matrix = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2))
    assert np.allclose(run(lambda m: csr().mm(m))(matrix).asnumpy(), DENSE @ matrix.asnumpy())
    assert np.allclose(ops.csr_mm(csr(), VECTOR[:3], trans_a=True).asnumpy(), DENSE.T @ VECTOR.asnumpy()[:3])


def test_gradients_of_products(run) -> None:
    by_values, by_vector = run(ms.grad(lambda v, d: csr(v).mv(d), (0, 1)))(csr().values, VECTOR)
    assert by_values.asnumpy().tolist() == [10.0, 3.0, 8.0]
    assert by_vector.asnumpy().tolist() == [[0.0], [-2.0], [4.0], [1.5]]


def test_product_of_two_sparse_matrices() -> None:
    turned = COOTensor(csr().to_coo().indices[:, ::-1], csr().values, (4, 3)).to_csr()
    assert np.allclose(csr().mm(turned).to_dense().asnumpy(), DENSE @ DENSE.T)


def test_sums(run) -> None:
    for axis in (0, 1):
        assert np.allclose(run(lambda: csr().sum(axis))().asnumpy(), DENSE.sum(axis, keepdims=True))  # noqa: B023


def test_by_elements(run) -> None:
    other = Tensor(np.arange(1, 13, dtype=np.float32).reshape(3, 4))
    assert np.allclose(run(lambda d: (csr() * d).to_dense())(other).asnumpy(), DENSE * other.asnumpy())
    assert np.allclose(run(lambda d: (csr() / d).to_dense())(other).asnumpy(), DENSE / other.asnumpy())
    assert np.allclose((csr() + csr()).to_dense().asnumpy(), 2 * DENSE)
    assert np.allclose((csr() - csr()).to_dense().asnumpy(), 0 * DENSE)
    weighted = ops.csr_add(csr(), csr(), Tensor(2.0), Tensor(-0.5))
    assert np.allclose(weighted.to_dense().asnumpy(), 1.5 * DENSE)


def test_softmax_is_over_what_is_stored(run) -> None:
    soft = run(lambda v: ops.csr_softmax(csr(v), ms.float32).values)(csr().values).asnumpy()
    e = np.exp([-6.0, 0.0])
    assert np.allclose(soft, [1.0, *(e / e.sum())], atol=1e-6)
    assert csr().values.asnumpy().tolist() == [1.5, -2.0, 4.0]  # MindSpore writes over its input here


def test_gathered() -> None:
    x = csr()
    taken = ops.csr_gather(x.indptr, x.indices, Tensor(np.arange(12.0).reshape(3, 4)), (3, 4))
    assert taken.asnumpy().tolist() == [3.0, 9.0, 10.0]


def test_conversions(run) -> None:
    places = Tensor([[2, 0], [0, 1], [1, 2]], ms.int32)
    back, values = run(ms.value_and_grad(lambda v: COOTensor(places, v * v, (3, 3)).to_csr().values))(csr().values)
    assert back.asnumpy().tolist() == [4.0, 16.0, 2.25]
    assert values.asnumpy().tolist() == [3.0, -4.0, 8.0]
    rows = COOTensor(places, csr().values, (3, 3)).to_csr()
    assert rows.indptr.asnumpy().tolist() == [0, 1, 2, 3]
    assert rows.indices.asnumpy().tolist() == [1, 2, 0]
    assert csr().to_coo().indices.asnumpy().tolist() == [[0, 3], [2, 1], [2, 2]]
