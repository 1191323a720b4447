"""Rows written to files, read one by one and as a dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adjoint.mindspore import Tensor, dataset
from adjoint.mindspore.mindrecord import FileReader, FileWriter

SCHEMA = {
    "x": {"type": "float32", "shape": [3]}, "label": {"type": "int64"}, "name": {"type": "string"}, "raw": {"type": "bytes"},
}  # fmt: skip
ROWS = [{"x": [k, k + 0.5, -k], "label": k, "name": f"row {k}", "raw": bytes([k, 255])} for k in range(7)]


@pytest.fixture
def written(tmp_path: Path) -> list[str]:
    name = str(tmp_path / "rows")
    writer = FileWriter(name, shard_num=2)
    writer.add_schema(SCHEMA, "test")
    writer.write_raw_data(ROWS[:3])
    writer.write_raw_data(ROWS[3:])
    writer.commit()
    return [f"{name}0", f"{name}1"]


def test_rows_come_back(written: list[str]) -> None:
    found = sorted(FileReader(written).get_next(), key=lambda row: int(row["label"]))
    for row, expected in zip(found, ROWS, strict=True):
        np.testing.assert_array_equal(row["x"], np.array(expected["x"], np.float32))
        assert (row["name"], row["raw"], row["label"].dtype) == (expected["name"], expected["raw"], np.int64)


def test_a_dataset_of_files(written: list[str]) -> None:
    data = dataset.MindDataset(written, columns_list=["label", "x"], shuffle=False).batch(2, drop_remainder=True)
    labels = [row["label"].asnumpy().tolist() for row in data.create_dict_iterator()]
    assert labels == [[0, 2], [4, 6], [1, 3]] and data.get_dataset_size() == 3


def test_misuse(written: list[str], tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="overwrite"):
        FileWriter(written[0])
    with pytest.raises(ValueError, match="type"):
        FileWriter(str(tmp_path / "other")).add_schema({"x": {"type": "float"}})
    with pytest.raises(ValueError, match="no column 'y'"):
        next(FileReader(written, columns=["y"]).get_next())
    (tmp_path / "text").write_text("nothing")
    with pytest.raises(RuntimeError, match="not a file"):
        dataset.MindDataset(str(tmp_path / "text"))


def test_stores_over_elements_that_are_not_finite() -> None:
    for store, expected in (("zero_", [0, 0]), ("fill_", [3, 3]), ("copy_", [3, 3])):
        x = Tensor([np.inf, np.nan])
        getattr(x, store)(*([] if store == "zero_" else [3]))
        np.testing.assert_array_equal(x.asnumpy(), expected)
