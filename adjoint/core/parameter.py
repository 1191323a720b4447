"""Parameter: a named Tensor that a network owns and an optimiser changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import count
from typing import Any, ClassVar

import numpy as np

from adjoint.core import context, placement
from adjoint.core.autograd import autograd
from adjoint.core.dispatch import Trace, base_trace, make, snapshot
from adjoint.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    CutGradientError,
    DtypeError,
    ShapeError,
    called_at,
)
from adjoint.core.language import language
from adjoint.core.stores import Bindings, store
from adjoint.core.tensor import Tensor
from adjoint.core.tensor_copies import accumulated

_unnamed = count().__next__


class Parameters(Trace):
    """Ops on Parameters are ops on the values they stand for just now."""

    level = float("inf")
    transparent = False

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        return op(*[resolve(x) if isinstance(x, Parameter) else x for x in xs])

    def shape(self, x: Any) -> tuple[int, ...]:
        return resolve(x, for_backward=False).shape

    def below(self, x: Any) -> Any:
        return resolve(x, for_backward=False)


PARAMETERS = Parameters()


class Parameter(Tensor):
    """A named Tensor that belongs to a network.

    A transform asked for its gradient tracks it without writing to it, so that threads can share a network.
    `requires_grad=False` leaves it out of `Cell.trainable_params()`.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([2.0]), name="w")
    >>> print(ad.grad(lambda x: (w * x).sum(), None, weights=w)(ad.Tensor([3.0])))
    [3.]
    """

    __hash__ = object.__hash__
    #: Whether `set_data` may change the shape, outside of transforms.
    resizable: ClassVar[bool] = False
    #: Whether no gradient flows into a value stored, and the gradient by the Parameter adds up the reads before and after.
    stores_are_constants: ClassVar[bool] = False
    #: As those of Tensor, for Parameters alone.
    own_extensions: ClassVar[dict[str, Callable[[Any], Any]]] = {}

    def __init__(self, default_input: Any, name: str | None = None, requires_grad: bool = True) -> None:
        value = Tensor(default_input)._plain()
        value = value if placement.is_device_array(value) else placement.made(np.array(value))
        self._value, self._trace, self._extra = value, PARAMETERS, None
        self.is_unnamed = name is None
        self._name = name or f"Parameter{_unnamed()}"
        self.requires_grad = requires_grad

    def __getattr__(self, name: str) -> Any:
        if (found := self.own_extensions.get(name)) is not None:
            return found(self)
        return super().__getattr__(name)

    @property
    def name(self) -> str:
        """The name; a Cell gives one to a Parameter that has none."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name, self.is_unnamed = name, False

    @property
    def requires_grad(self) -> bool:
        """Whether the parameter is trained."""
        return self._trainable

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not isinstance(wanted, (bool, np.bool_)):
            raise ArgumentTypeError(f"requires_grad must be True or False, not {wanted!r}{called_at()}")
        self._trainable = bool(wanted)

    @property
    def data(self) -> Tensor:
        """The value as a Tensor of its own."""
        return snapshot(resolve(self))

    def value(self) -> Tensor:
        """The value as a Tensor of its own."""
        return snapshot(resolve(self))

    @property
    def tracked(self) -> bool:
        """Whether a transform tracks this Parameter."""
        return resolve(self, for_backward=False).tracked

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Replace the value by one of the same shape; the dtype stays.

        Inside grad, jvp or jit, reads from here on give the new value, and the Parameter itself is written to when the call
        has succeeded. Gradients follow: that of a read goes to what it gave, the old value or what the new one was made of.

        >>> import adjoint as ad
        >>> w = ad.Parameter(ad.Tensor([2.0]), name="w")
        >>> def f(x):
        ...     y = w * x
        ...     w.set_data(x * 10)
        ...     return (y + w * x).sum()
        >>> print(*ad.grad(f, 0, w)(ad.Tensor([3.0])), w)
        [62.] [3.] [30.]
        """
        if isinstance(data, float) and self._value.dtype.kind in "iu":
            raise DtypeError(f"Parameter '{self.name}' holds {self._value.dtype}, not the float {data}{called_at()}")
        value = resolve(data, for_backward=False) if isinstance(data, Parameter) else Tensor(data)
        resized = slice_shape or (self.resizable and context.bindings.get() is None)
        if value.shape != self._value.shape and not resized:
            raise ShapeError(
                f"Parameter '{self.name}' has shape {self._value.shape}, the new data {value.shape}{called_at()}"
            )
        if value.dtype != self._value.dtype:
            value = language.cast(value, self._value.dtype)
        store(self, value)
        return self

    def current(self) -> Tensor:
        """What the Parameter stands for just now: its value, or one that a transform tracks."""
        return resolve(self, for_backward=False)

    def __setitem__(self, index: Any, value: Any) -> None:
        fresh = snapshot(self.current())
        fresh[index] = value
        if fresh.dtype != self._value.dtype:
            raise DtypeError(
                f"Parameter '{self.name}' holds {self._value.dtype}, the values are wider: cast them to it first{called_at()}"
            )
        self.set_data(fresh)

    def _take(self, new: Any) -> None:
        self.set_data(new)

    def _updated(self, new: Any) -> Any:
        return self.set_data(new) if language.writes(self, new) else new

    def copy(self, order: str = "C") -> Any:
        fresh = resolve(self) + 0
        return fresh if order == "C" else fresh.copy(order)

    def clone(self, init: str | float = "same") -> Parameter:
        """A Parameter of its own with the same value, or with `init="zeros"`, `"ones"` or a number."""
        numbers: dict[Any, Any] = {"same": None, "zeros": 0, "ones": 1}
        if not isinstance(init, (int, float)) and init not in numbers:
            raise ArgumentError(f"clone: init must be a number or one of {', '.join(numbers)}, not {init!r}")
        if init == "same":
            return Parameter(plain(self), self.name, self.requires_grad)
        number = init if isinstance(init, (int, float)) else numbers[init]
        full = np.full(self._value.shape, number, self._value.dtype)
        return Parameter(placement.beside(full, self._value), self.name, self.requires_grad)

    def move(self, device: str) -> None:
        """Hold the value on another device from here on; what `backward()` has accumulated goes along."""
        self._value = placement.moved(self._value, device)
        if (grad := self.grad) is not None:
            self.grad = grad.to(device)

    def __deepcopy__(self, memo: dict) -> Parameter:
        memo[id(self)] = fresh = _revive(type(self), placement.copied(self._value), {}, None)
        fresh.__dict__.update(deepcopy(self.__dict__, memo))
        if (grad := self.grad) is not None:
            fresh.grad = grad.copy()
        return fresh

    def __reduce__(self) -> Any:
        if self.tracked:
            raise CutGradientError(
                f"Parameter '{self.name}' cannot be pickled inside grad, jvp, vmap or jit, where it stands for a value that is "
                f"being traced.{called_at()}"
            )
        return _revive, (type(self), placement.on_host(self._value), self.__dict__, accumulated(self))

    def __repr__(self) -> str:
        value = super().__repr__().removeprefix("Tensor(")
        return f"Parameter(name={self.name}, requires_grad={self.requires_grad}, {value}"


def _revive(cls: type, array: np.ndarray, attributes: dict[str, Any], grad: Any) -> Any:
    """A Parameter from its parts, without running a constructor."""
    p: Any = cls.__new__(cls)  # type: ignore[call-overload]
    p._value, p._trace, p._extra = array, PARAMETERS, None
    p.__dict__.update(attributes)
    if grad is not None:
        p.grad = grad
    return p


class ParameterTuple(tuple):
    """Several Parameters, as `weights` of a transform. Names must differ.

    >>> import adjoint as ad
    >>> len(ad.ParameterTuple([ad.Parameter(1.0, name="a"), ad.Parameter(2.0, name="b")]))
    2
    """

    def __new__(cls, iterable: Iterable[Parameter] = ()) -> ParameterTuple:
        items = tuple(iterable)
        for p in items:
            if not isinstance(p, Parameter):
                raise ArgumentTypeError(f"ParameterTuple holds Parameters, not {type(p).__name__}")
        names = [p.name for p in items]
        if doubled := sorted({n for n in names if names.count(n) > 1}):
            raise ArgumentError(f"ParameterTuple: the names {', '.join(doubled)} occur more than once")
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: str = "same") -> ParameterTuple:
        """A copy of each, its name prefixed."""
        copies = [p.clone(init) for p in self]
        for p in copies:
            p.name = f"{prefix}.{p.name}"
        return ParameterTuple(copies)


def resolve(p: Parameter, for_backward: bool = True) -> Any:
    """The Tensor that a Parameter stands for: tracked by the transform around it, by an open tape, or for backward()."""
    bound = context.bindings.get()
    if bound is not None and p in bound:
        if for_backward and type(bound) is not Bindings:
            _note_tracked(bound, p)
        return bound[p]
    tape = context.open_tape.get()
    if tape is not None:
        return tape.leaf(p)
    if for_backward and bound is None and p._trainable:
        return autograd.parameter_leaf(p)
    return plain(p)


def _note_tracked(bound: Any, p: Parameter) -> None:
    """Let the graph that is being built know that a Parameter is read for itself, if no transform inside stands for it."""
    while bound is not None:
        tracked = getattr(bound, "tracked", None)
        if tracked is not None:
            tracked.add(p)
        if tracked is not None or dict.__contains__(bound, p):
            return
        bound = getattr(bound, "outer", None)


def plain(p: Parameter) -> Any:
    """The value of a Parameter, tracked by nothing."""
    return make(p._value, base_trace(p._value))
