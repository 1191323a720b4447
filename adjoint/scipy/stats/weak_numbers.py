"""What the arguments and parameters of distributions are: floating-point numbers, among which Python numbers give way."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.spec import dtype_of, is_half, is_inexact, number_of
from adjoint.ops.numpylike.common import cast, tensor


def number(x: Any) -> Any:
    """An argument: Python numbers stay, arrays and lists are Tensors of floating-point numbers."""
    if type(x) in (int, float):
        return float(x)
    if number_of(x) is not None and dtype_of(x).kind == "f":
        return x
    x = tensor(x)
    return x if is_inexact(x.dtype) and x.dtype.kind != "c" else cast(x, np.float64)


def narrowed(given: dict[str, Any], *xs: Any) -> list[Any]:
    """Arguments and parameters: Python numbers take the dtype of the arrays among them, as beside arrays of NumPy."""
    xs = tuple(map(number, xs))
    arrays = [dtype_of(x) for x in (*xs, *given.values()) if number_of(x) is None]
    kind = np.result_type(*arrays) if arrays else np.dtype(np.float64)

    def own(x: Any) -> Any:
        if number_of(x) is None or (type(x) is float and kind == np.float64):
            return x
        return kind.type(x) if type(x) is float and not is_half(kind) else cast(tensor(x), kind)

    plain = {"loc": 0.0, "scale": 1.0}
    return [
        *map(own, xs),
        {k: v if type(v) is float and plain.get(k) == v else own(v) for k, v in given.items()},
    ]
