"""An op call finds its meaning: the innermost transform among its inputs, or plain evaluation.

Every Tensor names its trace. Calling an op picks the one with the highest level, which applies the op; a transform computes
on the values one level below, by calling the op again. At the bottom the values are plain arrays.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core import context, placement, watching
from adjoint.core.arrays import check_kind
from adjoint.core.errors import AdjointError, DtypeError, IndexingError, called_at, is_placed
from adjoint.core.language import language
from adjoint.core.layout import layout_of, reordered
from adjoint.core.spec import dtype_of, has_derivative, is_half, shape_of, spec_of

_open_tape = context.open_tape.get
_watched = watching.active


class Trace:
    """What an op call means for Tensors of one kind. The highest level among the inputs decides."""

    level: float = 0
    #: Whether a Tensor shows the shape of the value it holds; a batch hides an axis.
    transparent: bool = True
    #: Whether its Tensors have no shape: elements picked by a mask that is not known yet.
    shapeless: bool = False
    #: Whether Tensors of this trace have become plain values: a GradientTape after its block.
    closed: bool = False
    #: Whether its Tensors have no numbers yet: `transforms.deferred`.
    deferred: bool = False

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        """Apply `op` to inputs of which at least one belongs to this trace."""
        raise NotImplementedError

    def shape(self, x: Any) -> tuple[int, ...]:
        """The shape that a user sees."""
        return shape_of(x._value)

    def below(self, x: Any) -> Any:
        """The value one level below."""
        return x._value

    def content(self, x: Any) -> Any:
        """What tells whether a Tensor has been written to: another one after each write."""
        return x._value

    def twin(self, x: Any) -> Any:
        """Another Tensor that holds the same value."""
        return make(x._value, self, x._extra)

    def rebind(self, x: Any, y: Any) -> None:
        """Let x, a Tensor of any trace, hold what y holds, which is one of this trace."""
        x._value, x._trace, x._extra = y._value, self, y._extra

    def layout(self, x: Any) -> Any:
        """How NumPy's array for x would lie in memory: see `core.layout`."""
        return layout_of(x._value)

    def in_order(self, x: Any, layout: Any) -> Any:
        """A Tensor with the value of x that lies in memory as a compact layout says."""
        return make(reordered(x._value, layout), self, x._extra)


class Value:
    """The part of a Tensor that dispatch needs; `core.tensor.Tensor` adds its public face."""

    __slots__ = ("__weakref__", "_extra", "_kin", "_trace", "_value")

    _value: Any
    _trace: Trace
    _extra: Any
    _kin: Any  # not None where others show its elements, or it shows those of another: see `views`

    if TYPE_CHECKING:  # every Value is a Tensor

        def __getattr__(self, name: str) -> Any: ...


def make(value: Any, trace: Trace, extra: Any = None) -> Any:
    """A Tensor around a value, without conversion."""
    x = tensor_class.__new__(tensor_class)
    x._value, x._trace, x._extra, x._kin = value, trace, extra, None
    return x


def snapshot(x: Any) -> Any:
    """The same value in a Tensor that the user does not have, so that `x[i] = v` cannot change it."""
    tape = _open_tape()
    if tape is not None and differentiable(x):
        x = tape.leaf(x)
    return x._trace.twin(x)


def evaluate(op: Any, arrays: Any) -> Any:
    """Run the op's kernel on plain arrays; a failure becomes an error about the op and the user's line."""
    try:
        if _watched and (watcher := watching.watcher()) is not None:
            return watcher.call(op, arrays)
        return op.eval(np, *arrays)
    except Exception as error:
        better = failure(op, arrays, error)
        if better is error:
            raise
        raise better from error


def failure(op: Any, arrays: Any, error: Exception) -> Exception:
    """What to raise for a kernel's error: one about the op, the inputs and the user's line."""
    if op.effect or is_placed(error):  # an assertion or a print of the user's; an error of a step inside
        return error
    if isinstance(error, AdjointError):
        return located(error)
    return error if op.opaque else explain(op, arrays, error)  # a function of the user's raises what it raises


