"""mindspore.nn.dynamic_lr: lists of learning rates, one for each step."""

from adjoint.optim.dynamic_lr import cosine_decay_lr as cosine_decay_lr
from adjoint.optim.dynamic_lr import exponential_decay_lr as exponential_decay_lr
from adjoint.optim.dynamic_lr import inverse_decay_lr as inverse_decay_lr
from adjoint.optim.dynamic_lr import natural_exp_decay_lr as natural_exp_decay_lr
from adjoint.optim.dynamic_lr import piecewise_constant_lr as piecewise_constant_lr
from adjoint.optim.dynamic_lr import polynomial_decay_lr as polynomial_decay_lr
from adjoint.optim.dynamic_lr import warmup_lr as warmup_lr
