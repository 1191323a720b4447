"""Labels of classes that do not exist are refused by their number, in dynamic mode, in batches and when a compiled function runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.errors import ArgumentError
from adjoint.graph.text import read

WEIGHT = np.array([1.0, 2.0, 0.5, 1.0])
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "nll_loss": ops.cross_entropy,
    "nll_loss of weights": lambda z, i: ops.nll_loss(z, i, WEIGHT),
    "nll_loss of rows": lambda z, i: ops.cross_entropy(z, i, reduction="none", label_smoothing=0.1),
    "multi_margin_loss": ops.multi_margin_loss,
    "multi_margin_loss of weights": lambda z, i: ops.multi_margin_loss(z, i, weight=WEIGHT),
    "ctc_loss": lambda z, i: ops.ctc_loss(z[:, None], i[None], np.array([3]), np.array([2]))[0],
}
MODES: dict[str, Callable[[Any], Any]] = {
    "dynamic": lambda f: f,
    "native": ad.jit,
    "interpreter": lambda f: ad.jit(f, backend="interpreter"),
    "gradient": ad.grad,
    "native gradient": lambda f: ad.jit(ad.grad(f)),
    "native value and gradient": lambda f: ad.jit(ad.value_and_grad(f)),
    "gradient of compiled": lambda f: ad.grad(ad.jit(f)),
    "batch": lambda f: lambda z, i: ad.vmap(f)(z[None], i[None]),
    "compiled batch": lambda f: lambda z, i: ad.jit(ad.vmap(f))(z[None], i[None]),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_class_that_does_not_exist(loss: str, mode: str) -> None:
    run = MODES[mode](LOSSES[loss])
    z = np.random.default_rng(0).standard_normal((3, 4))
    labels = np.array([2, 3] if loss == "ctc_loss" else [2, 0, 3])
    run(z, labels)
    for label in (-1, 4, -5, 1000):
        labels[1] = label
        with pytest.raises(ArgumentError, match=f"{loss.split()[0]}: (class|label) {label} is not one of 0 to 3"):
            run(z, labels)


@pytest.mark.parametrize("backend", ["native", "interpreter", "xla"])
def test_an_ignored_class_counts_nothing(backend: str) -> None:
    z = np.random.default_rng(0).standard_normal((3, 4))
    step = ad.jit(ad.value_and_grad(ops.cross_entropy), backend=backend)
    value, slope = step(z, np.array([1, -100, 3]))
    wanted, rest = ad.value_and_grad(ops.cross_entropy)(z[[0, 2]], np.array([1, 3]))
    np.testing.assert_allclose(np.asarray(value), np.asarray(wanted))
    np.testing.assert_allclose(np.asarray(slope), np.insert(np.asarray(rest), 1, 0, 0), atol=1e-15)
    for label in (-1, 4):
        with pytest.raises((ArgumentError, IndexError), match="nll_loss"):
            step(z, np.array([1, label, 3]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_labels_whose_dtype_does_not_hold_the_number_of_classes(dtype: Any) -> None:
    z = np.random.default_rng(0).standard_normal((2, 300))
    run = ad.jit(ops.cross_entropy)
    labels = np.array([1, 100], dtype)
    np.testing.assert_allclose(np.asarray(run(z, labels)), np.asarray(ops.cross_entropy(z, labels)))
    if np.dtype(dtype).kind == "i":
        with pytest.raises(ArgumentError, match="class -1 is not one of 0 to 299"):
            run(z, np.array([1, -1], dtype))


def test_rows_of_many_classes_are_one_kernel_and_checked() -> None:
    z = np.random.default_rng(0).standard_normal((64, 1100))
    labels = np.arange(64)
    step = ad.jit(ad.value_and_grad(ops.cross_entropy))
    step(z, labels)
    assert "native: 1 compiled kernels" in step.explain(z, labels)
    assert "row-fused loops" in step.explain(z, labels)
    labels[7] = -2
    with pytest.raises(ArgumentError, match="class -2 is not one of 0 to 1099"):
        step(z, labels)


def test_a_graph_with_named_classes_reads_back() -> None:
    graph = ad.graph.trace_function(lambda z, i: ops.cross_entropy(z, i), [np.zeros((2, 3)), np.array([0, 1])])
    assert "Gather(of='nll_loss')" in str(graph)
    assert str(read(str(graph))) == str(graph)
