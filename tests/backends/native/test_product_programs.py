"""Products of unusual shapes and dtypes with all kinds of steps after them, in checked machine code, against NumPy."""

from random import Random

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import AdjointError

SIZES = (1, 7, 8, 9, 15, 16, 17, 33)


def written(y):
    z = y * 1
    z[0] = 3
    z[..., -1] += z[..., 0]
    return z


def updated(y):
    z = y + 0
    z *= 2
    z[::2] -= 1
    return z


def buffered(y):
    z = y * 0
    np.add(y, y, out=z)
    np.multiply(z, 2, out=z)
    return z


STEPS = {
    "add": lambda y: y + 1, "relu": lambda y: np.maximum(y.real, 0), "bias": lambda y: y + y[..., :1] * 2, "sum": lambda y: y.sum(0),
    "last sum": lambda y: (y * 2).sum(-1), "transposed": lambda y: (y.T + 1) * 2, "line": lambda y: (y.reshape(-1) * 2)[::-1],
    "sliced": lambda y: y[..., ::2] + 1, "turned": lambda y: (y[::-1] * 2) - 1, "written": written, "updated": updated,
    "where": lambda y: np.where(y.real > 0, y, -y * 2), "single": lambda y: y.real.astype(np.float32) * 2, "running": lambda y: np.cumsum(y, -1),
    "squared": lambda y: np.matmul(np.swapaxes(y, -1, -2), y) if y.ndim > 1 else y * y, "joined": lambda y: np.concatenate([y, y + 1], -1),
    "stacked": lambda y: np.stack([y, y * 2], -1) + 1, "picked": lambda y: y[[0, -1]] * 3, "padded": lambda y: np.pad(y, 1) + 1,
    "centred": lambda y: y - y.mean(-1, keepdims=True), "repeated": lambda y: np.repeat(y, 2, axis=0) * 2, "flipped": lambda y: np.flip(y) + y,
    "buffered": buffered, "size": lambda y: abs(y) + 1,
}  # fmt: skip
PRODUCTS = {
    "matrices": (((0, 1), (1, 2)), np.matmul), "matrix and vector": (((0, 1), (1,)), np.matmul), "vector and matrix": (((1,), (1, 2)), np.matmul),
    "stacks": (((3, 0, 1), (3, 1, 2)), np.matmul), "stack and vector": (((3, 0, 1), (1,)), np.matmul), "vector and stack": (((1,), (3, 1, 2)), np.matmul),
    "stack and matrix": (((3, 0, 1), (1, 2)), np.matmul), "matrix and stack": (((0, 1), (3, 1, 2)), np.matmul),
    "einsum": (((3, 0, 1), (2, 1)), lambda x, y: np.einsum("bmk,nk->bnm", x, y)), "right turned": (((0, 1), (2, 1)), lambda x, y: x @ y.T),
    "left turned": (((1, 0), (1, 2)), lambda x, y: x.T @ y), "three": (((0, 1), (1, 0)), lambda x, y: x @ y @ x),
}  # fmt: skip
TOLERANCE = {"float16": 3e-2, "float32": 2e-5}


def numbers(random, shape, dtype):
    draw = np.random.default_rng(random.randrange(10**9))
    x = draw.integers(-4, 5, shape)
    return (x + 1j * draw.integers(-3, 4, shape) if dtype[0] == "c" else x).astype(dtype)


@pytest.mark.parametrize("seed", range(120))
def test_a_product_and_what_follows_it(seed, monkeypatch):
    monkeypatch.setenv("ADJOINT_CHECKED", "1")
    random = Random(seed)
    sizes = [*(random.choice(SIZES) for _ in range(3)), random.choice((1, 2, 3, 8))]
    name, steps = random.choice(sorted(PRODUCTS)), [random.choice(sorted(STEPS)) for _ in range(2)]
    dtype = random.choice(("float64", "float64", "float32", "float32", "int64", "int32", "float16", "complex128"))
    (left, right), product = PRODUCTS[name]
    x, y = (numbers(random, [sizes[k] for k in axes], dtype) for axes in (left, right))

    def program(x, y):
        z = product(x, y)
        for step in steps:
            z = STEPS[step](z) if z.ndim else z + 1
        return z

    wide = (v.astype(np.float32) if dtype == "float16" else v for v in (x, y))
    with np.errstate(all="ignore"):
        want = np.asarray(program(*wide))
        try:
            found = np.asarray(ad.jit(program, backend="native")(x, y))
        except AdjointError:  # what dynamic mode refuses too
            with pytest.raises(AdjointError):
                program(ad.Tensor(x), ad.Tensor(y))
            return
    shown = f"{name} {sizes} {dtype} {steps}"
    assert found.shape == want.shape and (dtype == "float16" or found.dtype == want.dtype), shown
    largest = np.max(np.abs(want), initial=1)
    if dtype == "float16" and largest > 3e3:
        return
    tolerance = max(TOLERANCE.get(dtype, 1e-10), 2e-5 if "single" in steps else 0)
    assert np.allclose(found, want, tolerance, tolerance * largest, equal_nan=True), shown


@pytest.mark.parametrize("index", [0, -1, slice(None, None, 2), (slice(None), 1), [0, 2]])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "int64", "complex64", "uint8", "bool"])
def test_writes_in_place_in_dtypes_with_and_without_machine_code(index, dtype):
    def write(x):
        z = x * 1 if x.dtype != bool else x | x
        z[index] = x[1, 1]
        z[0] = z[1]
        return z

    x = np.arange(12).reshape(4, 3).astype(dtype)
    for backend in ("native", "interpreter"):
        found = ad.jit(write, backend=backend)(x)
        assert found.dtype == write(x).dtype and np.array_equal(found, write(x))
