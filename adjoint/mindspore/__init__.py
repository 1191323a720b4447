"""MindSpore's names on adjoint's engine: programs written for MindSpore run unchanged.

>>> import adjoint.mindspore as mindspore
>>> from adjoint.mindspore import Tensor, ops
>>> print(mindspore.grad(ops.sin)(Tensor(0.0)))
1.0
"""

from typing import Any as _Any

from adjoint.mindspore.absent import fallback as _fallback

__version__ = "2.10.0"

from adjoint.mindspore import _extends as _extends
from adjoint.mindspore import amp as amp
from adjoint.mindspore import common as common
from adjoint.mindspore import context as context
from adjoint.mindspore import dataset as dataset
from adjoint.mindspore import device_context as device_context
from adjoint.mindspore import experimental as experimental
from adjoint.mindspore import mint as mint
from adjoint.mindspore import nn as nn
from adjoint.mindspore import numpy as numpy
from adjoint.mindspore import ops as ops
from adjoint.mindspore import runtime as runtime
from adjoint.mindspore import tensor_methods as _tensor_methods
from adjoint.mindspore import tensor_overrides as _tensor_overrides
from adjoint.mindspore import train as train
from adjoint.mindspore.common import *
from adjoint.mindspore.common import conventions as _conventions
from adjoint.mindspore.common.api import _cell_graph_executor as _cell_graph_executor
from adjoint.mindspore.common.api import _no_grad as _no_grad
from adjoint.mindspore.common.api import _pynative_executor as _pynative_executor
from adjoint.mindspore.common.dtype import *
from adjoint.mindspore.common.initializer import Normal as Normal
from adjoint.mindspore.common.initializer import One as One
from adjoint.mindspore.common.initializer import initializer as initializer  # type: ignore[no-redef]
from adjoint.mindspore.context import *
from adjoint.mindspore.exported import export as export
from adjoint.mindspore.exported import load as load
from adjoint.mindspore.ops.batch_functions import *
from adjoint.mindspore.ops.gradient_functions import get_grad as get_grad
from adjoint.mindspore.ops.gradient_functions import grad as grad
from adjoint.mindspore.ops.gradient_functions import value_and_grad as value_and_grad
from adjoint.mindspore.ops.jacobian_functions import jacfwd as jacfwd
from adjoint.mindspore.ops.jacobian_functions import jacrev as jacrev
from adjoint.mindspore.ops.jacobian_functions import jvp as jvp
from adjoint.mindspore.ops.jacobian_functions import vjp as vjp
from adjoint.mindspore.ops.primitive import constexpr as constexpr
from adjoint.mindspore.runtime import *
from adjoint.mindspore.train.dataset_helper import DatasetHelper as DatasetHelper
from adjoint.mindspore.train.dataset_helper import connect_network_with_dataset as connect_network_with_dataset
from adjoint.mindspore.train.dataset_helper import data_sink as data_sink
from adjoint.mindspore.train.model import Model as Model
from adjoint.mindspore.train.serialization import async_ckpt_thread_status as async_ckpt_thread_status
from adjoint.mindspore.train.serialization import ckpt_to_safetensors as ckpt_to_safetensors
from adjoint.mindspore.train.serialization import load_checkpoint as load_checkpoint
from adjoint.mindspore.train.serialization import load_checkpoint_async as load_checkpoint_async
from adjoint.mindspore.train.serialization import load_distributed_checkpoint as load_distributed_checkpoint
from adjoint.mindspore.train.serialization import load_param_into_net as load_param_into_net
from adjoint.mindspore.train.serialization import safetensors_to_ckpt as safetensors_to_ckpt
from adjoint.mindspore.train.serialization import save_checkpoint as save_checkpoint

_tensor_overrides.install()
_conventions.switch_on()
_tensor_methods.install()

_absent = _fallback(__name__, "mindspore")


def __getattr__(name: str) -> _Any:
    placeholder = _absent(name)
    from adjoint.mindspore import log, train  # MindSpore has what belongs to training and to messages at its top too

    for module in (train, log):
        found = vars(module).get(name, placeholder)
        if type(found) is not type(placeholder):
            return found
    return placeholder
