"""Primitives that order, print, check and repeat: Depend, Print, Assert, WhileLoop, Scan, ForiLoop, PyFunc, Partial."""

from __future__ import annotations

import builtins
import functools
from typing import Any

from adjoint.core import context
from adjoint.core.tensor import Tensor
from adjoint.frontend.effects import print_, text
from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops.primitive import Primitive, primitive

Depend = primitive("Depend", lambda self, value, expr: value)
Load = primitive("Load", lambda self, value, u=None: value)
UpdateState = primitive("UpdateState", lambda self, *values: values[0])
identity = primitive("identity", lambda self, x: x)


class Partial(Primitive):
    """`Partial()(fn, *args)`: a function with its first arguments given.

    >>> Partial()(max, 3)(2, 5)
    5
    """

    def __init__(self) -> None:
        super().__init__("Partial")

    def __call__(self, *args: Any) -> Any:
        return functools.partial(args[0], *args[1:])


class Print(Primitive):
    """Prints texts, numbers and Tensors, each on a line of its own; part of the graph where one is built."""

    def __init__(self) -> None:
        super().__init__("Print")

    def __call__(self, *values: Any) -> Any:
        print_(builtins.print, *(text((x, "r", "")) if isinstance(x, Tensor) else x for x in values), sep="\n")
        return None


class Assert(Primitive):
    """Raises an error that shows some values unless a condition holds."""

    def __init__(self, summarize: int = 3) -> None:
        super().__init__("Assert")
        if not isinstance(summarize, int) or isinstance(summarize, bool):
            raise TypeError(f"Assert: summarize must be an int, not {summarize!r}")
        self.add_prim_attr("summarize", summarize)

    def __call__(self, condition: Any, input_data: Any) -> Any:
        if not bool(condition):
            shown = [x.asnumpy().ravel()[: self.summarize].tolist() if isinstance(x, Tensor) else x for x in input_data]
            raise RuntimeError(f"For 'Assert' condition is false, input data: {shown}")
        return 1


class WhileLoop(Primitive):
    """`WhileLoop()(condition, step, value)`: step by step as long as the condition holds.

    >>> WhileLoop()(lambda x: x < 50, lambda x: x * 3, 2)
    54
    """

    def __init__(self) -> None:
        super().__init__("WhileLoop")

    def __call__(self, cond_func: Any, loop_func: Any, init_val: Any) -> Any:
        condition, step = context.readable(cond_func), context.readable(loop_func)
        while condition(init_val):
            init_val = step(init_val)
        return init_val


class ForiLoop(Primitive):
    """`ForiLoop()(lower, upper, step, value)`: `value = step(i, value)` for each i.

    >>> ForiLoop()(1, 5, lambda i, x: x + i, 0)
    10
    """

    def __init__(self) -> None:
        super().__init__("ForiLoop")

    def __call__(self, lower: Any, upper: Any, loop_func: Any, init_val: Any, unroll: bool = True) -> Any:
        for name, value in (("lower", lower), ("upper", upper)):
            if not isinstance(value, int) and not isinstance(value, Tensor):
                raise TypeError(f"ForiLoop: {name} must be an int or a Tensor, not {type(value).__name__}")
        step = context.readable(loop_func)
        for i in range(int(lower), int(upper)):
            init_val = step(i, init_val)
        return init_val


class Scan(Primitive):
    """`Scan()(step, value, xs)`: `value, y = step(value, x)` for each x; gives the last value and a list of all ys.

    >>> Scan()(lambda total, x: (total + x, total), 0, [1, 2, 3])
    (6, [0, 1, 3])
    """

    def __init__(self) -> None:
        super().__init__("Scan")

    def __call__(self, loop_func: Any, init: Any, xs: Any, length: Any = None, unroll: bool = True) -> Any:
        if xs is not None and length is not None and len(xs) != length:
            raise ValueError(f"Scan: length is {length}, xs has {len(xs)} items")
        step, ys = context.readable(loop_func), []
        for x in [None] * length if xs is None else xs:
            init, y = step(init, x)
            ys.append(y)
        return init, ys


class PyFunc(Primitive):
    """A function of NumPy arrays as an operator without a derivative."""

    def __init__(
        self, fn: Any, in_types: Any, in_shapes: Any, out_types: Any, out_shapes: Any, stateful: bool = True
    ) -> None:
        super().__init__("PyFunc")
        self.fn, self.out_types, self.out_shapes = fn, out_types, out_shapes

    def __call__(self, *inputs: Any) -> Any:
        found = self.fn(*(x.asnumpy() if isinstance(x, Tensor) else x for x in inputs))
        given = found if isinstance(found, (tuple, list)) else () if found is None else (found,)
        return tuple(Tensor(y, dtype) for y, dtype in zip(given, self.out_types))


class GeSwitch(Primitive):
    """Data on one of two ways: `(data if not condition, data if condition)`, with None on the other way."""

    def __init__(self) -> None:
        super().__init__("GeSwitch")

    def __call__(self, data: Any, pred: Any) -> Any:
        return (None, data) if bool(pred) else (data, None)


class Merge(Primitive):
    """The value that is there, and its place among those given."""

    def __init__(self) -> None:
        super().__init__("Merge")

    def __call__(self, inputs: Any) -> Any:
        found = next(i for i, x in enumerate(inputs) if x is not None)
        return inputs[found], Tensor(found)


__all__ = [
    "Assert", "Depend", "ForiLoop", "GeSwitch", "Load", "Merge", "Partial", "Print", "PyFunc", "Scan", "UpdateState", "WhileLoop",
    "identity",
]  # fmt: skip

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops.operations")
