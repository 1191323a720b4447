"""The native backend, bounds-checked, must agree on random graphs with the interpreter, with dynamic mode and with differences.

python -m adjoint.testing.fuzz_graphs 100000                 # or: make fuzz-native
python -m adjoint.testing.fuzz_graphs 50000 --start 50000    # the second half, on another machine
python -m adjoint.testing.fuzz_graphs 1 --start 4711         # one graph again
python -m adjoint.testing.fuzz_graphs 1000 --backend xla     # another backend than machine code
python -m adjoint.testing.fuzz_graphs 1000 --half            # graphs that have half precision too
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np

from adjoint.api.grad import grad
from adjoint.backends import chosen, compiled
from adjoint.backends.interpreter import Steps
from adjoint.backends.native import compiler
from adjoint.backends.native.runtime import thread_pool
from adjoint.core import context
from adjoint.core.spec import float32, is_inexact
from adjoint.graph.control import Control
from adjoint.graph.derivatives import vjp_graph, vmap_graph
from adjoint.graph.nested import float_positions
from adjoint.graph.node import Graph
from adjoint.graph.text import show
from adjoint.graph.walk import replay
from adjoint.ops.functional import sum as total
from adjoint.passes import optimise
from adjoint.testing.quick_builds import quick_builds
from adjoint.testing.random_graphs import random_graph
from adjoint.testing.slopes import slope_of
from adjoint.testing.workers import watched

LIMIT = 120.0  # seconds for one graph
Arrays = list[np.ndarray]


class Disagreement(AssertionError):
    """Two ways to compute a graph differ."""


# ---------------------------------------------------------------- comparing


def exactly(graph: Graph, found: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Integers in whatever dtype: the same to the last bit."""
    for k, (x, y) in enumerate(zip(found, map(np.asarray, wanted), strict=True)):
        if (x.dtype, x.shape) != (y.dtype, y.shape) or not np.array_equal(x, y, equal_nan=is_inexact(x.dtype)):
            raise Disagreement(f"result {k}: {_difference(x, y)}\n{Graph(graph.params, graph.outputs[k : k + 1])}")


def closely(graph: Graph, found: Sequence[Any], wanted: Sequence[Any], near: Callable[[int], Sequence[Any]]) -> None:
    """Equal to rounding; where that is in doubt, compared with how far results are for inputs that differ by as little."""
    spread: list[float] | None = None
    precision = 1e-5 if has_single(graph) else 1e-11
    for k, (x, y) in enumerate(zip(found, map(np.asarray, wanted), strict=True)):
        if (x.dtype, x.shape) == (y.dtype, y.shape):
            scale = 1 + np.max(np.abs(y[np.isfinite(y)]), initial=0.0) if y.dtype.kind == "f" else 1
            tolerance = scale * precision
            if np.allclose(x, y, 0, tolerance, equal_nan=True):
                continue
            spread = _spread(near) if spread is None else spread
            if np.allclose(x, y, 0, tolerance + 30 * spread[k], equal_nan=True):
                continue
        raise Disagreement(f"result {k}: {_difference(x, y)}\n{Graph(graph.params, graph.outputs[k : k + 1])}")


def _spread(near: Callable[[int], Sequence[Any]]) -> list[float]:
    """How far each result moves with inputs that move as much as rounding does: far at a kink, or where errors grow."""
    here = [np.asarray(y) for y in near(0)]
    others = [near(k) for k in range(1, 17)]
    return [max(float(np.max(np.abs(np.asarray(o[i]) - y), initial=0.0)) for o in others) for i, y in enumerate(here)]


def _difference(x: np.ndarray, y: np.ndarray) -> str:
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return f"{x.dtype}{list(x.shape)} is not {y.dtype}{list(y.shape)}"
    with np.printoptions(threshold=30, edgeitems=3):
        return f"{x}\nis not\n{y}"


def has_single(graph: Graph) -> bool:
    """Whether anything in a graph is in single precision."""
    inside = [g for n in graph.nodes if isinstance(n.op, Control) for g in n.op.graphs().values()]
    own = any(not isinstance(n.spec, tuple) and n.dtype == float32 for n in graph.nodes)
    return own or any(map(has_single, inside))


