"""`python -m adjoint.mindspore script.py [arguments]`: runs a program written for MindSpore on adjoint."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from types import TracebackType

from adjoint.mindspore import imports

USAGE = """usage: python -m adjoint.mindspore script.py [arguments]   run a program written for MindSpore
       python -m adjoint.mindspore -m module [arguments]   run a module
       python -m adjoint.mindspore --coverage              the public names of MindSpore, and which are provided
                                   --coverage --absent     the names that are not
                                   --coverage --python PATH   for the MindSpore of another environment"""


def main(arguments: list[str]) -> int:
    """Run what the command line names."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    if arguments[0] == "--coverage":
        from adjoint.mindspore.coverage import main as coverage

        return coverage(arguments[1:])
    is_module = arguments[0] == "-m" and len(arguments) > 1
    if not is_module and not Path(arguments[0]).is_file():
        print(f"no such file: {arguments[0]}", file=sys.stderr)
        return 2
    imports.install()
    try:
        run_module(arguments[1:]) if is_module else run_script(arguments)
    except Exception as error:
        traceback.print_exception(error.with_traceback(_users(error.__traceback__)))
        return 1
    return 0


def run_module(arguments: list[str]) -> None:
    """Run a module as a program; the processes that pytest starts import the plugin too."""
    plugin = ["-p", "adjoint.mindspore.pytest_plugin"] if arguments[0] == "pytest" else []
    sys.argv = [arguments[0], *plugin, *arguments[1:]]
    sys.path.insert(0, "")
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


def run_script(arguments: list[str]) -> None:
    """Run a file as a program."""
    sys.argv = arguments
    sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
    runpy.run_path(arguments[0], run_name="__main__")


def _users(trace: TracebackType | None) -> TracebackType | None:
    """A traceback from the user's program on."""
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        inner = inner.tb_next
    return inner or trace


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
