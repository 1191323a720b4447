"""Every mode and both backends must agree on random programs.

python -m adjoint.testing.fuzz 100000                          # or: make fuzz
python -m adjoint.testing.fuzz 20000 --backend native          # all that is compared is machine code; or: make fuzz-native
python -m adjoint.testing.fuzz 1000 --backend xla              # or of XLA's
python -m adjoint.testing.fuzz 20000 --start 500000 --jobs 2   # seeds 500000 to 519999
python -m adjoint.testing.fuzz 1 --start 4711                  # one program again

Machine code is bounds-checked here.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from types import FrameType
from typing import Any

import numpy as np

from adjoint.api.batching import vmap
from adjoint.api.checkpointing import checkpoint
from adjoint.api.forward import jvp
from adjoint.api.grad import grad, value_and_grad
from adjoint.api.gradient_checkpoint import GradientCheckpoint
from adjoint.api.jit import jit
from adjoint.backends import chosen
from adjoint.core import context, tree
from adjoint.core.errors import MemoryBudgetError
from adjoint.frontend.errors import ControlFlowError
from adjoint.passes import PASSES
from adjoint.testing.letting_go import nothing_is_small
from adjoint.testing.quick_builds import quick_builds
from adjoint.testing.random_programs import Inputs, RandomProgram, random_program
from adjoint.testing.shrink import reduced
from adjoint.testing.slopes import slope_of
from adjoint.testing.workers import watched

EVERY = (0, 1, 2, 3, 4)  # positions of the inputs
BATCH = 3
LIMIT = 60.0  # seconds for one program
BACKENDS = ("native", "interpreter")
NATIVE_SHARE = 4  # every so many programs, the further check runs on machine code, which takes longer to make

#: What gradients keep; each must give the same bits.
STRATEGIES = (
    *("sqrt", "balanced", "binomial", "offload"),
    GradientCheckpoint("binomial", snapshots=1),
    GradientCheckpoint("budget", memory=300),
    GradientCheckpoint("budget", memory=3000),
)

#: What static mode refuses by name: a loop that writes to its caller's array and then to another one of the same name.
REFUSED = "make a copy of it before the loop"

Pairs = Iterator[tuple[str, Any, Any]]  # what is compared, static mode's result, dynamic mode's


# ---------------------------------------------------------------- what is compared


def static(fn: Callable[..., Any], **options: Any) -> Any:
    """The function as a graph, on the backend of this program."""
    return jit(fn, **options)


def tangents(inputs: Inputs) -> Inputs:
    return tuple(np.cos(np.asarray(x) + i).astype(np.asarray(x).dtype) for i, x in enumerate(inputs))


def _dot(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    return sum(float(np.vdot(np.asarray(x), np.asarray(y))) for x, y in zip(xs, ys, strict=True))


def _static_gradient(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
    yield "jit(grad(f))", static(grad(program.fn, EVERY))(*program.inputs), gradient


def _dynamic_forward(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
    along = tangents(program.inputs)
    yield "dynamic forward mode", jvp(program.fn, program.inputs, along)[1], _dot(gradient, along)


def _static_forward(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
    along = tangents(program.inputs)
    yield "jvp(jit(f))", jvp(compiled, program.inputs, along)[1], _dot(gradient, along)


def _without(*off: str) -> Callable[[RandomProgram, Any, Any], Pairs]:
    def check(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
        found = static(grad(program.fn, EVERY), passes_off=off)(*program.inputs)
        yield f"jit(grad(f), passes_off={off})", found, gradient

    return check


def _batch(program: RandomProgram) -> tuple[Inputs, list[Inputs]]:
    """Inputs for a batch, and each example of it alone."""
    nearby = [1.0, 0.6, -0.8][:BATCH]
    stacked = tuple(
        np.stack([np.asarray(x) * np.asarray(s, np.asarray(x).dtype) for s in nearby]) for x in program.inputs
    )
    return stacked, [tuple(x[k] for x in stacked) for k in range(BATCH)]


def _batched_value(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
    stacked, examples = _batch(program)
    yield "vmap(jit(f))", vmap(compiled)(*stacked), np.stack([np.asarray(program.fn(*x)) for x in examples])


def _batched_gradient(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
    stacked, examples = _batch(program)
    alone = [grad(program.fn, EVERY)(*x) for x in examples]
    found = static(vmap(grad(program.fn, EVERY)))(*stacked)
    yield "jit(vmap(grad(f)))", found, [np.stack([np.asarray(g) for g in gs]) for gs in zip(*alone, strict=True)]


def _checkpointed(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
    """Computed again instead of kept, in both modes."""
    part = checkpoint(program.fn)
    yield "grad(checkpoint(f))", grad(part, EVERY)(*program.inputs), gradient
    yield "jit(grad(checkpoint(f)))", static(grad(part, EVERY))(*program.inputs), gradient
    yield "grad(jit(checkpoint(f)))", grad(static(part), EVERY)(*program.inputs), gradient


def _strategies(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
    """Computed again as a strategy says, in dynamic mode: the same to the last bit."""
    with nothing_is_small():
        for policy in STRATEGIES:
            try:
                found = grad(program.fn, EVERY, checkpoint=policy)(*program.inputs)
            except MemoryBudgetError:
                continue
            equal = [np.array_equal(a, b, equal_nan=True) for a, b in zip(found, gradient, strict=True)]
            yield f"grad(f, checkpoint={policy}), where True is an equal gradient,", equal, [True] * len(equal)


def _second(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
    """The derivative of the gradient's component along a direction: reverse over reverse, forward over reverse."""
    along = tangents(program.inputs)

    def slope(fn: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: sum((g * t).sum() for g, t in zip(grad(fn, EVERY)(*xs), along, strict=True))

    wanted = grad(slope(program.fn), EVERY)(*program.inputs)
    yield "jit(grad(grad(f)))", static(grad(slope(program.fn), EVERY))(*program.inputs), wanted
    yield "jvp(grad(jit(f)))", jvp(grad(compiled, EVERY), program.inputs, along)[1], wanted


def _differences(program: RandomProgram, compiled: Any, gradient: Any) -> Pairs:
    """The slope of the compiled function along a direction, by differences, where it is smooth enough for them."""
    along = tangents(program.inputs)
    measured = slope_of(lambda h: total(compiled(*(x + h * t for x, t in zip(program.inputs, along, strict=True)))))
    if measured is not None and all(np.asarray(x).dtype == np.float64 for x in program.inputs):
        found = _dot(grad(compiled, EVERY)(*program.inputs), along)
        yield "the slope by differences", found if measured.fits(found, 1e-5) else measured.value, found


def total(y: Any) -> float:
    """The sum of all elements."""
    return float(np.sum(np.asarray(y)))


#: Further checks: each program has one of them, beside `jit(f)` and `grad(jit(f))`, which all have.
CHECKS: dict[str, Callable[[RandomProgram, Any, Any], Pairs]] = {
    "static gradient": _static_gradient,
    "dynamic forward": _dynamic_forward,
    "static forward": _static_forward,
    **{f"without {name}": _without(name) for name, _ in PASSES},
    "without passes": _without(*(name for name, _ in PASSES)),
    "batched value": _batched_value,
    "batched gradient": _batched_gradient,
    "checkpointed": _checkpointed,
    "checkpoint strategies": _strategies,
    "second derivative": _second,
    "differences": _differences,
}


def pairs(program: RandomProgram, check: str) -> Pairs:
    """All that is compared for one program."""
    value, gradient = value_and_grad(program.fn, EVERY)(*program.inputs)
    compiled = static(program.fn)
    yield "jit(f)", compiled(*program.inputs), value
    yield "grad(jit(f))", grad(compiled, EVERY)(*program.inputs), gradient
    other = BACKENDS[chosen() == "native"]
    both = jit(value_and_grad(program.fn, EVERY), backend=other)(*program.inputs)
    yield f"jit(value_and_grad(f), backend={other!r})", both, (value, gradient)
    yield from CHECKS[check](program, compiled, gradient)


def agree(found: Any, wanted: Any) -> bool:
    """Equal to rounding, measured by the largest number among them."""
    f, w = ([np.asarray(x) for x in tree.leaves(part)] for part in (found, wanted))
    exact = all(x.dtype != np.float32 for x in (*f, *w))
    scale = max([1.0, *(float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0)) for x in w)])
    rtol, atol = (1e-8, 1e-10 * scale) if exact else (5e-3, 5e-4 * scale)
    return len(f) == len(w) and all(
        a.shape == b.shape and np.allclose(a, b, rtol, atol, equal_nan=True) for a, b in zip(f, w, strict=True)
    )


