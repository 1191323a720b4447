"""What a machine does in a second: the numbers that cuts, schedules and estimates of many devices are worked out with."""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.core.errors import ArgumentError, called_at


@dataclass(frozen=True)
class Machine:
    """Devices in nodes: rates of one device, of the links inside a node, and of the network between nodes.

    `flops` are operations per second at the `share` of the peak that programs reach in practice, bandwidths are bytes per second in each direction and for
    each device, latencies are seconds for each message. A transfer of `b` bytes takes latency + b / bandwidth.

    >>> Machine("two at 1 GB/s", link_bandwidth=1e9, link_latency=0.0).transfer(2_000_000)
    0.002
    """

    name: str = "a CPU core"
    peak_flops: float = 2e10
    share: float = 0.5
    memory_bandwidth: float = 1e10
    memory: float = 8e9
    link_bandwidth: float = 1e10
    link_latency: float = 1e-6
    devices_per_node: int = 8
    network_bandwidth: float = 1e9
    network_latency: float = 5e-5

    def __post_init__(self) -> None:
        for name in ("peak_flops", "share", "memory_bandwidth", "memory", "link_bandwidth", "network_bandwidth"):
            if not getattr(self, name) > 0:
                raise ArgumentError(f"Machine: {name} must be above zero, not {getattr(self, name)!r}{called_at()}")
        if self.link_latency < 0 or self.network_latency < 0:
            raise ArgumentError(f"Machine: a latency must not be below zero{called_at()}")
        if not isinstance(self.devices_per_node, int) or self.devices_per_node < 1:
            raise ArgumentError(
                f"Machine: devices_per_node must be an integer above zero, not {self.devices_per_node!r}{called_at()}"
            )

    @property
    def flops(self) -> float:
        """Operations per second that programs reach."""
        return self.peak_flops * self.share

    def seconds(self, flops: float, moved: float) -> float:
        """How long a step takes: its arithmetic or its traffic with memory, whichever is longer."""
        return max(flops / self.flops, moved / self.memory_bandwidth)

    def transfer(self, count: float, between_nodes: bool = False) -> float:
        """How long some bytes take from one device to another."""
        if between_nodes:
            return self.network_latency + count / self.network_bandwidth
        return self.link_latency + count / self.link_bandwidth


#: One core of a CPU and memory that all share; what cuts are worked out with if nothing else is said.
CPU_CORE = Machine()

#: Nodes of eight H100 SXM: data-sheet rates (989 Tflop/s in bfloat16, 80 GB at 3.35 TB/s, NVLink 450 GB/s each way, a 400 Gbit/s adapter for each GPU);
#: the share of the peak and the latencies are assumptions.
H100 = Machine("H100 SXM, 8 in a node", 989e12, 0.5, 3.35e12, 80e9, 450e9, 3e-6, 8, 50e9, 1e-5)
