"""A Tensor as text, whether its values are known or not, and in a notebook: with the range of its values, and these as a table."""

from __future__ import annotations

import sys
from html import escape
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import BACKWARD, differentiable, has_ended
from adjoint.core.errors import AdjointError, CutGradientError, called_at, refused
from adjoint.core.spec import is_half

ROWS, COLUMNS = 10, 10  # of a table of values; more are left out in the middle
CELL = "style='text-align:right;padding:0 0.6em'"


def with_values(array: np.ndarray) -> str:
    """A Tensor that holds this array."""
    style: Any = {"float_kind": lambda v: f"{v: .8e}"}
    body = np.array2string(array, separator=", ", formatter=style if array.dtype.kind == "f" else None)
    body = str(array) if array.ndim == 0 else body
    gap = "\n" if array.ndim > 1 else " "
    return f"Tensor(shape={list(array.shape)}, dtype={dtype_name(array.dtype)}, value={gap}{body})"


#: Modules that show values to a person who looks into a program, or name them in messages; and, of ours, those that run the user's.
_ONLOOKERS = {"adjoint", "pdb", "bdb", "traceback", "_pytest", "pydevd", "_pydevd_bundle", "debugpy", "IPython", "rich"}
_RUNNERS = ("adjoint.frontend.", "adjoint.graph.effects")


def _asked_by_program() -> bool:
    """Whether the text of a value is asked for by a program that is being compiled, and not by someone who looks on."""
    if context.tracer.get() is None:
        return False
    frame: Any = sys._getframe(3)  # behind this, `without_values` and `__repr__`
    while frame.f_code.co_name == "__repr__" and frame.f_globals.get("__name__") == "adjoint.core.parameter":
        frame = frame.f_back
    module = frame.f_globals.get("__name__") or ""
    return module.partition(".")[0] not in _ONLOOKERS or module.startswith(_RUNNERS)


def without_values(x: Any, error: AdjointError) -> str:
    """A Tensor whose values cannot be shown. A program that is compiled is refused: the text would hold no number, and go unnoticed."""
    if _asked_by_program() and not has_ended(x):
        raise refused(error) from None
    over = ", of a transform that has ended" if has_ended(x) else ""
    try:
        return f"Tensor(shape={list(x.shape)}, dtype={dtype_name(x.dtype)}, value=?{over})"
    except AdjointError:  # it has not even a shape
        return f"Tensor(<{str(error).splitlines()[0].split(': ')[0]}>)"


def refuse_to_cut(x: Any, conversion: str) -> None:
    """Refuse to make Python numbers of a Tensor behind the caller's back, where that cuts a gradient."""
    if not x.tracked or context.cutting.get() or x._trace.level <= BACKWARD or not differentiable(x):
        return
    why = (
        f"{conversion} would cut the gradient of a Tensor that is being differentiated, batched or traced to be compiled. Use the ops of "
        f"adjoint (ad.ops.sin in place of math.sin, adjoint.numpy.zeros for an array that is filled); where x is only differentiated, "
        f"x.item() gives the number, and x.asnumpy() all of them, without a gradient."
    )
    raise refused(CutGradientError(why + called_at()))


#: What NumPy's arrays have that is about memory: what to write instead.
_OF_MEMORY = {
    **dict.fromkeys(
        ("base", "ctypes", "data", "flags", "getfield", "setfield", "setflags", "byteswap"),
        "x.asnumpy() is an array with its numbers, without a gradient",
    ),
    "flat": "x.ravel() has the elements in a line, and x.ravel()[i] the i-th of them",
    "resize": "x = np.resize(x, shape) makes a new one",
}


def instead_of(cls: type, name: str) -> str:
    """What to write for an attribute that Tensors of other libraries have."""
    if name == "at":
        return "; `x[index] = value` and `x[index] += value` write to some of the elements, and have derivatives"
    if name in _OF_MEMORY:
        return f"; {_OF_MEMORY[name]}"
    plain = name[:-1]
    if name[-1:] == "_" and plain[:1] != "_" and hasattr(cls, plain):
        return f"; x.{plain} gives a new Tensor: `x = x.{plain}(...)`"
    return ""


def dtype_name(dtype: np.dtype) -> str:
    """A dtype as texts of Tensors name it."""
    name = dtype.name
    return {"bfloat16": "BFloat16", "uint8": "UInt8"}.get(name) or name[0].upper() + name[1:]


class ShownInNotebooks:
    """What notebooks ask of a Tensor."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """A table of the values; of a Tensor that has none to show, what it is. Never raises."""
        x: Any = self
        try:
            array = x.asnumpy()
        except AdjointError:
            return f"<pre>{escape(repr(self))}</pre>"
        return f"<div class='adjoint-tensor'>{_head(x, array)}{_table(array)}</div>"


def _head(x: Any, array: np.ndarray) -> str:
    name = getattr(x, "name", None)
    title = type(x).__name__ + (f" {name}" if isinstance(name, str) and name else "")
    parts = [f"shape {tuple(array.shape)}", str(array.dtype), f"{array.size:,} element{'s' * (array.size != 1)}"]
    if x.requires_grad:
        parts.append("requires_grad")
    return f"<div><b>{escape(title)}</b> {escape(', '.join([*parts, *_range(array)]))}</div>"


def _range(array: np.ndarray) -> list[str]:
    if is_half(array.dtype):
        array = array.astype(np.float32)
    if array.dtype.kind not in "fiu" or array.size < 2:
        return []
    good = array[np.isfinite(array)]
    parts = [f"from {good.min():.6g} to {good.max():.6g}, mean {good.mean():.6g}"] if good.size else []
    bad = array.size - good.size
    return [*parts, *([f"{bad:,} not finite"] if bad else [])]


def _table(array: np.ndarray) -> str:
    if array.ndim == 0 or array.size == 0:
        return f"<pre>{escape(str(array))}</pre>"
    if array.ndim > 2:
        return f"<pre>{escape(np.array2string(array, threshold=200, edgeitems=2))}</pre>"
    rows = array if array.ndim == 2 else array[None]
    body = "".join(
        f"<tr>{''.join(f'<td {CELL}>{escape(text)}</td>' for text in _cells(rows, i))}</tr>"
        for i in _places(rows.shape[0], ROWS)
    )
    return f"<table><tbody>{body}</tbody></table>"


def _cells(rows: np.ndarray, i: int | None) -> list[str]:
    places = _places(rows.shape[1], COLUMNS)
    return ["…" if i is None or k is None else _number(rows[i, k]) for k in places]


def _places(n: int, most: int) -> list[int | None]:
    """The indices that are shown; None where some are left out."""
    if n <= most:
        return list(range(n))
    return [*range(most // 2), None, *range(n - most // 2, n)]


def _number(value: Any) -> str:
    return f"{float(value):.6g}" if value.dtype.kind == "f" or is_half(value.dtype) else str(value)
