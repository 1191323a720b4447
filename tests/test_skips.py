"""The reasons for which a test may be skipped are still needed, by a version that is supported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
SETTINGS = (FOLDER.parent / "pyproject.toml").read_text()

#: For each reason, what it is about and the version from which on it does not hold; None for what is no Python package, and what
#: continuous integration installs: there the test may not be skipped.
NEEDED: dict[str, tuple[str, tuple[int, ...] | None]] = {
    "the signatures are those of NumPy": ("numpy", (2, 4)),
    "a caller's stack holds": ("requires-python", (3, 11)),
    "no chromium on this machine": ("chromium", None),
}


def reasons() -> set[str]:
    """The reasons, read and not run: the settings of a run are made once."""
    return set(
        re.findall(r'"([^"]+)"', re.search(r"^SKIPS = \((.*)\)$", (FOLDER / "conftest.py").read_text(), re.M)[1])
    )


def oldest(what: str) -> tuple[int, ...]:
    """The oldest version of something that the project supports."""
    return tuple(map(int, re.search(rf"{what}\D*>=([\d.]+)", SETTINGS)[1].split(".")))


def test_every_reason_is_asked_here():
    assert reasons() == set(NEEDED)


@pytest.mark.parametrize("reason", NEEDED)
def test_a_reason_is_given_by_a_test_and_still_needed(reason: str):
    others = [path for path in FOLDER.rglob("test_*.py") if path != Path(__file__)]
    assert any(reason in path.read_text() for path in others), f"no test is skipped as {reason!r}: take it out of SKIPS"
    what, past = NEEDED[reason]
    if past is None:
        steps = (FOLDER.parent / ".ci" / "run").read_text()
        assert re.search(rf"apt-get install .*\b{what} ", steps) and "export ADJOINT_NEEDS_BROWSER=1" in steps
        return
    assert oldest(what) < past, f"{reason!r} holds for no supported version: take it out of SKIPS, and the skip with it"
