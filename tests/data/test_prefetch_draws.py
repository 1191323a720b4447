"""A prefetched dataset whose stages draw at random: the numbers follow from the seed, not from which thread comes first."""

from __future__ import annotations

import time

import numpy as np

import adjoint as ad
from adjoint import ops
from adjoint.data import ArrayDataset


def passes(pauses, stop=None):
    ad.set_seed(3)
    noisy = ArrayDataset(np.zeros(6)).shuffle().map(lambda x: x + ops.rand((), dtype=ad.float64)).prefetch(2)
    found, own, waits = [], [], iter(pauses)
    for _ in range(2):
        for k, (x,) in enumerate(noisy):
            time.sleep(next(waits))
            own.append(float(ops.rand((), dtype=ad.float64)))
            found.append(float(x))
            if k == stop:
                break
    return found, own


def test_draws_do_not_depend_on_timing():
    first, slow = passes([0.0] * 12), passes([0.003, 0.0] * 6)
    assert first == slow and len({*first[0], *first[1]}) == 24  # each number once, also in the second pass
    assert passes([0.0] * 12, stop=2) == passes([0.003] * 12, stop=2)


def test_the_program_draws_as_without():
    def drawn(prefetch):
        ad.set_seed(5)
        plain = ArrayDataset(np.arange(4.0))
        for _ in plain.prefetch() if prefetch else plain:
            pass
        return float(ops.rand((), dtype=ad.float64))

    assert drawn(True) == drawn(False)
