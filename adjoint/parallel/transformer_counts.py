"""What one layer of a large transformer takes, counted on its own graph: it is traced on shapes, and no array of its size is ever made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import Shape, Spec, elements, float16
from adjoint.graph.node import Const, Graph, Node, Param
from adjoint.graph.trace import trace
from adjoint.parallel.graph_stages import held
from adjoint.parallel.schedules import check_positive
from adjoint.passes.cost import work
from adjoint.passes.forward_items import bytes_of, read_by_backward

TWO_BYTES = float16  # stands for bfloat16, which has as many bytes

#: The weights of a layer in their order, after its input and the two tables of rotations. Tensor parallelism splits those of the first kind by their columns, those of
#: the second by their rows; the scales of the norms are whole everywhere.
COLUMNS, ROWS, WHOLE = ("query", "key", "value", "gate", "up"), ("out", "down"), ("norm1", "norm2")


@dataclass(frozen=True)
class TransformerSize:
    """The sizes of a transformer of the Llama kind: grouped queries, rotary positions, gated feed-forward layers.

    >>> round(LLAMA_70B.parameters / 1e9, 2)
    68.98
    """

    layers: int
    width: int
    heads: int
    key_heads: int
    hidden: int
    vocabulary: int

    def __post_init__(self) -> None:
        if min(self.layers, self.width, self.heads, self.key_heads, self.hidden, self.vocabulary) < 1:
            raise ArgumentError(f"TransformerSize: every size must be above zero{called_at()}")
        if self.width % self.heads or self.heads % self.key_heads or self.width // self.heads % 2:
            raise ArgumentError(
                f"TransformerSize: the width must be heads times an even number, and heads a multiple of key_heads, not {self}{called_at()}"
            )

    @property
    def parameters(self) -> int:
        """All of them, with the table of words and the last product."""
        return self.layers * layer_counts(self).parameters + 2 * self.vocabulary * self.width + self.width


#: The sizes that were published for the model of 70 billion parameters.
LLAMA_70B = TransformerSize(layers=80, width=8192, heads=64, key_heads=8, hidden=28672, vocabulary=32000)


@dataclass(frozen=True)
class LayerCounts:
    """One layer on one micro-batch. All are of the whole layer, before any device takes its share.

    `kept_*` are the bytes that the backward pass reads, beside weights and the layer's input: `kept_whole` of values that tensor parallelism leaves whole,
    `kept_split` of those it splits, `kept_attention` of the matrices of attention, which it splits too. `reduced` are the bytes of each of the two sums over devices
    forward; there are two of the same size backward.
    """

    parameters: int
    flops: int
    attention_flops: int
    input_bytes: int
    kept_whole: int
    kept_split: int
    kept_attention: int
    reduced: int


def layer_graph(size: TransformerSize, sequence: int = 4096, micro_batch: int = 1) -> Graph:
    """The forward graph of one layer, traced on shapes alone.

    >>> graph = layer_graph(TransformerSize(1, 8, 2, 1, 16, 10), sequence=4)
    >>> sum(type(n.op).__name__ == "MatMul" for n in graph.calls)
    9
    """
    d, f, hd = size.width, size.hidden, size.width // size.heads
    keys = size.key_heads * hd
    shapes = [(micro_batch, sequence, d), (sequence, hd // 2), (sequence, hd // 2)]
    shapes += [(d, d), (d, keys), (d, keys), (d, f), (d, f), (d, d), (f, d), (d,), (d,)]
    specs = [Spec(s, TWO_BYTES) for s in shapes]
    return trace(lambda *xs: [_layer(size, *xs)], specs, "layer", replayed=True)[0]


def _layer(size: TransformerSize, x: Any, cos: Any, sin: Any, *weights: Any) -> Any:
    w = dict(zip((*COLUMNS, *ROWS, *WHOLE), weights, strict=True))
    b, s, d = x.shape
    groups, hd = size.heads // size.key_heads, d // size.heads
    h = ops.rms_norm(x, w["norm1"])
    h = h[0] if isinstance(h, tuple) else h
    q = _turned(_by_head(h @ w["query"], size.heads), cos, sin)
    k, v = _turned(_by_head(h @ w["key"], size.key_heads), cos, sin), _by_head(h @ w["value"], size.key_heads)
    q = ops.reshape(q, (b, size.key_heads, groups * s, hd))  # the queries of a group read the same keys
    scores = ops.reshape(q @ ops.transpose(k, (0, 1, 3, 2)), (b, size.key_heads, groups, s, s)) * hd**-0.5
    mixed = ops.reshape(ops.softmax(scores, -1), (b, size.key_heads, groups * s, s)) @ v
    mixed = ops.transpose(ops.reshape(mixed, (b, size.heads, s, hd)), (0, 2, 1, 3))
    x = x + ops.reshape(mixed, (b, s, d)) @ w["out"]
    h = ops.rms_norm(x, w["norm2"])
    h = h[0] if isinstance(h, tuple) else h
    return x + (ops.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]


def _by_head(x: Any, heads: int) -> Any:
    b, s, n = x.shape
    return ops.transpose(ops.reshape(x, (b, s, heads, n // heads)), (0, 2, 1, 3))


def _turned(x: Any, cos: Any, sin: Any) -> Any:
    """Rotary positions: pairs of elements turned by an angle that grows with the position."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return ops.cat((a * cos - b * sin, a * sin + b * cos), -1)


