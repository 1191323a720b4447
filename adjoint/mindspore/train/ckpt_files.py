"""MindSpore's own checkpoint files: a list of named Tensors in the wire format of protocol buffers.

A file is a sequence of fields `value`, each a message with a `tag`, the name, and a `tensor`: its `dims`, `tensor_type` and
`tensor_content`. Tensors above half a gigabyte come in parts of the same name. Nothing in a file is executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from adjoint.core.spec import bfloat16
from adjoint.train.safetensors import CheckpointError

TYPES = {
    "Bool": "bool", "Int8": "int8", "Int16": "int16", "Int32": "int32", "Int64": "int64", "UInt8": "uint8",
    "UInt16": "uint16", "UInt32": "uint32", "UInt64": "uint64", "Float16": "float16", "Float32": "float32",
    "Float64": "float64", "Complex64": "complex64", "Complex128": "complex128",
}  # fmt: skip
NAMES = {dtype: name for name, dtype in TYPES.items()}
LARGEST = 512 * 1024 * 1024  # bytes of a part
VALUE, TAG, TENSOR, DIMS, TENSOR_TYPE, CONTENT = 1, 1, 2, 1, 2, 3


def encode(values: Mapping[str, Any]) -> Iterator[bytes]:
    """The bytes of a file with these arrays and texts, part by part.

    >>> import numpy as np
    >>> list(encode({"w": np.zeros((1,), np.float16)}))
    [b'\\n\\x14\\n\\x01w\\x12\\x0f\\x08\\x01\\x12\\x07Float16\\x1a\\x02\\x00\\x00']
    """
    for name, value in values.items():
        if isinstance(value, str):
            yield _value(name, [0], "str", np.array(value).tobytes())
            continue
        kind = "BFloat16" if value.dtype.name == "bfloat16" else NAMES.get(value.dtype.name)
        if kind is None:
            raise CheckpointError(f"'{name}' is {value.dtype}, which checkpoint files do not have")
        content = np.ascontiguousarray(value).tobytes()
        for k in range(0, max(len(content), 1), LARGEST):
            yield _value(name, list(value.shape), kind, content[k : k + LARGEST])


def _value(name: str, dims: list[int], kind: str, content: bytes) -> bytes:
    tensor = b"".join(_number(DIMS) + _varint(n) for n in dims)
    tensor += _bytes(TENSOR_TYPE, kind.encode()) + _bytes(CONTENT, content)
    return _bytes(VALUE, _bytes(TAG, name.encode()) + _bytes(TENSOR, tensor))


def _number(field: int) -> bytes:
    return _varint(field << 3)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(n: int) -> bytes:
    found = bytearray()
    while n > 0x7F:
        found.append(n & 0x7F | 0x80)
        n >>= 7
    found.append(n)
    return bytes(found)


def decode(content: bytes) -> dict[str, Any]:
    """The arrays and texts of a file, by name.

    >>> decode(b'\\n\\x14\\n\\x01w\\x12\\x0f\\x08\\x01\\x12\\x07Float16\\x1a\\x02\\x00<')
    {'w': array([1.], dtype=float16)}
    """
    parts: dict[str, tuple[list[int], str, list[bytes]]] = {}
    for field, value in _fields(memoryview(content)):
        if field != VALUE:
            continue
        name, tensor = "", None
        for inner, data in _fields(value):
            if inner == TAG:
                name = _text(data)
            elif inner == TENSOR:
                tensor = _tensor(data)
        if tensor is None:
            raise NotImplementedError(f"'{name}' is a MapTensor, which adjoint.mindspore does not provide")
        parts.setdefault(name, (*tensor[:2], []))[2].append(tensor[2])
    return {name: _array(name, dims, kind, b"".join(pieces)) for name, (dims, kind, pieces) in parts.items()}


def _tensor(data: Any) -> tuple[list[int], str, bytes]:
    dims: list[int] = []
    kind, content = "", b""
    for field, value in _fields(data):
        if field == DIMS and isinstance(value, int):
            dims.append(value)
        elif field == DIMS:  # packed
            dims += [n for n, _ in _varints(value)]
        elif field == TENSOR_TYPE:
            kind = _text(value)
        elif field == CONTENT:
            content = bytes(value)
    return dims, kind, content


def _array(name: str, dims: list[int], kind: str, content: bytes) -> Any:
    if kind == "str":
        return "".join(np.frombuffer(content, "<U1"))
    dtype = bfloat16() if kind == "BFloat16" else np.dtype(TYPES[kind]) if kind in TYPES else None
    if dtype is None:
        raise CheckpointError(f"'{name}' has the unknown type {kind!r}")
    if len(content) != dtype.itemsize * int(np.prod(dims, dtype=np.int64)):
        raise CheckpointError(
            f"'{name}' has {len(content)} bytes for the shape {tuple(dims)} of {dtype}: the file is damaged"
        )
    return np.frombuffer(content, dtype).reshape(dims).copy()


def _text(data: Any) -> str:
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        raise CheckpointError("a name is no text: the file is damaged or of another format") from None


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of a message: a number, and an int or bytes."""
    at = 0
    while at < len(data):
        key, at = _read(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _read(data, at)
            yield key >> 3, value
        elif kind in (1, 2, 5):
            size = {1: 8, 5: 4}.get(kind, 0)
            if kind == 2:
                size, at = _read(data, at)
            if at + size > len(data):
                raise CheckpointError("the file ends too early: it is damaged or of another format")
            yield key >> 3, data[at : at + size]
            at += size
        else:
            raise CheckpointError("the file is damaged or of another format")


def _varints(data: memoryview) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(data):
        value, at = _read(data, at)
        yield value, at


def _read(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise CheckpointError("the file ends too early: it is damaged or of another format")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
