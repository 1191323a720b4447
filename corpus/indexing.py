"""Indexing: reading and assigning elements, slices, masks, tensors as indices, NumPy's functions on tensors."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from adjoint import ops
from corpus.program import program


@program([0.3, 0.8, 1.4], traced=True)
def read_elements(x):
    return x[0] * x[-1] + ops.sin(x[1])


@program([[0.3, 0.8, 1.4], [0.5, 0.1, 0.9]], traced=True)
def read_slices(a):
    return a[0, ::2] * a[1, :2] + a[:, 1] ** 2


@program([[0.3, 0.8, 1.4], [0.5, 0.1, 0.9]], traced=True)
def read_with_newaxis_and_ellipsis(a):
    return a[..., 0][:, None] * a[1][np.newaxis, :] + a[..., -1:]


@program([0.3, 0.8, 1.4], traced=True)
def read_with_list(x):
    return x[[2, 0, 0, 1]] * np.array([1.0, 2.0, 3.0, 4.0])


@program([0.3, 0.8, 1.4], also=(([0.3, 1.8, 1.4],),), traced=True)
def read_at_argmax(x):
    return x[ops.argmax(x)] ** 2 + x[ops.argmin(x)] * 3


@program([0.3, -0.8, 1.4], static=False, reason="the shape of x[x > 0] depends on the values")
def read_with_mask(x):
    positive = x[x > 0]
    return (positive**2).sum() * len(positive)


@program([[0.3, 0.8], [1.4, 0.2]], traced=True)
def read_diagonal_by_arrays(a):
    i = np.arange(2)
    return a[i, i] * a[i, 1 - i]


@program([0.3, 0.8, 1.4], traced=True)
def assign_element(x):
    y = x.copy()
    y[1] = x[0] * x[2]
    return y**2


@program([0.3, 0.8, 1.4], traced=True)
def assign_to_argument(x):
    x[0] = x[1] * 2
    x[2] = x[0] * x[2]
    return x.sum() ** 2


@program([0.3, 0.8, 1.4], traced=True)
def assign_slice(x):
    y = ops.zeros(5, ad.float64)
    y[1:4] = x**2
    y[0] = x[0]
    y[-1] = y[1] * y[2]
    return y * np.arange(5.0)


@program([0.3, 0.8, 1.4, 0.6], traced=True)
def assign_strided(x):
    y = ops.ones_like(x)
    y[::2] = x[1::2] * x[:2]
    y[1::2] *= x[::2]
    return y**2


@program([0.3, 0.8, 1.4], traced=True)
def add_to_element(x):
    y = x * 2
    y[0] += x[2] ** 2
    y[1] -= x[0]
    y[2] *= y[1]
    y[0] /= y[2]
    return y


@program([0.3, 0.8, 1.4], traced=True)
def assign_in_loop(x):
    y = ops.zeros_like(x)
    for i in range(3):
        y[i] = x[i] ** (i + 1)
    return y * x[::-1]


@program([0.3, 0.8, 1.4, 0.2], traced=True)
def assign_running(x):
    for i in range(1, 4):
        x[i] = x[i] + 0.5 * x[i - 1] ** 2
    return x


@program([0.3, 0.8, 1.4], traced=True)
def table_of_products(x):
    table = ops.zeros((3, 3), ad.float64)
    for i in range(3):
        for j in range(i, 3):
            table[i, j] = x[i] * x[j]
            table[j, i] += table[i, j] ** 2
    return table


@program([0.3, 0.8, 1.4], also=(([1.4, 0.8, 0.3],),), traced=True)
def assign_at_argmax(x):
    y = x**2
    y[ops.argmax(x)] = x[0] * x[1] * x[2]
    return y


@program([0.3, -0.8, 1.4])
def assign_with_mask(x):
    y = x * x
    y[x < 0] = 0.5
    return y * x


@program([0.3, -0.8, 1.4])
def update_with_mask(x):
    y = x * x
    y[x > 1] *= 3.0
    return y


@program([0.3, 0.8, 1.4], traced=True)
def assign_broadcast_row(x):
    a = ops.ones((2, 3), ad.float64)
    a[0] = x
    a[1, 1:] = x[0]
    a[:, 2] *= x[1]
    return a


@program([0.3, 0.8, 1.4], also=(([2.3, 0.8, 1.4],),))
def assign_in_branch(x):
    y = x * 1.0
    if x[0] > x[1]:
        y[0] = x[2] ** 2
    else:
        y[1] = x[0] * x[2]
        y[2] += 1.0
    return y**2


@program([0.3, 0.8, 1.4], also=(([0.1, 0.1, 0.2],),))
def assign_in_while(x):
    y = ops.zeros_like(x)
    i = 0
    while i < 3 and y.sum() < 1:
        y[i] = x[i] * x[0] + 0.1
        i += 1
    return y * x


@program([0.1, 0.2, 0.3, 0.4], also=(([2.1, 0.2, 0.3, 0.4],),))
def while_with_moving_index(x):
    i = 0
    total = x[0]
    while total < 0.8:
        i += 1
        total = total + x[i]
    return total * x[i]


@program([0.3, 0.8, 1.4], traced=True)
def assignment_is_no_view(x):
    y = x[1:]
    y[0] = x[0] ** 2
    return x.sum() * y.sum()


@program([0.3, 0.8, 1.4], traced=True)
def overwritten_twice(x):
    y = x * 2
    y[0] = y[0] ** 2
    y[0] = y[0] * x[1]
    y[:] = y * y[0]
    return y


@program([0.5, 0.2, 0.8], traced=True)
def scatter_with_repeats(x):
    out = ops.zeros(2, ad.float64)
    return ops.index_add(out, np.array([0, 1, 0]), x**2, 0) ** 2


@program([[0.5, 0.2], [0.8, 1.3]], traced=True)
def take_and_gather(a):
    return ops.take(a, np.array([1, 0, 1]), 0).sum(0) * ops.take_along_axis(a, np.array([[1, 0], [0, 0]]), 1)


@program([0.5, 0.2, 0.8], traced=True)
def numpy_elementwise(x):
    return np.sin(x) * np.exp(-x) + np.hypot(x, 1.0) - np.log1p(x)


@program([[0.5, 0.2], [0.8, 1.3]], traced=True)
def numpy_reductions(a):
    return np.sum(a, axis=0) * np.mean(a, 1) + np.max(a) - np.prod(a) + np.linalg.norm(a)


@program([0.5, 0.2, 0.8], traced=True)
def numpy_stacking(x):
    a = np.stack([x, x**2])
    b = np.concatenate([x, x[:1]])
    return np.dot(a, x).sum() * np.cumsum(b)


@program([0.5, 0.2, 0.8], traced=True)
def numpy_where_clip(x):
    return np.where(x > 0.3, x**2, np.cos(x)) + np.clip(x, 0.3, 0.7) + np.maximum(x, 0.4)


@program([[0.5, 0.2], [0.8, 1.3]], traced=True)
def numpy_linear_algebra(a):
    return np.linalg.solve(a + 2 * np.eye(2), a) @ np.linalg.inv(a) + np.trace(a) + np.outer(a[0], a[1])


@program([0.5, 0.2, 0.8], traced=True)
def numpy_diff_and_gradient(x):
    return np.diff(x) ** 2 + np.interp(0.4, np.arange(3.0), x)


@program(0.5, 1.1, traced=True)
def adjoint_numpy_array(r, angle):
    p = ad.numpy.array([r * ad.numpy.cos(angle), r * ad.numpy.sin(angle)])
    return ad.numpy.vstack([p, p**2]) @ p


@program([0.5, 0.2, 0.8], traced=True)
def methods_of_tensors(x):
    return x.reshape(3, 1).T.squeeze() * x.mean() + x.cumsum().exp() + x.std() + x.max() * x.min()


@program([0.5, 0.2, 0.8], [1.0, 0.3], traced=True)
def broadcasting(x, y):
    return (x[:, None] - y[None, :]) ** 2 / (1 + x[:, None])


@program([[0.5, 0.2, 0.8], [1.0, 0.3, 0.6]], traced=True)
def moving_axes(a):
    b = ops.transpose(a, (1, 0)).reshape(2, 3)
    return (b * a).flatten()[::-1] * np.arange(6.0) + ops.roll(a, 1).ravel() ** 2


@program([[0.5, 0.2, 0.8], [1.0, 0.3, 0.6]], traced=True)
def contractions(a):
    return ops.einsum("ij,kj->ik", a, a**2) + ops.tensordot(a, a, ((0, 1), (0, 1)))


@program([0.5, 0.2, 0.8], traced=True)
def splitting_and_joining(x):
    a, b, c = x[:1], x[1:2], x[2:]
    return ops.concatenate([c, a * b, ops.tile(b, 2), ops.pad(a, (1, 1))]) ** 2


@program([0.9, 0.2, 0.5], traced=True)
def sorting_ops(x):
    return ops.sort(x)[0] * np.array([1.0, 2.0, 3.0]) + x[ops.sort(-x)[1]] ** 2 + x[ops.argsort(x)][0] + ops.cumprod(x)


@program([0.9, 0.2, 0.5, 1.4], traced=True)
def shape_driven(x):
    n = x.shape[0]
    half = n // 2
    a = x.reshape(half, -1)
    return a.sum(0) * len(a) + x[:half] ** x.ndim + x.size


@program([0.9, 0.2, 0.5], traced=True)
def upper_triangle(x):
    a = ops.outer(x, x)
    a[np.triu_indices(3, 1)] = 0.0
    return a + ops.tril(a, -1) * 2
