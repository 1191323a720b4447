"""Every test runs on the backend that users have: machine code. Those that compare the interpreter with it say so.

Compiled objects are kept for the length of one run only, in a folder that all its processes share. On Linux, where
everything can run, a test that is skipped fails, and so does a run that collects fewer cases than there were
(case_counts.json): no gate is shut unseen.
"""

from __future__ import annotations

import os

if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # each core has a process of its own: linear algebra on several would wait for itself
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gc
import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from adjoint.core import context

gc.disable()  # until the tests are collected: what is made meanwhile stays

# JAX takes the CPU for eight devices. XLA's own optimiser is not what is tested: without it, what is fused in two places is even rounded in two
# ways. `make xla-corpus` runs as users do. They are read when JAX makes its first array.
XLA_FLAGS = "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"

try:
    if tuple(map(int, version("jaxlib").split(".")[:2])) <= (0, 10):  # its older emitters compile in half the time
        XLA_FLAGS += " --xla_cpu_use_fusion_emitters=false"
except PackageNotFoundError:
    pass
os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)

# The same examples in every run: what lands does not depend on luck. HYPOTHESIS_PROFILE=default draws new ones, as the fuzzers do.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# Nor on what else is imported: Hypothesis would read every source file here, for seconds in each process, for constants to try.
if settings.get_current_profile_name() == "fixed" and hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

MADE = None
if "ADJOINT_CACHE" not in os.environ:  # the first process; others inherit it
    MADE = os.environ["ADJOINT_CACHE"] = tempfile.mkdtemp(prefix="adjoint-tests-")

#: Why a test may be skipped where everything can run.
SKIPS = ("the signatures are those of NumPy", "a caller's stack holds", "no chromium on this machine")


def beside(name: str) -> Any:
    """A module of this folder, which is not on the path."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FEWER: list[str] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before any are deselected."""
    FEWER.extend(beside("case_counts").problems(config, items))


def pytest_collection_finish() -> None:
    """The garbage collector need not go through tens of thousands of tests with every collection."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Nor through what earlier files have left, compiled functions above all."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_runtest_setup() -> None:
    """The first test of each process fails, so that the run does."""
    if FEWER:
        text = "fewer test cases than there were:\n" + "\n".join(FEWER)
        FEWER.clear()
        pytest.fail(text, pytrace=False)


def pytest_unconfigure() -> None:
    if MADE is not None:
        shutil.rmtree(MADE, ignore_errors=True)


@pytest.fixture(autouse=True)
def as_users_run_it() -> Iterator[None]:
    """No test begins with a backend that another one chose."""
    assert context.backend.get() == context.backend_default
    yield
    left = context.backend.get()
    context.backend.set(context.backend_default)
    assert left == context.backend_default, f"a test left the backend {left!r} chosen"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and sys.platform == "linux":
        reason = str(call.excinfo.value) if call.excinfo else str(report.longrepr)
        if not any(words in reason for words in SKIPS):
            report.outcome, report.longrepr = "failed", f"{item.nodeid} is skipped: {reason}"
    return report


@pytest.fixture(autouse=True)
def _conventions() -> None:
    """The engine's own rules for dtypes and texts: the MindSpore face, once imported, has switched its own on."""
    found = sys.modules.get("adjoint.mindspore.common.conventions")
    if found is not None:
        found.switch_off()
