"""mindspore.nn.optim: the optimizers. Each is a Cell; its Parameters, slots and rates have MindSpore's names."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.nn.optim.adam import Adam as Adam
from adjoint.mindspore.nn.optim.adam import AdaMax as AdaMax
from adjoint.mindspore.nn.optim.adam import AdamOffload as AdamOffload
from adjoint.mindspore.nn.optim.adam import AdamWeightDecay as AdamWeightDecay
from adjoint.mindspore.nn.optim.adam import Lamb as Lamb
from adjoint.mindspore.nn.optim.adam import LazyAdam as LazyAdam
from adjoint.mindspore.nn.optim.adaptive import FTRL as FTRL
from adjoint.mindspore.nn.optim.adaptive import Adadelta as Adadelta
from adjoint.mindspore.nn.optim.adaptive import AdaFactor as AdaFactor
from adjoint.mindspore.nn.optim.adaptive import Adagrad as Adagrad
from adjoint.mindspore.nn.optim.adaptive import ProximalAdagrad as ProximalAdagrad
from adjoint.mindspore.nn.optim.adaptive import RMSProp as RMSProp
from adjoint.mindspore.nn.optim.descent import ASGD as ASGD
from adjoint.mindspore.nn.optim.descent import SGD as SGD
from adjoint.mindspore.nn.optim.descent import Momentum as Momentum
from adjoint.mindspore.nn.optim.descent import Rprop as Rprop
from adjoint.mindspore.nn.optim.lars import LARS as LARS
from adjoint.mindspore.nn.optim.optimizer import Optimizer as Optimizer
from adjoint.mindspore.nn.optim.optimizer import opt_init_args_register as opt_init_args_register

__getattr__ = _fallback(__name__, "nn")
