"""Programs for MindSpore give what MindSpore gave, in both modes; where it was wrong, what is right."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mindspore_cases as cases
from adjoint.mindspore import imports

imports.install()
PROGRAMS = {(family, name): case for family in cases.families() for name, case in cases.load(family).items()}
imports.uninstall()


@pytest.fixture(autouse=True)
def _mindspore() -> Iterator[None]:
    imports.install()
    yield
    imports.uninstall()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("mode", cases.MODES)
@pytest.mark.parametrize(("family", "name"), PROGRAMS, ids=lambda x: x)
def test_a_program_gives_what_mindspore_gave(family: str, name: str, mode: str) -> None:
    case = PROGRAMS[family, name]
    wrong = getattr(case, "right", {}).get(mode)
    theirs = cases.recorded(family)[name][mode]
    ours = cases.run(case, mode)
    if wrong is not None:
        reason, value = wrong
        assert cases.differences(cases.plain(value), theirs), f"MindSpore is right by now: {reason}"
        theirs = cases.plain(value)
    assert cases.differences(ours, theirs) == []


def test_every_recorded_case_is_run() -> None:
    """Neither a case without a record nor a record without a case."""
    assert {(f, n) for f in cases.families() for n in cases.recorded(f)} == set(PROGRAMS)
