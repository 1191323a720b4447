"""mindspore.common.initializer."""

from adjoint.nn.initializer import *  # noqa: F403
