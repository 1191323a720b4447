"""mindspore.nn.wrap: Cells around networks, for training and evaluation."""

from adjoint.mindspore.nn.wrap import cell_wrapper as cell_wrapper
from adjoint.mindspore.nn.wrap import grad_reducer as grad_reducer
from adjoint.mindspore.nn.wrap import loss_scale as loss_scale
from adjoint.mindspore.nn.wrap.cell_wrapper import ForwardValueAndGrad as ForwardValueAndGrad
from adjoint.mindspore.nn.wrap.cell_wrapper import GetNextSingleOp as GetNextSingleOp
from adjoint.mindspore.nn.wrap.cell_wrapper import GradAccumulationCell as GradAccumulationCell
from adjoint.mindspore.nn.wrap.cell_wrapper import MicroBatchInterleaved as MicroBatchInterleaved
from adjoint.mindspore.nn.wrap.cell_wrapper import ParameterUpdate as ParameterUpdate
from adjoint.mindspore.nn.wrap.cell_wrapper import PipelineCell as PipelineCell
from adjoint.mindspore.nn.wrap.cell_wrapper import TrainOneStepCell as TrainOneStepCell
from adjoint.mindspore.nn.wrap.cell_wrapper import VirtualDatasetCellTriple as VirtualDatasetCellTriple
from adjoint.mindspore.nn.wrap.cell_wrapper import WithEvalCell as WithEvalCell
from adjoint.mindspore.nn.wrap.cell_wrapper import WithGradCell as WithGradCell
from adjoint.mindspore.nn.wrap.cell_wrapper import WithLossCell as WithLossCell
from adjoint.mindspore.nn.wrap.grad_reducer import DistributedGradReducer as DistributedGradReducer
from adjoint.mindspore.nn.wrap.grad_reducer import PipelineGradReducer as PipelineGradReducer
from adjoint.mindspore.nn.wrap.loss_scale import DynamicLossScaleUpdateCell as DynamicLossScaleUpdateCell
from adjoint.mindspore.nn.wrap.loss_scale import FixedLossScaleUpdateCell as FixedLossScaleUpdateCell
from adjoint.mindspore.nn.wrap.loss_scale import TrainOneStepWithLossScaleCell as TrainOneStepWithLossScaleCell
