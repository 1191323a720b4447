"""mindspore.ops.primitive: operators as objects, with attributes given once and inputs given with each call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


class Primitive:
    """An operator with a name and attributes; a subclass says what a call computes.

    >>> import adjoint.mindspore as mindspore
    >>> total = mindspore.ops.ReduceSum(keep_dims=True)
    >>> print(total(mindspore.Tensor([[1.0, 2.0]])), total.name, total.keep_dims)
    [[3.]] ReduceSum True
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.attrs: dict[str, Any] = {}

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Set an attribute."""
        self.__dict__[name] = value
        self.attrs[name] = value
        return self

    def init_prim_io_names(self, inputs: list[str], outputs: list[str]) -> None:
        """Name the inputs and outputs."""
        self.add_prim_attr("input_names", inputs)
        self.add_prim_attr("output_names", outputs)


def prim_attr_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorates the `__init__` of a primitive: its arguments become attributes.

    >>> class Scale(Primitive):
    ...     @prim_attr_register
    ...     def __init__(self, factor=2):
    ...         pass
    >>> Scale(3).factor
    3
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        Primitive.__init__(self, type(self).__name__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            self.add_prim_attr(name, value)
        fn(self, *args, **kwargs)

    return init


def primitive(name: str, compute: Callable[..., Any], /, **attributes: Any) -> Any:
    """A class of operators: `name(**attributes)(*inputs)` is `compute(self, *inputs)`.

    >>> Shift = primitive("Shift", lambda self, x: x + self.by, by=1)
    >>> Shift()(2), Shift(5)(2), Shift(by=7)(2)
    (3, 7, 9)
    """
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] + [
        inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)
        for key, value in attributes.items()
    ]
    signature = inspect.Signature(parameters)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Primitive.__init__(self, name)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for key, value in list(bound.arguments.items())[1:]:
            self.add_prim_attr(key, value)

    def __call__(self: Any, *inputs: Any) -> Any:
        return compute(self, *inputs)

    made = type(name, (Primitive,), {"__init__": __init__, "__call__": __call__, "__doc__": f"mindspore.ops.{name}."})
    made.__init__.__signature__ = signature  # type: ignore[misc]
    made.__module__ = "mindspore.ops.operations"
    return made
