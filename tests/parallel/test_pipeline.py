"""A training step as a pipeline gives what one device gives, to rounding, in every schedule."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import nn, ops, optim, parallel
from adjoint.graph.derivatives import vjp_graph
from adjoint.graph.nested import float_positions
from adjoint.graph.steps import Steps
from adjoint.graph.trace import trace
from adjoint.graph.walk import interpret
from adjoint.parallel.schedules import pipeline_schedule
from adjoint.parallel.stage_derivatives import trained_stages
from adjoint.parallel.stage_runs import StagePlace, StepRun, in_turn, on_threads
from adjoint.testing.random_graphs import random_graph


class Residual(nn.Cell):
    """Layers with a norm that all of them share, and values that skip stages."""

    def __init__(self, width: int = 12, depth: int = 4) -> None:
        super().__init__()
        self.layers = nn.CellList([nn.Dense(width, width) for _ in range(depth)])
        self.norm = nn.LayerNorm((width,))

    def construct(self, x):
        first = x
        for layer in self.layers:
            x = x + ops.gelu(layer(self.norm(x)))
        return self.layers[0](x) + first


NET = Residual()
X = np.random.default_rng(0).normal(size=(12, 12)).astype(np.float32)
Y = np.random.default_rng(1).normal(size=(12, 12)).astype(np.float32)


def loss(x, y):
    return ops.mean((NET(x) - y) ** 2)


def close(found, wanted) -> None:
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f.asnumpy(), w.asnumpy(), rtol=2e-5, atol=1e-6)
        assert f.dtype == w.dtype


WANTED = ad.value_and_grad(loss, None, NET.trainable_params())(ad.Tensor(X), ad.Tensor(Y))


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize(("devices", "parts"), [(["interpreter"], 1), (["interpreter"] * 3, 4), (2, 3), (5, 12)])
def test_loss_and_gradients_are_those_of_one_device(devices, parts: int, recompute: bool) -> None:
    found = []
    for schedule in ("gpipe", "1f1b"):
        pipe = parallel.pipeline(
            loss, NET.trainable_params(), devices, micro_batches=parts, schedule=schedule, recompute=recompute
        )
        value, grads = pipe(ad.Tensor(X), Y)
        np.testing.assert_allclose(float(value), float(WANTED[0]), rtol=1e-6)
        close(grads, WANTED[1])
        found.append([g.asnumpy() for g in grads])
    for a, b in zip(*found, strict=True):  # both schedules add in one order
        np.testing.assert_array_equal(a, b)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
def test_the_stages_of_a_random_graph_have_its_gradient(seed: int, n: int, recompute: bool) -> None:
    random = Random(seed)
    inner, inputs = random_graph(random, random.randrange(3, 14), real=True)
    ends = float_positions(inner.specs)

    def total(*xs):
        ys = interpret(inner, xs)
        return [sum(ops.sum(ops.sin(ops.cast(ys[i], ad.float64))) for i in ends) + 0.0]

    graph = trace(total, [p.spec for p in inner.params], replayed=True)[0]
    wanted = float_positions([p.spec for p in graph.params])
    n = min(n, len(graph.calls))
    if not wanted or not n:
        return
    pulled = Steps(vjp_graph(graph, wanted, (0,)))(*inputs, np.float64(1.0))
    cut = parallel.cut_graph(graph, n)
    weights = [graph.params[i] for i in wanted]
    stages = trained_stages(cut, weights, recompute)
    values = dict(zip(graph.params, inputs, strict=True))
    run = StepRun(
        stages, [StagePlace("interpreter")] * n, lambda s, k, node: values[node], graph.outputs[0], np.float64(1.0)
    )
    in_turn(run, pipeline_schedule("1f1b", n, 1))
    found = {p: np.zeros(p.spec.shape, p.spec.dtype) for p in weights}
    for s, trained in enumerate(stages):
        for i, g in zip(trained.weighed, run.sums[s], strict=True):
            found[trained.stage.inputs[i]] = found[trained.stage.inputs[i]] + g
    for p, w in zip(weights, pulled, strict=True):
        scale = 1e-4 if p.spec.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(found[p], w, rtol=scale, atol=scale * (1 + np.abs(w).max(initial=0.0)))
    np.testing.assert_allclose(run.losses[0], Steps(graph)(*inputs)[0], rtol=1e-4)
    assert not run.sent and not run.kept and not run.cotangents  # nothing is held that has been used


def test_an_optimiser_takes_its_step() -> None:
    def trained(make_step):
        ad.set_seed(3)
        net = Residual(6, 2)
        step = make_step(net, lambda x, y: ops.mean((net(x) - y) ** 2))
        losses = [float(step(ad.Tensor(X[:8, :6]), ad.Tensor(Y[:8, :6]))) for _ in range(4)]
        return losses, [p.asnumpy() for p in net.trainable_params()]

    def plain(net, fn):
        return optim.compiled_step(fn, net.trainable_params(), optim.Adam(net.trainable_params(), 0.01))

    def piped(net, fn):
        opt = optim.Adam(net.trainable_params(), 0.01)
        return parallel.pipeline(fn, net.trainable_params(), 2, micro_batches=2, optimiser=opt)

    (one, weights), (other, found) = trained(plain), trained(piped)
    np.testing.assert_allclose(other, one, rtol=1e-4)
    assert other[-1] < other[0]
    for f, w in zip(found, weights, strict=True):
        np.testing.assert_allclose(f, w, atol=1e-4)


def test_new_values_of_parameters_and_new_shapes_are_seen() -> None:
    w = ad.Parameter(np.float32([[2.0]]), name="w")
    pipe = parallel.pipeline(lambda x: ops.mean(ops.exp(ops.tanh(x @ w))), w, 2, micro_batches=2)
    for value, size in ((2.0, 4), (-1.0, 4), (0.5, 6)):
        w.set_data(ad.Tensor(np.float32([[value]])))
        x = np.linspace(-1, 1, size, dtype=np.float32)[:, None]
        y = np.tanh(x * value)
        found, (grad,) = pipe(x)
        np.testing.assert_allclose(float(found), np.exp(y).mean(), rtol=1e-6)
        np.testing.assert_allclose(grad.asnumpy()[0, 0], (np.exp(y) * (1 - y**2) * x).mean(), rtol=1e-5)


def test_half_precision_is_added_up_in_single() -> None:
    w = ad.Parameter(np.ones((1, 1), np.float16), name="w")
    pipe = parallel.pipeline(lambda x: ops.sum(ops.sin(x @ w)), w, 2, micro_batches=64, reduction="sum")
    x = np.full((64, 1), 0.01, np.float16)
    grad = pipe(x)[1][0]
    assert grad.dtype == np.float16 and pipe.weights[0].dtype == np.float16
    np.testing.assert_allclose(float(grad[0, 0]), 64 * float(x[0, 0]) * np.cos(0.01), rtol=1e-3)


def test_samples_are_those_of_micro_batches_one_after_another() -> None:
    w = ad.Parameter(np.ones((5, 5), np.float32), name="w")

    def noisy(x):
        return ops.mean(ops.dropout(ops.tanh(x @ w), 0.4) ** 2)

    def parts(x):
        return sum(noisy(x[k : k + 3]) for k in (0, 3)) / 2

    x = X[:6, :5]
    ad.set_seed(11)
    wanted = ad.value_and_grad(parts, None, w)(ad.Tensor(x))
    ad.set_seed(11)
    value, (grad,) = parallel.pipeline(noisy, w, 2, micro_batches=2)(x)
    np.testing.assert_allclose(float(value), float(wanted[0]), rtol=1e-6)
    np.testing.assert_allclose(grad.asnumpy(), wanted[1].asnumpy(), rtol=1e-5, atol=1e-7)


def test_statistics_of_a_batch_are_those_of_micro_batches() -> None:
    def trained(step):
        norm, w = nn.BatchNorm1d(4), ad.Parameter(np.full((4, 4), 0.25, np.float32), name="w")
        norm.set_train()
        value, grads = step(lambda x: ops.mean(ops.exp(norm(ops.tanh(x @ w)))), [w, norm.gamma])(ad.Tensor(X[:, :4]))
        return float(value), *(g.asnumpy() for g in grads), norm.moving_mean.asnumpy(), norm.moving_variance.asnumpy()

    wanted = trained(lambda fn, weights: optim.GradientAccumulation(3).value_and_grad(fn, None, weights))
    for recompute in (False, True):
        found = trained(lambda fn, ws, r=recompute: parallel.pipeline(fn, ws, 3, micro_batches=3, recompute=r))
        for f, w in zip(found, wanted, strict=True):
            np.testing.assert_allclose(f, w, rtol=1e-4, atol=1e-6)


def test_containers_labels_and_measured_times() -> None:
    table = ad.Parameter(np.arange(12.0).reshape(4, 3) / 12, name="table")

    def fn(batch):
        rows = ops.take(table, batch["word"], 0) if hasattr(ops, "take") else table[batch["word"]]
        return ops.sum(ops.sin(rows) * batch["scale"])

    batch = {"word": np.array([0, 3, 3, 1]), "scale": np.linspace(1, 2, 4)[:, None]}
    pipe = parallel.pipeline(fn, table, ["interpreter"] * 2, micro_batches=2, reduction="sum", measure=True)
    value, (grad,) = pipe(batch)
    expected, slope = ad.value_and_grad(fn, None, table)({k: ad.Tensor(v) for k, v in batch.items()})
    np.testing.assert_allclose(float(value), float(expected), rtol=1e-6)
    np.testing.assert_allclose(grad.asnumpy(), slope.asnumpy(), rtol=1e-6)


def test_an_error_in_a_stage_is_raised_and_ends_the_others() -> None:
    w = ad.Parameter(np.ones(3), name="w")

    def fn(index, x):
        return ops.sum(ops.sin(ops.tanh(x * w))[index.reshape(-1)])

    pipe = parallel.pipeline(fn, w, 3, micro_batches=2)
    pipe(np.zeros((2, 1), int), np.ones((2, 1)))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        pipe(np.array([[0], [9]]), np.ones((2, 1)))


def test_threads_wait_for_what_they_need() -> None:
    order: list[tuple[str, int, int]] = []

    class Noting(StepRun):
        def __init__(self) -> None:
            pass

        def needs(self, task):
            s, k = task.stage, task.micro_batch
            before = s - 1 if task.kind == "F" else s + 1
            return [task._replace(stage=before, micro_batch=k)] if 0 <= before < 3 else []

        def do(self, task) -> None:
            order.append(tuple(task))

    schedule = pipeline_schedule("1f1b", 3, 5)
    on_threads(Noting(), schedule)
    assert sorted(order) == sorted(tuple(t) for row in schedule.orders for t in row)
    for k in range(5):
        assert [s for kind, s, part in order if (kind, part) == ("F", k)] == [0, 1, 2]
        assert [s for kind, s, part in order if (kind, part) == ("B", k)] == [2, 1, 0]


W = ad.Parameter(np.ones((3, 3)), name="w")
OTHER = ad.Parameter(np.ones(3), name="other")
COUNT = ad.Parameter(np.zeros(()), name="count", requires_grad=False)


def plain_loss(x):
    return ops.mean(ops.tanh(x @ W))


def counting(x):
    COUNT.set_data(COUNT + 1)
    return plain_loss(x)


@pytest.mark.parametrize(
    ("change", "batch", "error", "said"),
    [
        ({}, np.ones((5, 3)), ad.ShapeError, "5 examples cannot be cut into 2 micro-batches"),
        ({}, np.ones(()), ad.ShapeError, r"these have the shapes \(\)"),
        ({}, {"a": np.ones((2, 3)), "b": np.ones((4, 3))}, ad.ShapeError, "first axes are equally long"),
        ({}, np.ones((0, 3)), ad.ShapeError, "no example"),
        ({"fn": lambda x: ops.tanh(x @ W)}, np.ones((2, 3)), ad.ShapeError, "must return the loss, one real number"),
        ({"fn": counting}, np.ones((2, 3)), ad.ArgumentError, "writes to the Parameters count"),
        ({"weights": [W, OTHER]}, np.ones((2, 3)), ad.ArgumentError, "does not use the Parameters other"),
        ({"devices": 50}, np.ones((2, 3)), ad.ArgumentError, "steps cannot be cut into 50 stages"),
        ({"devices": 0}, None, ad.ArgumentError, "devices must be above zero"),
        ({"devices": "gpu:0"}, None, ad.ArgumentTypeError, "a list of names"),
        ({"devices": [0, 1]}, None, ad.ArgumentTypeError, "named by a text"),
        ({"devices": ["cpu:99"]}, None, ad.ArgumentError, "there is no device 'cpu:99'"),
        ({"micro_batches": 0}, None, ad.ArgumentError, "micro_batches must be above zero"),
        ({"schedule": "zb"}, None, ad.ArgumentError, "there are gpipe, 1f1b"),
        ({"reduction": "max"}, None, ad.ArgumentError, '"mean" or "sum"'),
        ({"weights": []}, None, ad.ArgumentError, "no weights"),
        ({"optimiser": optim.GradientAccumulation(2)}, None, ad.ArgumentTypeError, "not GradientAccumulation"),
        ({"optimiser": parallel.zero(optim.SGD([W], 0.1), parallel.mesh(data=1))}, None, ad.ArgumentError, "split by `parallel.zero`"),
        ({"optimiser": optim.SGD([OTHER], 0.1)}, None, ad.ArgumentError, "the Parameters of the optimiser"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(change, batch, error, said: str) -> None:
    settings = {"fn": plain_loss, "weights": [W], "devices": 2, "micro_batches": 2, **change}
    with pytest.raises(error, match=said):
        pipe = parallel.pipeline(settings.pop("fn"), settings.pop("weights"), settings.pop("devices"), **settings)
        pipe(batch)
    assert float(COUNT.asnumpy()) == 0.0


def test_a_pipeline_inside_a_transform_is_refused() -> None:
    pipe = parallel.pipeline(plain_loss, W, 2, micro_batches=2)
    for inside in (ad.grad(lambda x: pipe(x)[0], None, W), ad.jit(lambda x: pipe(x)[0])):
        with pytest.raises(ad.ArgumentError, match="cannot run inside grad, vmap, jit"):
            inside(ad.Tensor(np.ones((2, 3))))
    with pytest.raises(ad.ArgumentError, match="cannot"):
        ad.grad(lambda x: pipe(x)[0])(ad.Tensor(np.ones((2, 3))))


def test_it_says_how_it_is_cut() -> None:
    pipe = parallel.pipeline(plain_loss, W, 2, micro_batches=2)
    assert "not cut yet" in str(pipe)
    pipe(np.ones((2, 3)))
    assert "balance" in str(pipe) and "1f1b: 2 stages, 2 micro-batches" in repr(pipe)
