"""Many devices: graphs cut into stages, and what the layouts of a large model cost.

>>> from adjoint import parallel
>>> parallel.H100.devices_per_node
8
"""

from adjoint.parallel.cut_graph import CutGraph, Stage, cut_graph
from adjoint.parallel.machines import CPU_CORE, H100, Machine

__all__ = ["CPU_CORE", "H100", "CutGraph", "Machine", "Stage", "cut_graph"]
