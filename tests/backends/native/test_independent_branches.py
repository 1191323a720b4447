"""Independent branches of a graph run side by side, and compute what they compute one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.native.plan import independent_branches
from adjoint.backends.native.plan.independent_branches import SideBySide
from adjoint.backends.native.rewrite.canonical import canonical
from adjoint.backends.native.runtime import checked_build, thread_pool
from adjoint.testing.fuzz_graphs import disagreement


def over_time(x, w, n):
    for _ in range(n):
        x = x + 0.01 * ops.tanh(w * x)
    return x


def three_loops(x, y, w):
    return ops.sum(over_time(x, w, 301)) * ops.sum(over_time(y, w * 2, 257)) + ops.sum(over_time(x * y, w + 1, 300))


def one_after_the_other(x, y, w):
    return ops.sum(over_time(over_time(x, w, 301), y, 300))


def of_unknown_length(x, y, w):
    while ops.sum(x) < 1000.0:
        x = x + 0.01 * (w * w + 1)
    while ops.sum(y) < 1000.0:
        y = y + 0.01 * (w * w + 1)
    return ops.sum(x * y)


def arguments(seed=0, n=193):
    draw = np.random.default_rng(seed)
    return [draw.standard_normal(n) for _ in range(3)]


def branches(f):
    graph = ad.jit(ad.grad(f, (0, 1, 2))).graph(*arguments())
    found = independent_branches.side_by_side(canonical(graph))
    return [len(n.op.branches) for n in found.calls if isinstance(n.op, SideBySide)]


def test_which_branches_there_are():
    assert branches(three_loops) == [3, 3]  # forward and backward pass
    assert branches(one_after_the_other) == []
    assert branches(of_unknown_length) == []


@pytest.mark.parametrize("checked", [False, True], ids=["in functions", "bounds-checked"])
def test_values_and_gradients(checked, monkeypatch):
    monkeypatch.setattr(checked_build, "wanted", lambda: checked)
    found = ad.jit(ad.value_and_grad(three_loops, (0, 1, 2)))(*arguments())
    expected = ad.jit(ad.value_and_grad(three_loops, (0, 1, 2)), backend="interpreter")(*arguments())
    for a, b in zip([found[0], *found[1]], [expected[0], *expected[1]], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_results_do_not_depend_on_the_number_of_threads():
    step = ad.jit(ad.value_and_grad(three_loops, (0, 1, 2)))
    threads, seen = thread_pool.get_num_threads(), []
    try:
        for n in (1, 2, 4):
            thread_pool.set_num_threads(n)
            value, gradients = step(*arguments(1))
            seen.append([np.asarray(value).tobytes(), *(np.asarray(g).tobytes() for g in gradients)])
    finally:
        thread_pool.set_num_threads(threads)
    assert seen[0] == seen[1] == seen[2]


def test_an_index_out_of_range_in_a_branch():
    def lookup(x, i, w):
        total = x * 0.0
        for _ in range(400):
            total = total + w * x[i]
        return total

    f = ad.jit(lambda x, i, j, w: ops.sum(lookup(x, i, w)) + ops.sum(lookup(x * 2.0, j, w)))
    x, _, w = arguments(2)
    i = np.arange(193)
    assert "side by side" in f.explain(x, i, i, w)
    assert f(x, i, i, w).shape == ()
    with pytest.raises(IndexError):
        f(x, i, i + 1, w)


def test_explain_names_the_branches():
    text = ad.jit(three_loops).explain(*arguments())
    assert "branches side by side: " + ", ".join(["Loop", "Sum"] * 3) in text


def test_random_graphs_cut_wherever_they_can_be(monkeypatch):
    cuts = []
    put_together = independent_branches._put_together

    def counted(graph, chosen, *args):
        cuts.extend(chosen)
        return put_together(graph, chosen, *args)

    monkeypatch.setattr(independent_branches, "_put_together", counted)
    monkeypatch.setattr(independent_branches, "WORTH", 1)
    monkeypatch.setattr(independent_branches, "SHARED", 1 << 40)
    for seed in range(97_300_000, 97_300_030):
        monkeypatch.setattr(checked_build, "wanted", lambda checked=seed % 5 == 0: checked)
        assert disagreement(seed) is None
    assert len(cuts) > 100
