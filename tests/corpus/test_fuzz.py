"""Random programs: dynamic and static mode agree in value, reverse and forward derivative. `make fuzz` runs many more."""

from __future__ import annotations

import pytest

from adjoint.core import tree
from adjoint.testing import fuzz

BLOCK, BLOCKS = 25, 12


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_modes_agree_on_random_programs(block):
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        found = fuzz.disagreement(seed)
        assert found is None, f"seed {seed}: {found}\n{fuzz.random_program(seed).source}"


def test_a_disagreement_is_found(monkeypatch):
    """The check fails when static mode computes something else."""

    def wrong(fn):
        return lambda *xs: tree.map(lambda y: y * 1.0001, fn(*xs))

    monkeypatch.setattr(fuzz, "jit", wrong)
    assert any("dynamic mode gives" in (fuzz.disagreement(seed) or "") for seed in range(3))


def test_a_seed_always_gives_the_same_program():
    assert fuzz.random_program(7).source == fuzz.random_program(7).source
    assert "def program(a, b, c, v):" in fuzz.random_program(7).source
