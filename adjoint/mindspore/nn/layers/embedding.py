"""Tables of vectors."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.parameter import Parameter
from adjoint.core.spec import float32
from adjoint.mindspore.nn.cell import Cell
from adjoint.nn.initializer import initializer

__all__ = ["EmbeddingExt", "EmbeddingLookup"]


class EmbeddingExt(Cell):
    """Rows of a table at integers."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if max_norm is not None or scale_grad_by_freq:
            raise NotImplementedError("nn.EmbeddingExt with max_norm or scale_grad_by_freq is not provided")
        kind = float32 if dtype is None else dtype
        table = initializer("normal" if _weight is None else _weight, (num_embeddings, embedding_dim), kind).asnumpy()
        if padding_idx is not None and _weight is None:
            table[padding_idx] = 0
        self.padding_idx = padding_idx
        self.weight = Parameter(table, name="weight", requires_grad=not _freeze)

    def construct(self, input: Any) -> Any:
        return ops.embedding(input, self.weight, self.padding_idx)


class EmbeddingLookup(Cell):
    """Rows of a table at integers, shortened to `max_norm` if one is given."""

    def __init__(
        self, vocab_size: int, embedding_size: int, param_init: Any = "normal", target: str = "CPU",
        slice_mode: str = "batch_slice", manual_shapes: Any = None, max_norm: float | None = None, sparse: bool = True,
        dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.vocab_size, self.embedding_size, self.max_norm = vocab_size, embedding_size, max_norm
        start = initializer(param_init, (vocab_size, embedding_size), dtype)
        self.embedding_table = Parameter(start, name="embedding_table")

    def construct(self, indices: Any) -> Any:
        rows = ops.embedding(indices, self.embedding_table)
        return rows if self.max_norm is None else ops.clip_by_norm(rows, self.max_norm, -1)
