"""mindspore.mindrecord: rows of named columns in a file. The format is ours: MindSpore does not read it, nor we its."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

HEAD = "adjoint.mindspore.mindrecord 1"
NUMBERS = {"int32": int, "int64": int, "float32": float, "float64": float}
KINDS = (*NUMBERS, "string", "bytes")


def checked_schema(content: Any) -> dict[str, dict[str, Any]]:
    """A schema whose columns have a type that is known, and arrays a shape."""
    if not isinstance(content, dict) or not content:
        raise ValueError(f"Schema content must be a dict of columns, but got {content!r}.")
    for name, column in content.items():
        if not isinstance(column, dict) or column.get("type") not in KINDS:
            raise ValueError(f"Schema column {name!r} must have a 'type' among {', '.join(KINDS)}, but got {column!r}.")
        if "shape" in column and column["type"] not in NUMBERS:
            raise ValueError(f"Schema column {name!r}: only numbers have a shape.")
    return content


class FileWriter:
    """Writes rows to a file, or to several that share them.

    >>> import os, tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "rows.mindrecord")
    >>> writer = FileWriter(name)
    >>> _ = writer.add_schema({"x": {"type": "float32", "shape": [2]}, "label": {"type": "int32"}})
    >>> _ = writer.write_raw_data([{"x": [1.0, 2.0], "label": 0}, {"x": [3.0, 4.0], "label": 1}])
    >>> _ = writer.commit()
    >>> [(row["x"].tolist(), int(row["label"])) for row in FileReader(name).get_next()]
    [([1.0, 2.0], 0), ([3.0, 4.0], 1)]
    """

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False) -> None:
        if not isinstance(shard_num, int) or shard_num < 1:
            raise ValueError(f"Shard number must be a positive integer, but got {shard_num!r}.")
        self.paths = [file_name] if shard_num == 1 else [f"{file_name}{i}" for i in range(shard_num)]
        for path in self.paths:
            if os.path.exists(path) and not overwrite:
                raise RuntimeError(f"The file {path} exists already; remove it, or give overwrite=True.")
        self.schema: dict[str, dict[str, Any]] | None = None
        self.rows: list[dict[str, Any]] = []

    def add_schema(self, content: dict[str, Any], desc: str | None = None) -> int:
        """Name the columns and their types."""
        self.schema = checked_schema(content)
        return 0

    def add_index(self, index_fields: list[str]) -> FileWriter:
        """Accepted: rows are read in order, and need no index."""
        return self

    def write_raw_data(self, raw_data: list[dict[str, Any]], parallel_writer: bool = False) -> FileWriter:
        """Add rows; they are written by `commit`."""
        if self.schema is None:
            raise RuntimeError("write_raw_data: call add_schema first.")
        self.rows += [{name: _encoded(row[name], column) for name, column in self.schema.items()} for row in raw_data]
        return self

    def commit(self) -> FileWriter:
        """Write everything to disk."""
        for i, path in enumerate(self.paths):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{HEAD}\n{json.dumps(self.schema)}\n")
                file.writelines(f"{json.dumps(row)}\n" for row in self.rows[i :: len(self.paths)])
        return self


def _encoded(value: Any, column: dict[str, Any]) -> Any:
    if column["type"] == "bytes":
        return base64.b64encode(bytes(value)).decode()
    if column["type"] == "string":
        return str(value)
    return np.asarray(value, column["type"]).tolist()


def _decoded(value: Any, column: dict[str, Any]) -> Any:
    if column["type"] == "bytes":
        return base64.b64decode(value)
    if column["type"] == "string":
        return value
    array = np.array(value, column["type"])
    return array.reshape(column["shape"]) if "shape" in column else array


def rows(path: str, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a file that `FileWriter` wrote, with all columns or with those that are named."""
    with open(path, encoding="utf-8") as file:
        if file.readline().rstrip("\n") != HEAD:
            raise RuntimeError(f"{path} is not a file that adjoint.mindspore.mindrecord wrote.")
        schema = json.loads(file.readline())
        missing = [name for name in columns or () if name not in schema]
        if missing:
            raise ValueError(f"{path} has no column {missing[0]!r}, only {', '.join(schema)}.")
        for line in file:
            row = json.loads(line)
            yield {name: _decoded(row[name], schema[name]) for name in columns or schema}


class FileReader:
    """Reads rows one by one."""

    def __init__(
        self, file_name: str | list[str], num_consumer: int = 4, columns: list[str] | None = None, operator: Any = None
    ) -> None:
        self.paths = [file_name] if isinstance(file_name, str) else list(file_name)
        self.columns = columns

    def get_next(self) -> Iterator[dict[str, Any]]:
        """The rows of all files, one file after the other."""
        for path in self.paths:
            yield from rows(path, self.columns)

    def len(self) -> int:
        """How many rows there are."""
        return sum(1 for _ in self.get_next())

    def close(self) -> None:
        """Nothing is open between rows."""

    finish = close
