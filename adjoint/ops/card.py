"""The op card: one frozen dataclass holds everything the framework must know about one operation.

Fields are static attributes, methods are rules. `x` is an input, `y` the result, `t` a tangent, `g` a cotangent.
Rules are written with other ops, so that one rule serves the tape, the graph and every higher order.
"""

from __future__ import annotations

import abc
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from adjoint.core import context
from adjoint.core.arrays import check_kind
from adjoint.core.dispatch import Trace, Value, evaluate, lift
from adjoint.core.errors import ArgumentTypeError
from adjoint.core.foreign import kind_of, operand
from adjoint.core.placement import is_device_array
from adjoint.core.spec import Spec
from adjoint.ops.emitter import Emitter
from adjoint.ops.facts import Facts
from adjoint.ops.half_precision import lower_calls
from adjoint.ops.integer_ranges import Range
from adjoint.ops.publish import Methods, Ufuncs, function_of, listed, publish

Draw = Callable[..., Any]
Sample = tuple["Op", tuple[Any, ...]]
_ARRAY = np.ndarray
_branch = context.branch.get
_SCALARS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
#: Operators that SciPy's sparse matrices have for what stands on their left.
_OF_SPARSE = frozenset({"Add", "Sub"})
Card = TypeVar("Card", bound="type[Op]")
REGISTRY: dict[str, type[Op]] = {}


def lacking(card: Any, rule: str) -> NotImplementedError:
    """The error of a rule that a card, which is not registered, does not have."""
    return NotImplementedError(f"op {getattr(card, '__name__', type(card).__name__)} lacks {rule}")


class Op(Facts):
    """The whole of what the framework must know about one operation. What stages ask of it beside its rules: see `Facts`."""

    #: False for results that have no derivative (comparisons, indices, rounding): transforms pass them by.
    differentiable: ClassVar[bool] = True
    #: Whether samples are drawn in complex numbers too.
    complex: ClassVar[bool] = False
    #: Whether the kernel runs a user's own function, which is given Tensors.
    opaque: ClassVar[bool] = False
    #: Whether `vjp` takes ZERO for results (of several) that no cotangent has reached; else they are filled with zeros.
    takes_zero: ClassVar[bool] = False
    #: Whether the result lies in C order in memory if the inputs do.
    c_order: ClassVar[bool] = True
    #: Whether a loop saves the result for its backward pass even if it is not expensive: it may be far smaller than its input.
    saved: ClassVar[bool] = False
    #: Whether every call that `infer` accepts has a result. Factorisations, indices and user functions may fail at run time.
    total: ClassVar[bool] = False

    def flops(self, y: Any, /, *xs: Any) -> int:
        """An estimate of the operations on numbers that a call takes, from the Specs of result and inputs."""
        return 0

    def may_fail(self, y: Any, /, *xs: Any) -> bool:
        """Whether a call with these Specs, of result and inputs, can fail at run time."""
        return not self.total

    #: Whether it is one of Python's operators: of Python numbers it gives Python numbers.
    is_operator: ClassVar[bool] = False

    def integers(self, *ranges: Any) -> Range | str:
        """The range of what one of Python's operators makes of Python integers in these ranges, or why a graph cannot compute it."""
        raise NotImplementedError(f"{type(self).__name__} is no operator on Python's integers")

    def update(self, x: np.ndarray, *xs: Any) -> None:
        """Write the result over the first input, an array that nothing needs afterwards. Few ops have it: see `has_rule`."""
        raise NotImplementedError(f"{type(self).__name__} does not work in place")

    def muted(self) -> Op | None:
        """The op under `no_grad`, if it may hand on an input, whose derivative is kept; None if all that it gives is computed."""
        return None

    #: The kinds of result ("f", "i", "b" as in NumPy) for which `emit` writes code; others are left to the interpreter.
    emits: ClassVar[str] = "f"

    def emit(self, b: Emitter, *xs: Any) -> Any:
        """The machine code of an elementwise op: its result for one element, written with a backend's builder.

        It computes what `eval` does. An op without it, or that inherits it and has an `eval` of its own, is interpreted.
        """
        raise NotImplementedError(f"{type(self).__name__} has no code of its own")

    def computes_in(self, y: Any, /, *xs: Any) -> list[np.dtype]:
        """The dtype in which `emit` is given each input, from the Specs of result and inputs."""
        return [y.dtype] * len(xs)

    @abc.abstractmethod
    def infer(self, *specs: Any) -> Any:
        """Shape and dtype of the result (a tuple if there are several); raises on inputs that do not fit."""
        raise lacking(self, "infer")

    @abc.abstractmethod
    def eval(self, xp: Any, *xs: Any) -> Any:
        """The kernel, in the array namespace `xp`: NumPy is the reference, others follow."""
        raise lacking(self, "eval")

    @abc.abstractmethod
    def vjp(self, g: Any, y: Any, /, *xs: Any) -> tuple[Any, ...]:
        """Pull the cotangent `g` back: for each input a cotangent, `ZERO`, or a function that computes it if wanted."""
        raise lacking(self, "vjp")

    @abc.abstractmethod
    def jvp(self, ts: Sequence[Any], y: Any, /, *xs: Any) -> Any:
        """Push the input tangents `ts`, each of which may be `ZERO`, forward to the tangent of the result."""
        raise lacking(self, "jvp")

    def coefficient(self, k: int, y: Any, /, *xs: Any) -> Any:
        """The k-th coefficient of the result as a power series, from those of the inputs and earlier ones of the result.

        Few ops have it: products, for which `jvp` would take more calls with each order.
        """
        raise NotImplementedError(f"{type(self).__name__} takes its coefficients from jvp")

    def taylor(self, order: int, series: Sequence[Any], y: Any, /, *xs: Any) -> Sequence[Any]:
        """The coefficients 1 to `order` of each result, given those of each input (None for a constant). Few ops have it."""
        raise NotImplementedError(f"{type(self).__name__} takes its coefficients from jvp")

    @abc.abstractmethod
    def vmap(self, dims: Sequence[int | None], *xs: Any) -> Any:
        """Apply to a batch; `dims[i]` is input i's batch axis, None if it has none. The result's is 0."""
        raise lacking(self, "vmap")

    @classmethod
    @abc.abstractmethod
    def samples(cls, draw: Draw) -> Iterator[Sample]:
        """Small valid calls, as (op, inputs). Every generic test runs on each."""
        raise lacking(cls, "samples")

    @classmethod
    def errors(cls) -> Iterator[tuple[Op, tuple[Spec, ...], str]]:
        """Calls that must be refused, with a part of the message."""
        yield from ()

    def __call__(self, *xs: Any) -> Any:
        trace: Trace | None = None
        level = -1.0
        for x in xs:
            kind = type(x)
            if kind is float or kind is _ARRAY:
                continue
            if isinstance(x, Value):
                its = x._trace
                if its is not trace and its.level > level:
                    trace, level = its, its.level
            else:
                if isinstance(x, _ARRAY):
                    check_kind(x)
                elif kind not in _SCALARS:
                    if is_device_array(x):
                        return self(*map(lift, xs))
                    if kind_of(kind) == "scipy" and x is xs[-1] and type(self).__name__ in _OF_SPARSE:
                        return NotImplemented  # its own operator knows what to do
                    if (kind is list or kind is tuple or kind_of(kind)) and not self.opaque:
                        return self(*map(operand, xs))
                    if getattr(kind, "__array_ufunc__", self) is None:
                        if not self.is_operator:
                            listed(x)  # refuses it
                        return NotImplemented  # as NumPy has it: the other's operator is asked
        if level > 1 and (branch := _branch()) is not None and branch.level > level:
            trace = branch
        return evaluate(self, xs) if trace is None else trace.apply(self, xs)

    def show(self, *xs: Any) -> Any:
        """The result as a Tensor of its own: of an op that makes views, one in which no write to the input is seen."""
        return self(*xs)


