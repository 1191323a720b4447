"""mindspore.nn."""

import sys as _sys
from typing import Any as _Any

from adjoint.mindspore.absent import Absent as _Absent
from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.exported import GraphCell as GraphCell
from adjoint.mindspore.nn import dynamic_lr as dynamic_lr
from adjoint.mindspore.nn import learning_rate_schedule as learning_rate_schedule
from adjoint.mindspore.nn import optim as optim
from adjoint.mindspore.nn import wrap as wrap
from adjoint.mindspore.nn.cell import Cell as Cell
from adjoint.mindspore.nn.dynamic_lr import *
from adjoint.mindspore.nn.engine_layers import *
from adjoint.mindspore.nn.grad import ForwardValueAndGrad as ForwardValueAndGrad
from adjoint.mindspore.nn.grad import Jvp as Jvp
from adjoint.mindspore.nn.grad import Vjp as Vjp
from adjoint.mindspore.nn.layers import *
from adjoint.mindspore.nn.learning_rate_schedule import *
from adjoint.mindspore.nn.optim import *
from adjoint.mindspore.nn.sparse import SparseTensorDenseMatmul as SparseTensorDenseMatmul
from adjoint.mindspore.nn.sparse import SparseToDense as SparseToDense
from adjoint.mindspore.nn.wrap import *

layer = loss = _sys.modules[__name__]  # MindSpore's `nn.layer.basic.Dense` is `nn.Dense`
activation = basic = combined = container = conv = embedding = image = layer
math = normalization = padding = pooling = rnns = rnn_cells = timedistributed = transformer = layer

_absent = _fallback(__name__, "nn")


def __getattr__(name: str) -> _Any:
    """What measures a network is at home in `mindspore.train`, and MindSpore has it here too."""
    placeholder = _absent(name)
    if isinstance(placeholder, _Absent):
        from adjoint.mindspore.train import metrics

        return vars(metrics).get(name, placeholder)
    return placeholder
