"""`adjoint doctor`: what is installed, what the machine has, and whether gradients come out right."""

from __future__ import annotations

import json
import os
import platform
import sys
import warnings
from importlib import metadata
from typing import Any

import numpy as np

import adjoint
from adjoint import backends, ops
from adjoint.api.grad import grad
from adjoint.api.jit import jit
from adjoint.cli.exits import FINE, WRONG
from adjoint.cli.terminal import heading, styled
from adjoint.core.tensor import Tensor

#: Packages beside NumPy, and the extra that brings each; none for those that adjoint cannot do without.
PACKAGES = {
    "numpy": "", "scipy": "", "llvmlite": "", "ml_dtypes": "bfloat16", "tqdm": "train", "safetensors": "train",
    "matplotlib": "plot", "sympy": "symbolic", "onnx": "onnx",
}  # fmt: skip
FEATURES = ("avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vnni", "avx512bf16", "amx-tile", "neon", "sve")
VARIABLES = ("ADJOINT_BACKEND", "ADJOINT_NUM_THREADS", "ADJOINT_CACHE", "ADJOINT_CHECKED", "ADJOINT_TRACEBACK")


def facts() -> dict[str, Any]:
    """Everything that is found, by subject; `problems` are what does not work."""
    problems: list[str] = []
    found = {
        "adjoint": {"version": adjoint.__version__, "folder": os.path.dirname(adjoint.__file__)},
        "python": {"version": platform.python_version(), "executable": sys.executable, "system": platform.platform()},
        "packages": _packages(problems),
        "backends": _backends(problems),
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "gradients": _gradients(problems),
    }
    return {**found, "problems": problems}


def _packages(problems: list[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name, extra in PACKAGES.items():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
            if not extra:
                problems.append(f"the package {name} is missing: pip install {name}")
    return found


def _backends(problems: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"chosen": None, "native": None}
    try:
        found["chosen"] = backends.checked(backends.chosen())
    except Exception as error:
        problems.append(f"the backend that is chosen cannot run: {error}")
    try:
        backends.checked("native")
        found["native"] = _native(problems)
    except Exception as error:
        problems.append(f"there is no machine code: {error}")
    return found


def _native(problems: list[str]) -> dict[str, Any]:
    """The CPU, the threads and the cache, as the native backend sees them."""
    from adjoint.backends.native.compiler import vector_bits
    from adjoint.backends.native.runtime import llvm_compile, object_cache, thread_pool

    cpu, features, version = llvm_compile.host()
    with_it = [name for name in FEATURES if f"+{name}" in features.split(",")]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        cache = object_cache.current()
    problems += [str(warning.message) for warning in said]
    files = [] if cache is None else [f for f in cache.directory.rglob("*") if f.is_file()]
    return {
        "cpu": cpu,
        "features": with_it,
        "vector_bits": vector_bits(),
        "llvm": version,
        "threads": thread_pool.get_num_threads(),
        "cores": os.cpu_count(),
        "cache": None if cache is None else str(cache.directory),
        "cache_files": len(files),
        "cache_bytes": sum(f.stat().st_size for f in files),
        "cache_limit_bytes": None if cache is None else cache.limit_bytes,
    }


def _gradients(problems: list[str]) -> dict[str, str]:
    """A gradient in each way, against the formula."""
    x = Tensor(np.linspace(0.1, 2.0, 1000))

    def f(x: Any) -> Any:
        return ops.sum(ops.sin(x) * x)

    expected = np.cos(x.asnumpy()) * x.asnumpy() + np.sin(x.asnumpy())
    ways = {"dynamic": grad(f), "static, native": jit(grad(f), backend="native"),
            "static, interpreter": jit(grad(f), backend="interpreter")}  # fmt: skip
    found = {}
    for name, fn in ways.items():
        try:
            right = np.allclose(fn(x).asnumpy(), expected, rtol=1e-10)
            found[name] = "right" if right else "wrong"
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
        if found[name] != "right":
            problems.append(f"the gradient in {name} mode: {found[name]}")
    return found


def run(options: Any) -> int:
    """Print the facts."""
    found = facts()
    if options.json:
        print(json.dumps(found, indent=2))
        return WRONG if found["problems"] else FINE
    _show(found)
    if found["problems"]:
        heading("Problems")
        for problem in found["problems"]:
            print(f"  {styled(problem, 'red')}")
        return WRONG
    print(f"\n{styled('All is well.', 'green')}")
    return FINE


def _show(found: dict[str, Any]) -> None:
    own, python = found["adjoint"], found["python"]
    print(f"{styled('adjoint', 'bold')} {own['version']} in {own['folder']}")
    print(f"Python {python['version']} ({python['executable']}) on {python['system']}")
    heading("Packages")
    for name, version in found["packages"].items():
        hint = f'not installed; pip install "adjoint[{PACKAGES[name]}]"' if PACKAGES[name] else "missing"
        print(f"  {name:<12} {version or styled(hint, 'yellow')}")
    heading("Backends")
    print(f"  chosen       {found['backends']['chosen']}")
    native = found["backends"]["native"]
    if native:
        print(f"  CPU          {native['cpu']}: {', '.join(native['features']) or 'no vector features'}")
        print(f"  vectors      {native['vector_bits']} bits, LLVM {native['llvm']}")
        print(f"  threads      {native['threads']} of {native['cores']} cores")
        size = f"{native['cache_files']} files, {native['cache_bytes'] / 2**20:.1f} MiB"
        print(f"  cache        {native['cache'] + ', ' + size if native['cache'] else 'none: code is compiled anew'}")
    for name, value in found["environment"].items():
        print(f"  {name}={value}")
    heading("Gradients")
    for name, outcome in found["gradients"].items():
        print(f"  {name:<20} {styled(outcome, 'green' if outcome == 'right' else 'red')}")
