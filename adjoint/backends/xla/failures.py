"""What may go wrong while XLA runs a graph. A program on a device cannot raise: it counts on, and gives a code besides its results.

The code is 0, or the number of the first site that failed, in the order of the program. Branches and loops hand it on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax


class Tracing:
    """One way of a graph through `jax.jit`: what may fail in it, and how long the buffers of loops of unknown length are."""

    def __init__(self, capacity: int, platform: str = "cpu") -> None:
        self.capacity, self.platform = capacity, platform
        self.pulls: dict[
            Any, Any
        ] = {}  # what forward kernels have left for their backward ones: see `fused_attention.py`
        self.mesh: Any = None  # of JAX's, where the program runs on many devices
        self.bounded = False  # whether there is such a buffer
        self.sites: list[
            Callable[[], BaseException | None]
        ] = []  # the error of each; None where a buffer was too short
        self.code: Any = np.int32(0)

    def fail_if(self, bad: Any, error: Callable[[], BaseException | None]) -> None:
        """Note that the program fails where `bad` holds, unless it has failed before."""
        jnp = jax().numpy
        self.sites.append(error)
        new = jnp.where(bad, np.int32(len(self.sites)), np.int32(0))
        self.code = jnp.where(self.code == 0, new, self.code)

    @contextmanager
    def inside(self, code: Any) -> Iterator[None]:
        """A part of the program that JAX traces by itself: it begins with a code, and hands on what it has become."""
        outer, self.code = self.code, code
        try:
            yield
        finally:
            self.code = outer


def too_short() -> None:
    """What is no error: the graph is run again with longer buffers."""
