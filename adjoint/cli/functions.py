"""From `MODULE:FUNCTION` and `--at 2,5` to a function and its arguments, or a sentence on what is wrong with them."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import inspect
import math
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from adjoint.api.inputs import name_of
from adjoint.cli.exits import FAILED, CommandFailure
from adjoint.cli.user_errors import told
from adjoint.core.parsing import parsed

NAMES = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "True": True, "False": False}
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
    ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip


def found_function(target: str) -> Callable[..., Any]:
    """The function that `MODULE:FUNCTION` names; the module is a dotted name or the path of a .py file."""
    module_name, colon, path = target.rpartition(":")
    if not colon or not module_name or not path:
        raise CommandFailure(
            f"{target!r} does not name a function: write MODULE:FUNCTION, such as model.py:loss or package.model:loss"
        )
    owner: Any = _module(module_name)
    for part in path.split("."):
        try:
            owner = getattr(owner, part)
        except AttributeError:
            raise CommandFailure(f"there is no {part!r} in {module_name}{_alike(part, owner)}") from None
    if not callable(owner):
        raise CommandFailure(f"{target} is no function but {type(owner).__name__}")
    return owner  # type: ignore[no-any-return]


def _alike(name: str, owner: Any) -> str:
    """Names that may have been meant."""
    known = (
        [n for n, v in vars(owner).items() if callable(v) and not n.startswith("_")]
        if hasattr(owner, "__dict__")
        else []
    )
    own = [n for n in known if getattr(getattr(owner, n), "__module__", "") == getattr(owner, "__name__", "")]
    close = difflib.get_close_matches(name, known, 3)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; it has {', '.join(sorted(own)[:8])}" if own else ""


def _module(name: str) -> ModuleType:
    is_file = name.endswith(".py") or "/" in name or "\\" in name
    path = Path(name)
    if is_file and not path.is_file():
        raise CommandFailure(f"there is no file {name}" if not path.exists() else f"{name} is no file")
    folder = str(path.resolve().parent) if is_file else str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _from_file(path) if is_file else importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not is_file and (name == missing or name.startswith(f"{missing}.")):
            raise CommandFailure(f"there is no module {missing!r} here or among the installed packages") from None
        raise CommandFailure(f"{name} cannot be imported: it needs the package {missing!r}", FAILED) from None
    except (Exception, SystemExit) as error:
        raise CommandFailure(f"{name} cannot be imported: {told(error)}", FAILED) from error


def _from_file(path: Path) -> ModuleType:
    name = (
        path.stem if path.stem not in sys.modules else f"{path.stem}_in_{path.resolve().parent.name}"
    )  # beside random.py
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise CommandFailure(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as an import does, so that classes in it can be found
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- values


def found_arguments(fn: Callable[..., Any], text: str) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that `--at` gives: numbers, lists of numbers, and `name=value`; integers become floats unless an int is wanted."""
    try:
        call = parsed(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "f":
        raise CommandFailure(
            f"--at {text!r} cannot be read: write numbers with commas, such as 2,5 or [1,2,3],0.5 or x=2,n=3"
        )
    args = [_value(node, text) for node in call.args]
    if any(keyword.arg is None for keyword in call.keywords):
        raise CommandFailure(f"--at {text!r} cannot be read: ** has no place there")
    kwargs = {str(keyword.arg): _value(keyword.value, text) for keyword in call.keywords}
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return [_as_number(v, None) for v in args], {k: _as_number(v, None) for k, v in kwargs.items()}
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(str(p) for p in signature.parameters.values())
        raise CommandFailure(f"--at {text!r} does not fit {name_of(fn)}({names}): {error}") from None
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            bound.arguments[name] = tuple(_as_number(v, None) for v in value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            bound.arguments[name] = {k: _as_number(v, None) for k, v in value.items()}
        else:
            bound.arguments[name] = _as_number(value, parameter)
    return list(bound.args), dict(bound.kwargs)


def _value(node: ast.expr, text: str) -> Any:
    """A number, a list or a string, or a sum of numbers with `pi` and `e`; no name is looked up and nothing is called."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex, str)):
        return node.value
    if isinstance(node, ast.Name) and node.id in NAMES:
        return NAMES[node.id]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item, text) for item in node.elts]
    try:
        if isinstance(node, ast.UnaryOp):
            return OPERATORS[type(node.op)](_value(node.operand, text))
        if isinstance(node, ast.BinOp):
            left, right = _value(node.left, text), _value(node.right, text)
            if isinstance(node.op, ast.Pow) and abs(right) > 1000:
                raise CommandFailure(f"--at {text!r}: {ast.unparse(node)!r} is too large a number")
            return OPERATORS[type(node.op)](left, right)
    except (KeyError, TypeError, ValueError, ArithmeticError):
        pass
    raise CommandFailure(f"--at {text!r}: {ast.unparse(node)!r} is no number and no list of numbers")


def _as_number(value: Any, parameter: inspect.Parameter | None) -> Any:
    """A value as the function wants it: arrays and floats, an int where its annotation or default is one."""
    if isinstance(value, list):
        try:
            array = np.array(value, np.complex128 if _has_complex(value) else np.float64)
        except (TypeError, ValueError):
            raise CommandFailure(f"{value} is no array: its rows have different lengths, or are not numbers") from None
        return array
    wanted = parameter is not None and (
        parameter.annotation in (int, "int")
        or (type(parameter.default) is int and parameter.annotation is parameter.empty)
    )
    return float(value) if type(value) is int and not wanted else value


def _has_complex(value: Any) -> bool:
    return any(map(_has_complex, value)) if isinstance(value, list) else isinstance(value, complex)
