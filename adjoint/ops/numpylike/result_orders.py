"""How the results of NumPy's functions lie in memory, where ours are computed in another way: see `core.layout`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.layout import PAIR, UNKNOWN, compact, tidy
from adjoint.ops.numpylike.common import tensor, values_in

Function = Callable[..., Any]


def c_order(f: Function) -> Function:
    """Mark a function whose results NumPy puts in C order, whatever the order of the inputs."""

    @functools.wraps(f)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        return _settled(f(*args, **kwargs), None, args, kwargs)

    return ordered


def k_order(f: Function) -> Function:
    """Mark a function whose result has the axes in the order of the first argument's, if it is of its shape."""

    @functools.wraps(f)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        y, x = f(*args, **kwargs), tensor(args[0] if args else next(iter(kwargs.values())))
        for part in y if isinstance(y, (tuple, list)) else (y,):
            if isinstance(part, Value) and part.shape == x.shape:
                _settled(part, compact(views.layout(x)), args, kwargs)
        return y

    return ordered


def f_or_c_order(f: Function) -> Function:
    """Mark a function whose result is in Fortran's order if the first argument is, else in C order."""

    @functools.wraps(f)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        y, lies = f(*args, **kwargs), views.layout(tensor(args[0] if args else next(iter(kwargs.values()))))
        if lies is None or lies is UNKNOWN:
            return _settled(y, lies, args, kwargs)
        turned = tidy(np.empty(y.shape, PAIR, order="F")) if lies.flags.f_contiguous else None
        return _settled(y, turned, args, kwargs)

    return ordered


def some_order(f: Function) -> Function:
    """Mark a function whose results lie in an order of NumPy's own choice if an input is not in C order."""

    @functools.wraps(f)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        y = f(*args, **kwargs)
        in_order = all(views.layout(x) is None for x in values_in((args, kwargs, y)))
        return y if in_order else _settled(y, UNKNOWN, args, kwargs)

    return ordered


def _settled(y: Any, layout: Any, args: tuple, kwargs: dict) -> Any:
    if isinstance(y, (tuple, list)):
        for part in y:
            _settled(part, layout, args, kwargs)
    elif isinstance(y, Value) and y.ndim > 1 and not any(views.related(y, x) for x in values_in((args, kwargs))):
        views.settle(y, layout)
    return y
