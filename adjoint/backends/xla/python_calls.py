"""Python called by a program on XLA: the arrays of the call come to the host, and those of its results go back.

What is called is handed the program's code (see `failures`) first and gives it back, so that one call follows another in the program's order, in
branches and loops too, and none takes place after a failure. JAX's own callbacks lose 64 bits outside of the thread that asked for them, and wait
for ever where there is one core, since they make arrays of JAX's on the way; this one hands over NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import cache
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import BITS, Tracing
from adjoint.core.errors import DeviceError
from adjoint.core.spec import Spec


class Journal:
    """What one run has called of Python, in order: a run that is done again with longer buffers calls nothing twice."""

    def __init__(self, keeps: bool = False) -> None:
        self.keeps = keeps  # whether there may be another run
        self.done: list[Any] = []  # the results of calls that have taken place
        self.next = 0
        self.error: BaseException | None = None
        self.later: list[Callable[[], Any]] = []  # what is to be done after the run
        self.context = copy_context()

    def again(self) -> Journal:
        """The journal as a run begins, the first or another one."""
        self.next = 0
        return self

    def perform(self, work: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Any:
        """The result of a call, by making it or as it was made before."""
        if not self.keeps:
            return self.context.run(_quietly, work, arrays)
        if self.next == len(self.done):
            self.done.append(self.context.run(_quietly, work, arrays))
        self.next += 1
        return self.done[self.next - 1]


def _quietly(work: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Any:
    with np.errstate(all="ignore"):
        return work(*[np.array(x) for x in arrays])  # XLA's memory is XLA's own


def on_host(
    tracing: Tracing, what: Any, work: Callable[..., Any], specs: Sequence[Spec], xs: Sequence[Any]
) -> list[Any]:
    """The results of a Python function of NumPy arrays. What it raises is raised by the call of the compiled function."""
    if tracing.devices > 1:
        raise DeviceError(
            f"{what}: a function that runs on {tracing.devices} devices cannot call Python in branches and loops, nor functions of the user's; print, "
            "check and call Python outside of them, or compile it for one device"
        )
    tracing.calls_python = True
    site = tracing.site(lambda _: tracing.journal.error)

    def called(code: np.ndarray, *arrays: np.ndarray) -> tuple[Any, ...]:
        if not int(code):
            try:
                found = tracing.journal.perform(work, arrays)
                return np.bool_(False), *map(_as_words, found, specs)
            except BaseException as error:
                tracing.journal.error = error
        return np.bool_(True), *[_as_words(np.zeros(s.shape, s.dtype), s) for s in specs]

    module = jax()
    results = [((), np.dtype(bool)), *map(_words, specs)]
    arrays = [module.numpy.asarray(x) for x in (tracing.code, *xs)]
    failed, *found = _primitive().bind(
        *arrays, work=called, results=tuple([module.core.ShapedArray(*r) for r in results])
    )
    tracing.note(module.numpy.where(failed, np.int64(site) << BITS, np.int64(0)))
    return [_from_words(y, s) for y, s in zip(found, specs, strict=True)]


@cache
def _primitive() -> Any:
    """The op of JAX's that calls Python."""
    from jax.extend.core import Primitive
    from jax.interpreters import mlir

    call = Primitive("adjoint_on_host")
    call.multiple_results = True
    call.def_abstract_eval(lambda *_, work, results: results)

    def lowered(ctx: Any, *operands: Any, work: Any, results: Any) -> Any:
        found, *_ = mlir.emit_python_callback(
            ctx, work, None, list(operands), ctx.avals_in, ctx.avals_out, has_side_effect=True, returns_token=False
        )
        return found

    mlir.register_lowering(call, lowered)
    return call


# Numbers of 64 bits come back as pairs of 32: JAX takes the former for a mistake in a thread that has not asked for them.


def _is_wide(spec: Spec) -> bool:
    return spec.dtype.itemsize >= 8


def _words(spec: Spec) -> tuple[tuple[int, ...], np.dtype]:
    if not _is_wide(spec):
        return spec.shape, spec.dtype
    return (*spec.shape, spec.dtype.itemsize // 4), np.dtype(np.uint32)


def _as_words(y: Any, spec: Spec) -> np.ndarray:
    y, (shape, dtype) = np.ascontiguousarray(y, spec.dtype), _words(spec)
    return y.reshape(-1).view(dtype).reshape(shape)


def _from_words(y: Any, spec: Spec) -> Any:
    if not _is_wide(spec):
        return y
    lax = jax().lax
    if spec.dtype.kind != "c":
        return lax.bitcast_convert_type(y, spec.dtype)
    part = np.dtype(np.float64 if spec.dtype.itemsize == 16 else np.float32)
    n = part.itemsize // 4
    real, imaginary = (lax.bitcast_convert_type(w if n > 1 else w[..., 0], part) for w in (y[..., :n], y[..., n:]))
    return lax.complex(real, imaginary)
