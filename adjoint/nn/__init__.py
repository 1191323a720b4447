"""Networks: cells that hold Parameters, layers, activations and losses, with MindSpore's arguments and names."""

from adjoint.nn import initializer as initializer
from adjoint.nn.activation import FastGelu as FastGelu
from adjoint.nn.activation import HSigmoid as HSigmoid
from adjoint.nn.activation import HSwish as HSwish
from adjoint.nn.activation import Identity as Identity
from adjoint.nn.activation import LogSigmoid as LogSigmoid
from adjoint.nn.activation import Mish as Mish
from adjoint.nn.activation import ReLU as ReLU
from adjoint.nn.activation import ReLU6 as ReLU6
from adjoint.nn.activation import SeLU as SeLU
from adjoint.nn.activation import Sigmoid as Sigmoid
from adjoint.nn.activation import SiLU as SiLU
from adjoint.nn.activation import Softsign as Softsign
from adjoint.nn.activation import Tanh as Tanh
from adjoint.nn.activation import Tanhshrink as Tanhshrink
from adjoint.nn.activation import get_activation as get_activation
from adjoint.nn.basic import Dense as Dense
from adjoint.nn.basic import Dropout as Dropout
from adjoint.nn.basic import Dropout1d as Dropout1d
from adjoint.nn.basic import Dropout2d as Dropout2d
from adjoint.nn.basic import Dropout3d as Dropout3d
from adjoint.nn.basic import Embedding as Embedding
from adjoint.nn.basic import Flatten as Flatten
from adjoint.nn.basic import Unflatten as Unflatten
from adjoint.nn.calling import HookHandle as HookHandle
from adjoint.nn.cell import Cell as Cell
from adjoint.nn.container import CellDict as CellDict
from adjoint.nn.container import CellList as CellList
from adjoint.nn.container import SequentialCell as SequentialCell
from adjoint.nn.conv import Conv1d as Conv1d
from adjoint.nn.conv import Conv1dTranspose as Conv1dTranspose
from adjoint.nn.conv import Conv2d as Conv2d
from adjoint.nn.conv import Conv2dTranspose as Conv2dTranspose
from adjoint.nn.conv import Conv3d as Conv3d
from adjoint.nn.conv import Conv3dTranspose as Conv3dTranspose
from adjoint.nn.loss import BCELoss as BCELoss
from adjoint.nn.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from adjoint.nn.loss import CrossEntropyLoss as CrossEntropyLoss
from adjoint.nn.loss import CTCLoss as CTCLoss
from adjoint.nn.loss import DiceLoss as DiceLoss
from adjoint.nn.loss import GaussianNLLLoss as GaussianNLLLoss
from adjoint.nn.loss import HuberLoss as HuberLoss
from adjoint.nn.loss import KLDivLoss as KLDivLoss
from adjoint.nn.loss import L1Loss as L1Loss
from adjoint.nn.loss import LossBase as LossBase
from adjoint.nn.loss import MAELoss as MAELoss
from adjoint.nn.loss import MSELoss as MSELoss
from adjoint.nn.loss import NLLLoss as NLLLoss
from adjoint.nn.loss import PoissonNLLLoss as PoissonNLLLoss
from adjoint.nn.loss import RMSELoss as RMSELoss
from adjoint.nn.loss import SmoothL1Loss as SmoothL1Loss
from adjoint.nn.loss import SoftmaxCrossEntropyWithLogits as SoftmaxCrossEntropyWithLogits
from adjoint.nn.margin import CosineEmbeddingLoss as CosineEmbeddingLoss
from adjoint.nn.margin import HingeEmbeddingLoss as HingeEmbeddingLoss
from adjoint.nn.margin import MarginRankingLoss as MarginRankingLoss
from adjoint.nn.margin import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from adjoint.nn.margin import MultiMarginLoss as MultiMarginLoss
from adjoint.nn.margin import SoftMarginLoss as SoftMarginLoss
from adjoint.nn.margin import TripletMarginLoss as TripletMarginLoss
from adjoint.nn.modules import Linear as Linear
from adjoint.nn.modules import Module as Module
from adjoint.nn.network_summary import summary as summary
from adjoint.nn.normalization import BatchNorm1d as BatchNorm1d
from adjoint.nn.normalization import BatchNorm2d as BatchNorm2d
from adjoint.nn.normalization import BatchNorm3d as BatchNorm3d
from adjoint.nn.normalization import GroupNorm as GroupNorm
from adjoint.nn.normalization import InstanceNorm1d as InstanceNorm1d
from adjoint.nn.normalization import InstanceNorm2d as InstanceNorm2d
from adjoint.nn.normalization import InstanceNorm3d as InstanceNorm3d
from adjoint.nn.normalization import LayerNorm as LayerNorm
from adjoint.nn.normalization import RMSNorm as RMSNorm
from adjoint.nn.padding import ConstantPad1d as ConstantPad1d
from adjoint.nn.padding import ConstantPad2d as ConstantPad2d
from adjoint.nn.padding import ConstantPad3d as ConstantPad3d
from adjoint.nn.padding import Pad as Pad
from adjoint.nn.padding import PixelShuffle as PixelShuffle
from adjoint.nn.padding import PixelUnshuffle as PixelUnshuffle
from adjoint.nn.padding import ReflectionPad1d as ReflectionPad1d
from adjoint.nn.padding import ReflectionPad2d as ReflectionPad2d
from adjoint.nn.padding import ReflectionPad3d as ReflectionPad3d
from adjoint.nn.padding import ReplicationPad1d as ReplicationPad1d
from adjoint.nn.padding import ReplicationPad2d as ReplicationPad2d
from adjoint.nn.padding import ReplicationPad3d as ReplicationPad3d
from adjoint.nn.padding import Upsample as Upsample
from adjoint.nn.padding import ZeroPad2d as ZeroPad2d
from adjoint.nn.pool import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from adjoint.nn.pool import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from adjoint.nn.pool import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from adjoint.nn.pool import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from adjoint.nn.pool import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from adjoint.nn.pool import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from adjoint.nn.pool import AvgPool1d as AvgPool1d
from adjoint.nn.pool import AvgPool2d as AvgPool2d
from adjoint.nn.pool import AvgPool3d as AvgPool3d
from adjoint.nn.pool import MaxPool1d as MaxPool1d
from adjoint.nn.pool import MaxPool2d as MaxPool2d
from adjoint.nn.pool import MaxPool3d as MaxPool3d
from adjoint.nn.recurrent import GRU as GRU
from adjoint.nn.recurrent import LSTM as LSTM
from adjoint.nn.recurrent import RNN as RNN
from adjoint.nn.recurrent import GRUCell as GRUCell
from adjoint.nn.recurrent import LSTMCell as LSTMCell
from adjoint.nn.recurrent import RNNCell as RNNCell
from adjoint.nn.transformer import MultiheadAttention as MultiheadAttention
from adjoint.nn.transformer import Transformer as Transformer
from adjoint.nn.transformer import TransformerDecoder as TransformerDecoder
from adjoint.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from adjoint.nn.transformer import TransformerEncoder as TransformerEncoder
from adjoint.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from adjoint.nn.tuned import CELU as CELU
from adjoint.nn.tuned import ELU as ELU
from adjoint.nn.tuned import GELU as GELU
from adjoint.nn.tuned import GLU as GLU
from adjoint.nn.tuned import Hardtanh as Hardtanh
from adjoint.nn.tuned import HShrink as HShrink
from adjoint.nn.tuned import LeakyReLU as LeakyReLU
from adjoint.nn.tuned import LogSoftmax as LogSoftmax
from adjoint.nn.tuned import PReLU as PReLU
from adjoint.nn.tuned import Softmax as Softmax
from adjoint.nn.tuned import Softmin as Softmin
from adjoint.nn.tuned import Softplus as Softplus
from adjoint.nn.tuned import SoftShrink as SoftShrink
from adjoint.nn.tuned import Threshold as Threshold

