"""mindspore.ops.operations.custom_ops: operators that a program brings along as Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from adjoint.mindspore.absent import Absent
from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops.primitive import Primitive
from adjoint.mindspore.ops.primitive_calls import call_python, described, with_rule

_KINDS = ("hybrid", "akg", "tbe", "aicpu", "aot", "pyfunc")


class Custom(Primitive):
    """An operator that a Python function on arrays computes (`func_type="pyfunc"`), with shapes, dtypes and `bprop` given.

    >>> import numpy as np
    >>> import adjoint.mindspore as mindspore
    >>> cube = Custom(lambda x: x**3, lambda x: x, lambda x: x, "pyfunc", lambda x, out, dout: (dout * 3 * x * x,))
    >>> print(cube(mindspore.Tensor([2.0])), mindspore.grad(cube)(mindspore.Tensor([2.0])))
    [8.] [12.]
    """

    def __init__(
        self,
        func: Any,
        out_shape: Any = None,
        out_dtype: Any = None,
        func_type: str = "pyfunc",
        bprop: Callable[..., Any] | None = None,
        reg_info: Any = None,
    ) -> None:
        super().__init__("Custom")
        if not (isinstance(func, (FunctionType, str)) or inspect.isbuiltin(func)):
            raise TypeError(f"For 'Custom', 'func' must be of type function or str, but got {type(func)}")
        if func_type not in _KINDS:
            raise ValueError(f"For 'Custom', 'func_type' must be one of {list(_KINDS)}, but got {func_type}")
        if func_type != "pyfunc":
            raise NotImplementedError(f"ops.Custom with func_type={func_type!r} is not provided by adjoint.mindspore")
        if isinstance(func, str):
            raise TypeError(f"For 'Custom' with 'func_type' pyfunc, 'func' must be a function, but got {func!r}")
        for name, given in (("out_shape", out_shape), ("out_dtype", out_dtype)):
            if given is None:
                raise TypeError(f"For 'Custom' with 'func_type' pyfunc, '{name}' is needed")
        if bprop is not None and not callable(bprop):
            raise TypeError(f"For 'Custom', 'bprop' must be a function, but got {type(bprop)}")
        self.func, self.out_shape, self.out_dtype, self.bprop = func, out_shape, out_dtype, bprop
        self.add_prim_attr("func_type", func_type)
        self.add_prim_attr("func_name", getattr(func, "__name__", ""))

    def __call__(self, *inputs: Any) -> Any:
        if self.bprop is None:
            return self._computed(*inputs)
        return with_rule(self.func_name or "Custom", self._computed, self.bprop, inputs)

    def _computed(self, *inputs: Any) -> Any:
        told = [described(x) for x in inputs]
        shape = self.out_shape(*(x["shape"] for x in told)) if callable(self.out_shape) else self.out_shape
        named = callable(self.out_dtype) and not isinstance(self.out_dtype, type)
        dtype = self.out_dtype(*(x["dtype"] for x in told)) if named else self.out_dtype
        return call_python("Custom", self.func, shape, dtype, inputs)


CustomOpBuilder = Absent("mindspore.ops.CustomOpBuilder")

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops.operations")
