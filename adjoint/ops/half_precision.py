"""Automatic mixed precision: while `autocast` is in force, ops that gain much by it compute on float32 inputs in half precision."""

from __future__ import annotations

from typing import Any

from adjoint.core import context, tree
from adjoint.core.dispatch import Value
from adjoint.core.language import language
from adjoint.core.spec import dtype_of, float32, is_half


def lower_calls(cls: Any) -> None:
    """Let the calls of a card ask whether they are to compute in half precision; the result is float32 again."""
    plain = cls.__call__

    def __call__(self: Any, *xs: Any) -> Any:
        dtype = context.autocast.get()
        if dtype is None or not _is_single(xs):
            return plain(self, *xs)
        lowered = [language.cast(x, dtype) if dtype_of(x) == float32 else x for x in xs]
        return tree.map(_widened, plain(self, *lowered))

    cls.__call__ = __call__


def _is_single(xs: tuple[Any, ...]) -> bool:
    """Whether some input is float32 and none is wider."""
    dtypes = [dtype_of(x) for x in xs]
    return float32 in dtypes and all(d == float32 or is_half(d) or d.kind in "biu" for d in dtypes)


def _widened(y: Any) -> Any:
    return language.cast(y, float32) if isinstance(y, Value) or hasattr(y, "dtype") else y