def difference(program: RandomProgram, check: str, backend: str = "native") -> str | None:
    """Where the modes differ on a program; None if they agree. Its first two words say what kind it is of.

    All of it runs on `backend`, and the gradient on the other one too.
    """
    try:
        with np.errstate(all="ignore"), context.setting(context.backend, backend):
            for what, found, wanted in pairs(program, check):
                if not agree(found, wanted):
                    found, wanted = (tree.map(np.asarray, part) for part in (found, wanted))
                    return f"{what} differs: it is {found}, dynamic mode gives {wanted}"
        return None
    except ControlFlowError as error:
        return None if REFUSED in str(error) else f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def check_of(seed: int) -> str:
    """The further check that the program of a seed undergoes."""
    return list(CHECKS)[Random(-1 - seed).randrange(len(CHECKS))]


def backend_of(seed: int) -> str:
    """The backend for all that is compared for the program of a seed; the gradient is compared on both."""
    return BACKENDS[Random(-2 - seed).randrange(NATIVE_SHARE) > 0]


def disagreement(seed: int, check: str | None = None, backend: str | None = None) -> str | None:
    """Where modes or backends differ on the program of a seed; None if they agree."""
    program = random_program(seed)
    try:
        return difference(program, check or check_of(seed), backend or backend_of(seed))
    finally:
        program.forget()


