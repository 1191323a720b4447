"""Random programs: dynamic and static mode agree in value and derivatives. `make fuzz` runs many more."""

from __future__ import annotations

import os
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.core import tree
from adjoint.frontend.errors import ControlFlowError
from adjoint.testing import fuzz, workers
from adjoint.testing.random_programs import program_of, random_program
from adjoint.testing.shrink import reduced
from adjoint.testing.slopes import slope_of

BLOCK, BLOCKS = 4, 100


@pytest.mark.parametrize("block", range(BLOCKS))
def test_modes_and_backends_agree_on_random_programs(block):
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        found = fuzz.disagreement(seed)
        shown = f"seed {seed}, {fuzz.check_of(seed)}, {fuzz.backend_of(seed)}"
        assert found is None, f"{shown}: {found}\n{random_program(seed).source}"


@settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.sampled_from(list(fuzz.CHECKS)))
def test_modes_agree_on_programs_that_shrink(random, check):
    """The same generator, its choices made by Hypothesis, which finds the smallest program that fails."""
    program = program_of(random, "<random program>")
    try:
        found = fuzz.difference(program, check, "interpreter")
        assert found is None, f"{check}: {found}\n{program.source}"
    finally:
        program.forget()


# ---------------------------------------------------------------- the fuzzer itself


def test_every_check_has_its_share_on_both_backends():
    seeds = range(BLOCK * BLOCKS)
    turns = Counter(fuzz.check_of(seed) for seed in seeds)
    assert set(turns) == set(fuzz.CHECKS)
    assert min(turns.values()) > len(seeds) / len(turns) / 2
    native = Counter(fuzz.check_of(seed) for seed in seeds if fuzz.backend_of(seed) == "native")
    assert set(native) == set(fuzz.CHECKS)
    assert len(seeds) / 5 < sum(native.values()) < len(seeds) / 3


def test_programs_hold_every_kind_of_statement():
    sources = [random_program(seed).source for seed in range(1000)]
    for part in (
        "while ", "for r", "enumerate(", "range(", "break", "continue", "    return ops.tanh", "else:", "elif ", "def h0", "p = [", "q = {",
        "[::-1] =", "argmax", "astype", " @ ", "ops.where(", "ops.maximum(", "abs(", "+= ", "m[", "ops.mean(m, 0)", "a, b = b, ", " and ",
    ):  # fmt: skip
        assert sum(part in source for source in sources) >= 5, part
    lengths = sorted(source.count("\n") for source in sources)
    assert lengths[500] <= 15 and lengths[-1] >= 40  # most small, some large


def wrong(fn, **options):
    return lambda *xs: tree.map(lambda y: y * 1.1 + 0.1, fn(*xs))


def test_a_disagreement_is_found_and_reduced(monkeypatch):
    monkeypatch.setattr(fuzz, "jit", wrong)
    found = [fuzz.examined(seed, "static gradient") for seed in range(3)]
    assert all(text and "dynamic mode gives" in text for text in found)
    assert max(text.count("\n") for text in found) <= 6


def test_a_disagreement_of_machine_code_alone_is_found_and_reduced(monkeypatch):
    """Whether machine code is the backend of all checks or the second one."""

    def wrong_natively(fn, backend=None, **options):
        right = jit(fn, backend=backend, **options)
        return wrong(right) if (backend or ad.get_context("backend")) == "native" else right

    jit = fuzz.jit
    monkeypatch.setattr(fuzz, "jit", wrong_natively)
    for backend in fuzz.BACKENDS:
        found = fuzz.examined(1, "static gradient", backend)
        assert "dynamic mode gives" in found and found.count("\n") <= 6, found
        assert ("jit(value_and_grad(f), backend='native') differs" in found) == (backend == "interpreter")


