from adjoint.ops import language, special, reduce, stacking, index
from adjoint.ops.functional import index
from adjoint.transforms import gradient_tape
from adjoint.core.tensor import Tensor
from adjoint.core.parameter import Parameter, ParameterTuple
from adjoint.core.context import no_grad
from adjoint.api.grad import *
from adjoint.api.forward import *
from adjoint.api.jacobian import *
from adjoint.api.batching import *
from adjoint.transforms.gradient_tape import GradientTape
