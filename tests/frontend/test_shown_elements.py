"""Slices and their Tensors that leave a branch or a loop together: a write to one is seen in the other, or refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.frontend import ControlFlowError

V, M = np.array([0.4, -0.2, 0.9]), np.arange(9.0).reshape(3, 3) / 7 - 0.5


def made_in_both(v, m):
    if v.sum() > 0:
        a = m * 2.0
        b = a[0]
    else:
        a = m * 3.0
        b = a[1]
    b[0] = 7.0
    return a


def read_through_the_slice(v, m):
    if v.sum() > 0:
        a = m * 2.0
        b = a[0]
    else:
        a = m * 3.0
        b = a[1]
    a[:, 0] = 7.0
    return b


def made_in_a_while(v, m):
    m, s, k, row = m * 1.0, v.sum() * 0.1, 0, m[2]
    while k < 3 and s < 50.0:
        k += 1
        m = m * 0.9
        row = m[1]
    row[2] = 7.0
    return m


def read_after_a_while(v, m):
    m, s, k, row = m * 1.0, v.sum() * 0.1, 0, m[2]
    while k < 3 and s < 50.0:
        k += 1
        m = m * 0.9
        row = m[1]
    m[1, 2] = 5.0
    return row


def made_before_a_break(v, m):
    s, col = v.sum() * 0.1, m[:, 2]
    for _ in range(3):
        m = m * 0.9
        col = m[:, 1]
        if s > 3.0:
            break
    col *= 0.5
    return m


def written_in_the_next_iteration(v, m):
    m, s = m * 1.0, v.sum() * 0.1
    col = m[:, 2]
    for k in range(3):
        col *= 0.9
        m = m * 0.9
        col = m[:, k % 3]
        if s > 3.0:
            break
    return m


def chosen_and_handed_on(v, m):
    """A copy of a copy."""
    m, s = m * 1.0, v.sum() * 0.1
    row = m[2]
    for _ in range(3):
        row = m[1] if s > 0.5 else m[2]
        if s > 3.0:
            break
    row[2] = 7.0
    return m


def read_where_it_was_handed_on(v, m):
    m, s = m * 1.0, v.sum() * 0.1
    row = m[2]
    for _ in range(3):
        row = m[1]
        if s <= 0.5:
            row = m[2]
        if s > 3.0:
            break
    m[1:, 2] = 5.0
    return row


def chosen_from_a_list(v, m):
    tables, s = [m * 1.0, m * 2.0], v.sum()
    for _ in range(3):
        x = tables[0] if s > 0.5 else tables[1]
        if s > 3.0:
            break
        s = s + 1
    x[0] = 5.0
    return tables[0] + tables[1] * 10


def a_slice_of_what_is_replaced(v, m):
    m, s = m * 1.0, v.sum() * 0.1
    row = m[2]
    for _ in range(9):
        row[0] = s
        m = m * 0.9
        s = s * 0.5
    return m + row


def a_slice_of_what_is_written_and_replaced(v, m):
    m = m * 1.0
    col = m[:, 2]
    for k in range(9):
        m[k % 3] = v
        m = m * 0.9
    return m + col


REFUSED = [
    made_in_both, read_through_the_slice, made_in_a_while, read_after_a_while, made_before_a_break, written_in_the_next_iteration,
    chosen_and_handed_on, read_where_it_was_handed_on, chosen_from_a_list,
]  # fmt: skip


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_a_write_that_would_not_be_seen_is_refused(program: Any) -> None:
    with pytest.raises(ControlFlowError, match="is written to in place, but which object"):
        ad.jit(program)(V, M)


@pytest.mark.parametrize(
    "program",
    [*REFUSED, a_slice_of_what_is_replaced, a_slice_of_what_is_written_and_replaced],
    ids=lambda f: f.__name__,
)
def test_a_loop_agrees_with_python_or_is_refused(program: Any) -> None:
    for v in (V, -V, V * 30):
        try:
            got = ad.jit(program)(v, M)
        except ControlFlowError:
            continue
        np.testing.assert_allclose(got.asnumpy(), program(v.copy(), M.copy()))


def never_used_again(v, m):
    m, s, k = m * 1.0, v.sum() * 0.1, 0
    while k < 3 and s < 50.0:
        k += 1
        m = m * 0.9
        row = m[1]
        row[0] = 2.0
    m[1, 2] = 5.0
    return m


def a_branch_after_the_write(v, m):
    m, s = m * 1.0, v.sum() * 0.1
    for k in range(20):
        row = m[k % 3]
        row += 0.1
        if s > 1.0:
            s = s * 0.5
    m[0] = 0.0
    return m * s


def written_inside(v, m):
    if v.sum() > 0:
        a = m * 2.0
        b = a[0]
        b[0] = 4.0
    else:
        a = m * 3.0
        b = a[1]
    return a + b


@pytest.mark.parametrize(
    "program", [never_used_again, a_branch_after_the_write, written_inside], ids=lambda f: f.__name__
)
def test_what_nobody_could_tell_is_not_refused(program: Any) -> None:
    for v in (V, -V, V * 30):
        np.testing.assert_allclose(ad.jit(program)(v, M).asnumpy(), program(v, M))


# ---------------------------------------------------------------- random programs

STEPS = [
    "row = m[k % 3]", "row += 0.1", "row[0] = s", "col = m[:, k % 3]", "col *= 0.9", "row = m[0]", "col = m.T[1]", "m[k % 3] = v", "m = m * 0.9",
    "v[k % 3] += 0.1", "w = v[:2]", "w -= 0.05", "w = v[:2].copy()", "if s > 1.0:\n    s = s * 0.5\nelse:\n    s = s + 0.3",
    "if s > 0.5:\n    row = m[1]\nelse:\n    row = m[2]", "if s > 0.7:\n    row[1] = 0.0", "if s > 0.7:\n    v[0] = 0.0\nelse:\n    v[1] = 0.5",
    "s = s + row.sum() * 0.1", "s = s + w.sum() * 0.1 + col[0] * 0.05", "for r in m:\n    r[0] += 0.01", "s = s * 0.8",
    "for j in range(2):\n    row = m[j]\n    row *= 0.9", "flat = m.ravel()\nflat[k % 9] = s", "part = m[1:, 1:]\npart[0] += 0.1",
    "if s > 0.4:\n    m = m * 0.5\n    row = m[1]", "if s > 0.4:\n    m = m * 0.5\n    col = m[0]\nelse:\n    m = m + 0.1\n    col = m[2]",
]  # fmt: skip
HEADS = [
    "for k in range({n}):",
    "k = 0\nwhile k < {n} and s < 50.0:\n    k += 1",
    "for k in range({n}):\n    if s > 1.5: break",
]
TAILS = ["", "row[2] = 7.0\n", "w[0] = 3.0\n", "m[0, 0] = 5.0\n", "col += 1.0\n"]


def written(rng: np.random.Generator) -> str:
    """A program in which slices and their Tensors go through loops and branches."""

    def indented(text: str, depth: int) -> str:
        return "".join(" " * depth + line + "\n" for line in text.splitlines())

    head = str(rng.choice(HEADS)).format(n=int(rng.choice([3, 9, 12])))
    body = "".join(indented(str(step), 8) for step in rng.choice(STEPS, size=int(rng.integers(3, 8))))
    first = "v, m, s = v * 1.0, m * 1.0, v.sum() * 0.1\nrow, col, w = m[2], m[:, 2], v[:2]"
    last = str(rng.choice(TAILS)) + "return v, s, m, row, col, w"
    return f"def program(v, m):\n{indented(first, 4)}{indented(head, 4)}{body}{indented(last, 4)}"


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_agree_or_are_refused(seed: int, tmp_path: Path) -> None:
    text = written(np.random.default_rng(seed))
    path = tmp_path / f"shown_{seed}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"shown_{seed}", path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    expected = module.program(V.copy(), M.copy())
    for run in (lambda v, m: module.program(ad.Tensor(v), ad.Tensor(m)), ad.jit(module.program, backend="interpreter")):
        try:
            got = run(V, M)
        except ControlFlowError:
            continue
        for name, g, e in zip(("v", "s", "m", "row", "col", "w"), got, expected, strict=True):
            np.testing.assert_allclose(np.asarray(g), e, rtol=1e-9, atol=1e-12, err_msg=f"{name} in\n{text}")
