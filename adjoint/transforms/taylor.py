"""Taylor mode: Tensors carry the coefficients of a power series in one variable, so that n derivatives come in one pass.

The rules are those of forward mode. If y = op(x), then y' = jvp(x', y, x), read as an equation between power series, gives
each coefficient of y from earlier ones. The cost is polynomial in the order; forward mode in forward mode doubles it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint.core import context, rules
from adjoint.core.absent import ZERO, instantiate
from adjoint.core.dispatch import Value, differentiable, make, wrap
from adjoint.ops.card import Op
from adjoint.transforms.dual import ForwardTrace


class Series:
    """The coefficients of a power series, each computed from earlier ones when it is first asked for."""

    __slots__ = ("following", "known")

    def __init__(self, known: list[Any], following: Callable[[int], Any]) -> None:
        self.known, self.following = known, following

    def __getitem__(self, k: int) -> Any:
        while len(self.known) <= k:
            self.known.append(self.following(len(self.known)))
        return self.known[k]


def _zero(_: int) -> Any:
    return ZERO


class Taylor(ForwardTrace):
    """Power series up to an order. A Tensor of this level shows the first coefficient, the value."""

    def __init__(self, order: int, what: str = "jet") -> None:
        super().__init__(what)
        self.order = order
        # Of the op being applied: the calls that its rules have made, and the derivatives of their inputs.
        self._calls: dict[Any, Call] | None = None
        self._derivatives: dict[int, tuple[Series, Any]] = {}

    def track(self, coefficients: Sequence[Any]) -> Any:
        """The Tensor of a power series, whose later coefficients are zero."""
        return self.tensor(Series(list(coefficients), _zero))

    def tensor(self, series: Series) -> Any:
        """A Tensor that carries a series."""
        return make(series[0], self, series)

    def coefficients(self, x: Any) -> list[Any]:
        """The coefficients of a value up to the order, `ZERO` where they are."""
        series = self.series(x)
        return [series[k] for k in range(self.order + 1)]

    def series(self, x: Any) -> Series:
        """The series that a value carries: a constant one, if it is not of this level."""
        if isinstance(x, Value) and x._trace is self:
            return x._extra  # type: ignore[no-any-return]
        return Series([x._value if isinstance(x, Value) and x._trace is self.base else x], _zero)

    def varies(self, x: Any) -> bool:
        """Whether a value is of this level and has derivatives."""
        return isinstance(x, Value) and x._trace is self and differentiable(x)

    def derivative(self, x: Any) -> Any:
        """The derivative of an input of a rule as a series, made once; ZERO if it is constant."""
        if not self.varies(x):
            return ZERO
        series: Series = x._extra
        if series.following is _zero and all(c is ZERO for c in series.known[1:]):
            return ZERO
        if id(series) not in self._derivatives:

            def following(k: int) -> Any:
                c = series[k + 1]
                return ZERO if c is ZERO else c * (k + 1)

            made = self.tensor(Series([instantiate(following(0), series[0])], following))
            self._derivatives[id(series)] = series, made
        return self._derivatives[id(series)][1]

    def carry(self, op: Any, xs: tuple[Any, ...]) -> Any:
        if self._calls is not None:
            return self._by_a_rule(op, xs)
        call = Call(self, op, xs)
        if not call.varies:
            return call.given()
        if type(call.op).taylor is not Op.taylor:
            return call.at_once()
        self._calls = {}
        try:
            with np.errstate(all="ignore"):
                return call.completed()
        finally:
            for made in (call, *self._calls.values()):
                made.release()
            self._calls, self._derivatives = None, {}

    def _by_a_rule(self, op: Any, xs: tuple[Any, ...]) -> Any:
        """A call by the rule of an op, made once: the sine's rule asks for a cosine, whose rule asks for the same sine."""
        key = _identity(op), *map(self._of_input, xs)
        calls = self._calls
        assert calls is not None
        if key not in calls:
            calls[key] = Call(self, op, xs)
        return calls[key].given()

    def _of_input(self, x: Any) -> Any:
        return id(x._extra) if isinstance(x, Value) and x._trace is self else _identity(x)


class Call:
    """One call of an op on series. The coefficients of its results are computed when they are asked for."""

    def __init__(self, trace: Taylor, op: Any, xs: tuple[Any, ...]) -> None:
        self.trace, self.xs = trace, xs
        self.values = [trace.series(x)[0] for x in xs]
        y = op.show(*self.values)
        self.several = type(y) is tuple
        self.op = op if context.muted_below.get() <= trace.level else op.muted()
        self.varies = self.op is not None and self.op.differentiable
        parts = y if self.several else (y,)
        self.results = [self._tensor(i, v) for i, v in enumerate(parts)] if self.varies else list(wrap(parts))
        self.derivatives: Any = None  # of the results, as series

    def given(self) -> Any:
        """The results as the op gives them."""
        return tuple(self.results) if self.several else self.results[0]

    def completed(self) -> Any:
        """The results with all their coefficients: nothing is left for later, so that a long program is no deep recursion."""
        for y in self.results:
            if self.trace.varies(y):
                self.trace.coefficients(y)
        return self.given()

    def at_once(self) -> Any:
        """The results of an op that takes whole series and gives whole ones, as control flow does."""
        order, trace = self.trace.order, self.trace
        inputs = [trace.coefficients(x)[1:] if trace.varies(x) else None for x in self.xs]
        ys = tuple(trace.series(y)[0] for y in self.results)
        found = self.op.taylor(order, inputs, ys if self.several else ys[0], *self.values)
        self.results = [
            wrap(y) if later is None else trace.track([y, *later]) for y, later in zip(ys, found, strict=True)
        ]
        return self.given()

    def release(self) -> None:
        """Let go of what is known by now."""
        for y in self.results:
            if self.trace.varies(y):
                y._extra.following = _zero
        self.results, self.derivatives, self.xs = [], None, ()

    def _tensor(self, i: int, value: Any) -> Any:
        return (
            self.trace.tensor(Series([value], partial(self._coefficient, i))) if differentiable(value) else wrap(value)
        )

    def _coefficient(self, i: int, k: int) -> Any:
        """The k-th coefficient of the i-th result."""
        series = [self.trace.series(x) for x in self.xs]
        if type(self.op).coefficient is not Op.coefficient and type(self.op) not in rules.replaced:
            return self.op.coefficient(k, self.results[i]._extra, *series)
        if self.derivatives is None:
            tangents = [self.trace.derivative(x) for x in self.xs]
            found = self.op.jvp(tangents, self.given(), *self.xs)
            self.derivatives = found if type(found) is tuple else (found,) * len(self.results)
        derivative = self.derivatives[i]
        c = ZERO if derivative is ZERO else self.trace.series(derivative)[k - 1]
        return ZERO if c is ZERO else c / k


def _identity(x: Any) -> Any:
    """What tells an op or a constant from others, as long as it is held."""
    if isinstance(x, (int, float, complex)):
        return type(x), repr(x)
    if isinstance(x, (Value, np.ndarray)):
        return id(x)
    try:
        return hash(x), x
    except TypeError:
        return id(x)
