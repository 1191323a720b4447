"""Mixed precision, by MindSpore's names: `amp.auto_mixed_precision(net, "O1")`. Scaled losses are in `adjoint.train`."""

from adjoint.nn.precision import auto_mixed_precision as auto_mixed_precision
from adjoint.nn.precision import autocast as autocast
from adjoint.nn.precision import custom_mixed_precision as custom_mixed_precision
from adjoint.nn.precision import get_black_list as get_black_list
from adjoint.nn.precision import get_white_list as get_white_list
from adjoint.train.scaling import DynamicLossScaleManager as DynamicLossScaleManager
from adjoint.train.scaling import DynamicLossScaler as DynamicLossScaler
from adjoint.train.scaling import FixedLossScaleManager as FixedLossScaleManager
from adjoint.train.scaling import LossScale as LossScale
from adjoint.train.scaling import StaticLossScaler as StaticLossScaler
from adjoint.train.scaling import all_finite as all_finite


def __getattr__(name: str) -> object:
    from adjoint.core.other_words import missing

    raise missing("adjoint.amp", name)
