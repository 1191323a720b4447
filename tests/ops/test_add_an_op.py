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
from registered import forgotten

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "add_an_op.md").read_text(), re.DOTALL)
ELEMENTWISE, CARD, KERNEL = (block.split("\ncheck_op(")[0] for block in (BLOCKS[0], *BLOCKS[-2:]))
IMPORTS = "\n".join(line for block in BLOCKS for line in block.splitlines() if line.startswith(("import ", "from ")))

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


AVERAGE = """
weight = 0.75 ** np.subtract.outer(np.arange(7), np.arange(7)) * np.tri(7) * 0.25
for f in (lambda x: ad.ops.smooth(x, 0.75), lambda x: (ad.Tensor(x) if type(x) is np.ndarray else x).smooth(0.75), mine.Smooth(0.75)):
    for backend in ("native", "interpreter"):
        same(f(x), weight @ x)
        same(ad.jit(f, backend=backend)(x), weight @ x)
        same(ad.jit(ad.grad(lambda x: (f(x) * t).sum()), backend=backend)(x), t @ weight)
        same(ad.grad(lambda x: (ad.jit(f, backend=backend)(x) * t).sum())(x), t @ weight)
        same(ad.jit(ad.vmap(f), backend=backend)(np.stack([x, t])), np.stack([weight @ x, weight @ t]))
        same(ad.jit(lambda x: ad.jvp(f, (x,), (t,))[1], backend=backend)(x), weight @ t)
        same(ad.jit(ad.hessian(lambda x: (f(x) ** 2).sum()), backend=backend)(x), 2 * weight.T @ weight)
"""


def test_an_op_with_a_kernel_is_two_files(tmp_path: Path) -> None:
    (tmp_path / "smooth_op.py").write_text(f"{IMPORTS}\n\n{CARD}")
    run(tmp_path, "smooth_op", AVERAGE + "assert not compiled(mine.Smooth(0.75))\n")
    (tmp_path / "smooth_kernel.py").write_text(f"{IMPORTS}\nfrom smooth_op import Smooth\n\n{KERNEL}")
    run(
        tmp_path,
        "smooth_op",
        f"import smooth_kernel\n{AVERAGE}assert compiled(mine.Smooth(0.75)) and check_op(mine.Smooth)\n",
    )
    assert len(list(tmp_path.glob("*.py"))) == 2


def test_a_kernel_is_imported_when_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "smooth_op.py").write_text(f"{IMPORTS}\n\n{CARD}")
    late = KERNEL.replace(
        "register_kernel({Smooth: KernelRule(write_smooth, smooth_fits)})",
        "KERNELS = {Smooth: KernelRule(write_smooth, smooth_fits)}",
    )
    (tmp_path / "late_kernel.py").write_text(f"{IMPORTS}\nfrom smooth_op import Smooth\n\n{late}")
    run(tmp_path, "smooth_op", """
import sys
from adjoint.backends.native.kernel_registry import register
register({}, late={mine.Smooth: "late_kernel"})
assert "late_kernel" not in sys.modules
assert compiled(mine.Smooth(0.75)) and "late_kernel" in sys.modules
""")  # fmt: skip


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
