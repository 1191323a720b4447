"""Whose code it is: the user's, which is converted, or a library's."""

from __future__ import annotations

import os
import site as python_site
import sys
import sysconfig
from functools import cache

import numpy as np

from adjoint.core.errors import PACKAGE

#: Libraries that know nothing of graph values, or all of them.
_FOREIGN = {
    "numpy", "scipy", "jax", "jaxlib", "torch", "pandas", "sympy", "matplotlib", "llvmlite", "numba", "hypothesis",
    "_hypothesis_pytestplugin", "pytest", "_pytest", "pluggy", "IPython", "ipykernel", "tqdm", "safetensors", "onnx",
}  # fmt: skip
_STDLIB = tuple({sysconfig.get_paths()[k] + os.sep for k in ("stdlib", "platstdlib")})
#: Where packages are: Python's own places, those that `sys.path` names besides (a `.pth` file, `PYTHONPATH`), and that of NumPy, which
#: `pip install --target` puts anywhere.
INSTALLED = tuple(
    {
        path + os.sep
        for path in (
            *python_site.getsitepackages(),
            python_site.getusersitepackages(),
            *(path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")),
            os.path.dirname(os.path.dirname(np.__file__)),
        )
    }
)
_OWN_CONVERTED = (
    PACKAGE + "nn" + os.sep,
    PACKAGE + "testing" + os.sep,
    os.path.join(PACKAGE, "ops", "functional", "ctc.py"),
    os.path.join(PACKAGE, "optim", "part_loop.py"),
)


#: Packages of ours that build on the engine as a user's would: see `read_too`.
_read_too: list[str] = []


def read_too(package: str) -> None:
    """Let the code of a package or module of ours be converted as a user's, and look at what its objects hold."""
    _read_too.append(package)
    is_users.cache_clear()


def is_read(module: str) -> bool:
    """Whether a module of ours was named to `read_too`."""
    return any(f"{module}.".startswith(f"{part}.") for part in _read_too)


@cache
def is_users(filename: str) -> bool:
    """Whether a file holds code to be converted: all but Python's library, adjoint, and libraries of compiled kernels."""
    if filename.startswith(PACKAGE):
        inside = "adjoint." + filename[len(PACKAGE) :].removesuffix(".py").replace(os.sep, ".")
        return filename.startswith(_OWN_CONVERTED) or is_read(inside)
    for root in INSTALLED:
        if filename.startswith(root):
            return filename[len(root) :].split(os.sep)[0].removesuffix(".py") not in _FOREIGN
    return not filename.startswith((*_STDLIB, "<frozen", "<__array_function__"))
