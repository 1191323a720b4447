"""Training in each mode."""

import pytest

import adjoint as ad
from adjoint.core import context


@pytest.fixture(params=["dynamic", "native", "interpreter"])
def mode(request):
    backend = "interpreter" if request.param == "interpreter" else None
    with context.setting(context.backend, backend):
        ad.set_context(mode=ad.PYNATIVE_MODE if request.param == "dynamic" else ad.GRAPH_MODE)
        yield request.param
        ad.set_context(mode=ad.PYNATIVE_MODE)
