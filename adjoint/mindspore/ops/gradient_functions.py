"""mindspore.grad, value_and_grad, get_grad, GradOperation, stop_gradient: reverse mode by MindSpore's rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from adjoint import ops as _ops
from adjoint.api.grad import by_mode_unfollowed
from adjoint.core import context, tree
from adjoint.core.dispatch import BACKWARD, Value
from adjoint.core.errors import boundary
from adjoint.core.parameter import Parameter
from adjoint.graph.trace import is_graph_value
from adjoint.mindspore.ops.gradient_pass import (
    EVERY,
    Wanted,
    arranged,
    as_given,
    check_weights,
    differentiated,
    hooked,
    hooks_of,
    in_order,
    is_static,
    places,
    unmarked,
)
from adjoint.nn.cell import Cell


def _check_flags(what: str, **flags: Any) -> None:
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"For '{what}', the '{name}' should be bool, but got {type(value).__name__}")


def check_position(grad_position: Any) -> tuple[int, ...]:
    """The positions as a tuple."""
    if isinstance(grad_position, int):
        if grad_position < 0:
            raise ValueError("grad_position must be >= 0.")
        return (int(grad_position),)
    if not isinstance(grad_position, tuple):
        raise TypeError("For 'F.grad', the 'grad_position' must be int or tuple.")
    if len(set(grad_position)) != len(grad_position):
        raise ValueError("There are duplicate positions in `grad_position`, please check it")
    for p in grad_position:
        if not isinstance(p, int):
            raise TypeError("For 'F.grad', the element in 'grad_position' must be int.")
        if p < 0:
            raise ValueError("The element in grad_position must be >= 0.")
    return tuple(int(p) for p in grad_position)


def check_function(fn: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(fn):
        kind = RuntimeError if is_static() else TypeError
        raise kind(f"The fn should be callable, a 'Function' or 'Cell', but got {type(fn).__name__}")


MANY = 8  # gradients of one function whose graphs are kept


class _Remembered(dict):
    """The compiled gradients of a function or Cell, kept with it; copies begin without."""

    def __reduce__(self) -> Any:
        return _Remembered, ()

    def __deepcopy__(self, memo: Any) -> Any:
        return _Remembered()


def _remembered(what: str, fn: Any, wanted: Wanted, value_needed: bool) -> dict[Any, Callable[..., Any]]:
    """What was compiled for such a gradient of this function before: `grad(f)(x)` in a loop is compiled once."""
    if not context.static_mode.get() or context.tracer.get() is not None:
        return {}
    if not isinstance(fn, (FunctionType, Cell)):
        return {}
    weights = wanted.weights
    params = tuple(map(id, weights)) if isinstance(weights, (tuple, list)) else id(weights)
    key = (id(fn), what, wanted.positions, params, wanted.has_aux, wanted.sens_param, value_needed)
    made = fn.__dict__.setdefault(
        "_ad_gradients", _Remembered()
    )  # `functools.wraps` may share it with another function
    if key not in made and len(made) >= MANY:
        made.clear()
    return made.setdefault(key, {})


def _gradient_function(
    what: str, fn: Any, wanted: Wanted, finish: Callable[[Any, Any], Any], value_needed: bool = True
) -> Callable[..., Any]:
    """A function of the inputs of `fn`: `finish(value, gradients)`, compiled in static mode for each choice of inputs."""
    compiled = _remembered(what, fn, wanted, value_needed)

    def call(*args: Any, **kwargs: Any) -> Any:
        check_function(fn)
        check_weights(wanted.weights)
        if context.muted_below.get() > BACKWARD + 1 and not is_static():
            raise RuntimeError("In no_grad context, you can not calculate gradient")
        function, args, kwargs = in_order(fn, wanted, args, kwargs)
        kept = places(wanted, args, kwargs)
        value, grads, slopes = found(function, kept, args, kwargs)
        return finish(value, arranged(wanted, kept, grads, slopes))

    def found(function: Any, kept: tuple[int, ...], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if not context.static_mode.get() or any(map(is_graph_value, tree.leaves((args, kwargs)))):
            return differentiated(what, function, wanted, kept, args, kwargs)
        plain = [unmarked(x) for x in args]
        if not kept and not wanted.params:
            return by_mode_unfollowed(function)(*plain[: len(plain) - wanted.sens_param], **kwargs), [], []
        key = (kept, getattr(function, "named", None), hooks_of(wanted.params))
        if key not in compiled:
            compiled[key] = by_mode_unfollowed(lambda *xs, **named: needed(function, kept, xs, named))
        value, grads, slopes = compiled[key](*plain, **kwargs)
        return value, [hooked(as_given(g, args[p]), args[p]) for p, g in zip(kept, grads, strict=True)], slopes

    def needed(function: Any, kept: tuple[int, ...], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        value, *gradients = differentiated(what, function, wanted, kept, args, kwargs)
        return (value if value_needed else None, *gradients)

    call.__name__ = call.__qualname__ = f"{what}({getattr(fn, '__name__', type(fn).__name__)})"
    return boundary(call)


def _wanted(grad_position: Any, weights: Any, has_aux: bool, return_ids: bool, sens_param: bool) -> Wanted:
    _check_flags("_Grad", has_aux=has_aux, return_ids=return_ids, sens_param=sens_param)
    if grad_position is None and weights is None:
        raise ValueError("`grad_position` and `weight` can not be None at the same time.")
    positions = None if grad_position is None else check_position(grad_position)
    return Wanted(positions, weights, has_aux, return_ids, sens_param)


def grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """A function that returns the gradient of `fn`, summed over all elements of all outputs.

    >>> import adjoint.mindspore as mindspore
    >>> from adjoint.mindspore import Tensor
    >>> print(mindspore.grad(lambda x, y: (x * y, x), (0, 1))(Tensor([1.0, 2.0]), Tensor([3, 4])))
    (Tensor(shape=[2], dtype=Float32, value= [ 4.00000000e+00,  5.00000000e+00]), Tensor(shape=[2], dtype=Int64, value= [1, 2]))
    """
    wanted = _wanted(grad_position, weights, has_aux, return_ids, sens_param)
    return _gradient_function(
        "grad", fn, wanted, lambda value, grads: (grads, value[1:]) if has_aux else grads, has_aux
    )


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """A function that returns the value of `fn` and its gradient.

    >>> import adjoint.mindspore as mindspore
    >>> value, slope = mindspore.value_and_grad(lambda x: x * x)(mindspore.Tensor(3.0))
    >>> print(value, slope)
    9.0 6.0
    """
    wanted = _wanted(grad_position, weights, has_aux, return_ids, sens_param)
    return value_and_gradients("value_and_grad", fn, wanted)


def value_and_gradients(what: str, fn: Any, wanted: Wanted) -> Callable[..., Any]:
    """A function that returns the value of `fn` and the gradients that are wanted."""
    return _gradient_function(what, fn, wanted, lambda value, grads: (value, grads))


def get_grad(gradients: Any, identifier: Any) -> Any:
    """Pick one gradient out of a result made with `return_ids=True`, by position or Parameter.

    >>> import adjoint.mindspore as mindspore
    >>> both = mindspore.grad(lambda x, y: x * y, (0, 1), return_ids=True)(mindspore.Tensor(2.0), mindspore.Tensor(3.0))
    >>> print(mindspore.get_grad(both, 1))
    2.0
    """
    key = identifier.name if isinstance(identifier, Parameter) else identifier
    if isinstance(identifier, (bool, str)) or not isinstance(key, (int, str)):
        raise TypeError(f"For 'get_grad', the identifier must be a position or a Parameter, but got {identifier!r}")
    found = _pair(gradients, key)
    if found is None:
        raise RuntimeError(f"Can not find the gradient for position or Parameter {key}")
    return found[1]


def _pair(gradients: Any, key: int | str) -> Any:
    if not isinstance(gradients, (tuple, list)):
        return None
    if len(gradients) == 2 and isinstance(gradients[0], (int, str)):
        return gradients if type(gradients[0]) is type(key) and gradients[0] == key else None
    return next((found for part in gradients if (found := _pair(part, key)) is not None), None)


class GradOperation:
    """Makes gradient functions: by the first input, by all (`get_all`), by Parameters (`get_by_list`), with a given cotangent.

    >>> import adjoint.mindspore as mindspore
    >>> from adjoint.mindspore import Tensor, ops
    >>> print(ops.GradOperation(sens_param=True)(ops.square)(Tensor([3.0]), Tensor([10.0])))
    [60.]
    """

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False) -> None:
        _check_flags("GradOperation", get_all=get_all, get_by_list=get_by_list, sens_param=sens_param)
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param
        self._made: tuple[Any, Any, Callable[..., Any]] | None = None

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        """The gradient function of `fn`; the same one again where it is asked for again."""
        if self.get_by_list:
            check_weights(weights)
        key = [weights] if weights is None or isinstance(weights, Parameter) else list(weights)
        if self._made is not None and self._made[0] is fn and _same(self._made[1], key):
            return self._made[2]
        function = _gradient_function("GradOperation", fn, self.wanted(weights, fn), lambda value, grads: grads, False)
        if context.static_mode.get():
            self._made = (fn, key, function)
        return function

    def wanted(self, weights: Any = None, fn: Any = None) -> Wanted:
        """What this operation asks for."""
        positions = EVERY if self.get_all else None if self.get_by_list else (0,)
        chosen = (() if weights is None else weights) if self.get_by_list else None
        if weights is None and self.get_by_list and isinstance(fn, Cell) and not is_static():
            chosen = tuple(fn.trainable_params())
        return Wanted(positions, chosen, sens_param=self.sens_param)


def _same(xs: list[Any], ys: list[Any]) -> bool:
    return len(xs) == len(ys) and all(x is y for x, y in zip(xs, ys, strict=True))


def stop_gradient(value: Any) -> Any:
    """The same value, through which no gradient flows; of containers, each Tensor in them."""
    return tree.map(lambda x: _ops.stop_gradient(x) if isinstance(x, Value) else x, value)


__all__ = ["GradOperation", "get_grad", "grad", "stop_gradient", "value_and_grad"]
