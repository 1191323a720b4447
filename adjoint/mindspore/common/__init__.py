"""mindspore.common."""

from adjoint.mindspore.common import api as api
from adjoint.mindspore.common import dtype as dtype
from adjoint.mindspore.common import dtype as mstype
from adjoint.mindspore.common import jit_config as jit_config
from adjoint.mindspore.common import parameter as parameter
from adjoint.mindspore.common.api import jit as jit
from adjoint.mindspore.common.api import jit_class as jit_class
from adjoint.mindspore.common.api import lazy_inline as lazy_inline
from adjoint.mindspore.common.api import ms_class as ms_class
from adjoint.mindspore.common.api import ms_function as ms_function
from adjoint.mindspore.common.api import ms_memory_recycle as ms_memory_recycle
from adjoint.mindspore.common.api import no_inline as no_inline
from adjoint.mindspore.common.api import set_recursion_limit as set_recursion_limit
from adjoint.mindspore.common.initializer import initializer as initializer
from adjoint.mindspore.common.jit_config import JitConfig as JitConfig
from adjoint.mindspore.common.mutable import mutable as mutable
from adjoint.mindspore.common.parameter import Parameter as Parameter
from adjoint.mindspore.common.parameter import ParameterTuple as ParameterTuple
from adjoint.mindspore.common.recompute import recompute as recompute
from adjoint.mindspore.common.saved_tensors import saved_tensors_hooks as saved_tensors_hooks
from adjoint.mindspore.common.tensor import Tensor as Tensor
from adjoint.mindspore.common.tensor import tensor as tensor
from adjoint.mindspore.runtime import get_seed as get_seed
from adjoint.mindspore.runtime import set_seed as set_seed
