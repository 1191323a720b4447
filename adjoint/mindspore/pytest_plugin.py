"""`pytest -p adjoint.mindspore.pytest_plugin`: tests that import mindspore run on adjoint."""

from adjoint.mindspore import imports

imports.install()