def innermost(xs: Sequence[Any]) -> Trace | None:
    """The trace that a call on these inputs goes to; None if they are plain arrays."""
    trace = max((x._trace for x in xs if isinstance(x, Value)), key=lambda t: t.level, default=None)
    branch = context.branch.get()
    return branch if trace is not None and branch is not None and branch.level > trace.level > 1 else trace


@overload
def register(cls: Card, /) -> Card: ...


@overload
def register(
    *,
    function: str,
    aliases: tuple[str, ...] = ...,
    method: Methods = ...,
    ufunc: Ufuncs = ...,
    example: str = ...,
) -> Callable[[Card], Card]: ...


def register(
    cls: Any = None,
    /,
    *,
    function: str = "",
    aliases: tuple[str, ...] = (),
    method: Methods = False,
    ufunc: Ufuncs = None,
    example: str = "",
) -> Any:
    """Enter a final op in the registry, refusing an unfinished or a doubled one.

    With the name of a `function`, also make its public function `ops.name`, for a card without fields: `aliases` are further
    names, `method` says whether (or under which names) it is a method of Tensor, `ufunc` is the function of NumPy or SciPy
    that means it on Tensors (itself, the name of one of scipy.special, or several), and `example` is a line for its documentation, `call -> what it prints`.

    >>> @register
    ... class Cube(Op):
    ...     pass
    Traceback (most recent call last):
    adjoint.core.errors.ArgumentTypeError: op Cube lacks eval, infer, jvp, samples, vjp, vmap
    """
    if cls is None:
        return partial(register, function=function, aliases=aliases, method=method, ufunc=ufunc, example=example)
    name = cls.__name__
    if missing := [rule for rule in dir(cls) if getattr(getattr(cls, rule, None), "__isabstractmethod__", False)]:
        raise ArgumentTypeError(f"op {name} lacks {', '.join(missing)}")
    if name in REGISTRY:
        raise ArgumentTypeError(f"op {name} is registered twice")
    if function:
        op = cls()
        publish(function_of(op, function, example), (function, *aliases), method, ufunc, op)
    if cls.half_precision:
        lower_calls(cls)
    REGISTRY[name] = cls
    setattr(sys.modules["adjoint.ops"], name, cls)
    return cls


@cache
def has_rule(kind: type, rule: str) -> bool:
    """Whether a card has an optional rule, `emit` or `update`, for its own kernel: not one inherited beside another `eval`."""
    if not issubclass(kind, Op) or getattr(kind, rule) is getattr(Op, rule):
        return False
    written, kernel = (next(k for k in kind.__mro__ if name in vars(k)) for name in (rule, "eval"))
    return issubclass(written, kernel)


@lru_cache(maxsize=8192)
def card(cls: type[Op], *fields: Any) -> Op:
    """The op with these fields, made once: looking one up is cheaper than making one."""
    return cls(*fields)
