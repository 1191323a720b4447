"""mindspore.common.api: jit and what goes with it."""

from typing import Any

from adjoint.api.jit import jit as jit

ms_function = jit


def lazy_inline(fn: Any = None, attrs: Any = None, policy: Any = None) -> Any:
    """Decorates the `__init__` of a Cell in MindSpore to compile it once; here graphs share equal parts by themselves.

    >>> lazy_inline(len) is len, lazy_inline(policy="front")(len) is len
    (True, True)
    """
    return fn if fn is not None else lambda function: function


def no_inline(fn: Any = None) -> Any:
    """Decorates a function in MindSpore to be compiled for itself; here graphs share equal parts by themselves."""
    return fn