def moved(graph: Graph, inputs: Arrays, k: int) -> Arrays:
    """Inputs that differ from these about as much as rounding does, the more the larger k is; for 0 not at all."""
    size = k * (1e-7 if has_single(graph) else 2e-16)
    draw = np.random.default_rng(k)
    return [
        (x * (1 + size * draw.choice([-1, 1], x.shape))).astype(x.dtype) if x.dtype.kind == "f" else x for x in inputs
    ]


def as_examples(graph: Graph, random: Random, inputs: Arrays) -> tuple[Graph, Arrays, list[Arrays]]:
    """The graph of a batch, its inputs, and those of each example."""
    batched = [random.random() < 0.7 for _ in inputs]
    batched[random.randrange(len(batched))] = True
    size = random.choice((1, 2, 3, 8))
    draw = np.random.default_rng(random.randrange(2**31))
    stacked = [np.stack([_shuffled(draw, x) for _ in range(size)]) if b else x for x, b in zip(inputs, batched)]
    examples = [[x[k] if b else x for x, b in zip(stacked, batched)] for k in range(size)]
    return vmap_graph(graph, tuple(batched), size), stacked, examples


def _shuffled(draw: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return draw.permuted(x.ravel()).reshape(x.shape) if x.ndim else x


def each(graph: Graph, examples: Sequence[Arrays]) -> Arrays:
    """The results for each example alone, one above the other."""
    run = Steps(graph)
    return [np.stack([np.asarray(y) for y in ys]) for ys in zip(*(run(*xs) for xs in examples), strict=True)]


def _program(graph: Graph) -> Any:
    """The graph as the backend in force runs it; machine code as it is, without a look at what memory there is."""
    return compiler.Program(graph) if chosen() == "native" else compiled(chosen(), graph)


# ---------------------------------------------------------------- kinds of comparison


def forward(random: Random, optimised: bool = False, **options: Any) -> None:
    """Integers: machine code and the interpreter, on the graph as it is or as the passes make it."""
    graph, inputs = random_graph(random, random.randrange(3, 15), empty=random.random() < 0.2, **options)
    found = _program(optimise(graph)[0] if optimised else graph)(*inputs)
    exactly(graph, found, Steps(graph)(*inputs))


def donated(random: Random) -> None:
    """Integers: some inputs may be overwritten."""
    graph, inputs = random_graph(random, random.randrange(3, 12))
    wanted = [np.array(y) for y in Steps(graph)(*inputs)]
    given = tuple(k for k in range(len(inputs)) if random.random() < 0.6)
    run = _program(optimise(graph)[0])
    exactly(graph, [np.asarray(y) for y in run.giving_up([np.array(x) for x in inputs], given)], wanted)


def on_threads(random: Random, **options: Any) -> None:
    """Large arrays, on two threads."""
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(2)
    try:
        forward(random, **options)
    finally:
        thread_pool.set_num_threads(before)


def batch(random: Random) -> None:
    """A batch in machine code, and each example of it in the interpreter."""
    graph, inputs = random_graph(random, random.randrange(3, 10))
    whole, stacked, examples = as_examples(graph, random, inputs)
    exactly(whole, _program(optimise(whole)[0])(*stacked), each(graph, examples))


def numbers(random: Random) -> None:
    """Any numbers: machine code and dynamic mode."""
    graph, inputs = random_graph(random, random.randrange(3, 15), real=True)
    wanted = [np.asarray(y) for y in replay(graph, inputs)]
    closely(graph, _program(graph)(*inputs), wanted, lambda k: Steps(graph)(*moved(graph, inputs, k)))


def _pulled(random: Random) -> tuple[Graph, Graph, Arrays, tuple[int, ...], tuple[int, ...]]:
    """A graph, its derivative graph, inputs and cotangents for it."""
    graph, inputs = random_graph(random, random.randrange(3, 11), real=True)
    wanted, active = float_positions(graph.params), float_positions(graph.outputs)
    draw = np.random.default_rng(random.randrange(2**31))
    seeds = [np.asarray(draw.normal(size=graph.outputs[k].shape), graph.outputs[k].dtype) for k in active]
    return graph, vjp_graph(graph, wanted, active), [*inputs, *seeds], wanted, active


def gradient(random: Random) -> None:
    """A derivative in machine code, the tape's, and differences."""
    graph, pulled, given, wanted, active = _pulled(random)
    inputs, seeds = given[: len(graph.params)], given[len(graph.params) :]

    def slope(*xs: Any) -> Any:
        found = replay(graph, xs)
        return sum((total(found[k] * g) for k, g in zip(active, seeds, strict=True)), 0.0)

    found = _program(optimise(pulled)[0])(*given)
    traced = grad(slope, wanted)(*inputs)
    near = lambda k: Steps(pulled)(*moved(pulled, given, k))  # noqa: E731
    closely(pulled, found, [np.asarray(g) for g in (traced if isinstance(traced, tuple) else (traced,))], near)
    if not has_single(graph):
        _differences(graph, found, inputs, seeds, wanted, active)


def _differences(graph: Graph, found: Any, inputs: Arrays, seeds: Arrays, wanted: Any, active: Any) -> None:
    """The derivative along a direction, and the slope that differences give where they can be trusted."""
    draw, run = np.random.default_rng(1), Steps(graph)
    along = {k: draw.normal(size=inputs[k].shape) for k in wanted}

    def value(h: float) -> float:
        ys = run(*[x + h * along[k] if k in along else x for k, x in enumerate(inputs)])
        return sum(float(np.vdot(ys[k], g)) for k, g in zip(active, seeds, strict=True))

    here = sum(float(np.vdot(g, along[k])) for k, g in zip(wanted, found, strict=True))
    measured = slope_of(value)
    if measured is not None and not measured.fits(here, 1e-5):
        raise Disagreement(f"the derivative along a direction is {here}, differences give {measured}\n{show(graph)}")


def batch_of_gradients(random: Random) -> None:
    """Derivatives of a batch in machine code, and of each example in the interpreter."""
    _, pulled, given, _, _ = _pulled(random)
    whole, stacked, examples = as_examples(pulled, random, given)
    found = _program(optimise(whole)[0])(*stacked)
    closely(whole, found, each(pulled, examples), lambda k: Steps(whole)(*moved(whole, stacked, k)))


KINDS: list[Callable[[Random], None]] = [
    forward,
    forward,
    lambda random: forward(random, optimised=True),
    donated,
    batch,
    numbers,
    gradient,
    gradient,
    batch_of_gradients,
]


def disagreement(seed: int, backend: str = "native", half: bool = False) -> str | None:
    """What is wrong with the graph of a seed on a backend, or with one that has half precision; None if nothing is."""
    random = Random(seed)
    effort, bits = random.choice((0, 0, 0, 0, 0, 0, 0, 0, 0, 2)), random.choice((128, 256, 256, 0))
    kind = partial(forward, optimised=seed % 2 == 0, half=True) if half else KINDS[seed % len(KINDS)]
    if seed % 50 == 0 and not half:
        kind = partial(on_threads, large=True) if random.random() < 0.5 else partial(on_threads, wide=True)
    try:
        with np.errstate(all="ignore"), quick_builds(effort, bits), context.setting(context.backend, backend):
            kind(random)
    except Disagreement as error:
        return str(error)
    except Exception as error:  # whatever it is, it must name its seed
        return f"{type(error).__name__}: {error}"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the native backend, bounds-checked, or another one, on many random graphs."""
    parser = argparse.ArgumentParser(prog="python -m adjoint.testing.fuzz_graphs", description=main.__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="graphs to compare")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--backend", choices=("native", "xla"), default="native", help="the backend to compare")
    parser.add_argument("--half", action="store_true", help="graphs with half precision, forward")
    options = parser.parse_args(arguments)
    os.environ.setdefault("ADJOINT_NUM_THREADS", "1")  # the processes keep all cores busy
    seeds = range(options.start, options.start + options.count)
    wrong = watched(
        partial(disagreement, backend=options.backend, half=options.half), seeds, options.jobs, LIMIT, what="graphs"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