@lru_cache(maxsize=64)
def layer_counts(size: TransformerSize, sequence: int = 4096, micro_batch: int = 1) -> LayerCounts:
    """The counts of one layer, from the shapes in its graph.

    >>> counts = layer_counts(LLAMA_70B)
    >>> counts.parameters, f"{counts.flops:.3g}", f"{counts.input_bytes:,}"
    (855654400, '7.59e+12', '67,108,864')
    """
    check_positive("layer_counts", "sequence", sequence)
    check_positive("layer_counts", "micro_batch", micro_batch)
    graph = layer_graph(size, sequence, micro_batch)
    wanted = (0, *range(3, len(graph.params)))
    names = dict(zip(graph.params[3:], (*COLUMNS, *ROWS, *WHOLE), strict=True))
    split, sums = _split(graph, names)
    kept = {held(n) for n in read_by_backward(graph, wanted)[0]}
    kept = {n for n in kept if not isinstance(n.op, (Param, Const))}
    square = {n for n in graph.nodes if _is_square(n, sequence)}
    return LayerCounts(
        parameters=elements(*(p.spec for p in names)),
        flops=sum(work(n).flops for n in graph.calls),
        attention_flops=sum(work(n).flops for n in graph.calls if n in square),
        input_bytes=bytes_of(graph.params[0].spec),
        kept_whole=_bytes(kept - split),
        kept_split=_bytes(kept & split - square),
        kept_attention=_bytes(kept & square),
        reduced=bytes_of(sums[0].spec),
    )


def _split(graph: Graph, names: dict[Node, str]) -> tuple[set[Node], list[Node]]:
    """The values that tensor parallelism splits, and the products whose parts must be added up."""
    split = {p for p, name in names.items() if name in COLUMNS}
    sums = []
    for node in graph.nodes:
        if any(names.get(i) in ROWS for i in node.inputs):
            sums.append(node)
        elif any(i in split for i in node.inputs):
            split.add(node)
    return split, sums


def _is_square(node: Node, sequence: int) -> bool:
    """Whether a value has an element for every pair of positions."""
    shape: Shape = () if isinstance(node.spec, tuple) else node.spec.shape
    return len(shape) > 3 and shape[-1] == sequence and shape[-2] % sequence == 0


def _bytes(nodes: Sequence[Node] | set[Node]) -> int:
    return sum(bytes_of(n.spec) for n in nodes)
