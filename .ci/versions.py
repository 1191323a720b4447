"""Run the tests on every Python that the project names and that this machine has, each in an environment of its own.

python3 .ci/versions.py               # the whole suite; or: make versions
python3 .ci/versions.py --part        # what depends on the interpreter most; or: make versions-part
python3 .ci/versions.py --only 3.13 -- tests/frontend -k comprehension
"""

from __future__ import annotations

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHOLE, FEW = "dev", "test"  # the extras that the whole suite needs, and that the part needs: a third as long to install
#: What looks at bytecode, source, frames, locals, recursion, and the memory layout of objects.
PART = [
    "tests/frontend",
    "--ignore=tests/frontend/test_counters.py",  # long, and alike on every version
    "--ignore=tests/frontend/test_random.py",
    "--ignore=tests/frontend/test_state.py",
    "tests/api/test_jit.py",
    "tests/api/test_jit_calls.py",
    "tests/api/test_jit_edges.py",
    "tests/api/test_grad.py",
    "tests/api/test_deferral.py",
    "tests/core",
    "tests/backends/native/test_kernel_call.py",
    "tests/backends/native/test_object_cache.py",
    "tests/train/test_checkpoint.py",
    "tests/test_pains_python.py",
]


def named() -> list[str]:
    """The versions that pyproject.toml names."""
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())


def candidates(version: str) -> Iterator[str]:
    """Where an interpreter may be: this one, on PATH, or installed by pyenv or uv. The newest of a kind comes first."""
    yield sys.executable
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if found := shutil.which(f"python{version}", path=folder):
            yield found
    home = Path.home()
    pyenv = os.environ.get("PYENV_ROOT") or home / ".pyenv"
    for place in (f"{pyenv}/versions/{version}.*", f"{home}/.local/share/uv/python/cpython-{version}.*"):
        yield from sorted(glob.glob(f"{place}/bin/python{version}"), key=_numbers, reverse=True)


def _numbers(path: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", path)]


def is_version(python: str, version: str) -> bool:
    """Whether this really starts that version: the shims of pyenv are there for versions that are not chosen."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        run = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0 and run.stdout.strip() == version


def interpreter(version: str) -> str | None:
    """An interpreter of a version, or None if this machine has none."""
    return next((python for python in candidates(version) if is_version(python, version)), None)


def environment(version: str, python: str, extra: str) -> str:
    """The Python of an environment for a version, made anew when pyproject.toml has changed since."""
    folder, project = ROOT / f".venv-{version}", ROOT / "pyproject.toml"
    inside, stamp = str(folder / "bin" / "python"), folder / ".installed"
    fresh = stamp.exists() and stamp.stat().st_mtime >= project.stat().st_mtime
    if not (fresh and stamp.read_text() in (extra, WHOLE) and is_version(inside, version)):
        subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-e", f"{ROOT}[{extra}]"], check=True)
        stamp.write_text(extra)
    return inside


def tested(version: str, python: str, tests: list[str], extra: str) -> str:
    """How the tests went on one interpreter."""
    print(f"== Python {version} ({python})", flush=True)
    try:
        inside = environment(version, python, extra)
    except subprocess.CalledProcessError:
        return "could not be set up"
    command = [inside, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider", *tests]
    return "failed" if subprocess.run(command, cwd=ROOT).returncode else "passed"


def main() -> int:
    """Run the tests and say how they went on each version."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--part", action="store_true", help="only what depends on the interpreter most")
    parser.add_argument("--only", action="append", choices=named(), help="only this version; may be given again")
    parser.add_argument("--without", action="append", default=[], help="not this version, which is tested elsewhere")
    parser.add_argument("--list", action="store_true", help="say which interpreter is found for each version, and end")
    parser.add_argument("tests", nargs="*", help="arguments of pytest in place of the suite")
    options = parser.parse_args()
    tests = options.tests or (PART if options.part else [])
    wanted = [v for v in options.only or named() if v not in options.without]
    found = {version: interpreter(version) for version in wanted}
    if options.list:
        print(*(f"{version} {python or '-'}" for version, python in found.items()), sep="\n")
        return 0
    extra = FEW if options.part and not options.tests else WHOLE
    results = {
        version: tested(version, python, tests, extra) if python else "not on this machine"
        for version, python in found.items()
    }
    for version, result in results.items():
        print(f"Python {version}: {result}")
    return 0 if set(results.values()) <= {"passed", "not on this machine"} and any(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
