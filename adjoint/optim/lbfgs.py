"""L-BFGS: a quasi-Newton method that remembers the last few steps in place of a matrix."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from adjoint.api.jit import jit as compiled
from adjoint.core import context
from adjoint.core.dispatch import wrap
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.core.parameter import Parameter, ParameterTuple
from adjoint.core.placement import beside
from adjoint.core.tensor import Tensor
from adjoint.optim.groups import members
from adjoint.optim.step import evaluated

Loss = Callable[..., Any]
Value = tuple[float, np.ndarray]


class LBFGS:
    """L-BFGS: `optimiser.step(closure)` runs up to `max_iter` iterations and returns the loss it has reached.

    The closure computes the loss from the Parameters; it is differentiated here, and called as often as the search
    along each direction needs.

    Args:
        params: the Parameters to train.
        lr: the length of a step, before the search.
        max_iter: iterations of one call of `step`.
        max_eval: evaluations of the closure after which no iteration begins; 1.25 `max_iter` by default.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when no element of a step, nor the change of the loss, is larger.
        history_size: how many steps are remembered.
        line_search_fn: "strong_wolfe", or None for steps of length `lr`.
        jit: compile the closure, once for each one given. What it reads besides Parameters and inputs is then fixed.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([-1.0, 1.5]), name="w")
    >>> loss = lambda: (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
    >>> optimiser = ad.optim.LBFGS([w], max_iter=100)
    >>> bool(optimiser.step(loss) < 1e-8)
    True
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 10,
        line_search_fn: str | None = "strong_wolfe",
        *,
        jit: bool = False,
    ) -> None:
        if line_search_fn not in ("strong_wolfe", None):
            raise ArgumentError(
                f"LBFGS: line_search_fn must be 'strong_wolfe' or None, not {line_search_fn!r}{called_at()}"
            )
        if lr <= 0 or max_iter < 1 or history_size < 1:
            raise ArgumentError(f"LBFGS: lr, max_iter and history_size must be above zero{called_at()}")
        self.parameters = ParameterTuple(m.parameter for m in members("LBFGS", params, lr, 0.0))
        self.lr, self.max_iter, self.history_size = lr, max_iter, history_size
        self.max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
        self.line_search_fn = line_search_fn
        self.steps: list[np.ndarray] = []  # how the parameters changed, the oldest change first
        self.turns: list[np.ndarray] = []  # how the gradient changed with them
        self.evaluations = 0
        self._jit = jit
        self._last: tuple[Any, Callable[..., Any]] = (None, lambda: None)

    # ------------------------------------------------------------ the iteration

    @boundary
    def step(self, closure: Loss, *inputs: Any) -> Tensor:
        """Go downhill on `closure(*inputs)`, and return the loss at the end."""
        run = self._runner(closure)
        before = self.evaluations

        @functools.lru_cache(maxsize=4)  # the search asks for the loss and the gradient of a point one after the other
        def known(point: bytes) -> Value:
            self.evaluations += 1
            return self._evaluate(run, np.frombuffer(point), inputs)

        def at(x: np.ndarray) -> Value:
            return known(x.tobytes())

        x = np.concatenate([p.asnumpy().astype(np.float64).ravel() for p in self.parameters])
        for _ in range(self.max_iter):
            loss, slope = at(x)
            if np.abs(slope).max() <= self.tolerance_grad:
                break
            new = self._next(at, x)
            if new is None:
                break
            change = new - x
            self._remember(change, at(new)[1] - slope)
            x, old = new, loss
            still = max(np.abs(change).max(), abs(at(x)[0] - old)) <= self.tolerance_change
            if still or self.evaluations - before >= self.max_eval:
                break
        for p, part in zip(self.parameters, self._parts(x), strict=True):
            p.set_data(part)
        return Tensor(beside(np.asarray(at(x)[0], self.parameters[0].dtype), self.parameters[0]))

    def __call__(self, closure: Loss, *inputs: Any) -> Tensor:
        """The same as `step`."""
        return self.step(closure, *inputs)

    def _next(self, at: Callable[[np.ndarray], Value], x: np.ndarray) -> np.ndarray | None:
        """The next point; None if no step goes downhill, even along the gradient."""
        direction = self.lr * self._direction(at(x)[1])
        if self.line_search_fn is None:
            return x + direction
        length = _strong_wolfe(at, x, direction)
        if length is None and self.steps:  # what is remembered misleads: begin anew
            self.steps, self.turns = [], []
            direction = self.lr * self._direction(at(x)[1])
            length = _strong_wolfe(at, x, direction)
        return None if length is None else x + length * direction

    def _direction(self, slope: np.ndarray) -> np.ndarray:
        """Minus the inverse Hessian, as far as it is known, times the gradient: the two-loop recursion."""
        if not self.steps:
            return -slope * min(1.0, 1.0 / np.abs(slope).sum())
        q, parts = slope.copy(), []
        pairs = list(zip(self.steps, self.turns, strict=True))
        for s, y in reversed(pairs):
            a = (s @ q) / (y @ s)
            q -= a * y
            parts.append(a)
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
        for (s, y), a in zip(pairs, reversed(parts), strict=True):
            q += (a - (y @ q) / (y @ s)) * s
        return -q

    def _remember(self, step: np.ndarray, turn: np.ndarray) -> None:
        """Keep a pair along which the loss curves upwards."""
        if step @ turn > 1e-10 * (turn @ turn):
            self.steps = [*self.steps, step][-self.history_size :]
            self.turns = [*self.turns, turn][-self.history_size :]

    # ------------------------------------------------------------ the loss

    def _runner(self, closure: Loss) -> Callable[..., Any]:
        if self._last[0] is not closure:
            run = evaluated(closure, self.parameters)
            self._last = closure, compiled(run) if self._jit else run
        return self._last[1]

    def _evaluate(self, run: Callable[..., Any], x: np.ndarray, inputs: tuple[Any, ...]) -> Value:
        with context.no_grad():
            loss, grads = run(list(map(wrap, map(beside, self._parts(x), self.parameters))), inputs)
        return float(loss), np.concatenate([g.asnumpy().astype(np.float64).ravel() for g in grads])

    def _parts(self, x: np.ndarray) -> list[np.ndarray]:
        """A vector cut into arrays like the Parameters."""
        ends = np.cumsum([p.size for p in self.parameters])[:-1]
        parts = zip(np.split(x, ends), self.parameters, strict=True)
        return [part.reshape(p.shape).astype(p.dtype) for part, p in parts]

    # ------------------------------------------------------------ state

    def parameters_dict(self) -> dict[str, Parameter]:
        """What is remembered, to be saved: the changes of the parameters and of the gradient, one a row."""
        size = sum(p.size for p in self.parameters)
        rows = {"lbfgs_steps": self.steps, "lbfgs_turns": self.turns}
        return {k: Parameter(np.array(v).reshape(-1, size), k, requires_grad=False) for k, v in rows.items()}

    def load_parameters(self, saved: Mapping[str, Any]) -> None:
        """Remember what `parameters_dict()` of such an optimiser gave."""
        self.steps, self.turns = (list(saved[k].asnumpy()) for k in ("lbfgs_steps", "lbfgs_turns"))


def _strong_wolfe(at: Callable[[np.ndarray], Value], x: np.ndarray, direction: np.ndarray) -> float | None:
    """How far to go along a direction so that the loss falls enough and its slope flattens; None if it cannot be found."""
    from scipy.optimize import line_search

    loss, slope = at(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a search without result, which None says
        found = line_search(lambda p: at(p)[0], lambda p: at(p)[1], x, direction, slope, loss, maxiter=25)
    return found[0]
