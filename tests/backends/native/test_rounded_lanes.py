"""float16 and bfloat16 in compiled code: every step is rounded as the interpreter rounds it, and casts are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import adjoint as ad
from adjoint import amp, nn, ops, optim
from adjoint.backends.interpreter import Steps
from adjoint.backends.native.compiler import Program
from adjoint.backends.native.plan.stages import Stages
from adjoint.backends.native.rewrite.canonical import canonical
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Graph
from adjoint.ops.casting import Cast
from adjoint.ops.conv import Conv, ConvFilter, ConvInput
from adjoint.testing.quick_builds import quick_builds
from adjoint.testing.random_graphs import random_graph

F16, BF16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
HALVES = [F16, BF16]
half = pytest.mark.parametrize("dtype", HALVES, ids=str)
Arrays = list[np.ndarray]


def assert_same(got: Any, want: Any, what: str = "") -> None:
    """The same dtype, shape and numbers."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    with np.errstate(invalid="ignore"):
        number = got.astype(np.float64) if got.dtype in HALVES else got
        np.testing.assert_array_equal(number, want.astype(number.dtype), err_msg=what)


def compiled_cast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    builder = Builder()
    node = builder.build(Cast(dtype), (builder.param(Spec(x.shape, x.dtype)),))
    run = Program(Graph(tuple(builder.params), (node,)))
    assert not run.left_out
    return np.asarray(run(x)[0])


def both_ways(run: Callable[..., Any], *xs: Any) -> tuple[Arrays, Arrays]:
    """The results in machine code, all of it, and in the interpreter."""
    fast, slow = ad.jit(run), ad.jit(run, backend="interpreter")
    got, want = ([np.asarray(y) for y in ad.tree.leaves(f(*xs))] for f in (fast, slow))
    assert not Stages(canonical(fast.graph(*xs))).left_out
    again = [np.asarray(y) for y in ad.tree.leaves(fast(*xs))]  # by the compiled way in
    for x, y in zip(again, got, strict=True):
        assert_same(x, y, "the second call")
    return got, want


# ---------------------------------------------------------------- casts


@pytest.mark.parametrize("bits", [128, 0], ids=["integer steps", "the processor's"])
@half
def test_every_number_in_half_precision_becomes_what_numpy_makes_of_it(dtype: np.dtype, bits: int) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    with quick_builds(0, bits), np.errstate(all="ignore"):
        for other in (np.float32, np.float64, np.int32, np.int64, np.bool_, F16, BF16):
            whole = x if np.dtype(other).kind != "i" else x[np.abs(x.astype(np.float32)) < 2**31]
            assert_same(compiled_cast(whole, np.dtype(other)), whole.astype(np.float32).astype(other), str(other))


@pytest.mark.parametrize("bits", [128, 0], ids=["integer steps", "the processor's"])
@half
def test_numbers_are_rounded_to_half_precision_as_numpy_does(dtype: np.dtype, bits: int) -> None:
    draw = np.random.default_rng(0)
    exact = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    with np.errstate(invalid="ignore"):
        exact = np.sort(exact[np.isfinite(exact)].astype(np.float64))
    between = (exact[1:] + exact[:-1]) / 2  # halfway, where the even one is nearest
    double = np.concatenate(
        [between, between * (1 + 1e-15), between * (1 - 1e-15), exact, [np.nan, np.inf, -np.inf, 1e300, 5e-324]]
    )
    bit_patterns = draw.integers(0, 1 << 32, 50_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with quick_builds(0, bits), np.errstate(all="ignore"):
        for x in (
            double, double.astype(np.float32), bit_patterns, draw.integers(-(1 << 62), 1 << 62, 1000),
            draw.integers(-70_000, 70_000, 5000).astype(np.int32), np.array([True, False, True]),
        ):  # fmt: skip
            got, want = compiled_cast(x, dtype), x.astype(dtype)
            assert_same(got, want, str(x.dtype))
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))  # -0.0 too


# ---------------------------------------------------------------- graphs


