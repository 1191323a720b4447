"""Tensor: the one array type a user sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from adjoint.core import context, dispatch, errors, foreign, library_functions, placement, tree, views
from adjoint.core.arrays import check_kind, even_array
from adjoint.core.autograd import autograd
from adjoint.core.dispatch import BACKWARD, BOTTOM, DEVICE, Value, base_trace, has_ended, make, snapshot
from adjoint.core.errors import AdjointError, BatchedError, CutGradientError, DtypeError, called_at, refused
from adjoint.core.exchange import SharedWithOthers
from adjoint.core.inplace_operators import InPlaceOperators
from adjoint.core.keys import check_key
from adjoint.core.language import language
from adjoint.core.operators import Operators
from adjoint.core.spec import NUMBER_ATTRIBUTES, Number, dtype_of, is_half, number_of
from adjoint.core.tensor_copies import accumulated, array_of_elements, copy_of_leaf
from adjoint.core.tensor_text import ShownInNotebooks, instead_of, refuse_to_cut, with_values, without_values


class Tensor(ShownInNotebooks, SharedWithOthers, InPlaceOperators, Operators, Value):
    """An n-dimensional array that transforms can trace.

    Python floats become float32, as in MindSpore; NumPy arrays keep their dtype and are copied. With
    `requires_grad=True` every op on the Tensor is recorded, for `backward()`.

    >>> import adjoint as ad
    >>> x = ad.Tensor([1.0, 2.0])
    >>> print(x * 2 + 1)
    [3. 5.]
    """

    __slots__ = ()
    __array_priority__ = 1000
    __pandas_priority__ = 5000  # above Series and DataFrame, so that `series * x` comes to us
    extensions: ClassVar[dict[str, Callable[[Any], Any]]] = {}  # attributes that another library's face adds
    habits: ClassVar[dict[str, Callable[[Any], Any]]] = {}  # PyTorch's words

    def __init__(
        self, input_data: Any = None, dtype: Any = None, *, requires_grad: bool = False, device: str | None = None
    ) -> None:
        value = _converted(input_data, dtype)
        if isinstance(value, Value):
            self._rebind(value if device is None else value.to(device=device))
        else:
            if device is not None or context.device.get() is not None:
                value = placement.made(value, device)
            self._value, self._extra, self._trace = value, None, base_trace(value)
        if requires_grad:
            self.requires_grad = True

    def _rebind(self, other: Any) -> None:
        other._trace.rebind(self, other)

    def __getattr__(self, name: str) -> Any:
        """What another library's face has added (`extensions`); what stands for a Python number might have had others."""
        if (found := self.extensions.get(name)) is not None:
            return found(self)
        if type(self._extra) is Number and (name in NUMBER_ATTRIBUTES or name in self.habits):
            self._trace.below(self)
        if (found := self.habits.get(name)) is not None:
            return found(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{instead_of(type(self), name)}")

    def __hash__(self) -> int:
        """By identity; `==` compares elements. Python would look for a number by its value: refused inside a transform."""
        if type(self._extra) is Number:
            return self._trace.below(self)
        if context.bindings.get() is not None:
            check_key(self)
        return object.__hash__(self)

    # ------------------------------------------------------------ what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        try:
            return self._value.shape if self._trace.transparent else self._trace.shape(self)
        except AttributeError:  # a Python number
            return ()

    @property
    def dtype(self) -> np.dtype:
        """The NumPy dtype of the elements."""
        try:
            return self._value.dtype
        except AttributeError:  # a Python number
            return dtype_of(self._value)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes to step along each axis of the array that holds the values."""
        return np.asarray(self._plain()).strides

    @property
    def device(self) -> str:
        """Where the values are: "cpu" for the host, else a device of XLA's, as "gpu:0" or "cpu:1"."""
        return placement.device_of(self)

    # ------------------------------------------------------------ conversion

    def _plain(self) -> Any:
        """The array at the bottom, whatever transforms are active."""
        x: Any = self
        while isinstance(x, Value):
            x = x._trace.below(x)
        return x

    @property
    def tracked(self) -> bool:
        """Whether a transform (grad, jvp, vmap, a tape) tracks this Tensor."""
        if self._trace.closed:
            return isinstance(self._value, Tensor) and self._value.tracked
        return self._trace not in BOTTOM

    def asnumpy(self) -> np.ndarray:
        """The values as a NumPy array of your own. An explicit way out of a transform: no gradient flows through it.

        >>> import adjoint as ad
        >>> ad.Tensor([1, 2]).asnumpy()
        array([1, 2])
        """
        return placement.on_host(self._plain())

    numpy = asnumpy

    def item(self, *index: int) -> Any:
        """One element as a Python number; no gradient flows through it."""
        if not index and self.size != 1:
            what = f"x.item() needs a Tensor of one element, not of shape {self.shape}; x.tolist() gives all of them"
            raise errors.SeveralElementsError(what + called_at())
        return self._known().item(*index)

    def _known(self) -> np.ndarray:
        """The values, where Python needs them to go on."""
        try:
            return self.asnumpy()
        except BatchedError as error:
            raise refused(error) from None

    def tolist(self) -> Any:
        """The values as nested Python lists; refused, as float(x) is, where that would cut a gradient."""
        refuse_to_cut(self, "x.tolist()")
        return self.asnumpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if not self.tracked or context.cutting.get() or self._is_plain_result():
            array = plain if isinstance(plain := self._plain(), np.ndarray) else placement.on_host(plain)
            if dtype is not None and array.dtype != dtype:
                return array.astype(dtype)
            if copy:
                return np.array(array)
            inside = context.bindings.get() is not None
            array = np.array(array) if inside else array.view()
            array.flags.writeable = False  # shared: a write would change the Tensor unseen
            if inside:  # a transform takes the program for one of NumPy's, where it is x itself
                views.note_array(self, array)
            return array
        if (function := library_functions.asking()) is not None:
            raise refused(library_functions.unconverted(function))
        if dtype is None or np.dtype(dtype) == object:
            array = array_of_elements(self)
            array.flags.writeable = bool(copy)  # np.asarray(x) is x in NumPy: a write would be lost
            if not copy:
                views.note_array(self, array)
            return array
        if np.dtype(dtype).kind in "biu" or (not self.shape and self._trace.level <= BACKWARD):
            return np.array(self.asnumpy(), dtype)  # np.int64(x), np.float32(x): as int(x), float(x)
        raise refused(
            CutGradientError(
                f"turning a Tensor that is being differentiated into a NumPy array of {np.dtype(dtype)} would cut its "
                f"gradient. Use x.astype, adjoint.numpy in place of numpy there, or x.asnumpy() if no gradient is wanted.{called_at()}"
            )
        )

    def _is_plain_result(self) -> bool:
        """Whether np.asarray gives the numbers alone: what a network computed of its Parameters, outside of every transform."""
        outside = context.bindings.get() is None and context.open_tape.get() is None
        return outside and self._trace.level <= BACKWARD and autograd.is_of_parameters(self)

    def _number(self, kind: Callable[[Any], Any], explicit: bool) -> Any:
        if self.size != 1:
            what = f"{kind.__name__}() needs a Tensor of one element, not of shape {self.shape}"
            raise errors.SeveralElementsError(what + called_at())
        if not explicit:
            refuse_to_cut(self, f"{kind.__name__}(x)")
        return kind(self.item())

    def __float__(self) -> float:
        return self._number(float, explicit=False)

    def __complex__(self) -> complex:
        return self._number(complex, explicit=False)

    def __int__(self) -> int:
        return self._number(int, explicit=True)

    def __bool__(self) -> bool:
        if self.size != 1:
            what = f"the truth of a Tensor of shape {self.shape} is ambiguous; use .any() or .all()"
            raise errors.AmbiguousTruthError(what + called_at())
        return self._number(bool, explicit=True)

    def __index__(self) -> int:
        if self.tracked and self.dtype.kind in "biu":  # `array[mask]` asks for it too, and then for np.asarray(mask)
            self._known()
        if self.dtype.kind not in "iu":
            raise DtypeError(f"only an integer Tensor can be an index, this one is {self.dtype}{called_at()}")
        return self._number(int, explicit=True)

    def __reduce__(self) -> Any:
        leaf = self.tracked and autograd.is_leaf(self)
        if self.tracked and not leaf:
            raise CutGradientError(
                f"a Tensor that is being differentiated, batched or traced cannot be pickled: what it was computed from would be "
                f"lost. Pickle x.detach(), or x.asnumpy().{called_at()}"
            )
        return _revive, (type(self), self.asnumpy(), leaf, accumulated(self) if leaf else None)

    # ------------------------------------------------------------ text

    def __repr__(self) -> str:
        """What it is and its values; of one that has none to show yet, or no more, what it is, if it is not the program that asks."""
        try:
            array = self.asnumpy()
        except AdjointError as error:
            return without_values(self, error)
        return with_values(array)

    def __str__(self) -> str:
        try:
            return str(self.asnumpy())
        except AdjointError as error:
            if not has_ended(self):  # the text would hold no number, and go unnoticed
                raise refused(error) from None
            return repr(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.ndim == 0 else format(str(self), spec)

    # ------------------------------------------------------------ containers

    def __len__(self) -> int:
        if not self.shape:
            raise DtypeError(f"len() of a Tensor without axes{called_at()}")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise DtypeError(f"cannot iterate over a Tensor without axes{called_at()}")
        return self._rows()

    def _rows(self) -> Iterator[Any]:
        """The rows one by one, each as it is when it is reached: the loop may write to later ones."""
        before = self._trace.content(self)
        for i, row in enumerate(language.rows(self)):
            if self._trace.content(self) is not before:
                row = self[i]
            elif row.shape:
                views.relate(row, self, language.place(i))
            yield row

    def __getitem__(self, index: Any) -> Any:
        return language.getitem(self, index)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def copy(self, order: str = "C") -> Any:
        """A Tensor with the same value, tracked like this one; assignments to it leave this one alone."""
        lies = views.layout_in(self, order)
        return views.settle(snapshot(self) if not autograd.is_leaf(self) else self + 0, lies)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict) -> Any:
        leaf = autograd.is_leaf(self)
        memo[id(self)] = fresh = copy_of_leaf(self, Tensor) if leaf else snapshot(self)
        return fresh

    # ------------------------------------------------------------ derivatives, in PyTorch's manner

    @property
    def requires_grad(self) -> bool:
        """Whether ops on this Tensor are recorded for `backward()`."""
        return autograd.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        autograd.set_requires_grad(self, bool(wanted))

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set `requires_grad` and return this Tensor."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> Any:
        """What `backward()` has accumulated here; None before the first time."""
        return autograd.get_accumulated(self)

    @grad.setter
    def grad(self, value: Any) -> None:
        autograd.set_accumulated(self, value)

    def backward(self, gradient: Any = None, retain_graph: bool = False) -> None:
        """Add the derivative of this Tensor to the `.grad` of every Tensor with `requires_grad` that it came from.

        >>> import adjoint as ad
        >>> x = ad.Tensor([3.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> print(x.grad)
        [6.]
        """
        autograd.backward(self, gradient, retain_graph)

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call `hook(gradient)` when this Tensor's gradient is known; what it returns replaces the gradient."""
        return autograd.register_hook(self, hook)

    def detach(self) -> Any:
        """The same values, tracked by no transform."""
        return language.stop_gradient(self)

    # ------------------------------------------------------------ NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return language.numpy_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return language.numpy_function(function, args, kwargs)


dispatch.tensor_class = Tensor


def _converted(data: Any, dtype: Any) -> Any:
    """The array to hold, or the Tensor to stand for."""
    if isinstance(data, Value):
        fresh: Any = data.copy() if isinstance(data, Tensor) else data
        if dtype is None and number_of(data) is not None:  # as `Tensor(1.0)`
            dtype = np.float32 if data.dtype == np.float64 else data.dtype
            return language.cast(fresh, np.dtype(dtype))
        return fresh if dtype is None or fresh.dtype == dtype else language.cast(fresh, dtype)
    if isinstance(data, (list, tuple)) and any(isinstance(x, Value) for x in tree.leaves(data)):
        stacked = dispatch.wrap(language.array(data))
        return stacked if dtype is None else language.cast(stacked, dtype)
    if isinstance(data, np.ndarray):
        check_kind(data)
    elif placement.is_device_array(data):
        found = make(data, DEVICE)
        return found if dtype is None or data.dtype == dtype else language.cast(found, dtype)
    elif foreign.kind_of(type(data)):
        data = foreign.numbers(data)
    array = even_array(data, dtype)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
        array = array.astype(np.float32)
    if array.dtype.kind not in "biufc" and not is_half(array.dtype):
        raise DtypeError(f"Tensor() cannot hold {type(data).__name__} data {data!r:.80}: use numbers{called_at()}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _revive(cls: type, array: np.ndarray, requires_grad: bool, grad: Any = None) -> Any:
    x = cls(array, requires_grad=requires_grad)
    if grad is not None:
        x.grad = grad
    return x


def as_tensor(x: Any, dtype: Any = None) -> Any:
    """`x` itself if it is a Tensor, else a Tensor of it."""
    return x if isinstance(x, Tensor) and dtype is None else Tensor(x, dtype)
