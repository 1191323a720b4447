"""The commands about a function of the user's: explain, check, compare."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.api.inputs import name_of
from adjoint.cli.exits import FAILED, FINE, MISSING, USAGE, WRONG, CommandFailure
from adjoint.cli.functions import found_arguments, found_function
from adjoint.cli.terminal import styled
from adjoint.cli.user_errors import told, words_of
from adjoint.core.errors import AdjointError
from adjoint.explanations.explain import explain
from adjoint.explanations.four_ways import compare
from adjoint.numeric.grad_check import GradientMismatchError, check_grads


def add_to(command: Callable[..., Any], target: str, at: str) -> None:
    """The parsers of these commands."""

    def about_a_function(*words: Any) -> Any:
        parser = command(*words)
        parser.add_argument("target", metavar="MODULE:FUNCTION", help=target)
        parser.add_argument("--at", required=True, metavar="VALUES", help=at)
        return parser

    shown = about_a_function(
        "explain",
        run_explain,
        "show the steps of a function and of its derivative",
        "adjoint explain model.py:loss --at 2,5",
    )
    shown.add_argument(
        "--mode", choices=["reverse", "forward", "both"], default="reverse", help="adjoints, tangents or both"
    )
    shown.add_argument("--format", choices=["text", "markdown", "html", "latex"], help="what to print (default text)")
    shown.add_argument("--rows", type=int, default=60, help="how many steps to show (default %(default)s)")
    shown.add_argument("--html", metavar="FILE", help="write a page to this file")
    checked = about_a_function(
        "check",
        run_check,
        "compare the derivatives of a function with differences",
        'adjoint check model.py:loss --at "[1,2],3"',
    )
    checked.add_argument("--order", type=int, default=2, help="up to which derivative (default %(default)s)")

    compared = about_a_function(
        "compare",
        run_compare,
        "the derivative by differences, formulas and automatic differentiation, with errors and times",
        "adjoint compare model.py:loss --at 2,5 --manual model.py:loss_by_hand",
    )
    compared.add_argument(
        "--manual", metavar="MODULE:FUNCTION", help="the derivative by hand, to compare with the others"
    )
    compared.add_argument("--plot", metavar="FILE", help="draw errors, operations and times, as PNG or SVG")


def asked(options: Any, run: Callable[..., Any]) -> Any:
    """Ask something about the function that was named, at the values that were given."""
    fn = found_function(options.target)
    args, kwargs = found_arguments(fn, options.at)
    try:
        with np.errstate(all="ignore"):  # what is infinite or no number is shown as such
            return run(fn, args, kwargs)
    except (CommandFailure, GradientMismatchError):
        raise
    except ImportError as error:
        raise CommandFailure(told(error), MISSING) from error
    except AdjointError as error:
        raise CommandFailure(f"{name_of(fn)}: {words_of(error)}", FAILED) from error
    except (Exception, SystemExit) as error:
        raise CommandFailure(f"{name_of(fn)} failed: {told(error)}", FAILED) from error


def _with(fn: Any, kwargs: dict[str, Any]) -> Any:
    """The function of its positional arguments alone."""
    return functools.update_wrapper(functools.partial(fn, **kwargs), fn) if kwargs else fn


def run_explain(options: Any) -> int:
    """Print the table of steps."""
    if options.rows < 1:
        raise CommandFailure("--rows must be above zero")
    if options.html:
        if options.format:
            raise CommandFailure("--html writes a page, --format says what to print: give one of them")
        _writable("--html", options.html)
    found = asked(
        options, lambda f, args, kwargs: explain(f, *args, mode=options.mode, max_rows=options.rows, **kwargs)
    )
    if options.html:
        page = f'<!doctype html><meta charset="utf-8"><title>{escape(options.target)}</title>{found.html()}'
        Path(options.html).write_text(page, encoding="utf-8")
        print(f"written to {options.html}")
        return FINE
    print(getattr(found, options.format or "text")())
    return FINE


def _writable(option: str, path: str) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise CommandFailure(f"{option} {path}: there is no folder {folder}", USAGE)
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise CommandFailure(f"{option} {path}: cannot be written", USAGE)


def run_check(options: Any) -> int:
    """Compare with differences."""
    if options.order < 1:
        raise CommandFailure("--order must be above zero")

    def run(fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return check_grads(_with(fn, kwargs), *args, order=options.order)

    try:
        print(styled(str(asked(options, run)), "green"))
    except GradientMismatchError as error:
        print(f"{styled('wrong:', 'red')} {words_of(error)}")
        return WRONG
    return FINE


def run_compare(options: Any) -> int:
    """Print the ways side by side."""
    if options.plot:
        _writable("--plot", options.plot)
    manual = found_function(options.manual) if options.manual else None

    found = asked(options, lambda fn, args, kwargs: compare(_with(fn, kwargs), *args, manual=manual))
    print(found)
    if options.plot:
        try:
            found.draw(options.plot)
        except ImportError as error:
            raise CommandFailure(words_of(error), MISSING) from error
        except (AdjointError, OSError, ValueError) as error:
            raise CommandFailure(f"--plot {options.plot}: {words_of(error)}", USAGE) from error
        print(f"drawn in {options.plot}")
    return FINE
