"""mindspore.jvp, vjp, jacfwd, jacrev, linearize, jet, derivative, custom_vjp: engine functions by MindSpore's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint import ops as _ops
from adjoint.api import forward, high_orders, jacobian
from adjoint.api.inputs import ChosenInputs
from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.errors import boundary
from adjoint.core.spec import dtype_of, float32, shape_of
from adjoint.mindspore.ops.gradient_functions import check_position
from adjoint.mindspore.ops.gradient_pass import Pass, Wanted, arranged

_NO_AUX = "When 'has_aux' is True, origin 'fn' requires more than one outputs."


def _check_aux(has_aux: Any) -> None:
    if not isinstance(has_aux, bool):
        raise TypeError("The 'has_aux' must be bool type.")


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise ValueError(f"The object is not callable. Please check code: {fn!r:.80}")


def _check_outputs(out: Any) -> None:
    if not isinstance(out, tuple) or len(out) < 2:
        raise ValueError(_NO_AUX)


def _rest(out: tuple[Any, ...]) -> Any:
    """The outputs after the first: bare if it is one."""
    return out[1] if len(out) == 2 else out[1:]


def _checked(fn: Any, has_aux: bool) -> Any:
    """The function, which must have several outputs where the others are asked for."""
    if not has_aux:
        return fn

    def checked(*args: Any, **kwargs: Any) -> Any:
        out = context.readable(fn)(*args, **kwargs)
        _check_outputs(out)
        return out

    checked.__name__ = getattr(fn, "__name__", type(fn).__name__)
    return checked


def _check_tensors(*values: Any) -> None:
    if not all(isinstance(x, (Value, tuple, list)) for x in values):
        raise TypeError("The inputs type must be a Tensor, tuple or list of Tensors.")


@boundary
def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """The output of `fn` and its derivative in a direction: `(output, tangent)`, with aux `(output, tangent, aux)`.

    >>> import adjoint.mindspore as mindspore
    >>> from adjoint.mindspore import Tensor
    >>> print(*mindspore.jvp(lambda x: x * x, Tensor([3.0]), Tensor([1.0])))
    [9.] [6.]
    """
    _check_callable(fn)
    _check_aux(has_aux)
    _check_tensors(inputs, v)
    points = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    vectors = tuple(v) if isinstance(v, (tuple, list)) else (v,)
    if len(points) != len(vectors):
        raise ValueError(f"v has invalid length: should be {len(points)}, but got {len(vectors)}")
    with context.setting(context.integers, True):
        return forward.jvp(_checked(fn, has_aux), points, tuple(map(_like, vectors, points)), has_aux)


def _like(v: Any, x: Any) -> Any:
    """A direction in the shape of its input, whose dtype it must have."""
    if isinstance(v, Value) and isinstance(x, Value) and dtype_of(v) != dtype_of(x):
        raise TypeError(f"jvp: the direction is of {dtype_of(v)}, but its input of {dtype_of(x)}")
    if isinstance(v, Value) and isinstance(x, Value) and shape_of(v) != shape_of(x):
        return _ops.broadcast_to(v, shape_of(x))
    return v


@boundary
def linearize(fn: Callable[..., Any], inputs: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of `fn`, and a function from tangents to output tangents that runs `fn` no more.

    >>> import adjoint.mindspore as mindspore
    >>> from adjoint.mindspore import Tensor, ops
    >>> y, push = ops.linearize(ops.square, Tensor([3.0]))
    >>> print(y, push(Tensor([1.0])))
    [9.] [6.]
    """
    _check_tensors(inputs)
    return forward.linearize(fn, inputs)


