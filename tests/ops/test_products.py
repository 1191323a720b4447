"""Products of arrays: values against NumPy, derivatives against finite differences."""

import numpy as np
import pytest

from adjoint.api.grad import grad
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.tensor import Tensor
from adjoint.ops.functional import linalg

RNG = np.random.default_rng(5)


def close(got, want, rtol=1e-12):
    got = got.asnumpy() if isinstance(got, Tensor) else got
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def draw(*shape):
    return RNG.normal(size=shape)


SHAPES = [((), ()), ((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (3,)),
          ((3,), (2, 3, 2)), ((2, 2, 3), (2, 3, 2))]  # fmt: skip


@pytest.mark.parametrize("a, b", SHAPES)
def test_dot(check, a, b):
    check(linalg.dot, np.dot, draw(*a), draw(*b))
    check(linalg.kron, np.kron, draw(*a), draw(*b))
    check(linalg.outer, np.outer, draw(*a), draw(*b))


@pytest.mark.parametrize("a, b", [((), (2,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((2, 2, 3), (2, 3))])
def test_inner(check, a, b):
    check(linalg.inner, np.inner, draw(*a), draw(*b))


def test_vdot_conjugates_the_first(check):
    check(linalg.vdot, np.vdot, draw(2, 3), draw(2, 3))
    check(linalg.vdot, np.vdot, draw(3) + 1j * draw(3), draw(3) + 1j * draw(3))


@pytest.mark.parametrize("axes", [0, 1, 2, (1, 1), ([0, 2], [1, 0]), ([2], [0]), ((), ())])
def test_tensordot(check, axes):
    a, b = draw(2, 2, 2), draw(2, 2, 2)
    check(lambda a, b: linalg.tensordot(a, b, axes), lambda a, b: np.tensordot(a, b, axes), a, b)


def test_python_numbers_stay_weak():
    x = Tensor(np.ones(3, "float32"))
    assert linalg.dot(2.0, x).dtype == linalg.kron(2.0, x).dtype == linalg.outer(2.0, x).dtype == np.float32


def test_matrix_products(check):
    a, b, x = draw(2, 3), draw(3, 4), draw(3)
    check(linalg.mm, np.matmul, a, b)
    check(linalg.mv, np.matmul, a, x)
    check(linalg.bmm, np.matmul, draw(2, 2, 3), draw(2, 3, 1))
    check(linalg.matmul, np.matmul, draw(2, 1, 2, 3), draw(2, 3, 1))


def test_cross(check):
    check(linalg.cross, np.cross, draw(3), draw(3))
    check(linalg.cross, np.cross, draw(2, 3), draw(3))
    for options in [{"axis": 0}, {"axisa": 0, "axisb": 0}, {"axisa": 0, "axisb": 0, "axisc": 0}]:
        ours = lambda a, b, options=options: linalg.cross(a, b, **options)
        check(ours, lambda a, b, options=options: np.cross(a, b, **options), draw(3, 2), draw(3, 2))


@pytest.mark.parametrize("shapes", [[(2, 3), (3, 4)], [(2, 9), (9, 1), (1, 5)], [(3,), (3, 4), (4, 2), (2,)]])
def test_multi_dot(check, shapes):
    check(lambda *xs: linalg.multi_dot(xs), lambda *xs: np.linalg.multi_dot(xs), *(draw(*s) for s in shapes))


def test_multi_dot_takes_the_cheapest_order():
    # From the left: 10*100*5 + 10*5*50 = 7,500 products; from the right ten times as many.
    from adjoint.ops.functional.products import _cheapest_splits

    assert _cheapest_splits([10, 100, 5, 50])[0, 2] == 1
    assert _cheapest_splits([50, 5, 100, 10])[0, 2] == 0


def test_trace(check):
    check(linalg.trace, np.trace, draw(3, 4))
    for options in [{"offset": 1}, {"offset": -1, "axis1": 1, "axis2": 2}, {"axis1": -1, "axis2": 0}]:
        ours = lambda x, options=options: linalg.trace(x, **options)
        check(ours, lambda x, options=options: np.trace(x, **options), draw(2, 3, 4))


# ---------------------------------------------------------------- einsum

EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba", (2, 3)),
    ("i,i", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->ji", (2, 2, 3)),
    ("iii", (2, 2, 2)),
    ("iji,j", (2, 3, 2), (3,)),
    ("...i,i->...", (2, 4, 3), (3,)),
    ("...ij,...jk", (2, 1, 2, 3), (4, 3, 2)),
    ("i...,...", (3, 2), (2,)),
    ("...ii->...i", (2, 3, 3)),
    ("...", (2, 3)),
    ("...->...", (2, 3)),
    (" i j , j k -> i k ", (2, 3), (3, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ij->", (2, 3)),
    (",i", (), (3,)),
    ("i,i", (1,), (3,)),
    ("ij,ij->ij", (1, 3), (2, 3)),
    ("Ab,bC->CA", (2, 3), (3, 2)),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: c[0])
def test_einsum(check, case):
    text, *shapes = case
    xs = [draw(*s) for s in shapes]
    check(lambda *xs: linalg.einsum(text, *xs), lambda *xs: np.einsum(text, *xs), *xs)


def test_einsum_of_complex_numbers(check):
    a, b = (draw(2, 2) + 1j * draw(2, 2) for _ in range(2))
    check(lambda *xs: linalg.einsum("ii,ij->j", *xs), lambda *xs: np.einsum("ii,ij->j", *xs), a, b)


def test_einsum_with_lists_of_axes():
    a, b = draw(2, 3), draw(3, 4)
    close(linalg.einsum(a, [0, 1], b, [1, 2], [2, 0]), np.einsum(a, [0, 1], b, [1, 2], [2, 0]))
    close(linalg.einsum(a, [0, 1], b, [1, 2]), np.einsum(a, [0, 1], b, [1, 2]))
    close(linalg.einsum(a, [30, 2]), np.einsum(a, [30, 2]))
    close(linalg.einsum(a, [..., 1], [1, ...]), np.einsum(a, [..., 1], [1, ...]))


def test_einsum_of_a_tensor_and_a_list():
    close(grad(lambda x: linalg.einsum("i,i", x, [1.0, 2.0]))(Tensor(np.ones(2))), [1.0, 2.0])


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "text, shapes, words",
    [
        ("ij,jk->ik", [(2, 3)], "2 terms for 1 inputs"),
        ("ij->ik", [(2, 3)], "each letter of the result 'ik' must stand there once, and in some term"),
        ("ij->ii", [(2, 3)], "must stand there once"),
        ("i.->i", [(2,)], "may hold letters and one '...' only"),
        ("i1->i", [(2, 3)], "may hold letters and one '...' only"),
        ("...i->i", [(2, 3)], "the result must hold '...' too"),
        ("...ijk", [(2, 3)], "names more axes than its input has"),
        ("ijk", [(2, 3)], "term 'ijk' names 3 axes, its input has (2, 3)"),
        ("ii", [(2, 3)], "'i' names axes of different sizes in one input (2, 3)"),
        ("ij,jk", [(2, 3), (4, 2)], "axis 'j' has size 3 in one input and 4 in another"),
    ],
)
def test_einsum_refuses(text, shapes, words):
    with pytest.raises((ArgumentError, ShapeError)) as caught:
        linalg.einsum(text, *(draw(*s) for s in shapes))
    assert words in str(caught.value)
    assert "called at test_products.py" in str(caught.value)


@pytest.mark.parametrize(
    "f, shapes, words",
    [
        (linalg.mm, [(2, 3), (3,)], "mm: inputs of 2 and 2 axes are needed, not the shapes (2, 3) and (3,)"),
        (linalg.mv, [(2, 3), (3, 1)], "mv: inputs of 2 and 1 axes are needed"),
        (linalg.bmm, [(2, 3, 3), (1, 3, 3)], "bmm: the batches of (2, 3, 3) and (1, 3, 3) differ in size"),
        (linalg.cross, [(2,), (3,)], "cross: axis -1 of (2,) must have 3 elements"),
        (linalg.tensordot, [(2, 3), (3, 2)], "tensordot: axes (0, 1) of (2, 3) and (0, 1) of (3, 2) differ"),
        (linalg.tensordot, [(2,), (2, 3)], "tensordot: 2 axes of inputs with 1 and 2 axes"),
        (lambda *xs: linalg.multi_dot(xs), [(2, 3)], "two or more arrays are needed"),
        (lambda *xs: linalg.multi_dot(xs), [(2, 3), (3,), (3, 2)], "vectors only at the ends"),
    ],
)
def test_products_refuse(f, shapes, words):
    with pytest.raises((ArgumentError, ShapeError)) as caught:
        f(*(draw(*s) for s in shapes))
    assert words in str(caught.value)
