"""Deferral of other transforms than gradients: Jacobians, Hessians and their products, batches.

The transform runs as always, and calls the user's function on what it tracks. If that walks through a program that has machine
code, the rest of the transform has nothing left to compute: the call ends there, and the code gives the results of all of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.deferral import Run, compiled, function_of, known_by_results
from adjoint.core import context, rules, tree
from adjoint.core.arrays import holders
from adjoint.core.dispatch import EAGER, Value, wrap
from adjoint.core.errors import boundary
from adjoint.core.tensor import Tensor
from adjoint.transforms.deferred import Pending
from adjoint.transforms.deferred_programs import run, that_may_fail

_STATIC = (bool, int, str, type(None))


class _Finished(BaseException):
    """The user's function has gone through a program that has machine code."""

    def __init__(self, call: _Call) -> None:
        self.call = call


def deferring(
    fn: Callable[..., Any], transform: Callable[[Any], Callable[..., Any]], *settings: Any
) -> Callable[..., Any]:
    """`transform(fn)`, whose calls may be deferred. The settings tell transforms of one function apart."""
    plain = transform(fn)

    @functools.wraps(plain)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        call = _call(fn, transform, settings, args, kwargs)
        if call is None:
            return plain(*args, **kwargs)
        try:
            return transform(call)(*args, **kwargs)
        except _Finished as finished:
            if finished.call is not call:
                raise
        return call.results()

    found = boundary(transformed)
    found.__wrapped__ = fn  # type: ignore[attr-defined]
    return found


def _call(fn: Any, transform: Any, settings: Any, args: Any, kwargs: Any) -> _Call | None:
    if context.bindings.get() is not None or not context.deferred.get():  # not the outermost transform
        return None
    leaves, rebuild = tree.flatten((args, kwargs))
    arrays: list[np.ndarray] = []
    numeric: list[bool] = []
    statics: list[Any] = []
    for x in leaves:
        if type(x) is Tensor and x._trace is EAGER and type(x._value) is np.ndarray:
            x = x._value
        numeric.append(type(x) is np.ndarray)
        if numeric[-1]:
            arrays.append(x)
        elif type(x) in _STATIC:
            statics.append((type(x), x))
        else:
            return None
    known = function_of(fn, arrays, (*settings, *numeric, *statics))
    return None if known is None else _Call(fn, transform, known, leaves, numeric, arrays, rebuild)


class _Call:
    """Stands for the user's function in one call of a transform."""

    def __init__(
        self,
        fn: Any,
        transform: Any,
        known: Any,
        leaves: Any,
        numeric: list[bool],
        arrays: list[np.ndarray],
        rebuild: Any,
    ) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.fn, self.transform, self.function = fn, transform, known
        self.leaves, self.numeric, self.arrays, self.rebuild = leaves, numeric, arrays, rebuild
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        leaves, rebuild = tree.flatten((args, kwargs))
        self.places = [i for i, x in enumerate(leaves) if isinstance(x, Value) and x._trace.level > 1]
        tracked = [leaves[i] for i in self.places]
        if (
            self.calls > 1 or not tracked or type(tracked[0]) is Pending
        ):  # the transform calls it again, or another one is around
            self.function.give_up()
            return context.readable(self.fn)(*args, **kwargs)
        self.trace = self.function.begin(tracked)
        for i, x in zip(self.places, self.trace.leaves(self.function.slots), strict=True):
            leaves[i] = x
        args, kwargs = rebuild(leaves)
        try:
            out = context.readable(self.fn)(*args, **kwargs)
            ys, self.regroup = tree.flatten(out)
            slots_of = tuple([y._extra.index if type(y) is Pending and y._trace is self.trace else None for y in ys])
            if None not in slots_of and not context.bindings.get().stored and self._is_due(slots_of):
                del leaves, args, kwargs, x
                if holders(self.trace) - 1 == known_by_results(self.trace, ys):
                    raise _Finished(self)
                self.function.needs_numbers()  # the function has kept some of them, and they end with the transform
            return self._settled(ys, slots_of)
        finally:
            self.trace.end(tracked[0]._trace, [x.detach() for x in tracked] if self.trace.pending else [])

    def _is_due(self, outputs: tuple[Any, ...]) -> bool:
        self.program = self.function.due(self.trace, outputs)
        return self.program is not None

    def _settled(self, ys: list[Any], outputs: tuple[Any, ...]) -> Any:
        if self.trace.state is None or None in outputs:
            self.function.needs_numbers(self.trace.hopeless)
        else:
            self.function.learn(self.trace.state, outputs)
        return self.regroup([y.settled() if type(y) is Pending else y for y in ys])

    def results(self) -> Any:
        """What the transform would have returned."""
        self.function.following = 0
        taken = sorted(k for k in self.trace.inputs if k >= len(self.places))
        found = self.program.made(rules.version, lambda: self._compiled(taken))
        code, rebuild = found
        results = code([*self.arrays, *(self.trace.inputs[k] for k in taken)])
        if holders(self.trace) > 1:
            self.trace.settle_kept()
        return rebuild([wrap(y) for y in results])

    def _compiled(self, taken: list[int]) -> tuple[Run, Callable[[list[Any]], Any]]:
        steps, count = self.program.state.steps(), len(self.arrays)
        checked = that_may_fail(steps)
        known: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            def replay(inputs: Any) -> list[Any]:
                leaves = tree.leaves(inputs)
                values: list[Any] = [None] * self.program.state.count
                values[: len(self.places)] = [leaves[i] for i in self.places]
                for k, x in zip(taken, xs[count:], strict=True):
                    values[k] = x
                run(steps, values)
                return values

            def replayed(*args: Any, **kwargs: Any) -> Any:
                values = replay((args, kwargs))
                return self.regroup([values[k] for k in self.program.outputs])

            arrays = iter(xs)
            given = [next(arrays) if yes else x for x, yes in zip(self.leaves, self.numeric, strict=True)]
            args, kwargs = self.rebuild(given)
            ys, rebuild = tree.flatten(self.transform(replayed)(*args, **kwargs))
            known.append(rebuild)
            return [*ys, *map(replay((args, kwargs)).__getitem__, checked)] if checked else ys

        given = [*self.arrays, *(self.trace.inputs[k] for k in taken)]
        return compiled(flat, given, len(checked)), known[-1]