@pytest.mark.parametrize("block", range(3))
def test_random_graphs(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        graph, inputs = random_graph(Random(seed), 14, empty=seed % 4 == 3, half=True)
        with quick_builds(0, (0, 128, 256)[seed % 3]):
            found = Program(graph)(*inputs)
        for k, (x, y) in enumerate(zip(found, Steps(graph)(*inputs), strict=True)):
            assert_same(x, y, f"seed {seed}, result {k} of\n{graph}")


def normed(x: Any) -> Any:
    centred = x - ops.mean(x, 1, keepdims=True)
    return centred / ops.sqrt(ops.mean(centred * centred, 1, keepdims=True) + 0.01)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x, w: ops.tanh(x * x) + x / 3.0 - ops.exp(x) * x,
    "softmax": lambda x, w: ops.softmax(x, 1),
    "layer norm": lambda x, w: normed(x),
    "reductions": lambda x, w: (ops.sum(x, 0), ops.max(x, 1), ops.mean(x), ops.sum(x)),
    "product": lambda x, w: ops.relu(x @ w) * 2.0 + 1.0,
    "transposed": lambda x, w: (w.T @ x.T)[1:, ::2],
    "moved": lambda x, w: ops.stack([ops.concat((x, x[:, :3]), 1), ops.concat((x[:, :3], x), 1)]),
    "choices": lambda x, w: ops.where(x > 0.5, x, -x) * (ops.isnan(x) == 0),
    "mixed": lambda x, w: x * w.astype("float32")[:, 0] + x.astype("float64"),
    "gradient": lambda x, w: ad.grad(lambda x, w: ops.sum(normed(x) @ w * 2.0), (0, 1))(x, w),
    "second gradient": lambda x, w: ad.grad(lambda v: ops.sum(ad.grad(lambda u: ops.sum(ops.tanh(u) ** 2))(v) * v))(x),
    "vmap": lambda x, w: ad.vmap(lambda row: ops.softmax(row @ w, 0))(x),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(33, 17), (1, 3), (0, 4)], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
