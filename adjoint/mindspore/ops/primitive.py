"""mindspore.ops.primitive: operators as objects, with attributes given once and inputs given with each call."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any

from adjoint.mindspore.ops.primitive_calls import governed, run
from adjoint.mindspore.ops.signature import Signature, make_sig, sig_dtype

_UNSHOWN = ("input_names", "output_names")


class Primitive:
    """An operator with a name and attributes; a subclass says what a call computes.

    >>> import adjoint.mindspore as mindspore
    >>> total = mindspore.ops.ReduceSum(keep_dims=True)
    >>> print(total(mindspore.Tensor([[1.0, 2.0]])), total.name, total.keep_dims, total)
    [[3.]] ReduceSum True Prim[ReduceSum]<keep_dims=True, skip_mode=False>
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.attrs: dict[str, Any] = {}
        self.init_attrs: dict[str, Any] = {"name": name}
        self._update_parameter = False
        self._signatures = self._fill_signature(getattr(type(self), "__mindspore_signature__", ()))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__call__" in cls.__dict__:
            cls.__call__ = governed(cls.__dict__["__call__"])  # type: ignore[method-assign]

    @staticmethod
    def _fill_signature(signatures: Any) -> tuple[Signature, ...]:
        """The description of each input, from what a class says of them."""
        found = []
        for one in signatures:
            if isinstance(one, sig_dtype):
                found.append(make_sig(dtype=one))
            elif isinstance(one, Signature):
                found.append(one)
            elif len(one) < 3:
                raise ValueError(f"a signature of an input takes 3 entries or more, not {one}")
            else:
                found.append(make_sig(*one))
        return tuple(found)

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Set an attribute."""
        self.__dict__[name] = value
        self.attrs[name] = value
        return self

    _set_prim_arg = add_prim_attr
    add_attr = add_prim_attr

    def del_prim_attr(self, name: str) -> Primitive:
        """Take an attribute away."""
        if name in self.__dict__ and name in self.attrs:
            del self.__dict__[name], self.attrs[name]
        return self

    def set_prim_instance_name(self, instance_name: str) -> Primitive:
        """Give this object a name of its own."""
        self.instance_name = instance_name
        return self

    def init_prim_io_names(self, inputs: list[str], outputs: list[str]) -> None:
        """Name the inputs and outputs."""
        self.add_prim_attr("input_names", inputs)
        self.add_prim_attr("output_names", outputs)

    def set_device(self, device_target: str) -> Primitive:
        """Note the device to run on; here there is one."""
        return self.add_prim_attr("primitive_target", device_target)

    def set_stage(self, stage: int) -> Primitive:
        """Note the stage of a pipeline; here there is one."""
        return self.add_prim_attr("stage", stage)

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Note how inputs and outputs would be divided between devices; here there is one.

        >>> Primitive("Add").shard(((1, 1), (1, 1)))
        Prim[Add]<in_strategy=((1, 1), (1, 1))>
        """
        for name, strategy in (("in_strategy", in_strategy), ("out_strategy", out_strategy)):
            if strategy is not None and not isinstance(strategy, tuple):
                raise TypeError(f"{name} must be tuple type, but got:{type(strategy)}")
            if any(not isinstance(part, tuple) for part in strategy or ()):
                raise TypeError(f"each element of {name} must be a tuple, but got {strategy}")
        if in_strategy is None and out_strategy is not None:
            raise ValueError(
                f"The out_strategy of {self.name} is {out_strategy}, need to set in_strategy, but got none"
            )
        for name, strategy in (("in_strategy", in_strategy), ("out_strategy", out_strategy)):
            if strategy is not None:
                self.add_prim_attr(name, strategy)
        return self

    def recompute(self, mode: bool = True) -> Primitive:
        """Note that the result is to be computed again in the backward pass: the values are the same."""
        if not isinstance(mode, bool):
            raise TypeError(f"The input value must be a bool, but got {type(mode).__name__}.")
        return self.add_prim_attr("recompute", mode)

    def place(self, role: str, rank_id: int) -> None:
        """Note the process to run in; here there is one."""
        self.add_prim_attr("ms_role", role)
        self.add_prim_attr("rank_id", rank_id)

    def set_inputs(self, *inputs: Any) -> None:
        """Give example inputs, which tell a compiler the shapes; here they are seen with each call."""

    def check_elim(self, *args: Any) -> tuple[bool, Any]:
        """Whether the result is known without computing, and the result; a subclass may say so."""
        return False, None

    @property
    def update_parameter(self) -> bool:
        """Whether a call changes a Parameter."""
        return self._update_parameter

    def __call__(self, *args: Any) -> Any:
        return run(self, args)

    __call__ = governed(__call__)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("attrs", {})
        if name in found:
            return found[name]
        raise AttributeError(f"'{self.__dict__.get('name', type(self).__name__)}' object has no attribute '{name}'")

    def __deepcopy__(self, memo: dict[int, Any]) -> Primitive:
        fresh = object.__new__(type(self))
        fresh.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return fresh

    _clone = copy.deepcopy

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v}" for k, v in self.attrs.items() if k not in _UNSHOWN)
        return f"Prim[{self.name}]<{shown}>" if shown else f"Prim[{self.name}]"


