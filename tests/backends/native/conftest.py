"""Compiled code of the tests goes to a folder of its own, that of their subprocesses too; fixtures that several files use."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from adjoint.backends.native.runtime import object_cache, thread_pool


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADJOINT_CACHE", str(tmp_path_factory.mktemp("objects")))
        patch.setattr(object_cache, "_chosen", False)
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def pool() -> Iterator[Callable[[int], None]]:
    """A way to set the number of threads, which ends with the test."""
    before = thread_pool.get_num_threads()
    yield thread_pool.set_num_threads
    thread_pool.set_num_threads(before)
