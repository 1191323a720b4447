"""`python -m adjoint.mindspore script.py [arguments]`: runs a program written for MindSpore on adjoint."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from adjoint.mindspore import imports

USAGE = """usage: python -m adjoint.mindspore script.py [arguments]   run a program written for MindSpore
       python -m adjoint.mindspore -m module [arguments]   run a module
       python -m adjoint.mindspore --coverage              the public names of MindSpore, and which are provided"""


def main(arguments: list[str]) -> int:
    """Run what the command line names."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    if arguments[0] == "--coverage":
        from adjoint.mindspore.coverage import report

        print(report())
        return 0
    imports.install()
    if arguments[0] == "-m" and len(arguments) > 1:
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    script = Path(arguments[0])
    if not script.is_file():
        print(f"no such file: {script}", file=sys.stderr)
        return 2
    sys.argv = arguments
    sys.path.insert(0, str(script.resolve().parent))
    runpy.run_path(str(script), run_name="__main__")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