def smallest(seed: int, check: str, backend: str, limit: float = LIMIT) -> str:
    """The source of a failing program with everything left out that the failure does not need."""
    program = random_program(seed)

    def kind(source: str) -> str | None:
        try:
            with alarm(limit / 10):
                found = difference(program.with_source(source), check, backend)
        except (TimeoutError, SyntaxError):
            return None
        return " ".join(found.split()[:2]) if found else None

    try:
        return reduced(program.source, kind)
    finally:
        program.forget()


# ---------------------------------------------------------------- many programs


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise TimeoutError if the block takes longer, where the system has such a signal."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"took longer than {seconds:.0f} s")

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def examined(seed: int, check: str | None = None, backend: str | None = None) -> str | None:
    """What is wrong with the program of a seed, with the smallest source that shows it; None if nothing is."""
    check, backend = check or check_of(seed), backend or backend_of(seed)
    with quick_builds(effort=2 if seed % 10 == 9 else 0, bits=(128, 256, 256, 0)[seed % 4]):
        try:
            with alarm(LIMIT):
                found = disagreement(seed, check, backend)
        except TimeoutError as error:
            return f"{check}, {backend}: {error}\n{random_program(seed).source}"
        return None if found is None else f"{check}, {backend}: {found}\n{smallest(seed, check, backend)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the modes on many programs, printing progress and each disagreement with its smallest source."""
    parser = argparse.ArgumentParser(prog="python -m adjoint.testing.fuzz", description=main.__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="programs to compare")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--check", choices=list(CHECKS), help="the same further check for all of them")
    parser.add_argument("--backend", choices=(*BACKENDS, "xla"), help="the same backend for all that is compared")
    options = parser.parse_args(arguments)
    os.environ.setdefault("ADJOINT_NUM_THREADS", "1")  # the processes keep all cores busy
    wrong = watched(
        partial(examined, check=options.check, backend=options.backend),
        range(options.start, options.start + options.count),
        options.jobs,
        3 * LIMIT,
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
