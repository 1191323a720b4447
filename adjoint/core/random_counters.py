"""The random counter of a program.

Every sample has an integer of its own, its counter, from which all its random bits follow. The same counter gives the same
bits: in dynamic mode, in a compiled graph, and when a part is computed again for its derivative. Counters are counted from a
first one that `set_seed` chooses. A compiled graph takes its first counter as an input, so it samples anew in each run, and the same
as dynamic mode would.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.spec import Spec, int64

SPAN = 1 << 32  # counters that no run uses up


def first_counter(seed: int | tuple[int, ...]) -> np.int64:
    """The counter that a seed begins with: far from those of other seeds."""
    return np.int64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> np.uint64(2))


class CounterSource(Protocol):
    """What gives out counters."""

    def take(self, count: int = 1) -> Any:
        """The first of `count` counters in a row."""

    def position(self) -> Any:
        """The counter that would be next."""

    def move(self, end: Any) -> None:
        """Go on with this counter: those between the position and it are used up."""


class ProgramCounters:
    """The counters of the whole program; threads share them, and no two get the same."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = int(first_counter(secrets.randbits(64)))
        self._ahead = self._next  # the end of what was set aside last

    def restart(self, seed: int) -> None:
        with self._lock:
            self._next = self._ahead = int(first_counter(seed))

    def take(self, count: int = 1) -> Any:
        with self._lock:
            first = self._next
            self._next += count
        return np.int64(first)

    def position(self) -> Any:
        """The counter that is next; more than a run can use are set aside until `move`, lest another thread get the same."""
        first = self.take(SPAN)
        with self._lock:
            self._ahead = max(self._ahead, int(first) + SPAN)
        return first

    def move(self, end: Any) -> None:
        last = int(np.max(shared(end)))
        with self._lock:
            alone = self._next == self._ahead and self._next - SPAN <= last  # nobody has taken any since
            self._next = last if alone else max(self._next, last)

    def state(self) -> int:
        """Where it stands, for `resume`."""
        return int(self.take(0))

    def resume(self, state: int) -> None:
        """Go on from where it once stood."""
        with self._lock:
            self._next = self._ahead = state


class ThreadCounters:
    """The counters of a thread that works ahead: a stream of its own, which follows from where the program stands as the thread begins.

    What it draws does not depend on what others draw meanwhile, nor the other way round.
    """

    def __init__(self, of: CounterSource) -> None:
        self._next = int(first_counter((int(of.take(0)), 1)))
        self.used = False

    def take(self, count: int = 1) -> Any:
        first, self.used = self._next, self.used or count > 0
        self._next += count
        return np.int64(first)

    def position(self) -> Any:
        self.used = True
        return np.int64(self._next)

    def move(self, end: Any) -> None:
        self._next = int(np.max(shared(end)))


PROGRAM = ProgramCounters()
#: What gives out counters just now.
source: ContextVar[CounterSource] = ContextVar("source", default=PROGRAM)


#: The batches of the `vmap`s around: each example samples for itself.
batches: ContextVar[tuple[Any, ...]] = ContextVar("batches", default=())


@contextmanager
def at_once() -> Iterator[None]:
    """Draw when the code runs, also while a graph is built: for what is kept, such as the first value of a Parameter."""
    with context.setting(source, PROGRAM), context.setting(batches, ()):
        yield


def lanes() -> list[Any]:
    """A zero for each example of every batch around: what a sample takes as a further input differs between the examples."""
    return [batch.lane() for batch in batches.get()]


def shared(counter: Any) -> Any:
    """A counter for all examples of the batches around it: the highest. No transform traces a counter, also one that has ended."""
    in_batch = False
    while isinstance(counter, Value) and isinstance(counter._value, (Value, np.ndarray, np.generic)):
        in_batch = in_batch or not counter._trace.transparent
        counter = counter._value
    return counter.max() if in_batch else counter


# ---------------------------------------------------------------- in a compiled graph


class Made:
    """How many counters a graph being built has taken. A graph value after a branch or a loop with samples, which carry it on."""

    def __init__(self) -> None:
        self.count: Any = 0


@dataclass(frozen=True)
class Draws:
    """What a compiled graph samples: so many counters, or None if that is known only when it has run and says it itself."""

    count: int | None

    def begin(self) -> list[Any]:
        """The inputs of the graph for a run: its first counter, and what differs between the examples of a batch."""
        giver = source.get()
        first = giver.position() if self.count is None else giver.take(self.count)
        return [first, sum(lanes(), np.int64(0))]

    def finishing(self, rebuild: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
        """What puts the results of a run together; it takes note of the counter that follows if that is one of them."""
        if self.count is not None:
            return rebuild

        def put(results: list[Any]) -> Any:
            *results, end = results
            source.get().move(end)
            return rebuild(results)

        return put


class InGraph:
    """The counters of a graph being built: the graph's input, and what is added to it."""

    def __init__(self, tracer: Any) -> None:
        self.tracer = tracer
        self.made = Made()
        self.first: Any = None  # made an input by the first sample
        self._lane: Any = None

    def lane(self) -> Any:
        """A further input of every sample: where the graph is applied to a batch, each example samples for itself."""
        self.position()
        return self._lane

    @property
    def inputs(self) -> list[Any]:
        """What `Draws.begin` gives."""
        return [] if self.first is None else [self.first, self._lane]

    def take(self, count: int = 1) -> Any:
        counter = self.position()
        self.made.count = self.made.count + count
        return counter

    def position(self) -> Any:
        if self.first is None:
            self.first = self.tracer.param(Spec((), int64), "draws")
            self._lane = self.tracer.param(Spec((), int64), "lane")
        count = self.made.count = shared(self.made.count)
        return self.first if isinstance(count, int) and count == 0 else self.first + count

    def move(self, end: Any) -> None:
        self.made.count = shared(end) - self.first

    def draws(self) -> Draws | None:
        """What the graph samples, when it has been built; None if nothing."""
        if self.first is None:
            return None
        return Draws(self.made.count if isinstance(self.made.count, int) else None)

    def ends(self) -> list[Any]:
        """The results that the graph must have beside the user's: the next counter, if only the graph knows it."""
        draws = self.draws()
        return [self.position()] if draws is not None and draws.count is None else []
