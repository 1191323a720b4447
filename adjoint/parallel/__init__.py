"""Many devices: meshes and layouts, graphs cut into stages, and what the layouts of a large model cost.

>>> from adjoint import parallel
>>> parallel.H100.devices_per_node
8
"""

from adjoint.parallel.constraint import constrain
from adjoint.parallel.device_mesh import Mesh, mesh, virtual_devices
from adjoint.parallel.graph_stages import CutGraph, Stage, cut_graph
from adjoint.parallel.machines import CPU_CORE, H100, Machine
from adjoint.parallel.pipelined_step import Pipeline, pipeline
from adjoint.parallel.process_group import barrier, initialize, processes, rank
from adjoint.parallel.schedules import PipelineSchedule, Task, Timeline, pipeline_schedule

__all__ = [
    "CPU_CORE",
    "CutGraph",
    "H100",
    "Machine",
    "Mesh",
    "Pipeline",
    "PipelineSchedule",
    "Stage",
    "Task",
    "Timeline",
    "barrier",
    "constrain",
    "cut_graph",
    "initialize",
    "mesh",
    "pipeline",
    "pipeline_schedule",
    "processes",
    "rank",
    "virtual_devices",
]