@boundary
def vjp(fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
    """The output of `fn`, and the function that pulls cotangents of it back to the inputs, and to weights.

    >>> import adjoint.mindspore as mindspore
    >>> from adjoint.mindspore import Tensor
    >>> y, pull = mindspore.vjp(lambda x: x * x, Tensor([3.0]))
    >>> print(y, *pull(Tensor([10.0])))
    [9.] [60.]
    """
    if not all(isinstance(x, (Value, tuple, list)) for x in inputs):
        raise TypeError("The inputs type must be Tensor.")
    _check_aux(has_aux)
    wanted = Wanted("every input", weights)
    places = tuple(i for i, x in enumerate(inputs) if isinstance(x, Value))
    with context.setting(context.integers, True):
        run = Pass("vjp", fn, ChosenInputs("vjp", fn, places, inputs, {}), wanted.params, None)
    out = run.out
    value = run.value()
    if has_aux:
        _check_outputs(out)
        out = out[0]

    @boundary
    def vjp_fn(*cotangents: Any) -> Any:
        if not all(isinstance(x, (Value, tuple, list)) for x in cotangents):
            raise TypeError("The inputs type must be Tensor.")
        with context.setting(context.integers, True):
            seeds = run.seeds(out, cotangents[0] if len(cotangents) == 1 else cotangents)
            by_input, by_weight = run.pull(seeds)
        return arranged(wanted, places, by_input, by_weight)

    return (value[0], vjp_fn, _rest(value)) if has_aux else (value, vjp_fn)


def _jacobian(
    kind: Callable[..., Callable[..., Any]], fn: Any, grad_position: Any, has_aux: bool
) -> Callable[..., Any]:
    _check_aux(has_aux)

    def call(*args: Any) -> Any:
        _check_callable(fn)
        positions = check_position(grad_position)
        if any(p >= len(args) for p in positions):
            raise ValueError("The element in grad_position must belong to [0, args_num).")
        floats = [x.astype(float32) if isinstance(x, Value) and dtype_of(x).kind in "iu" else x for x in args]
        found = kind(_checked(fn, has_aux), positions, has_aux)(*floats)
        blocks, aux = (found[0], found[1:]) if has_aux else (found, ())
        by_output = _by_output(blocks) if len(positions) > 1 else blocks
        return (by_output, *aux) if has_aux else by_output

    call.__name__ = f"{kind.__name__}({getattr(fn, '__name__', type(fn).__name__)})"
    return boundary(call)


def _by_output(blocks: tuple[Any, ...]) -> Any:
    """The blocks by input, each with those of all outputs, the other way round: of each output those by all inputs."""
    if not isinstance(blocks[0], (tuple, list)):
        return blocks
    return tuple(zip(*blocks, strict=True))


def jacfwd(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The Jacobian of `fn` by forward mode: of shape output.shape + input.shape, for each output and each position."""
    return _jacobian(jacobian.jacfwd, fn, grad_position, has_aux)


def jacrev(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The Jacobian of `fn` by reverse mode: of shape output.shape + input.shape, for each output and each position."""
    return _jacobian(jacobian.jacrev, fn, grad_position, has_aux)


_TAYLOR = ("int32", "int64", "float32", "float64")


def _inexact(what: str, x: Any) -> Any:
    """A Tensor of floats; integers are taken for float32."""
    if not isinstance(x, Value) or dtype_of(x).name not in _TAYLOR:
        raise TypeError(f"For `F.{what}`, the elements' types must belong to {', '.join(_TAYLOR)}.")
    return x.astype(float32) if dtype_of(x).kind == "i" else x


@boundary
def jet(fn: Callable[..., Any], primals: Any, series: Any) -> tuple[Any, Any]:
    """The derivatives of `fn` along a curve, given those of the curve: `(output, derivatives)`.

    >>> import adjoint.mindspore as mindspore
    >>> from adjoint.mindspore import Tensor, ops
    >>> print(ops.jet(ops.exp, Tensor([0.0]), Tensor([[1.0], [0.0]]))[1])
    [[1.]
     [1.]]
    """
    several = isinstance(primals, tuple) and isinstance(series, tuple)
    if not several and not (isinstance(primals, Value) and isinstance(series, Value)):
        raise TypeError("For 'F.jet', the 'primals' and `series` must be both Tensor or tuple.")
    points, curves = (primals, series) if several else ((primals,), (series,))
    if len(points) != len(curves):
        raise ValueError("The lengths of primals and series must be the same.")
    whole = [s.expand_dims(0) if shape_of(s) == shape_of(x) else s for x, s in zip(points, curves, strict=True)]
    if any(shape_of(s)[1:] != shape_of(x) for x, s in zip(points, whole, strict=True)):
        raise ValueError("In series, the shape of each element must be the same as the primals.")
    if any(dtype_of(s) != dtype_of(x) for x, s in zip(points, whole, strict=True)):
        raise TypeError("For `F.jet`, the elements' types of primals and series must be the same.")
    at, along = (tuple(_inexact("jet", x) for x in xs) for xs in (points, whole))
    return _listed(high_orders.jet(fn, at, along))


@boundary
def derivative(fn: Callable[..., Any], primals: Any, order: int) -> tuple[Any, Any]:
    """The output of `fn`, and its derivative of an order along the direction in which every input grows at rate one."""
    if not isinstance(order, int):
        raise TypeError("For `F.derivative`, the type of order must be int.")
    if order < 1:
        raise ValueError(f"For `F.derivative`, value of order should not be less than 1, but got {order}.")
    points = primals if isinstance(primals, tuple) else (primals,)
    return _listed(high_orders.derivative(fn, tuple(_inexact("derivative", x) for x in points), order))


def _listed(found: tuple[Any, Any]) -> tuple[Any, Any]:
    """Several outputs as lists."""
    out, later = found
    return (list(out), list(later)) if isinstance(out, tuple) else (out, later)


def custom_vjp(fn: Callable[..., Any] | None = None) -> Any:
    """A function with a derivative of its own, which `defbwd` sets.

    >>> from adjoint.mindspore import Tensor, ops
    >>> @ops.custom_vjp
    ... def f(x):
    ...     return x * 10
    >>> f.defbwd(lambda x, out, dout: (dout * 3,))
    >>> print(ops.grad(f)(Tensor([1.0])))
    [3.]
    """
    from adjoint.mindspore.nn.grad import CustomVjp

    return CustomVjp if fn is None else CustomVjp(fn)


__all__ = ["custom_vjp", "derivative", "jacfwd", "jacrev", "jet", "jvp", "linearize", "vjp"]
