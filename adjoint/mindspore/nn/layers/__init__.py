"""Layers of MindSpore that the engine has otherwise, or not."""

from adjoint.mindspore.nn.layers.activation import *
from adjoint.mindspore.nn.layers.basic import *
from adjoint.mindspore.nn.layers.combined import *
from adjoint.mindspore.nn.layers.conv import *
from adjoint.mindspore.nn.layers.embedding import *
from adjoint.mindspore.nn.layers.image import *
from adjoint.mindspore.nn.layers.losses import *
from adjoint.mindspore.nn.layers.math import *
from adjoint.mindspore.nn.layers.pooling import *
from adjoint.mindspore.nn.layers.rnns import *
