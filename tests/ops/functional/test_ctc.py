"""CTC against the sum over every alignment, written out."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

TARGETS, STEPS, COUNTS = np.array([[1, 1], [2, 7], [2, 1]]), np.array([4, 2, 3]), np.array([2, 1, 2])


def collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    """The labels of an alignment: repeated ones once, then no blanks."""
    return [label for label, _ in itertools.groupby(path) if label != blank]


def cost(logs: np.ndarray, labels: Any, blank: int = 0) -> float:
    """The negative logarithm of the sum over all alignments of (T, C)."""
    if logs.shape[1] <= blank:
        raise ValueError
    paths = itertools.product(range(logs.shape[1]), repeat=len(logs))
    fitting = [p for p in paths if collapsed(p, blank) == list(labels)]
    total = sum(np.exp(sum(row[k] for row, k in zip(logs, p, strict=True))) for p in fitting)
    return -np.log(total) if fitting else np.inf


def costs(logs: np.ndarray) -> np.ndarray:
    return np.array([cost(logs[:t, n], TARGETS[n, :s]) for n, (t, s) in enumerate(zip(STEPS, COUNTS, strict=True))])


def loss(logs: Any, reduction: str = "none") -> Any:
    return ops.ctc_loss(logs, TARGETS, STEPS, COUNTS, reduction=reduction)[0]


def table(row: Any) -> list[Any]:
    """The calls and their references: logarithms that need not add up to 1 are differentiated as they are."""
    return [
        row("ctc_loss", loss, costs, (4, 3, 3), slack=4.0),
        row("ctc_loss", lambda x: loss(x, "mean"), lambda x: np.mean(costs(x) / COUNTS), (4, 3, 3), slack=4.0),
        row("ctc_loss", lambda x: ops.ctc_loss(x, [0, 1], 4, 2, 2, "none")[0], lambda x: cost(x, [0, 1], 2), (4, 3), slack=4.0),
    ]  # fmt: skip


def test_labels_one_behind_the_other_are_labels_side_by_side() -> None:
    logs = np.random.default_rng(0).normal(size=(4, 3, 3))
    row = np.array([1, 1, 2, 2, 1])
    found = ops.ctc_loss(logs, row, STEPS, COUNTS, reduction="none")[0]
    np.testing.assert_allclose(found, costs(logs), rtol=1e-12)
    whole = ad.jit(lambda x, y, t, s: ops.ctc_loss(x, y, t, s, reduction="none")[0])
    for labels in (row, TARGETS):  # lengths that are known only when the graph runs
        np.testing.assert_allclose(whole(logs, labels, STEPS, COUNTS), costs(logs), rtol=1e-12)


def test_forward_variables() -> None:
    logs = np.log(np.array([[[0.5, 0.5]], [[0.25, 0.75]], [[0.5, 0.5]]]))
    _, alpha = ops.ctc_loss(logs, [[1]], [2], [1])
    want = [[0.5, 0.5, 0], [0.125, 0.75, 0.125], [0, 0, 0]]
    np.testing.assert_allclose(np.exp(alpha.asnumpy())[0], want, rtol=1e-12)


@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_labels_that_no_alignment_gives(mode: str) -> None:
    logs = np.zeros((2, 2, 3))
    call = lambda x, zero: ops.ctc_loss(x, [[1, 1], [1, 2]], [2, 2], [2, 2], 0, "sum", zero)[0]
    run = lambda zero: ad.value_and_grad(lambda x: call(x, zero))
    run = run if mode == "dynamic" else lambda zero, run=run: ad.jit(run(zero))
    assert run(False)(logs)[0] == np.inf
    value, grad = run(True)(logs)
    assert value == 0  # one alignment of certain steps
    np.testing.assert_array_equal(grad[:, 0], 0)
    np.testing.assert_allclose(grad[:, 1], [[0, -1, 0], [0, 0, -1]], atol=1e-15)


def test_no_labels_and_no_steps() -> None:
    logs = np.log(np.full((3, 2, 2), 0.5))
    found = ops.ctc_loss(logs, np.zeros((2, 0), int), [3, 0], [0, 0], reduction="none")[0]
    np.testing.assert_allclose(found, [3 * np.log(2), 0], atol=1e-15)


def test_a_long_loop_against_differences_twice() -> None:
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=(2, 20, 2, 4))
    y = rng.integers(1, 4, size=(2, 5))
    f = lambda x: ops.ctc_loss(ops.log_softmax(x, -1), y, [20, 15], [5, 3], reduction="sum")[0]
    g = ad.grad(f)
    run = ad.jit(lambda x, v: (f(x), g(x), ad.jvp(g, (x,), (v,))[1]))
    value, grad, push = run(x, v)
    h = 1e-5
    sides = [(f(x + s * h * v), g(x + s * h * v).asnumpy()) for s in (1, -1)]
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(np.vdot(grad, v), (sides[0][0] - sides[1][0]) / (2 * h), rtol=1e-7)
    np.testing.assert_allclose(push, (sides[0][1] - sides[1][1]) / (2 * h), atol=1e-8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: ops.ctc_loss(x, [[1]], [4], [1], blank=3), "blank 3 is not one of the classes 0 to 2"),
        (lambda x: ops.ctc_loss(x, [[3]], [4], [1]), "label 3 is not one of 0 to 2"),
        (lambda x: ops.ctc_loss(x, [[1]], [5], [1]), "input_lengths [5] must lie between 0 and 4"),
        (lambda x: ops.ctc_loss(x, [[1]], [4], [2]), "target_lengths [2] must lie between 0 and 1"),
        (lambda x: ops.ctc_loss(x, [[1]], [4, 4], [1]), "a number for each of the 1 samples, not the shape (2,)"),
        (lambda x: ops.ctc_loss(x, [[1], [1]], [4], [1]), "targets must have the shape (1, S)"),
        (lambda x: ops.ctc_loss(ops.tile(x, (1, 2, 1)), [1, 2, 1], [4, 4], [1, 1]), "3 labels for target_lengths that add up to 2"),
        (lambda x: ops.ctc_loss(x[0, 0], [[1]], [4], [1]), "log_probs must be floating-point numbers (T, N, C)"),
        (lambda x: ops.ctc_loss(x, [[1]], [4], [1], reduction="max"), "reduction must be 'mean', 'sum' or 'none'"),
    ],
)  # fmt: skip
def test_refusals(call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call(ops.zeros((4, 1, 3)))
    assert words in str(caught.value) and "called at test_ctc.py" in str(caught.value)


def test_whole_numbers_are_asked_for() -> None:
    for change in ({"targets": [[1.0]]}, {"input_lengths": [4.0]}, {"target_lengths": [1.0]}):
        given = {"targets": [[1]], "input_lengths": [4], "target_lengths": [1]} | change
        with pytest.raises(TypeError, match="must be integers, not float64"):
            ops.ctc_loss(ops.zeros((4, 1, 3)), **given)


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row


def test_a_compiled_graph_does_not_grow_with_time() -> None:
    sizes = []
    for steps in (20, 200):
        run = ad.jit(ad.grad(lambda x, n=steps: ops.ctc_loss(x, [[1, 2]], [n], [2])[0]))
        sizes.append(len(run.graph(np.zeros((steps, 1, 3))).nodes))
    assert sizes[0] == sizes[1]