@half
def test_programs(dtype: np.dtype, name: str, shape: tuple[int, int]) -> None:
    """As in the interpreter; float32 sums are added in another order, which moves the last digit of a few."""
    if name == "reductions" and 0 in shape:  # nothing has no largest element
        shape = (2, 4)
    draw = np.random.default_rng(1)
    x, w = (ad.Tensor(draw.normal(size=s).astype(dtype)) for s in (shape, (shape[1], 5)))
    for got, want in zip(*both_ways(PROGRAMS[name], x, w), strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        got, want = got.astype(np.float64), want.astype(np.float64)
        assert (got != want).mean() <= 0.02 if got.size > 50 else True
        np.testing.assert_allclose(got, want, rtol=2.0**-9 if dtype == F16 else 2.0**-6, atol=1e-3)


@half
def test_loops_and_branches_keep_a_state_in_half_precision(dtype: np.dtype) -> None:
    def run(x: Any, n: Any) -> Any:
        total, k = x * 0, 0
        for row in range(5):
            total = total * 0.9 + x * row
        while ops.sum(total) < n:
            total = total + (x * x if k % 2 == 0 else x)
            k = k + 1
        return total, k, ops.sum(total) * 0.1 if k > 2 else ops.sum(total)

    x = ad.Tensor(np.linspace(0.1, 1.3, 17).astype(dtype))
    for got, want in zip(*both_ways(run, x, ad.Tensor(400.0)), strict=True):
        assert_same(got, want)

    def sums(v: Any) -> Any:
        s = v
        for _ in range(6):
            s = s * v + 0.3
        return s

    number = ad.Tensor(np.asarray(0.7, dtype))
    for got, want in zip(*both_ways(lambda v: (sums(v), ad.grad(sums)(v)), number), strict=True):
        assert_same(got, want)


@half
def test_indices_and_updates(dtype: np.dtype) -> None:
    draw = np.random.default_rng(2)
    table, rows = ad.Tensor(draw.normal(size=(9, 5)).astype(dtype)), ad.Tensor(np.array([0, 8, -1, 3, 3]))

    def run(table: Any, rows: Any) -> Any:
        y = table[rows]
        gradient = ad.grad(lambda t: ops.sum(t[rows] * t[rows]))(table)
        z = table * 1
        z[2:4] = z[2:4] * 3
        z[rows[1]] = 7.0
        return y, gradient, z

    for got, want in zip(*both_ways(run, table, rows), strict=True):
        assert_same(got, want)


# ---------------------------------------------------------------- kernels


@half
def test_convolution_adds_up_in_single_precision(dtype: np.dtype) -> None:
    """One rounding: not farther than half a last digit from the sum in double precision, and a little for single precision."""
    draw = np.random.default_rng(0)
    geometry = (2, 1), ((1, 0), (2, 1)), (1, 2), 2
    x, w = draw.normal(size=(3, 4, 11, 19)).astype(dtype), draw.normal(size=(6, 2, 3, 3)).astype(dtype)
    g = draw.normal(size=Conv(*geometry).infer(Spec(x.shape), Spec(w.shape)).shape).astype(dtype)
    for op, a, b in (
        (Conv(*geometry), x, w), (ConvInput(*geometry, (11, 19)), g, w), (ConvFilter(*geometry, (3, 3)), x, g)
    ):  # fmt: skip
        got, _ = both_ways(op, ad.Tensor(a), ad.Tensor(b))
        want = op.eval(np, a.astype("float64"), b.astype("float64"))
        ulp = 2.0 ** (-11 if dtype == F16 else -8)
        assert got[0].dtype == dtype
        np.testing.assert_allclose(got[0].astype("float64"), want, rtol=ulp * 1.01, atol=2e-5)


@half
def test_pooling(dtype: np.dtype) -> None:
    x = ad.Tensor(np.random.default_rng(0).normal(size=(2, 3, 9, 20)).astype(dtype))

    def run(x: Any) -> Any:
        return (
            ops.max_pool2d(x, 3, 2), ops.avg_pool2d(x, 2), ops.max_pool2d(x, 2, return_indices=True)[1],
            ad.grad(lambda x: ops.sum(ops.max_pool2d(x, 2) * 2.0))(x),
        )  # fmt: skip

    for got, want in zip(*both_ways(run, x), strict=True):
        assert_same(got, want)


@pytest.mark.parametrize(
    "types", [("float64", "float32"), ("float32", "int64"), ("float16", "float32"), ("int32", "float64")]
)
def test_factors_of_mixed_dtypes_have_code(types: tuple[str, str]) -> None:
    draw = np.random.default_rng(0)
    x, w, a = (
        (draw.normal(size=s) * 3).astype(t)
        for s, t in (((2, 3, 7, 9), types[0]), ((4, 3, 2, 3), types[1]), ((9, 5), types[1]))
    )

    def run(x: Any, w: Any, a: Any) -> Any:
        return ops.conv2d(x, w), x @ a, ops.einsum("nchw,ocij->nohwij", x, w)

    for got, want in zip(*both_ways(run, *map(ad.Tensor, (x, w, a))), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        scale = np.abs(want.astype("float64")).max()
        assert np.abs(got.astype("float64") - want).max() <= scale * (1e-12 if got.dtype == "float64" else 1e-5)


# ---------------------------------------------------------------- calls and training


@half
def test_arguments_and_results(dtype: np.dtype) -> None:
    """Numbers, arrays that lie otherwise in memory, containers, and arguments that are given back."""
    run = ad.jit(lambda p: {"y": p[0].T * p[1] + 1, "x": p[0], "n": p[1]})
    x = np.arange(12).reshape(3, 4).astype(dtype)
    for given in (x, x[:, ::-1], np.asfortranarray(x)):
        for number in (np.asarray(0.5, dtype), ad.Tensor(np.asarray(0.5, dtype))):
            found = run((ad.Tensor(given), number))
            assert_same(
                found["y"],
                (given.T.astype("float32") * 0.5).astype(dtype).astype("float32").astype(dtype) + dtype.type(1),
            )
            assert_same(found["x"], given)
            assert found["n"].dtype == dtype and (found["y"] + found["y"]).dtype == dtype


class Network(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.first, self.norm, self.last = (
            nn.Conv2d(2, 4, 3),
            nn.Dense(36, 8),
            nn.LayerNorm((8,)),
            nn.Dense(8, 3),
        )

    def construct(self, x: Any) -> Any:
        y = ops.max_pool2d(ops.relu(self.conv(x)), 2)
        return self.last(self.norm(self.first(ops.reshape(y, (x.shape[0], -1)))))


@pytest.mark.parametrize("how", ["autocast", "O2", "O3"])
@half
def test_a_step_of_mixed_precision_runs_as_machine_code(dtype: np.dtype, how: str) -> None:
    draw = np.random.default_rng(0)
    x, labels = draw.normal(size=(6, 2, 6, 6)).astype(np.float32), draw.integers(0, 3, 6)
    losses = {}
    for backend in ("native", "interpreter"):
        ad.set_seed(0)
        network = Network()
        weights = network.trainable_params()

        def loss(x: Any, labels: Any, network: Any = network) -> Any:
            return ops.cross_entropy(network(x), labels) * 128.0

        if how == "autocast":
            loss = amp.autocast(dtype)(loss)
        else:
            amp.auto_mixed_precision(network, how, dtype)
        rule = optim.SGD(weights, lr=0.05 / 128)
        step = optim.compiled_step(loss, weights, rule, backend=backend)
        losses[backend] = [float(step(x, labels)) for _ in range(3)]
        assert not Stages(canonical(step.graph(x, labels))).left_out
    assert losses["native"][2] < losses["native"][0]
    np.testing.assert_allclose(losses["native"], losses["interpreter"], rtol=2e-3 if dtype == F16 else 2e-2)
