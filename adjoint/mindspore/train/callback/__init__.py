"""mindspore.train.callback."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.train.callback._callback import Callback as Callback
from adjoint.mindspore.train.callback._callback import InternalCallbackParam as _InternalCallbackParam
from adjoint.mindspore.train.callback._callback import RunContext as RunContext
from adjoint.mindspore.train.callback._checkpoint import CheckpointConfig as CheckpointConfig
from adjoint.mindspore.train.callback._checkpoint import ModelCheckpoint as ModelCheckpoint
from adjoint.mindspore.train.callback._monitors import EarlyStopping as EarlyStopping
from adjoint.mindspore.train.callback._monitors import History as History
from adjoint.mindspore.train.callback._monitors import LambdaCallback as LambdaCallback
from adjoint.mindspore.train.callback._monitors import LearningRateScheduler as LearningRateScheduler
from adjoint.mindspore.train.callback._monitors import LossMonitor as LossMonitor
from adjoint.mindspore.train.callback._monitors import ReduceLROnPlateau as ReduceLROnPlateau
from adjoint.mindspore.train.callback._monitors import TimeMonitor as TimeMonitor

InternalCallbackParam = _InternalCallbackParam
__getattr__ = _fallback(__name__, "train")
