"""mindspore.experimental.optim."""

from adjoint.mindspore.experimental.optim import lr_scheduler as lr_scheduler
from adjoint.mindspore.experimental.optim.optimizer import Optimizer as Optimizer
from adjoint.mindspore.experimental.optim.optimizers import ASGD as ASGD
from adjoint.mindspore.experimental.optim.optimizers import SGD as SGD
from adjoint.mindspore.experimental.optim.optimizers import Adadelta as Adadelta
from adjoint.mindspore.experimental.optim.optimizers import Adagrad as Adagrad
from adjoint.mindspore.experimental.optim.optimizers import Adam as Adam
from adjoint.mindspore.experimental.optim.optimizers import Adamax as Adamax
from adjoint.mindspore.experimental.optim.optimizers import AdamW as AdamW
from adjoint.mindspore.experimental.optim.optimizers import NAdam as NAdam
from adjoint.mindspore.experimental.optim.optimizers import RAdam as RAdam
from adjoint.mindspore.experimental.optim.optimizers import RMSprop as RMSprop
from adjoint.mindspore.experimental.optim.optimizers import Rprop as Rprop
