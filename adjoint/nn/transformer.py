"""Attention with several heads, and the layers of a transformer."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import dtype_of, float32, shape_of
from adjoint.nn.activation import Identity, activation_of
from adjoint.nn.basic import Dense, Dropout, positive
from adjoint.nn.cell import Cell
from adjoint.nn.container import CellList
from adjoint.nn.initializer import initializer
from adjoint.nn.normalization import LayerNorm
from adjoint.ops.functional.creation import zeros_beside


class MultiheadAttention(Cell):
    """Attention of `num_heads` heads, each in its part of `embed_dim`: returns the output and the weights.

    Inputs are (L, N, E), with `batch_first` (N, L, E), or (L, E) for a single sample. `attn_mask` (L, S) or (N * heads, L, S)
    and `key_padding_mask` (N, S) are true where a key must not be looked at, or hold numbers to add. `need_weights=False`
    gives None in place of the weights; they are the mean over the heads unless `average_attn_weights=False`. `add_bias_kv`
    adds a key and a value that are trained, `add_zero_attn` ones of zeros; no mask hides them.

    >>> import adjoint as ad
    >>> layer, x = ad.nn.MultiheadAttention(8, 2), ad.ops.ones((5, 1, 8))
    >>> output, weights = layer(x, x, x)
    >>> output.shape, weights.shape
    ((5, 1, 8), (1, 5, 5))
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, has_bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        positive("MultiheadAttention", embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise ArgumentError(
                f"MultiheadAttention: embed_dim {embed_dim} does not make {num_heads} equal heads{called_at()}"
            )
        self.embed_dim, self.num_heads, self.batch_first, self.has_bias = embed_dim, num_heads, batch_first, has_bias
        widths = (embed_dim, kdim or embed_dim, vdim or embed_dim)
        self.same_width = len(set(widths)) == 1
        if self.same_width:
            self.in_proj_weight = Parameter(initializer("xavier_uniform", (3 * embed_dim, embed_dim), dtype))
        else:
            for name, width in zip("qkv", widths, strict=True):
                weight = Parameter(initializer("xavier_uniform", (embed_dim, width), dtype))
                setattr(self, f"{name}_proj_weight", weight)
        self.in_proj_bias = Parameter(initializer("zeros", (3 * embed_dim,), dtype)) if has_bias else None
        self.add_bias_kv, self.add_zero_attn = add_bias_kv, add_zero_attn
        if add_bias_kv:
            self.bias_k = Parameter(initializer("xavier_normal", (1, 1, embed_dim), dtype))
            self.bias_v = Parameter(initializer("xavier_normal", (1, 1, embed_dim), dtype))
        self.out_proj = Dense(embed_dim, embed_dim, bias_init="zeros", has_bias=has_bias, dtype=dtype)
        self.dropout = Dropout(p=dropout)

    def construct(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
        attn_mask: Any = None, average_attn_weights: bool = True,
    ) -> tuple[Any, Any]:  # fmt: skip
        single = len(shape_of(query)) == 2
        if single:
            query, key, value = (ops.expand_dims(x, 0) for x in (query, key, value))
        elif not self.batch_first:
            query, key, value = (ops.swapaxes(x, 0, 1) for x in (query, key, value))
        if len(shape_of(query)) != 3:
            raise ShapeError(f"MultiheadAttention: a query of 3 axes is needed, not {shape_of(query)}{called_at()}")
        queries, keys, values = (self._heads(x, k) for k, x in enumerate((query, key, value)))
        keys, values, extra = self._extended(keys, values)
        bias = self._bias(attn_mask, key_padding_mask, dtype_of(queries), extra)
        width = self.embed_dim // self.num_heads
        products = queries @ ops.swapaxes(keys, -1, -2) / float(np.sqrt(width))
        weights = ops.softmax(products if bias is None else products + bias)
        heads = self.dropout(weights) @ values
        n, length = shape_of(query)[:2]
        output = self.out_proj(ops.reshape(ops.swapaxes(heads, 1, 2), (n, length, self.embed_dim)))
        if average_attn_weights:
            weights = ops.mean(weights, 1)
        if single:
            output, weights = output[0], weights[0]
        elif not self.batch_first:
            output = ops.swapaxes(output, 0, 1)
        return output, weights if need_weights else None

    def _heads(self, x: Any, k: int) -> Any:
        """The queries, keys or values (N, heads, L, E / heads)."""
        rows = slice(k * self.embed_dim, (k + 1) * self.embed_dim)
        weight = self.in_proj_weight[rows] if self.same_width else getattr(self, f"{'qkv'[k]}_proj_weight")
        y = x @ weight.T
        y = y if self.in_proj_bias is None else y + self.in_proj_bias[rows]
        n, length = shape_of(x)[:2]
        return ops.swapaxes(ops.reshape(y, (n, length, self.num_heads, self.embed_dim // self.num_heads)), 1, 2)

    def _extended(self, keys: Any, values: Any) -> tuple[Any, Any, int]:
        """The keys and values with those that the layer adds, and how many these are."""
        n, heads, _, width = shape_of(keys)
        rows = [keys], [values]
        if self.add_bias_kv:
            for row, own in zip(rows, (self.bias_k, self.bias_v), strict=True):
                row.append(ops.broadcast_to(ops.reshape(own, (1, heads, 1, width)), (n, heads, 1, width)))
        if self.add_zero_attn:
            for row in rows:
                row.append(zeros_beside(keys, (n, heads, 1, width)))
        keys, values = (ops.concat(row, 2) if len(row) > 1 else row[0] for row in rows)
        return keys, values, len(rows[0]) - 1

    def _bias(self, attn_mask: Any, key_padding_mask: Any, dtype: Any, extra: int) -> Any:
        """What the masks add to the products (N, heads, L, S)."""
        bias = None
        if attn_mask is not None:
            bias = _added(attn_mask, dtype)
            if len(shape_of(bias)) == 3:
                bias = ops.reshape(bias, (-1, self.num_heads, *shape_of(bias)[1:]))
        if key_padding_mask is not None:
            keys = _added(key_padding_mask, dtype)
            keys = ops.reshape(keys, (-1, 1, 1, shape_of(keys)[-1]))
            bias = keys if bias is None else bias + keys
        return bias if bias is None or not extra else ops.pad(bias, (0, extra))

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, batch_first={self.batch_first}"


def _added(mask: Any, dtype: Any) -> Any:
    """A mask as numbers to add: minus infinity where it is true."""
    if dtype_of(mask).kind == "b":
        return ops.where(mask, np.array(-np.inf, dtype), np.zeros((), dtype))
    return ops.cast(mask, dtype)


class _Layer(Cell):
    """What encoder and decoder layers share: the feed-forward network and the order of normalisation."""

    def _feed_forward(self, d_model: int, dim_feedforward: int, dropout: float, activation: Any, dtype: Any) -> None:
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.activation = activation_of(type(self).__name__, activation) or Identity()

    def _forward(self, x: Any) -> Any:
        return self.dense2(self.dropout(self.activation(self.dense1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each added to its input and normalised (before, with `norm_first`).

    >>> import adjoint as ad
    >>> ad.nn.TransformerEncoderLayer(8, 2, 16)(ad.ops.ones((5, 1, 8))).shape
    (5, 1, 8)
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu",
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self._feed_forward(d_model, dim_feedforward, dropout, activation, dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(p=dropout), Dropout(p=dropout)

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        def attended(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0])

        if self.norm_first:
            x = src + attended(self.norm1(src))
            return x + self.dropout2(self._forward(self.norm2(x)))
        x = self.norm1(src + attended(src))
        return self.norm2(x + self.dropout2(self._forward(x)))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward network.

    >>> import adjoint as ad
    >>> ad.nn.TransformerDecoderLayer(8, 2, 16)(ad.ops.ones((5, 1, 8)), ad.ops.ones((7, 1, 8))).shape
    (5, 1, 8)
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu",
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self._feed_forward(d_model, dim_feedforward, dropout, activation, dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm3 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(p=dropout), Dropout(p=dropout), Dropout(p=dropout)

    def construct(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:  # fmt: skip
        def attended(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask)[0])

        def informed(x: Any) -> Any:
            found, _ = self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask)
            return self.dropout2(found)

        if self.norm_first:
            x = tgt + attended(self.norm1(tgt))
            x = x + informed(self.norm2(x))
            return x + self.dropout3(self._forward(self.norm3(x)))
        x = self.norm1(tgt + attended(tgt))
        x = self.norm2(x + informed(x))
        return self.norm3(x + self.dropout3(self._forward(x)))


class TransformerEncoder(Cell):
    """Copies of an encoder layer, one after another, and perhaps a normalisation at the end.

    >>> import adjoint as ad
    >>> net = ad.nn.TransformerEncoder(ad.nn.TransformerEncoderLayer(8, 2, 16), 2)
    >>> net(ad.ops.ones((5, 1, 8))).shape, len(net.layers)
    ((5, 1, 8), 2)
    """

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        positive("TransformerEncoder", num_layers=num_layers)
        self.layers = CellList([deepcopy(encoder_layer) for _ in range(num_layers)])
        self.norm = norm

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        for layer in self.layers:
            src = layer(src, src_mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Cell):
    """Copies of a decoder layer, one after another, and perhaps a normalisation at the end.

    >>> import adjoint as ad
    >>> net = ad.nn.TransformerDecoder(ad.nn.TransformerDecoderLayer(8, 2, 16), 2)
    >>> net(ad.ops.ones((5, 1, 8)), ad.ops.ones((7, 1, 8))).shape
    (5, 1, 8)
    """

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        positive("TransformerDecoder", num_layers=num_layers)
        self.layers = CellList([deepcopy(decoder_layer) for _ in range(num_layers)])
        self.norm = norm

    def construct(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:  # fmt: skip
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Cell):
    """An encoder and a decoder, which attends to the encoder's output.

    >>> import adjoint as ad
    >>> net = ad.nn.Transformer(8, 2, 1, 1, 16)
    >>> net(ad.ops.ones((7, 1, 8)), ad.ops.ones((5, 1, 8))).shape
    (5, 1, 8)
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu", layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        settings = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            dtype,
        )
        norms = [LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype) for _ in range(2)]
        self.encoder = TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers, norms[0])
        self.decoder = TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers, norms[1])

    def construct(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
        src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
    ) -> Any:  # fmt: skip
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
