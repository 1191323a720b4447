"""mindspore.Parameter and ParameterTuple."""

from adjoint.core.parameter import Parameter as Parameter
from adjoint.core.parameter import ParameterTuple as ParameterTuple