def gathered(xs: tuple[Any, ...]) -> Any:
    """The inputs with object arrays of Tensors made Tensors again, and arrays of half precision; None if there are none."""
    for x in xs:
        if isinstance(x, _ARRAYS) and (x.dtype.hasobject or is_half(x.dtype)):
            break
    else:
        return None
    return tuple(_gathered(x) if isinstance(x, _ARRAYS) else x for x in xs)


def _gathered(x: Any) -> Any:
    return language.array(x) if x.dtype.hasobject else wrap(x) if is_half(x.dtype) else x


def check_operands(op: Any, xs: Any) -> None:
    """Raise for an input of an op that is no number, array or Tensor: a graph could not say what it is."""
    for k, x in enumerate(xs):
        if isinstance(x, np.ndarray):
            check_kind(x)
        elif isinstance(x, np.generic):
            if x.dtype.kind in "MmSU":
                raise _no_operand(op, k, x)
        elif not (isinstance(x, (Value, numbers.Number)) or hasattr(x, "dtype")):
            raise _no_operand(op, k, x)


def _no_operand(op: Any, k: int, x: Any) -> DtypeError:
    kind = type(x).__name__
    what = "None" if x is None else f"the {kind} {x!r:.40}" if isinstance(x, (str, bytes)) else f"of type {kind}"
    return DtypeError(f"{op}: input {k} is {what}; pass a number, an array or a Tensor{called_at()}")


def located(error: AdjointError) -> AdjointError:
    """The same error, with the user's line in its message."""
    text = str(error)
    return error if "called at" in text else type(error)(text + called_at())


def explain(op: Any, arrays: Any, error: Exception) -> Exception:
    """What the op's own shape rule has against these inputs; else the kernel's error with the op and shapes named."""
    try:
        specs = [spec_of(x) for x in arrays]
        op.infer(*specs)
    except AdjointError as better:
        return located(better)
    except Exception:  # the shape rule had no words for it: fall through to the kernel's own
        for k, x in enumerate(arrays):
            if x is None or isinstance(x, (str, bytes)):
                return _no_operand(op, k, x)
        return type(error)(f"{op}: {error}{called_at()}") if len(error.args) == 1 else error
    inputs = ", ".join(map(str, specs))
    if isinstance(error, MemoryError):  # NumPy's has a signature of its own
        return MemoryError(f"{op} on {inputs}: {str(error) or 'no memory'}{called_at()}")
    if len(error.args) != 1:
        return error
    kind = IndexingError if type(error) is IndexError else type(error)
    try:
        return kind(f"{op} on {inputs}: {error.args[0]}{called_at()}")
    except Exception:  # an exception class with a signature of its own
        return error


BACKWARD = 2  # the level of the tape that `backward()` goes through


class Eager(Trace):
    """The bottom level for NumPy arrays: run the kernel. An open GradientTape is told first."""

    level = 0

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        tape = _open_tape()
        if tape is not None:
            return tape.record(op, xs)
        arrays = []
        for x in xs:
            if isinstance(x, Value):
                x = x._value
            elif type(x) is not float and isinstance(x, _ARRAYS) and is_half(x.dtype):
                return HALF.apply(op, xs)
            arrays.append(x)
        return wrap(evaluate(op, arrays))


class Half(Trace):
    """The bottom level for float16 and bfloat16: compute in float32, round once."""

    level = 0.5

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        tape = context.open_tape.get()
        if tape is not None:
            return tape.record(op, xs)
        if op.opaque:
            return wrap(evaluate(op, xs))
        arrays = [x._value if isinstance(x, Value) else x for x in xs]
        if hasattr(op, "graphs"):  # its steps round one by one
            return wrap(evaluate(op, arrays))
        return wrap(evaluate(InFloat32(op, op.infer(*map(spec_of, arrays))), arrays))


