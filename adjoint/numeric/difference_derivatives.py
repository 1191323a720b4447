"""Numerical derivatives: of a function of a number, gradients, Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.inputs import check_positions, name_of
from adjoint.core import tree
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.core.progress import tracked
from adjoint.core.tensor import Tensor
from adjoint.numeric.moved_inputs import Arrays, MovedInputs
from adjoint.numeric.quotients import (
    METHODS,
    ORDERS,
    Quotient,
    automatic_step,
    check_method,
    check_step,
    quotient,
)


@boundary
def derivative(f: Callable[[Any], Any], x: Any, method: str = "central", step: float | None = None) -> Any:
    """The derivative of `f` at `x` by differences.

    Args:
        f: a function of one number, array, Tensor or container of them, with any results.
        x: where. Arrays grow at rate one in every element, as in `ad.derivative`: for an elementwise function that is the
            derivative of each element.
        method: "forward" (f(x+h) - f(x)) / h, "backward" (f(x) - f(x-h)) / h, "central" (f(x+h) - f(x-h)) / 2h, "richardson"
            (central ones extrapolated to h = 0), or "complex" Im f(x + ih) / h, for analytic functions.
        step: h; None chooses it from the dtype and the size of x, and looks nearer where the function ends.

    >>> from adjoint import numeric
    >>> round(numeric.derivative(lambda x: x**3, 2.0), 8)
    12.0
    >>> numeric.derivative(lambda x: x**3, 2.0, method="forward", step=0.5)
    15.25
    """
    return estimate(f, x, method, step).value


@dataclass(frozen=True)
class Estimate:
    """A numerical derivative, and how far it may be off."""

    value: Any  # as the function gives its results
    truncation: Any  # from the step being finite: what halving or doubling the step changes
    rounding: Any  # from the precision of the numbers: eps·|f(x)| divided by the step
    step: float
    method: str
    evaluations: int  # how often the function was called

    @property
    def error(self) -> Any:
        """Truncation and rounding together."""
        return tree.map(lambda a, b: a + b, self.truncation, self.rounding)


@boundary
def estimate(f: Callable[[Any], Any], x: Any, method: str = "central", step: float | None = None) -> Estimate:
    """As `derivative`, with an estimate of the truncation and of the rounding error.

    >>> from adjoint import numeric
    >>> import numpy as np
    >>> found = numeric.estimate(np.exp, 1.0, method="forward", step=1e-3)
    >>> abs(found.value - np.e) <= found.error, found.truncation > found.rounding
    (True, True)
    """
    check_method("derivative", method)
    check_step("derivative", step)
    program = MovedInputs("derivative", f, (x,), (0,))
    found = quotient(program, method, step, program.only)
    with np.errstate(all="ignore"):
        truncation, rounding = errors(program, method, found, program.only)
    value, cut, noise = (program.shaped(a) for a in (found.values, truncation, rounding))
    return Estimate(_as_given(value, x), cut, noise, found.step, method, program.evaluations)


def errors(
    program: MovedInputs, method: str, found: Quotient, k: int | None = None, i: int = 0
) -> tuple[Arrays, Arrays]:
    """How far a quotient may be off by truncation and by rounding."""
    noise = program.noise(found.values, k, i)
    if method == "complex":
        return [np.zeros(v.shape) for v in found.values], [program.precision * np.abs(v) for v in found.values]
    if method == "richardson":
        spread = found.spread or []
        return [np.asarray(s) for s in spread], [np.asarray(n / found.step) for n in noise]
    wider = quotient(program, method, 2 * found.step, k, i)
    factor = 2.0 ** ORDERS[method] - 1
    truncation = [np.asarray(np.abs(a - b) / factor) for a, b in zip(wider.values, found.values, strict=True)]
    sides = 1.0 if method == "central" else 2.0
    return truncation, [np.asarray(sides * n / found.step) for n in noise]


@boundary
def gradient(
    f: Callable[..., Any],
    *args: Any,
    grad_position: int | tuple[int, ...] = 0,
    method: str = "central",
    step: float | None = None,
) -> Any:
    """The gradient of a function with one real result, by differences: as `ad.grad(f, grad_position)(*args)`.

    It calls the function once or twice for each element of the inputs: `ad.grad` costs a few calls whatever their number.

    >>> from adjoint import numeric
    >>> import numpy as np
    >>> numeric.gradient(lambda x: (x**2).sum(), np.array([1.0, 2.0])).round(6)
    array([2., 4.])
    """
    program = _program("gradient", f, args, grad_position, method, step)
    sizes = [y.size for y in program.here]
    if sizes != [1] or program.kinds == ["c"]:
        what = "a complex number" if sizes == [1] else f"{sum(sizes)} numbers"
        raise ArgumentError(
            f"gradient: {name_of(f)} returned {what}, not one real number; numeric.jacobian takes any{called_at()}"
        )
    found: list[np.ndarray] = [np.zeros(x.shape) for x in program.leaves]
    for k, i in elements(program, "gradient by differences"):
        found[k].flat[i] = quotient(program, method, step, k, i).values[0].item()
    return _by_input(program, grad_position, found)


@boundary
def jacobian(
    f: Callable[..., Any],
    *args: Any,
    grad_position: int | tuple[int, ...] = 0,
    method: str = "central",
    step: float | None = None,
) -> Any:
    """All derivatives of all results, by differences: as `ad.jacobian(f, grad_position)(*args)`.

    For each result of the function, and in it for each input, an array of shape result.shape + input.shape.

    >>> from adjoint import numeric
    >>> import numpy as np
    >>> numeric.jacobian(lambda x: x[:2] * x[2], np.array([1.0, 2.0, 3.0])).round(6)
    array([[3., 0., 1.],
           [0., 3., 2.]])
    """
    program = _program("jacobian", f, args, grad_position, method, step)
    blocks = [[np.zeros(y.shape + x.shape, y.dtype) for x in program.leaves] for y in program.here]
    for k, i in elements(program, "Jacobian by differences"):
        columns = quotient(program, method, step, k, i).values
        for row, column in zip(blocks, columns, strict=True):
            row[k].reshape(*column.shape, -1)[..., i] = column
    by_result = [_inputs(program, row) for row in blocks]
    several = isinstance(grad_position, tuple) and len(grad_position) > 1
    found = [program.structure([row[p] for row in by_result]) for p in range(len(program.rebuilds))]
    return tuple(found) if several else found[0]


@boundary
def hessian(
    f: Callable[..., Any], *args: Any, grad_position: int = 0, method: str = "central", step: float | None = None
) -> Any:
    """The second derivatives of a function with one real result, by differences of differences.

    With "complex" the first derivative is exact and only the second is a (central) difference.

    >>> from adjoint import numeric
    >>> import numpy as np
    >>> numeric.hessian(lambda x: x[0] ** 2 * x[1], np.array([1.0, 2.0])).round(4)
    array([[4., 2.],
           [2., 0.]])
    """
    program = _program("hessian", f, args, grad_position, method, step)
    outer = "central" if method == "complex" else method
    if step is None and method in ORDERS:  # differences of differences: rounding is divided by the square of the step
        size = max([1.0, *(float(np.abs(x).max(initial=0.0)) for x in program.leaves)])
        step = automatic_step(method, program.precision, 2) * size
    inner = None if method == "complex" else step

    def slopes(*values: Any) -> Any:
        return gradient(f, *values, grad_position=grad_position, method=method, step=inner)

    slopes.__name__ = name_of(f)
    return jacobian(slopes, *args, grad_position=grad_position, method=outer, step=step)


def elements(program: MovedInputs, label: str) -> Iterator[tuple[int, int]]:
    """Each element of each moved input; work that takes long shows how far it is."""
    places = ((k, i) for k, x in enumerate(program.leaves) for i in range(x.size))
    return tracked(places, label, sum(x.size for x in program.leaves))


def _program(
    what: str, f: Callable[..., Any], args: Sequence[Any], grad_position: Any, method: str, step: float | None
) -> MovedInputs:
    if args and isinstance(args[-1], str) and args[-1] in METHODS:
        raise ArgumentError(f"{what}: name the method: {what}(f, x, method={args[-1]!r}){called_at()}")
    check_method(what, method)
    check_step(what, step)
    return MovedInputs(what, f, args, check_positions(what, grad_position))


def _by_input(program: MovedInputs, grad_position: Any, found: Sequence[np.ndarray]) -> Any:
    parts = _inputs(program, found)
    return tuple(parts) if isinstance(grad_position, tuple) and len(grad_position) > 1 else parts[0]


def _inputs(program: MovedInputs, found: Sequence[np.ndarray]) -> list[Any]:
    """An array for each moved leaf, as the inputs hold them."""
    rest = iter([_as_given(v.item() if v.ndim == 0 else v, x) for v, x in zip(found, program.given, strict=True)])
    return [rebuild([next(rest) for _ in range(count)]) for count, rebuild in program.rebuilds]


def _as_given(value: Any, x: Any) -> Any:
    """Derivatives by a Tensor are Tensors."""
    return tree.map(Tensor, value) if isinstance(x, Tensor) else value
