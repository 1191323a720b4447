"""Compiled code of the tests goes to a folder of its own, that of their subprocesses too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adjoint.backends.native.runtime import object_cache


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADJOINT_CACHE", str(tmp_path_factory.mktemp("objects")))
        patch.setattr(object_cache, "_chosen", False)
        yield
