"""Programs for MindSpore run unchanged: scripts, tests with pytest, and every module that they may import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint.mindspore import coverage
from adjoint.mindspore.imports import module_names

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}

PROGRAM = """
import sys
import numpy as np
import mindspore as ms
import mindspore.nn as nn
from mindspore import Tensor, context, ops
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P
from mindspore.common.parameter import Parameter, ParameterTuple
from mindspore.common import dtype as mstype

context.set_context(mode=context.GRAPH_MODE)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([2.0, 3.0]), mstype.float32), name="w")
        self.mul = P.Mul()

    def construct(self, x):
        return self.mul(x, self.w)


net = Net()
grad = C.GradOperation(get_by_list=True)(net, ParameterTuple(net.trainable_params()))
print(grad(Tensor([5.0, 7.0]))[0], sys.argv[1:])
"""

TEST = """
import mindspore
import pytest
from mindspore import Tensor, ops


@pytest.mark.parametrize("x", [0.0, 1.0, 2.0])
def test_square(x):
    assert "adjoint" in mindspore.__file__
    assert mindspore.grad(ops.square)(Tensor(x)).asnumpy() == 2 * x
"""


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    asked = [sys.executable, *arguments]
    return subprocess.run(asked, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def test_a_script(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = ran(tmp_path, "-m", "adjoint.mindspore", "program.py", "a", "--b")
    assert (done.returncode, done.stdout.strip()) == (0, "[5. 7.] ['a', '--b']"), done.stderr


def test_a_module(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = ran(tmp_path, "-m", "adjoint.mindspore", "-m", "program", "c")
    assert (done.returncode, done.stdout.strip()) == (0, "[5. 7.] ['c']"), done.stderr


def test_a_script_that_raises_shows_its_own_lines(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("def f():\n    raise KeyError('mine')\n\n\nf()\n")
    done = ran(tmp_path, "-m", "adjoint.mindspore", "wrong.py")
    assert done.returncode == 1
    assert "KeyError: 'mine'" in done.stderr
    assert 'wrong.py", line 5' in done.stderr
    assert "runpy" not in done.stderr


def test_a_script_that_exits_keeps_its_status(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("raise SystemExit(3)\n")
    assert ran(tmp_path, "-m", "adjoint.mindspore", "ends.py").returncode == 3
    assert ran(tmp_path, "-m", "adjoint.mindspore", "absent.py").returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "pytest", "-p", "adjoint.mindspore.pytest_plugin"),
        ("-m", "pytest", "-p", "adjoint.mindspore.pytest_plugin", "-n", "2"),
        ("-m", "adjoint.mindspore", "-m", "pytest"),
    ],
    ids=["plugin", "several_processes", "module"],
)
def test_tests(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "test_squares.py").write_text(TEST)
    done = ran(tmp_path, *arguments, "-q", "-p", "no:cacheprovider", "test_squares.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_every_module_of_mindspore_can_be_imported(tmp_path: Path) -> None:
    lines = ["import importlib", "import mindspore", f"for name in {sorted(module_names())!r}:"]
    lines += ["    importlib.import_module('mindspore.' + name)"]
    lines += [
        "from mindspore.parallel._utils import _get_device_num",
        "from mindspore._c_expression import Tensor as T",
    ]
    lines += ["assert T is mindspore.Tensor", "try:", "    _get_device_num()", "except NotImplementedError as error:"]
    lines += ["    print(error)"]
    (tmp_path / "imports.py").write_text("\n".join(lines))
    done = ran(tmp_path, "-W", "ignore", "-m", "adjoint.mindspore", "imports.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "mindspore.parallel._utils._get_device_num is not provided by adjoint.mindspore"


def test_a_module_that_mindspore_has_not() -> None:
    done = ran(ROOT, "-c", "from adjoint.mindspore import imports; imports.install(); import mindspore.nonsense")
    assert "ModuleNotFoundError" in done.stderr


def test_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    assert coverage.main([]) == 0
    table = capsys.readouterr().out
    assert "provided" in table
    assert [line.split()[0] for line in table.splitlines()[3:6]] == ["mindspore", "ops", "nn"]
    assert coverage.main(["--absent"]) == 0
    absent = capsys.readouterr().out.splitlines()
    assert "ops.AllReduce" in absent
    assert "ops.Add" not in absent


def test_coverage_of_another_environment_needs_mindspore_there() -> None:
    assert coverage.main(["--python"]) == 2
    with pytest.raises(RuntimeError, match="no MindSpore"):
        coverage.installed_names(sys.executable)
