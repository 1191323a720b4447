"""Programs that sort, look up and scatter: distances of samples, the largest of many, words, graphs, time warping."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Inputs, Workload, normal, weight

FAMILIES = ("adjoint", "torch", "jax")


def transport(F: Any, x: Any, y: Any) -> Any:
    """The cost of moving one sample to another along a line."""
    return F.mean((F.sort(x)[0] - F.sort(y)[0]) ** 2)


def largest(F: Any, scores: Any, labels: Any) -> Any:
    """Cross-entropy against the sixteen largest scores of each row."""
    return F.mean(F.logsumexp(F.topk(scores, 16)[0], 1)) - F.mean(scores[labels, labels])


def labelled(F: Any, scores: Any, labels: Any) -> Any:
    return F.cross_entropy(scores, labels)


def messages(F: Any, params: Any, nodes: Any, senders: Any, receivers: Any) -> Any:
    """Two layers of message passing over the edges of a graph."""
    for w_message, w_own, b in zip(*[iter(params)] * 3, strict=True):
        sent = F.relu(F.matmul(nodes, w_message)[senders])
        nodes = F.relu(F.matmul(nodes, w_own) + F.segment_sum(sent, receivers, nodes.shape[0]) + b)
    return F.mean(nodes * nodes)


def graph_inputs(rng: np.random.Generator, nodes: int, edges: int, width: int) -> Inputs:
    layer = [(width, width), (width, width), (width,)]
    params = [weight(rng, *shape) if len(shape) > 1 else normal(rng, *shape) for shape in layer * 2]
    return params, normal(rng, nodes, width), rng.integers(0, nodes, edges), rng.integers(0, nodes, edges)


# ------------------------------------------------------------ soft dynamic time warping


def softest(F: Any, a: Any, b: Any, c: Any) -> Any:
    """A smooth minimum."""
    low = F.minimum(F.minimum(a, b), c)
    return low - F.log(F.exp(low - a) + F.exp(low - b) + F.exp(low - c))


def warping(F: Any, x: Any, y: Any) -> Any:
    """Element by element, as it stands in the paper."""
    n, m = x.shape[0], y.shape[0]
    costs = (x[:, None] - y) ** 2
    paths = F.full((n + 1, m + 1), np.inf, np.float64)
    paths[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            paths[i + 1, j + 1] = costs[i, j] + softest(F, paths[i, j], paths[i, j + 1], paths[i + 1, j])
    return paths[n, m]


def warping_torch(F: Any, x: Any, y: Any) -> Any:
    """A list of rows: PyTorch cannot write to what the derivative needs."""
    costs = (x[:, None] - y) ** 2
    n, m = costs.shape
    far = costs[0, 0] * 0.0 + F.inf
    above = [costs[0, 0] * 0.0] + [far] * m
    for i in range(n):
        row = [far]
        for j in range(m):
            row.append(costs[i, j] + softest(F, above[j], above[j + 1], row[j]))
        above = row
    return above[m]


def warping_jax(F: Any, x: Any, y: Any) -> Any:
    import jax

    costs = (x[:, None] - y) ** 2
    far = F.inf

    def row(above: Any, costs: Any) -> Any:
        def cell(left: Any, at: Any) -> Any:
            here = at[0] + softest(F, at[1], at[2], left)
            return here, here

        cells = jax.lax.scan(cell, far, (costs, above[:-1], above[1:]))[1]
        return F.concat([F.stack([far * F.ones_like(cells[0])]), cells]), None

    start = F.concat([x[:1] * 0.0, F.ones_like(y) * far])
    return jax.lax.scan(row, start, costs)[0][-1]


def workloads(tiny: bool) -> list[Workload]:
    count, rows, words = (5, 3, 20) if tiny else (100_000, 1_024, 4_096)
    length = 3 if tiny else 48
    sizes = (5, 9, 3) if tiny else (4_000, 32_000, 64)
    return [
        Workload(
            name="transport",
            title=f"transport between two samples of {count:,} (sort)",
            what="gradient",
            inputs=lambda rng: (rng.normal(size=count), rng.normal(size=count)),  # float32 has ties at this size
            program=transport,
            tolerance=1e-9,
            families=FAMILIES,
        ),
        Workload(
            name="largest",
            title=f"the 16 largest of {words:,} scores, {rows:,} rows (top-k)",
            what="gradient",
            inputs=lambda rng: (normal(rng, rows, words), rng.integers(0, min(rows, words), rows)),
            program=largest,
            tolerance=1e-4,
            families=FAMILIES,
        ),
        Workload(
            name="labels",
            title=f"cross-entropy by labels, {rows:,} rows of {words:,}",
            what="gradient",
            inputs=lambda rng: (normal(rng, rows, words), rng.integers(0, words, rows)),
            program=labelled,
            tolerance=1e-4,
            families=FAMILIES,
        ),
        Workload(
            name="messages",
            title=f"message passing, {sizes[0]:,} nodes, {sizes[1]:,} edges, width {sizes[2]}",
            what="gradient",
            inputs=lambda rng: graph_inputs(rng, *sizes),
            program=messages,
            tolerance=1e-3,
            families=FAMILIES,
        ),
        Workload(
            name="warping",
            title=f"soft dynamic time warping, {length}×{length}, by elements",
            what="gradient",
            inputs=lambda rng: (rng.normal(size=length), rng.normal(size=length)),
            program=warping,
            others={"torch": warping_torch, "jax": warping_jax},
            tolerance=1e-8,
            families=FAMILIES,
        ),
    ]
