"""Tests of the MindSpore face run by its rules for dtypes and texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adjoint.mindspore.common import conventions

conventions.switch_off()  # other tests are collected in this process too


@pytest.fixture(autouse=True)
def _conventions() -> Iterator[None]:
    conventions.switch_on()
    yield
    conventions.switch_off()
