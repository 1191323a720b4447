"""mindspore.common."""

from adjoint.mindspore.common import api as api
from adjoint.mindspore.common import dtype as dtype
from adjoint.mindspore.common import dtype as mstype
from adjoint.mindspore.common import parameter as parameter
from adjoint.mindspore.common.api import jit as jit
from adjoint.mindspore.common.initializer import initializer as initializer
from adjoint.mindspore.common.parameter import Parameter as Parameter
from adjoint.mindspore.common.parameter import ParameterTuple as ParameterTuple
from adjoint.mindspore.common.tensor import Tensor as Tensor
from adjoint.mindspore.common.tensor import tensor as tensor
from adjoint.ops.functional.random import set_seed as set_seed
