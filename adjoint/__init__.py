"""adjoint: exact derivatives of ordinary Python programs.

>>> import adjoint as ad
>>> print(ad.grad(lambda x: x ** 2 + 3 * x)(2.0))
7.0
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from adjoint import graph as graph
from adjoint import ops as ops
from adjoint.api.batching import vmap as vmap
from adjoint.api.custom import bprop_getters as bprop_getters
from adjoint.api.custom import custom_jvp as custom_jvp
from adjoint.api.custom import custom_vjp as custom_vjp
from adjoint.api.forward import ForwardModeAD as ForwardModeAD
from adjoint.api.forward import get_dual_part as get_dual_part
from adjoint.api.forward import get_primal_part as get_primal_part
from adjoint.api.forward import jvp as jvp
from adjoint.api.forward import linearize as linearize
from adjoint.api.forward import make_dual as make_dual
from adjoint.api.grad import get_grad as get_grad
from adjoint.api.grad import grad as grad
from adjoint.api.grad import value_and_grad as value_and_grad
from adjoint.api.grad import vjp as vjp
from adjoint.api.jacobian import hessian as hessian
from adjoint.api.jacobian import hvp as hvp
from adjoint.api.jacobian import jacfwd as jacfwd
from adjoint.api.jacobian import jacobian as jacobian
from adjoint.api.jacobian import jacrev as jacrev
from adjoint.api.jacobian import nth_derivative as nth_derivative
from adjoint.api.modes import GRAPH_MODE as GRAPH_MODE
from adjoint.api.modes import PYNATIVE_MODE as PYNATIVE_MODE
from adjoint.api.modes import get_context as get_context
from adjoint.api.modes import set_context as set_context
from adjoint.core.context import no_grad as no_grad
from adjoint.core.parameter import Parameter as Parameter
from adjoint.core.parameter import ParameterTuple as ParameterTuple
from adjoint.core.spec import bool_ as bool_
from adjoint.core.spec import complex64 as complex64
from adjoint.core.spec import complex128 as complex128
from adjoint.core.spec import float16 as float16
from adjoint.core.spec import float32 as float32
from adjoint.core.spec import float64 as float64
from adjoint.core.spec import int8 as int8
from adjoint.core.spec import int16 as int16
from adjoint.core.spec import int32 as int32
from adjoint.core.spec import int64 as int64
from adjoint.core.spec import uint8 as uint8
from adjoint.core.tensor import Tensor as Tensor
from adjoint.ops import stop_gradient as stop_gradient
from adjoint.ops.functional.random import set_seed as set_seed
from adjoint.transforms.gradient_tape import GradientTape as GradientTape

if _TYPE_CHECKING:
    from adjoint import data as data
    from adjoint import nn as nn
    from adjoint import optim as optim
    from adjoint import train as train
    from adjoint.api.jit import jit as jit

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "bfloat16":  # needs the optional package ml_dtypes
        from adjoint.core.spec import bfloat16

        try:
            return bfloat16()
        except ImportError as error:
            raise AttributeError(str(error)) from None
    if name in ("amp", "data", "nn", "numpy", "optim", "testing", "train"):  # loaded when first used
        return _import_module(f"adjoint.{name}")
    if name == "jit":
        return _import_module("adjoint.api.jit").jit
    raise AttributeError(f"module 'adjoint' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "amp", "bfloat16", "data", "jit", "nn", "numpy", "optim", "testing", "train"})
