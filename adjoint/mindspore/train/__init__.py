"""mindspore.train."""

from adjoint.mindspore import nn as _nn
from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.exported import export as export
from adjoint.mindspore.exported import load as load
from adjoint.mindspore.train import amp as amp
from adjoint.mindspore.train import callback as callback
from adjoint.mindspore.train import loss_scale_manager as loss_scale_manager
from adjoint.mindspore.train import metrics as metrics
from adjoint.mindspore.train import serialization as serialization
from adjoint.mindspore.train.amp import build_train_network as build_train_network
from adjoint.mindspore.train.callback import *
from adjoint.mindspore.train.dataset_helper import DatasetHelper as DatasetHelper
from adjoint.mindspore.train.dataset_helper import connect_network_with_dataset as connect_network_with_dataset
from adjoint.mindspore.train.dataset_helper import data_sink as data_sink
from adjoint.mindspore.train.loss_scale_manager import DynamicLossScaleManager as DynamicLossScaleManager
from adjoint.mindspore.train.loss_scale_manager import FixedLossScaleManager as FixedLossScaleManager
from adjoint.mindspore.train.loss_scale_manager import LossScaleManager as LossScaleManager
from adjoint.mindspore.train.metrics import *
from adjoint.mindspore.train.model import Model as Model
from adjoint.mindspore.train.serialization import async_ckpt_thread_status as async_ckpt_thread_status
from adjoint.mindspore.train.serialization import ckpt_to_safetensors as ckpt_to_safetensors
from adjoint.mindspore.train.serialization import load_checkpoint as load_checkpoint
from adjoint.mindspore.train.serialization import load_checkpoint_async as load_checkpoint_async
from adjoint.mindspore.train.serialization import load_distributed_checkpoint as load_distributed_checkpoint
from adjoint.mindspore.train.serialization import load_param_into_net as load_param_into_net
from adjoint.mindspore.train.serialization import safetensors_to_ckpt as safetensors_to_ckpt
from adjoint.mindspore.train.serialization import save_checkpoint as save_checkpoint

__getattr__ = _fallback(__name__, "train")
