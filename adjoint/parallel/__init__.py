"""Many devices: graphs cut into stages, and what the layouts of a large model cost.

>>> from adjoint import parallel
>>> parallel.H100.devices_per_node
8
"""

from adjoint.parallel.graph_stages import CutGraph, Stage, cut_graph
from adjoint.parallel.machines import CPU_CORE, H100, Machine
from adjoint.parallel.pipelined_step import Pipeline, pipeline
from adjoint.parallel.schedules import PipelineSchedule, Task, Timeline, pipeline_schedule

__all__ = [
    "CPU_CORE",
    "H100",
    "CutGraph",
    "Machine",
    "Pipeline",
    "PipelineSchedule",
    "Stage",
    "Task",
    "Timeline",
    "cut_graph",
    "pipeline",
    "pipeline_schedule",
]
