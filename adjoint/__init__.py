"""adjoint: exact derivatives of ordinary Python programs.

>>> import adjoint as ad
>>> print(ad.grad(lambda x: x ** 2 + 3 * x)(2.0))
7.0
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from adjoint import graph as graph
from adjoint import ops as ops
from adjoint.api import graphs as _graphs  # noqa: F401  # what `ad.graph` shows
from adjoint.api.batching import vmap as vmap
from adjoint.api.checkpointing import checkpoint as checkpoint
from adjoint.api.checkpointing import recompute as recompute
from adjoint.api.custom import custom_jvp as custom_jvp
from adjoint.api.custom import custom_vjp as custom_vjp
from adjoint.api.forward import ForwardModeAD as ForwardModeAD
from adjoint.api.forward import get_dual_part as get_dual_part
from adjoint.api.forward import get_primal_part as get_primal_part
from adjoint.api.forward import jvp as jvp
from adjoint.api.forward import linearize as linearize
from adjoint.api.forward import make_dual as make_dual
from adjoint.api.grad import grad as grad
from adjoint.api.grad import value_and_grad as value_and_grad
from adjoint.api.grad import vjp as vjp
from adjoint.api.gradient_checkpoint import GradientCheckpoint as GradientCheckpoint
from adjoint.api.high_orders import derivative as derivative
from adjoint.api.high_orders import jet as jet
from adjoint.api.high_orders import nth_derivative as nth_derivative
from adjoint.api.host_callbacks import host_callback as host_callback
from adjoint.api.identified import get_grad as get_grad
from adjoint.api.jacobian import hessian as hessian
from adjoint.api.jacobian import hvp as hvp
from adjoint.api.jacobian import jacfwd as jacfwd
from adjoint.api.jacobian import jacobian as jacobian
from adjoint.api.jacobian import jacrev as jacrev
from adjoint.api.loops_and_branches import cond as cond
from adjoint.api.loops_and_branches import fori_loop as fori_loop
from adjoint.api.loops_and_branches import map as map
from adjoint.api.loops_and_branches import scan as scan
from adjoint.api.loops_and_branches import switch as switch
from adjoint.api.loops_and_branches import while_loop as while_loop
from adjoint.api.modes import GRAPH_MODE as GRAPH_MODE
from adjoint.api.modes import PYNATIVE_MODE as PYNATIVE_MODE
from adjoint.api.modes import get_context as get_context
from adjoint.api.modes import set_context as set_context
from adjoint.api.replaced_rules import bprop_getters as bprop_getters
from adjoint.backends.held_memory import release_memory as release_memory
from adjoint.core.context import no_grad as no_grad
from adjoint.core.errors import AdjointError as AdjointError
from adjoint.core.errors import AmbiguousTruthError as AmbiguousTruthError
from adjoint.core.errors import ArgumentError as ArgumentError
from adjoint.core.errors import ArgumentTypeError as ArgumentTypeError
from adjoint.core.errors import BatchedError as BatchedError
from adjoint.core.errors import CutGradientError as CutGradientError
from adjoint.core.errors import DeviceError as DeviceError
from adjoint.core.errors import DtypeError as DtypeError
from adjoint.core.errors import EndedTransformError as EndedTransformError
from adjoint.core.errors import GpuKernelError as GpuKernelError
from adjoint.core.errors import HookError as HookError
from adjoint.core.errors import IndexingError as IndexingError
from adjoint.core.errors import MemoryBudgetError as MemoryBudgetError
from adjoint.core.errors import NoRuleError as NoRuleError
from adjoint.core.errors import NotDifferentiableError as NotDifferentiableError
from adjoint.core.errors import NotExportableError as NotExportableError
from adjoint.core.errors import OffloadError as OffloadError
from adjoint.core.errors import PerformanceWarning as PerformanceWarning
from adjoint.core.errors import PromotionWarning as PromotionWarning
from adjoint.core.errors import RecompileWarning as RecompileWarning
from adjoint.core.errors import SeveralElementsError as SeveralElementsError
from adjoint.core.errors import ShapeError as ShapeError
from adjoint.core.errors import SharingError as SharingError
from adjoint.core.errors import UnknownShapeError as UnknownShapeError
from adjoint.core.exchange import from_dlpack as from_dlpack
from adjoint.core.other_words import missing as _missing
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
from adjoint.ops.functional.random import get_rng_state as get_rng_state
from adjoint.ops.functional.random import set_rng_state as set_rng_state
from adjoint.ops.functional.random import set_seed as set_seed
from adjoint.scipy.imports import install as _wrap_scipy
from adjoint.transforms.gradient_tape import GradientTape as GradientTape

if _TYPE_CHECKING:
    from adjoint import amp as amp
    from adjoint import array_api as array_api
    from adjoint import data as data
    from adjoint import distributions as distributions
    from adjoint import mindspore as mindspore
    from adjoint import nn as nn
    from adjoint import numeric as numeric
    from adjoint import numpy as numpy
    from adjoint import optim as optim
    from adjoint import optimize as optimize
    from adjoint import parallel as parallel
    from adjoint import scipy as scipy
    from adjoint import sparse as sparse
    from adjoint import symbolic as symbolic
    from adjoint import testing as testing
    from adjoint import train as train
    from adjoint import tree as tree
    from adjoint.api.donate import DonatedError as DonatedError
    from adjoint.api.jit import jit as jit
    from adjoint.api.symbolic import NotSymbolicError as NotSymbolicError
    from adjoint.api.tracing import UnreadableError as UnreadableError
    from adjoint.backends.native.runtime.checked_build import BoundsError as BoundsError
    from adjoint.backends.native.runtime.llvm_compile import CompilationError as CompilationError
    from adjoint.data.idx_files import FileFormatError as FileFormatError
    from adjoint.deploy.exporting import export as export
    from adjoint.diagnosis.nan_watch import debug_nan as debug_nan
    from adjoint.diagnosis.non_finite import NonFiniteError as NonFiniteError
    from adjoint.diagnosis.profile_watch import profile as profile
    from adjoint.distributions.base_distribution import NoClosedValueError as NoClosedValueError
    from adjoint.explanations.explain import explain as explain
    from adjoint.explanations.four_ways import compare as compare
    from adjoint.explanations.spelling import NoSpellingError as NoSpellingError
    from adjoint.explanations.written_source import source as source
    from adjoint.frontend.errors import ControlFlowError as ControlFlowError
    from adjoint.frontend.errors import LeakError as LeakError
    from adjoint.frontend.errors import SourceError as SourceError
    from adjoint.frontend.errors import UnsupportedSyntaxError as UnsupportedSyntaxError
    from adjoint.graph.bounds import UnboundedError as UnboundedError
    from adjoint.graph.flow import MismatchError as MismatchError
    from adjoint.graph.numbers import NeedsNumberError as NeedsNumberError
    from adjoint.graph.text import GraphTextError as GraphTextError
    from adjoint.numeric.grad_check import GradientMismatchError as GradientMismatchError
    from adjoint.numeric.grad_check import check_grads as check_grads
    from adjoint.optimize.errors import NotConvergedError as NotConvergedError
    from adjoint.optimize.errors import SingularSystemError as SingularSystemError
    from adjoint.parallel.wire import ProcessGroupError as ProcessGroupError
    from adjoint.pictures import draw as draw
    from adjoint.symbolic.sympy_expressions import NoClosedFormError as NoClosedFormError
    from adjoint.train.callbacks import InvalidLossError as InvalidLossError
    from adjoint.train.safetensors import CheckpointError as CheckpointError

__version__ = "0.1.0"

_wrap_scipy()  # functions of SciPy ask for Tensors, once both are imported

_MODULES = (
    "amp",
    "array_api",
    "data",
    "distributions",
    "mindspore",
    "nn",
    "numeric",
    "numpy",
    "optim",
    "optimize",
    "parallel",
    "scipy",
    "sparse",
    "symbolic",
    "testing",
    "train",
    "tree",
)  # loaded when first used
_FROM = {  # the module that is loaded for a name when it is first used
    "check_grads": "numeric.grad_check",
    "jit": "api.jit",
    "BoundsError": "backends.native.runtime.checked_build",
    "CheckpointError": "train.safetensors",
    "CompilationError": "backends.native.runtime.llvm_compile",
    "ControlFlowError": "frontend.errors",
    "DonatedError": "api.donate",
    "export": "deploy.exporting",
    "compare": "explanations.four_ways",
    "explain": "explanations.explain",
    "source": "explanations.written_source",
    "FileFormatError": "data.idx_files",
    "GradientMismatchError": "numeric.grad_check",
    "GraphTextError": "graph.text",
    "InvalidLossError": "train.callbacks",
    "LeakError": "frontend.errors",
    "MismatchError": "graph.flow",
    "draw": "pictures",
    "NeedsNumberError": "graph.numbers",
    "NonFiniteError": "diagnosis.non_finite",
    "NoSpellingError": "explanations.spelling",
    "NoClosedFormError": "symbolic.sympy_expressions",
    "NoClosedValueError": "distributions.base_distribution",
    "NotConvergedError": "optimize.errors",
    "NotSymbolicError": "api.symbolic",
    "ProcessGroupError": "parallel.wire",
    "SingularSystemError": "optimize.errors",
    "SourceError": "frontend.errors",
    "UnboundedError": "graph.bounds",
    "UnreadableError": "api.tracing",
    "UnsupportedSyntaxError": "frontend.errors",
    "debug_nan": "diagnosis.nan_watch",
    "profile": "diagnosis.profile_watch",
}


def __getattr__(name: str) -> object:
    if name == "bfloat16":  # needs the optional package ml_dtypes
        from adjoint.core.spec import bfloat16

        try:
            return bfloat16()
        except ImportError as error:
            raise AttributeError(str(error)) from None
    if name in _MODULES:
        return _import_module(f"adjoint.{name}")
    if name in _FROM:
        return getattr(_import_module(f"adjoint.{_FROM[name]}"), name)
    raise _missing("adjoint", name, ops)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_FROM, "bfloat16"})
