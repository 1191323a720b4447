"""`ad.compare`: every way gives the same derivative, as exactly as it can. Times are printed and not tested."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

EXACT = ("manual", "complex step", "symbolic", "forward mode", "reverse mode", "reverse mode, compiled")


def recursion(x, n=4):
    for _ in range(n - 1):
        x = 4 * x * (1 - x)
    return x


def by_hand(x):
    x2 = 4 * x * (1 - x)
    x3 = 4 * x2 * (1 - x2)
    return 4 * (1 - 2 * x3) * 4 * (1 - 2 * x2) * 4 * (1 - 2 * x)


def test_the_four_ways(tmp_path):
    found = ad.compare(recursion, 0.2, manual=by_hand)
    assert [w.name for w in found.ways if w.error < 1e-13] == list(EXACT)
    assert {w.family for w in found.ways} == {"manual", "numeric", "symbolic", "automatic"}
    assert found.reference == "the symbolic derivative in 40 digits" and found.notes == []
    for way in found.ways:
        assert way.value == pytest.approx([by_hand(0.2)], rel=1e-6)
    assert 1e-10 < found["forward difference"].error < 1e-5 and found["Richardson"].error < 1e-11
    assert found["symbolic"].operations > 3 * found["reverse mode, compiled"].operations == 3 * 18
    assert found["forward difference"].operations % 9 == 0  # calls of the function, which takes nine
    lines = str(found).splitlines()
    assert lines[1].split() == ["way", "derivative", "error", "operations", "time", "preparation"] and len(lines) == 11
    assert found.markdown().splitlines()[2].startswith("| manual | 9.0660864 |")
    found.draw(tmp_path / "ways.png")
    assert (tmp_path / "ways.png").stat().st_size > 5000
    page = found._repr_html_()
    assert "<table>" in page and "<svg" in page


def test_several_inputs_arrays_and_containers():
    found = ad.compare(
        lambda x, y: math.log(x) + x * y - math.sin(y), 2, 5, manual=lambda x, y: (1 / x + y, x - math.cos(y))
    )
    for way in found.ways:
        if way.value is not None:
            np.testing.assert_allclose(way.value, [5.5, 2 - math.cos(5)], rtol=1e-6)
    assert found["complex step"].value is None and "complex numbers, which it does not take" in found.notes[0]
    tree = {"w": np.arange(1.0, 5.0).reshape(2, 2), "b": 3.0}
    found = ad.compare(lambda p: (p["w"] ** 2).sum() * p["b"] + p["w"][0, 1], tree)
    for way in found.ways:
        np.testing.assert_allclose(way.value, [6, 13, 18, 24, 30], rtol=1e-5)
    assert found["symbolic"].error == 0 and found["reverse mode, compiled"].operations is not None


def test_what_is_no_formula_is_compared_without_one():
    def branch(x):
        return x * x if x > 0 else -x

    found = ad.compare(branch, 2.0)
    assert found.reference == "reverse mode" and found["reverse mode"].error is None
    assert found["symbolic"].value is None and any("a branch on a value" in note for note in found.notes)
    assert found["central difference"].error < 1e-8 and found["forward mode"].value == [4.0]
    assert ad.compare(branch, 2.0, manual=lambda x: 2 * x).reference == "manual"
    many = ad.compare(lambda v: np.exp(v).sum(), np.ones(31))
    assert many["symbolic"].note == "formulas by 31 inputs would be too many" and "(31 numbers)" in str(many)
    special = ad.compare(lambda x: ops.bessel_j(0, x), 1.0)  # no function of `math`
    assert special["symbolic"].error < 1e-15
    alone = ad.compare(lambda x: math.gamma(x), 3.0)
    assert alone.reference.startswith("nothing") and alone["Richardson"].value == pytest.approx([1.845568670196934])


def test_without_sympy_the_others_are_compared(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    found = ad.compare(np.sin, 1.0)
    assert found["symbolic"].value is None and "pip install" in found.notes[0] and found.reference == "reverse mode"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ad.compare(lambda v: v, np.ones(4)), "one real number"),
        (lambda: ad.compare(lambda: 3.0), "no input"),
        (lambda: ad.compare(lambda x: x, 1.0, manual=lambda x: (1, 2)), "manual returned 2 numbers"),
        (lambda: ad.compare(lambda x: x, 1.0, manual=3), "must be a function"),
        (lambda: ad.compare(3, 1.0), "must be a function"),
        (lambda: ad.compare(lambda x: x, 1j), "is complex"),
        (lambda: ad.compare(lambda x: 1e300 * x * 1e300, 1.0), "is inf at this point"),
        (lambda: ad.compare(lambda x: x, 1.0)["by magic"], "no 'by magic' among forward difference"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ad.AdjointError, match=words):
        call()


def test_a_manual_derivative_that_is_no_number_is_refused():
    for given in ("a", 1j, ("a",)):
        with pytest.raises(ad.ArgumentError, match="compare: manual returned a"):
            ad.compare(lambda x: x**2, 1.0, manual=lambda x, given=given: given)
