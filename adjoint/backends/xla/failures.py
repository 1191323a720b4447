"""What may go wrong while XLA runs a graph. A program on a device cannot raise: it counts on, and gives a code besides its results.

The code is 0, or the number of the first site that failed, in the order of the program, above a number that its error names: the index that was out
of range. Branches and loops hand it on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax

BITS = 40  # of the code, for a number beside the site
Failure = Callable[[int], BaseException | None]


class Tracing:
    """One way of a graph through `jax.jit`: what may fail in it, and how long the buffers of loops of unknown length are."""

    def __init__(self, capacity: int, platform: str = "cpu", devices: int = 1) -> None:
        self.capacity, self.platform, self.devices = capacity, platform, devices
        self.pulls: dict[
            Any, Any
        ] = {}  # what forward kernels have left for their backward ones: see `fused_attention.py`
        self.mesh: Any = None  # of JAX's, where the program runs on many devices
        self.trusted = False  # whether indices are known to be in range
        self.bounded = False  # whether there is such a buffer
        self.sites: list[Failure] = []  # the error of each; None where a buffer was too short
        self.code: Any = np.int64(0)
        self.place: tuple[str, int] | None = None  # the user's line that made the step
        self.depth = 0  # of branches and loops around
        self.calls_python = False
        self.journal: Any = None  # of the run that is going on, where Python is called
        self.later_inside = False  # whether what may be done after the run stands inside branches or loops
        self.extras: list[Any] = []  # what it gives beside its results, for what is to be done with it after the run
        self.afterwards: list[
            tuple[int, Callable[..., Any]]
        ] = []  # that, with the number of extras behind a truth value

    def begin(self) -> None:
        """Nothing has been traced yet."""
        self.code = np.int64(0)
        for noted in (self.sites, self.extras, self.afterwards):
            noted.clear()

    def site(self, error: Failure) -> int:
        """A number for one more place at which the program may fail."""
        self.sites.append(error)
        return len(self.sites)

    def fail_if(self, bad: Any, error: Failure, number: Any = 0) -> None:
        """Note that the program fails where `bad` holds, unless it has failed before; the error is made of a number."""
        jnp = jax().numpy
        most = np.int64(1 << (BITS - 1))
        said = jnp.clip(jnp.asarray(number, np.int64), -most, most - 1) + most
        self.note(jnp.where(bad, (np.int64(self.site(error)) << BITS) + said, np.int64(0)))

    def note(self, code: Any) -> None:
        """Take over a code, unless the program has failed before."""
        self.code = jax().numpy.where(self.code == 0, code, self.code)

    def error(self, code: int) -> Failure:
        """The error that a code stands for."""
        return self.sites[(code >> BITS) - 1]

    def is_silent(self) -> bool:
        """Whether nothing is to be done when a run is over."""
        return not (self.sites or self.calls_python or self.afterwards)

    @contextmanager
    def inside(self, code: Any) -> Iterator[None]:
        """A part of the program that JAX traces by itself: it begins with a code, and hands on what it has become."""
        outer, self.code = self.code, code
        self.depth += 1
        try:
            yield
        finally:
            self.code = outer
            self.depth -= 1


def number_in(code: int) -> int:
    """The number beside the site of a code."""
    return (code & ((1 << BITS) - 1)) - (1 << (BITS - 1))


def shown_number(number: int) -> str:
    """A number of a code as text: the largest and the smallest stand for those beyond too.

    >>> shown_number(5), shown_number(2**39 - 1)
    ('5', '549755813887 or more')
    """
    most = 1 << (BITS - 1)
    return f"{number} or more" if number == most - 1 else f"{number} or less" if number == -most else str(number)


def too_short(_: int) -> None:
    """What is no error: the graph is run again with longer buffers."""
