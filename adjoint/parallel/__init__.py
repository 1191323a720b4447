"""Many devices: meshes, layouts and split batches, graphs cut into stages, and what the layouts of a large model cost.

>>> from adjoint import parallel
>>> parallel.H100.devices_per_node
8
"""

from adjoint.parallel.constraint import constrain
from adjoint.parallel.device_mesh import Mesh, mesh, virtual_devices
from adjoint.parallel.graph_stages import CutGraph, Stage, cut_graph
from adjoint.parallel.kept_checkpoints import Checkpoints
from adjoint.parallel.layout_estimates import (
    DeviceLayout,
    LayoutComparison,
    LayoutEstimate,
    compare_layouts,
    estimate_layout,
)
from adjoint.parallel.layout_table import gathered, picture, show, to_host
from adjoint.parallel.machines import CPU_CORE, H100, Machine
from adjoint.parallel.parameter_layouts import (
    lay_out,
    layout,
    layout_of,
    place,
    split_columns,
    split_rows,
    tensor_parallel,
)
from adjoint.parallel.pipelined_step import Pipeline, pipeline
from adjoint.parallel.process_batches import global_batch, local_batch, local_rows
from adjoint.parallel.process_group import barrier, initialize, processes, rank
from adjoint.parallel.schedules import PipelineSchedule, Task, Timeline, pipeline_schedule
from adjoint.parallel.sharded_checkpoint import load, save
from adjoint.parallel.sharded_state import zero
from adjoint.parallel.split_batches import DataParallel, data_parallel
from adjoint.parallel.transformer_counts import LLAMA_70B, LayerCounts, TransformerSize, layer_counts

__all__ = [
    "CPU_CORE",
    "Checkpoints",
    "CutGraph",
    "DeviceLayout",
    "DataParallel",
    "H100",
    "LLAMA_70B",
    "LayerCounts",
    "LayoutComparison",
    "LayoutEstimate",
    "Machine",
    "Mesh",
    "Pipeline",
    "PipelineSchedule",
    "Stage",
    "Task",
    "Timeline",
    "TransformerSize",
    "barrier",
    "compare_layouts",
    "constrain",
    "cut_graph",
    "estimate_layout",
    "global_batch",
    "initialize",
    "layer_counts",
    "load",
    "local_batch",
    "local_rows",
    "data_parallel",
    "gathered",
    "lay_out",
    "layout",
    "layout_of",
    "mesh",
    "picture",
    "pipeline",
    "pipeline_schedule",
    "processes",
    "rank",
    "save",
    "place",
    "show",
    "split_columns",
    "split_rows",
    "tensor_parallel",
    "to_host",
    "virtual_devices",
    "zero",
]