class PrimitiveWithCheck(Primitive):
    """A primitive that checks its inputs (`check_shape`, `check_dtype`, or `__check__`) before the operator of its name runs."""

    def __check__(self, *args: Any) -> None:
        self.check_dtype(*(x["dtype"] for x in args))
        self.check_shape(*(x["shape"] for x in args))

    def check_shape(self, *args: Any) -> None:
        """Raise if the inputs' shapes do not fit."""

    def check_dtype(self, *args: Any) -> None:
        """Raise if the inputs' dtypes do not fit."""


class PrimitiveWithInfer(Primitive):
    """A primitive that says shapes and dtypes of its results itself (`infer_shape`, `infer_dtype`, or `__infer__`).

    What it computes is said by a `__call__`, by a `vm_impl` on Tensors, or with `vm_impl_registry`; `infer_value` gives results
    that are known from values known when a graph is built.
    """

    def infer_shape(self, *args: Any) -> Any:
        """The shapes of the results, from those of the inputs."""

    def infer_dtype(self, *args: Any) -> Any:
        """The dtypes of the results, from those of the inputs."""

    def infer_value(self, *args: Any) -> Any:
        """The results where they are known from the values that are; None where they are not."""

    def __infer__(self, *args: Any) -> dict[str, Any]:
        rules = {"dtype": self.infer_dtype, "shape": self.infer_shape, "value": self.infer_value}
        return {key: rule(*(x[key] for x in args)) for key, rule in rules.items()}


def prim_attr_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorates the `__init__` of a primitive: its arguments become attributes.

    >>> class Scale(Primitive):
    ...     @prim_attr_register
    ...     def __init__(self, factor=2):
    ...         pass
    >>> Scale(3).factor, Scale()
    (3, Prim[Scale]<factor=2>)
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        name = getattr(type(self), "substitute_name", type(self).__name__)
        enter(self, name, signature, args, kwargs)
        fn(self, *args, **kwargs)

    init.decorated_func = fn  # type: ignore[attr-defined]
    return init


prim_arg_register = prim_attr_register


def enter(self: Any, name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Make the arguments of an `__init__` attributes of a primitive."""
    Primitive.__init__(self, name)
    bound = signature.bind(self, *args, **kwargs)
    bound.apply_defaults()
    self.init_attrs = {}
    for key, value in list(bound.arguments.items())[1:]:
        self.add_prim_attr(key, value)
        self.init_attrs[key] = value


def primitive(name: str, compute: Callable[..., Any], /, **attributes: Any) -> Any:
    """A class of operators: `name(**attributes)(*inputs)` is `compute(self, *inputs)`; an attribute `...` must be given.

    >>> Shift = primitive("Shift", lambda self, x: x + self.by, by=1)
    >>> Shift()(2), Shift(5)(2), Shift(by=7)(2)
    (3, 7, 9)
    """
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] + [
        inspect.Parameter(
            key, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=inspect.Parameter.empty if value is ... else value
        )
        for key, value in attributes.items()
    ]
    signature = inspect.Signature(parameters)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        enter(self, name, signature, args, kwargs)

    def __call__(self: Any, *inputs: Any, **named: Any) -> Any:
        return compute(self, *inputs, **named)

    made = type(name, (Primitive,), {"__init__": __init__, "__call__": __call__, "__doc__": f"mindspore.ops.{name}."})
    made.__init__.__signature__ = signature  # type: ignore[misc]
    made.__module__ = "mindspore.ops.operations"
    return made


def constexpr(
    fn: Callable[..., Any] | None = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Any:
    """Decorates a function that is run as it is when a graph is built, on values that are known then.

    >>> @constexpr
    ... def half(n):
    ...     return n // 2
    >>> half(9)
    4
    """

    def decorate(fn: Callable[..., Any]) -> Any:
        class ConstantFunction(PrimitiveWithInfer):
            """A function of constants."""

            def __init__(self) -> None:
                super().__init__(name or fn.__name__)
                self.fn = fn
                self.add_prim_attr("constexpr_prim", True)

            def __call__(self, *args: Any, **kwargs: Any) -> Any:
                return fn(*args, **kwargs)

        return ConstantFunction() if get_instance else ConstantFunction

    return decorate if fn is None else decorate(fn)


def _primexpr(
    fn: Callable[..., Any] | None = None, get_instance: bool = True, name: str | None = None, reuse_result: bool = True
) -> Any:
    """As `constexpr`, for functions whose inputs may be graph values too."""
    return constexpr(fn, get_instance, name, reuse_result)
