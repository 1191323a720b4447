"""The functions that NumPy calls ufuncs: one result for each element, and the methods reduce, accumulate, outer, at."""

from __future__ import annotations

from typing import Any

import numpy as _np

from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentTypeError
from adjoint.ops.numpylike.common import operand, tensor
from adjoint.ops.numpylike.protocol import numpy_ufunc


def _with_a_tensor(inputs: tuple) -> tuple:
    """Arrays as Tensors. Python numbers stay, and give way to their dtypes; if there is nothing else, they are arrays."""
    inputs = tuple(map(operand, inputs))
    return inputs if any(isinstance(x, Value) for x in inputs) else tuple(map(tensor, inputs))


class Ufunc:
    """A function of NumPy that acts on each element, as a function on Tensors; `repr` gives its name.

    >>> import adjoint.numpy as np
    >>> print(np.add(1, 2), np.add.reduce(np.array([1.0, 2.0, 3.0])))
    3 6.0
    """

    def __init__(self, ufunc: _np.ufunc) -> None:
        self._ufunc = ufunc
        self.__name__ = ufunc.__name__
        self.__doc__ = f"As numpy.{ufunc.__name__}."
        self.nin, self.nout, self.nargs, self.identity = ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.identity

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r} of adjoint.numpy>"

    def __call__(self, *args: Any, **options: Any) -> Any:
        inputs, outs = args[: self.nin], args[self.nin :]
        if outs:
            options["out"] = outs
        return self._apply("__call__", _with_a_tensor(inputs), options)

    def _apply(self, method: str, inputs: tuple, options: dict) -> Any:
        outs = options.pop("out", None)
        outs = outs if isinstance(outs, tuple) else (outs,)
        bound = any(out is not None for out in outs)
        if bound:
            options["out"] = outs
        result = numpy_ufunc(self._ufunc, method, inputs, options)
        if result is NotImplemented:
            raise ArgumentTypeError(
                f"{self.__name__}: cannot compute with {', '.join(type(x).__name__ for x in inputs)}"
            )
        return result if result is None or bound else wrap(result)

    def reduce(self, array: Any, axis: Any = 0, **options: Any) -> Any:
        """As the method `reduce` of the ufunc."""
        return self._apply("reduce", (array, axis), options)

    def accumulate(self, array: Any, axis: Any = 0, **options: Any) -> Any:
        """As the method `accumulate` of the ufunc."""
        return self._apply("accumulate", (array, axis), options)

    def reduceat(self, array: Any, indices: Any, axis: Any = 0, **options: Any) -> Any:
        """As the method `reduceat` of the ufunc."""
        return self._apply("reduceat", (array, indices, axis), options)

    def outer(self, A: Any, B: Any, **options: Any) -> Any:
        """As the method `outer` of the ufunc."""
        return self._apply("outer", (A, B), options)

    def at(self, a: Any, indices: Any, *b: Any) -> None:
        """As the method `at` of the ufunc: binds the Tensor `a` anew. For add and subtract."""
        self._apply("at", (a, indices, *b), {})


UFUNCS = {name: Ufunc(value) for name, value in vars(_np).items() if isinstance(value, _np.ufunc)}