#: PyTorch's names for them.
Sequential, ModuleList, ModuleDict = SequentialCell, CellList, CellDict

_OPTIM = frozenset(
    [
        "SGD",
        "Momentum",
        "Adam",
        "AdamW",
        "AdamWeightDecay",
        "Adagrad",
        "RMSProp",
        "Lamb",
        "LBFGS",
        "Optimizer",
        "LearningRateSchedule",
        "ExponentialDecayLR",
        "NaturalExpDecayLR",
        "InverseDecayLR",
        "CosineDecayLR",
        "PolynomialDecayLR",
        "WarmUpLR",
        "exponential_decay_lr",
        "natural_exp_decay_lr",
        "inverse_decay_lr",
        "cosine_decay_lr",
        "polynomial_decay_lr",
        "piecewise_constant_lr",
        "warmup_lr",
    ]
)
_TRAIN = frozenset(("ForwardValueAndGrad", "TrainOneStepCell", "WithLossCell"))


def __getattr__(name: str) -> object:
    """PyTorch's `nn.functional` is `ops`. MindSpore's `nn` holds the optimisers and training cells too; ours live in `optim` and `train`."""
    from importlib import import_module

    if name == "functional":
        return import_module("adjoint.ops")
    for names, module in ((_OPTIM, "adjoint.optim"), (_TRAIN, "adjoint.train")):
        if name in names:
            return getattr(import_module(module), name)
    from adjoint import ops
    from adjoint.core.other_words import missing

    raise missing("adjoint.nn", name, ops)
