"""The C program of docs/deploy.md is compiled as the page says, and prints what the page says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint import ops
from adjoint.deploy.onnx_table import FORMS

PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()


def loss(w, x, labels):
    return ops.mean((ops.tanh(x @ w) - labels) ** 2)


def test_the_c_program_of_the_page(tmp_path: Path) -> None:
    program, command, expected = re.search(
        r"```c\n(.*?)```\n```sh\n(.*?)```\n```text\n(.*?)```", PAGE, re.DOTALL
    ).groups()
    ad.export(ad.value_and_grad(loss), np.ones((3, 2)), np.ones((4, 3)), np.ones((4, 2)), path=tmp_path / "slope.so")
    (tmp_path / "train.c").write_text(program)
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    w = np.array([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]])
    x, labels = 0.1 * np.arange(12.0).reshape(4, 3), np.tile([0.0, 1.0], (4, 1))
    for _ in range(200):  # the same in Python
        value, slope = ad.value_and_grad(loss)(w, x, labels)
        w = w - 0.5 * slope.asnumpy()
    assert f"loss {float(value):.6f}\n" == expected


def test_the_page_counts_the_cards() -> None:
    assert f"{len(FORMS)} of our cards" in PAGE