def test_differences_are_measured_where_there_is_a_slope():
    assert abs(slope_of(lambda h: np.sin(0.3 + h)).value - np.cos(0.3)) < 1e-9
    assert slope_of(abs) is None and slope_of(lambda h: float(h >= 0)) is None
    measured = [
        slope_of(lambda h, p=p: fuzz.total(p.fn(*(np.asarray(x, float) + h for x in p.inputs))))
        for p in map(random_program, range(60))
    ]
    assert sum(slope is not None for slope in measured) > 40


@pytest.mark.parametrize("iterations", [0, 1, 3, 5, 9, 30])
def test_a_steep_function_is_measured_as_it_is_or_not_at_all(iterations):
    """An iterated sine multiplies slopes by 40 each time: soon no difference sees it, whatever its derivative is."""

    def iterated(h, slope=1.0, y=0.7):
        y = y + h
        for _ in range(iterations):
            slope, y = slope * 0.3 * (1 + 136 * np.cos(y)), 0.3 * (y + 136 * np.sin(y))
        return y, slope

    exact, measured = iterated(0.0)[1], slope_of(lambda h: iterated(h)[0])
    assert (measured is not None) == (iterations <= 3)
    if measured is not None:
        assert measured.fits(exact, 1e-5) and not measured.fits(1.01 * exact, 1e-5)


def test_a_program_that_takes_too_long_is_reported(monkeypatch):
    def hangs(seed, check, backend):
        while True:
            pass

    monkeypatch.setattr(fuzz, "disagreement", hangs)
    monkeypatch.setattr(fuzz, "LIMIT", 0.2)
    assert "took longer" in fuzz.examined(7, "static gradient")


def test_a_seed_always_gives_the_same_program():
    assert random_program(7).source == random_program(7).source
    assert "def program(a, b, c, v, m):" in random_program(7).source


def test_reduction_keeps_what_the_failure_needs():
    source = "def f(x):\n    y = x + 1\n    if x > 0:\n        for i in range(3):\n            y = sin(cos(y) * 2)\n    z = y\n    return z\n"
    assert reduced(source, lambda text: "bad" if "cos(" in text else None) == "def f(x):\n    y = cos(y)\n"
    assert reduced("x = 1\n", lambda text: None) == "x = 1\n"


def test_crashes_and_hangs_are_survived():
    """Functions of the standard library stand for ones that find something, die, or hang: other processes know them too."""
    said = []
    assert workers.watched({3: "odd"}.get, range(5), 2, 60.0, said.append, 0.0) == 1
    assert workers.watched(os._exit, range(2, 4), 1, 60.0, said.append, 0.0) == 2
    assert workers.watched(time.sleep, [0, 600, 0], 2, 8.0, said.append, 0.0) == 1
    text = "\n".join(said)
    assert "seed 3: odd" in text
    assert "seed 2: the process ended with code 2" in text and "seed 3: the process ended with code 3" in text
    assert "seed 600: took longer than 8 s and was ended" in text
    assert "5 of 5 programs, 1 wrong, " in text and said[-2].endswith("min left")
    assert said[-1] == "seeds 0 to 0: 3 programs, 1 wrong, 1 of them crashed or hung"


def test_the_command(capsys):
    assert fuzz.main(["2", "--start", "500", "--jobs", "1", "--check", "dynamic forward", "--backend", "native"]) == 0
    assert "2 of 2 programs, 0 wrong" in capsys.readouterr().out


def test_what_the_fuzzer_lets_pass_is_refused_and_rare():
    """A program that writes to its caller's array in a loop and gives the name to another one: no graph does both."""

    def program(a, v, own):
        if own:
            v = v * 1.0
        while a < 3 + 0.1 * v[2]:
            a = a + 1.0
            v[2] = a
            v = v * 1.5
        return v.sum()

    with pytest.raises(ControlFlowError, match=fuzz.REFUSED):
        ad.jit(program)(1.0, np.ones(3), False)
    assert ad.jit(program)(1.0, np.ones(3), True) == program(1.0, np.ones(3), True)
    assert fuzz.difference(random_program(157), "static gradient") is None