class InFloat32:
    """An op on half precision: computed in float32 and rounded once."""

    opaque = False

    def __init__(self, op: Any, spec: Any) -> None:
        self.op, self.spec, self.effect = op, spec, op.effect

    def eval(self, xp: Any, *xs: Any) -> Any:
        y = self.op.eval(xp, *[np.asarray(x, np.float32) if is_half(dtype_of(x)) else x for x in xs])
        if isinstance(y, tuple):
            return tuple(np.asarray(part, s.dtype) for part, s in zip(y, self.spec, strict=True))
        return np.asarray(y, self.spec.dtype)

    def infer(self, *specs: Any) -> Any:
        return self.op.infer(*specs)

    def __repr__(self) -> str:
        return repr(self.op)


class OnDevice(Trace):
    """The bottom level for arrays on a device: the same cards, by JAX, in any precision."""

    level = 1

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        tape = context.open_tape.get()
        if tape is not None:
            return tape.record(op, xs)
        if op.opaque:
            return wrap(evaluate(op, xs))
        call, arrays = placement.engine().placed(op, xs)
        return wrap(evaluate(call, arrays))


_ARRAYS = (np.ndarray, np.generic)
EAGER = Eager()
HALF = Half()
DEVICE = OnDevice()
BOTTOM: tuple[Trace, ...] = (EAGER, HALF, DEVICE)  # those of Tensors that no transform tracks


def base_trace(value: Any) -> Trace:
    """The trace of a Tensor that holds this array and that no transform tracks."""
    if isinstance(value, _ARRAYS):
        return HALF if is_half(value.dtype) else EAGER
    return DEVICE if placement.is_device_array(value) else EAGER


def wrap(value: Any) -> Any:
    """Plain arrays become Tensors; Tensors stay; a tuple of results is wrapped one by one."""
    if isinstance(value, Value):
        return value
    if type(value) is tuple:
        return tuple(wrap(v) for v in value)
    if not isinstance(value, _ARRAYS):
        if placement.is_device_array(value):
            return make(value, DEVICE)
        value = np.asarray(value)
    x = tensor_class.__new__(tensor_class)
    x._value, x._extra, x._kin = value, None, None
    x._trace = HALF if value.dtype.itemsize == 2 and is_half(value.dtype) else EAGER
    return x


def lift(value: Any) -> Any:
    """Plain arrays stay plain, half-precision ones become Tensors: what stands one level below a transform."""
    if isinstance(value, Value):
        return value._value if value._trace is EAGER and context.open_tape.get() is None else value
    if not isinstance(value, np.ndarray):
        return make(value, DEVICE) if placement.is_device_array(value) else value
    check_kind(value)
    if context.device.get() is not None:
        return wrap(placement.made(value))
    return wrap(value) if is_half(value.dtype) else value


def new(array: Any, device: str | None = None) -> Any:
    """A new array as a Tensor: on a device, or where `set_context(device_target=...)` says."""
    return wrap(array if device is None and context.device.get() is None else placement.made(array, device))


def beside(array: Any, other: Any) -> Any:
    """A host array one level below a transform, where another value is: as it is, or a Tensor on that device."""
    return lift(placement.beside(array, other))


def differentiable(x: Any) -> bool:
    """Whether a value has derivatives: floating point or complex, or an integer where these count."""
    return has_derivative(dtype_of(x))


def is_float(x: Any) -> bool:
    """Whether a leaf is an array of real floating-point numbers; a graph value that stands for a Python float is one."""
    return isinstance(x, (Value, np.ndarray, np.generic)) and (dtype_of(x).kind == "f" or is_half(dtype_of(x)))


def is_tracked(x: Any) -> bool:
    """Whether a leaf is a Tensor that a transform tracks."""
    return isinstance(x, Value) and x.tracked


def has_ended(x: Any) -> bool:
    """Whether one of the transforms that track a Tensor is over."""
    while isinstance(x, Value):
        if getattr(x._trace, "ended", False):
            return True
        if x._trace.deferred:
            return False
        x = x._value
    return False


tensor_class: Any = Value  # the public class, set by core.tensor
