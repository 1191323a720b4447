"""Optimisers, learning rate schedules, gradient clipping and accumulation, and training steps compiled whole."""

from adjoint.ops.functional.clipping import clip_by_global_norm as clip_by_global_norm
from adjoint.ops.functional.clipping import clip_by_norm as clip_by_norm
from adjoint.ops.functional.clipping import clip_by_value as clip_by_value
from adjoint.optim.accumulate import GradientAccumulation as GradientAccumulation
from adjoint.optim.adam import Adam as Adam
from adjoint.optim.adam import AdaMaxRule as AdaMaxRule
from adjoint.optim.adam import AdamRule as AdamRule
from adjoint.optim.adam import AdamW as AdamW
from adjoint.optim.adam import AdamWeightDecay as AdamWeightDecay
from adjoint.optim.adam import AdamWeightDecayRule as AdamWeightDecayRule
from adjoint.optim.adam import Lamb as Lamb
from adjoint.optim.adam import LambRule as LambRule
from adjoint.optim.adaptive import AdadeltaRule as AdadeltaRule
from adjoint.optim.adaptive import AdaFactorRule as AdaFactorRule
from adjoint.optim.adaptive import Adagrad as Adagrad
from adjoint.optim.adaptive import AdagradRule as AdagradRule
from adjoint.optim.adaptive import RMSProp as RMSProp
from adjoint.optim.adaptive import RMSPropRule as RMSPropRule
from adjoint.optim.dynamic_lr import cosine_decay_lr as cosine_decay_lr
from adjoint.optim.dynamic_lr import exponential_decay_lr as exponential_decay_lr
from adjoint.optim.dynamic_lr import inverse_decay_lr as inverse_decay_lr
from adjoint.optim.dynamic_lr import natural_exp_decay_lr as natural_exp_decay_lr
from adjoint.optim.dynamic_lr import piecewise_constant_lr as piecewise_constant_lr
from adjoint.optim.dynamic_lr import polynomial_decay_lr as polynomial_decay_lr
from adjoint.optim.dynamic_lr import warmup_lr as warmup_lr
from adjoint.optim.lbfgs import LBFGS as LBFGS
from adjoint.optim.momentum import SGD as SGD
from adjoint.optim.momentum import Momentum as Momentum
from adjoint.optim.momentum import MomentumRule as MomentumRule
from adjoint.optim.momentum import SGDRule as SGDRule
from adjoint.optim.optimizer import Optimizer as Optimizer
from adjoint.optim.proximal import FTRLRule as FTRLRule
from adjoint.optim.proximal import ProximalAdagradRule as ProximalAdagradRule
from adjoint.optim.rule import Rule as Rule
from adjoint.optim.schedule import CosineDecayLR as CosineDecayLR
from adjoint.optim.schedule import ExponentialDecayLR as ExponentialDecayLR
from adjoint.optim.schedule import InverseDecayLR as InverseDecayLR
from adjoint.optim.schedule import LearningRateSchedule as LearningRateSchedule
from adjoint.optim.schedule import NaturalExpDecayLR as NaturalExpDecayLR
from adjoint.optim.schedule import PolynomialDecayLR as PolynomialDecayLR
from adjoint.optim.schedule import WarmUpLR as WarmUpLR
from adjoint.optim.step import CompiledStep as CompiledStep
from adjoint.optim.step import compiled_step as compiled_step
from adjoint.optim.stepwise import ASGDRule as ASGDRule
from adjoint.optim.stepwise import RpropRule as RpropRule

AdaGrad = Adagrad


def __getattr__(name: str) -> object:
    from adjoint.core.other_words import missing

    raise missing("adjoint.optim", name)
