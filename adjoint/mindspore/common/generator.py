"""mindspore.Generator: sources of random numbers with a seed and a state, the program's own among them."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from adjoint.core.random_counters import PROGRAM
from adjoint.core.tensor import Tensor
from adjoint.ops.functional.random import set_seed


class Generator:
    """A source of random numbers of its own.

    >>> source = Generator().manual_seed(7)
    >>> source.initial_seed(), source.next_seed() == Generator().manual_seed(7).next_seed()
    (7, True)
    """

    def __init__(self) -> None:
        self._seed, self._taken = 0, 0

    def manual_seed(self, seed: int) -> Generator:
        """Begin anew with this seed."""
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise TypeError(f"The seed must be an int, but got {type(seed).__name__}.")
        self._seed, self._taken = seed, 0
        return self

    def seed(self) -> int:
        """Begin anew with a seed that nobody chose, and give it."""
        self.manual_seed(secrets.randbits(32))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that it began with."""
        return self._seed

    def get_state(self) -> Any:
        """Where it stands, for `set_state`: a Tensor of bytes."""
        return Tensor(np.array([self._seed, self._taken], np.int64).view(np.uint8))

    def set_state(self, state: Any) -> None:
        """Go on from where `get_state` was asked."""
        self._seed, self._taken = (int(n) for n in state.asnumpy().view(np.int64))

    def next_seed(self) -> int:
        """The seed of the next sample."""
        self._taken += 1
        return int(np.random.SeedSequence([self._seed & (2**64 - 1), self._taken]).generate_state(1)[0])


class _Program(Generator):
    """The source of the samples that name none."""

    def manual_seed(self, seed: int) -> Generator:
        if isinstance(seed, int) and not isinstance(seed, bool):
            set_seed(seed & (2**64 - 1))
        super().manual_seed(seed)
        return self

    def get_state(self) -> Any:
        return Tensor(np.array([self._seed, PROGRAM.state()], np.int64).view(np.uint8))

    def set_state(self, state: Any) -> None:
        self._seed, at = (int(n) for n in state.asnumpy().view(np.int64))
        PROGRAM.resume(at)


default_generator = _Program()


def seed() -> int:
    """Begin the program's random numbers anew with a seed that nobody chose, and give it."""
    return default_generator.seed()


def manual_seed(seed: int) -> Generator:
    """Begin the program's random numbers anew with this seed."""
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed that `manual_seed` or `seed` set last."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """Where the program's random numbers stand, for `set_rng_state`."""
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Go on with the program's random numbers from where `get_rng_state` was asked.

    >>> import adjoint.mindspore as mindspore
    >>> state = mindspore.get_rng_state()
    >>> x = mindspore.mint.rand(3)
    >>> mindspore.set_rng_state(state)
    >>> bool((x == mindspore.mint.rand(3)).all())
    True
    """
    default_generator.set_state(state)


__all__ = [
    "Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
]  # fmt: skip
