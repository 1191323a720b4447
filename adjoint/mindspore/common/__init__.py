"""mindspore.common."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.common import api as api
from adjoint.mindspore.common import dtype as dtype
from adjoint.mindspore.common import dtype as mstype
from adjoint.mindspore.common import initializer as initializer
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
from adjoint.mindspore.common.generator import Generator as Generator
from adjoint.mindspore.common.generator import default_generator as default_generator
from adjoint.mindspore.common.generator import get_rng_state as get_rng_state
from adjoint.mindspore.common.generator import initial_seed as initial_seed
from adjoint.mindspore.common.generator import manual_seed as manual_seed
from adjoint.mindspore.common.generator import seed as seed
from adjoint.mindspore.common.generator import set_rng_state as set_rng_state
from adjoint.mindspore.common.jit_config import JitConfig as JitConfig
from adjoint.mindspore.common.mutable import mutable as mutable
from adjoint.mindspore.common.parameter import Parameter as Parameter
from adjoint.mindspore.common.parameter import ParameterTuple as ParameterTuple
from adjoint.mindspore.common.recompute import recompute as recompute
from adjoint.mindspore.common.saved_tensors import saved_tensors_hooks as saved_tensors_hooks
from adjoint.mindspore.common.sparse_tensor import COOTensor as COOTensor
from adjoint.mindspore.common.sparse_tensor import CSRTensor as CSRTensor
from adjoint.mindspore.common.sparse_tensor import RowTensor as RowTensor
from adjoint.mindspore.common.sparse_tensor import RowTensorInner as RowTensorInner
from adjoint.mindspore.common.sparse_tensor import SparseTensor as SparseTensor
from adjoint.mindspore.common.symbol import Symbol as Symbol
from adjoint.mindspore.common.tensor import Tensor as Tensor
from adjoint.mindspore.common.tensor import from_numpy as from_numpy
from adjoint.mindspore.common.tensor import frombuffer as frombuffer
from adjoint.mindspore.common.tensor import is_tensor as is_tensor
from adjoint.mindspore.common.tensor import swap_tensors as swap_tensors
from adjoint.mindspore.common.tensor import tensor as tensor
from adjoint.mindspore.runtime import get_seed as get_seed
from adjoint.mindspore.runtime import set_seed as set_seed

__getattr__ = _fallback(__name__, "common")
