"""Functions of networks that MindSpore calls otherwise than the engine, or that differ at single points."""

from adjoint.mindspore.absent import public_names as _public_names
from adjoint.mindspore.ops.nn_functions.activation import *
from adjoint.mindspore.ops.nn_functions.images import *
from adjoint.mindspore.ops.nn_functions.layers import *
from adjoint.mindspore.ops.nn_functions.losses import *
from adjoint.mindspore.ops.nn_functions.pooling import *
from adjoint.mindspore.ops.nn_functions.resizing import *

__all__ = sorted(set(globals()) & _public_names()["ops"])  # the others serve primitives and layers
