"""Einstein sums in other ops: the same numbers, and machine code for all of them."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.backends.native.compiler import Program
from adjoint.backends.native.rewrite.einsum_to_matmul import as_products
from adjoint.graph.node import Graph
from adjoint.graph.rewrite import rebuild
from adjoint.ops.contract import MatMul
from adjoint.ops.einstein_sum import Einsum
from adjoint.ops.movement import Transpose

SIZES = {"i": 3, "j": 4, "k": 5, "l": 6, "b": 2, "h": 3}
# fmt: off
SUBSCRIPTS = [
    "ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ji,kj->ik", "ij,jk->ki", "bij,bjk->bik",
    "bij,bkj->bik", "bhij,bhkj->bhik", "bihl,bjhl->bhij", "ijk,kl->ijl", "ij->", "ij->j",
    "ij->ji", "bij->jb", "i,j->ij", "i,i->", "ij,ij->i", "ij,j->i",
    "ij,j->", "i,ij,j->", "bij,bjk,k->bi", "ij,kl->ikjl", "ijk,ik->j", "ijk,jkl->il",
    "ij,ik,il->jkl", "bij,bij->b", "ij,jk,kl->il",
]
# fmt: on


def lowered(subscripts: str, dtype: type) -> tuple[Graph, list[np.ndarray]]:
    rng = np.random.default_rng(0)
    terms = subscripts.split("->")[0].split(",")
    xs = [rng.standard_normal([SIZES[a] for a in term]).astype(dtype) for term in terms]
    return rebuild(ad.jit(lambda *xs: ad.ops.einsum(subscripts, *xs)).graph(*xs), as_products), xs


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_the_same_sum(subscripts: str) -> None:
    graph, xs = lowered(subscripts, np.float32)
    assert not any(isinstance(n.op, Einsum) for n in graph.nodes)
    program = Program(graph)
    assert not program.left_out
    found = np.asarray(program(*xs)[0])
    wanted = np.einsum(subscripts, *(x.astype(float) for x in xs))
    assert found.dtype == np.float32 and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "bij,bjk->bik", "ijk,kl->ijl"])
def test_a_product_that_lies_right_is_not_moved(subscripts: str) -> None:
    graph, _ = lowered(subscripts, np.float64)
    assert sum(isinstance(n.op, MatMul) for n in graph.nodes) == 1
    assert not any(isinstance(n.op, Transpose) for n in graph.nodes)


def test_the_product_of_two_vectors_is_a_sum() -> None:
    x = np.arange(5.0)
    graph = rebuild(ad.jit(lambda x, y: x @ y).graph(x, x), as_products)
    assert not any(isinstance(n.op, MatMul) for n in graph.nodes)
    assert Program(graph)(x, x)[0] == 30


def test_whole_numbers_are_left_alone() -> None:
    x = np.arange(6).reshape(2, 3)
    graph = ad.jit(lambda x, y: ad.ops.einsum("ij,kj->ik", x, y)).graph(x, x)
    assert rebuild(graph, as_products) is graph
