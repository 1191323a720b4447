"""Adding an op from outside the package: the files of `docs/add_an_op.md`, in every mode and backend."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import ArgumentTypeError
from adjoint.ops.arithmetic import Neg
from adjoint.ops.card import register
from adjoint.ops.publish import public
from adjoint.testing.registered import forgotten

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "add_an_op.md").read_text(), re.DOTALL)
ELEMENTWISE = BLOCKS[0].split("\n\ncheck_op(")[0]

EVERY_MODE = """
import numpy as np
import scipy.special

import adjoint as ad
from adjoint import amp
from adjoint.backends import load
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Graph
from adjoint.ops.card import REGISTRY
from adjoint.testing import check_op
import {module} as mine

x = np.linspace(-2.0, 2.0, 7)
t = np.arange(7.0)


def same(found, wanted):
    np.testing.assert_allclose(np.asarray(getattr(found, "asnumpy", lambda: found)()), wanted, rtol=1e-12, atol=1e-15)


def modes(f, value, slope, curve):
    same(f(x), value)
    same(ad.grad(lambda x: f(x).sum())(x), slope)
    same(ad.grad(lambda x: ad.grad(lambda x: f(x).sum())(x).sum())(x), curve)
    same(ad.jvp(f, (x,), (t,))[1], slope * t)
    same(ad.vmap(f)(x), value)
    same(ad.vmap(ad.grad(f))(x), slope)
    for backend in ("native", "interpreter"):
        same(ad.jit(f, backend=backend)(x), value)
        same(ad.jit(ad.grad(lambda x: f(x).sum()), backend=backend)(x), slope)
        same(ad.grad(lambda x: ad.jit(f, backend=backend)(x).sum())(x), slope)
        same(ad.jit(ad.vmap(ad.grad(ad.grad(f))), backend=backend)(x), curve)
        same(ad.jit(lambda x: ad.jvp(f, (x,), (t,))[1], backend=backend)(x), slope * t)


def compiled(op):
    builder = Builder()
    p = builder.param(Spec((7,), np.dtype("float64")))
    program = load("native").compile(Graph((p,), (builder.build(op, [p]),)))
    same(program(x)[0], op.eval(np, x))
    return not program.left_out
"""


def run(folder: Path, module: str, checks: str) -> None:
    """Checks of a module in a process of its own, in which nothing else is registered."""
    code = EVERY_MODE.replace("{module}", module) + checks
    out = subprocess.run([sys.executable, "-c", code], cwd=folder, env={"PYTHONPATH": f"{ROOT}:{folder}"},
                         capture_output=True, text=True, timeout=300)  # fmt: skip
    assert out.returncode == 0, out.stderr[-3000:]


def test_an_elementwise_op_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "cosm1_op.py").write_text(ELEMENTWISE)
    run(tmp_path, "cosm1_op", """
ways = [ad.ops.cosm1, lambda x: ad.Tensor(x).cosm1() if type(x) is np.ndarray else x.cosm1(), mine.CosM1(), ad.ops.CosM1()]
for f in [*ways, lambda x: scipy.special.cosm1(ad.ops.cast(x, ad.float64))]:
    modes(f, -2 * np.sin(x / 2) ** 2, -np.sin(x), -np.cos(x))
assert compiled(mine.CosM1()), "its machine code is not used"
assert check_op(mine.CosM1) > 0
assert "cos(x) - 1" in ad.ops.cosm1.__doc__ and REGISTRY["CosM1"] is mine.CosM1
assert ad.jit(ad.ops.cosm1)(ad.Tensor([0.5], dtype=ad.float16)).dtype == ad.float16
""")  # fmt: skip
    assert len(list(tmp_path.glob("*.py"))) == 1


def test_names_that_are_taken_are_refused() -> None:
    before = dict(vars(ad.ops)), dict(vars(ad.Tensor))
    with forgotten():
        for options in ({"function": "exp"}, {"function": "sum"}, {"function": "fresh", "method": ("shape",)},
                        {"function": "fresh", "ufunc": np.exp}):  # fmt: skip
            with pytest.raises(ArgumentTypeError, match=r"there is (ops|Tensor|the ufunc)[. ]\w+ already"):
                register(**options)(type("Fresh", (Neg,), {}))
        with pytest.raises(ArgumentTypeError, match="half: there is ops.half already"):
            for _ in range(2):
                public()(type(test_names_that_are_taken_are_refused)(compile("2", "", "eval"), {}, "half"))
    assert (dict(vars(ad.ops)), dict(vars(ad.Tensor))) == before
