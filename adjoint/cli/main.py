"""The command line: what can be asked, and how a question ends."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import adjoint
from adjoint.cli import bench, demo, doctor, launch, questions
from adjoint.cli.exits import FAILED, USAGE, CommandFailure
from adjoint.cli.terminal import styled, take_any_character
from adjoint.cli.user_errors import told

EXAMPLES = """\
examples:
  adjoint demo
  adjoint explain model.py:loss --at 2,5
  adjoint explain model.py:loss --at 2,5 --html trace.html
  adjoint check package.model:loss --at "[1,2,3],0.5"
  adjoint compare model.py:loss --at 2,5
  adjoint launch -n 2 train.py
  adjoint doctor

exit codes:
  0  all is well
  1  a check found something wrong: derivatives that differ, an installation that does not work
  2  the command was not understood: no such function, values that do not fit
  3  your module or function raised an error
  4  an optional package is not installed
"""

TARGET = "MODULE:FUNCTION; MODULE is a dotted name (package.model) or a path (model.py)"
AT = (
    "the arguments, with commas: numbers, lists of numbers, pi, e, 1/3, name=value. Whole numbers become floats unless the "
    "parameter's annotation or default is an int"
)


class Parser(argparse.ArgumentParser):
    """Ends as the other errors of the command line do."""

    def error(self, message: str) -> NoReturn:
        raise CommandFailure(f"{message} (see `{self.prog} --help`)")


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    raw = argparse.RawDescriptionHelpFormatter
    top = Parser(
        prog="adjoint",
        description="Exact derivatives of ordinary Python programs.",
        epilog=EXAMPLES,
        formatter_class=raw,
    )
    top.add_argument("--version", action="version", version=f"adjoint {adjoint.__version__}")
    common = Parser(add_help=False)
    common.add_argument("--traceback", action="store_true", help="show where an error came from, with all its lines")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def command(name: str, run: Callable[[Any], int], text: str, example: str) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", parents=[common], formatter_class=raw,
            epilog=f"example:\n  {example}",
        )  # fmt: skip
        made.set_defaults(run=run)
        return made

    command("demo", demo.run, "follow one function through every mode of differentiation", "adjoint demo")
    questions.add_to(command, TARGET, AT)
    shown = command(
        "bench", bench.run, "time gradients in dynamic and static mode on this machine", "adjoint bench --seconds 1"
    )
    shown.add_argument("--seconds", type=float, default=0.3, help="how long to measure each case (default %(default)s)")
    shown.add_argument("--json", action="store_true", help="print numbers for programs")
    launch.add_options(
        command(
            "launch",
            launch.run,
            "run a program in several processes on this machine, which find one another by parallel.initialize()",
            "adjoint launch -n 2 train.py --epochs 3",
        )
    )
    told_of = command("doctor", doctor.run, "say what is installed and whether it works", "adjoint doctor --json")
    told_of.add_argument("--json", action="store_true", help="print facts for programs")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; gives the exit code."""
    take_any_character()
    given = list(sys.argv[1:] if arguments is None else arguments)
    given = given if given[:1] == ["launch"] else _joined(given)  # what follows a program is for it
    try:
        code = _answer(given)
        sys.stdout.flush()
        return code
    except CommandFailure as failure:
        if "--traceback" in given and failure.__cause__ is not None:
            traceback.print_exception(failure.__cause__)
        print(f"{styled('adjoint:', 'red', sys.stderr)} {failure}", file=sys.stderr)
        return failure.code
    except BrokenPipeError:  # the reader of the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _joined(given: list[str]) -> list[str]:
    """`--at -1,2` as `--at=-1,2`: a number below zero is no option."""
    found: list[str] = []
    for text in given:
        negative = text[:1] == "-" and (text[1:2] in "0123456789.[pe(" or text[1:4] in ("inf", "nan"))
        if found and found[-1] == "--at" and negative and len(text) > 1:
            found[-1] = f"--at={text}"
        else:
            found.append(text)
    return found


def _answer(given: list[str]) -> int:
    top = parser()
    if not given:
        top.print_help()
        return USAGE
    try:
        options = top.parse_args(given)
    except SystemExit as done:  # after --help or --version
        return int(done.code or 0)
    if options.command is None:
        top.print_help()
        return USAGE
    try:
        return int(options.run(options))
    except (CommandFailure, BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise CommandFailure(told(error), FAILED) from error
