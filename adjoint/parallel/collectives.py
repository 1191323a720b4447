"""How long collectives take and what each device sends: rings, with a latency and a bandwidth for each kind of link.

A group of devices has `size` members, every `stride`-th device of the machine. Where several of them share a node, the ring goes in two levels: inside each
node over its links, and between nodes with each device's share over its own adapter. What a device sends is the same either way.
"""

from __future__ import annotations

from adjoint.parallel.machines import Machine


def sent_bytes(size: int, count: float) -> float:
    """What each device sends to gather `count` bytes in all from a group, or to reduce and scatter them.

    >>> sent_bytes(4, 1000)
    750.0
    """
    return count * (size - 1) / size


def levels(machine: Machine, size: int, stride: int) -> tuple[int, int]:
    """How many members of a group share a node, and on how many nodes it lies.

    >>> levels(Machine(devices_per_node=8), 32, 2), levels(Machine(devices_per_node=8), 16, 8)
    ((4, 8), (1, 16))
    """
    inside = max(1, min(size, machine.devices_per_node // stride))
    return inside, -(-size // inside)


def gather_time(machine: Machine, size: int, count: float, stride: int = 1) -> float:
    """Seconds of an all-gather of `count` bytes in all, or of a reduce-scatter, which is the same the other way round.

    >>> gather_time(Machine(link_bandwidth=1e9, link_latency=0.0), 4, 4e6)
    0.003
    """
    inside, nodes = levels(machine, size, stride)
    seconds = (inside - 1) * machine.link_latency + sent_bytes(inside, count) / machine.link_bandwidth
    between = (nodes - 1) * machine.network_latency + sent_bytes(nodes, count / inside) / machine.network_bandwidth
    return seconds + between


def all_reduce_time(machine: Machine, size: int, count: float, stride: int = 1) -> float:
    """Seconds of an all-reduce of `count` bytes on each device: a reduce-scatter and an all-gather."""
    return 2 * gather_time(machine, size, count, stride)
