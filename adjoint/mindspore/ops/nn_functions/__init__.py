"""Functions of networks that MindSpore calls otherwise than the engine, or that differ at single points."""

from adjoint.mindspore.ops.nn_functions.activation import *
from adjoint.mindspore.ops.nn_functions.losses import *
from adjoint.mindspore.ops.nn_functions.pooling import *
