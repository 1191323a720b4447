"""mindspore.mint.optim."""

from adjoint.mindspore.experimental.optim.optimizers import SGD as SGD
from adjoint.mindspore.experimental.optim.optimizers import Adam as Adam
from adjoint.mindspore.experimental.optim.optimizers import AdamW as AdamW

FusedAdamW = AdamW
