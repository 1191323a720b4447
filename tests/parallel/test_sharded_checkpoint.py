"""Checkpoints in pieces: written by what lies on eight devices, read on another number of them, whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import adjoint as ad
from adjoint import nn, ops, optim, parallel
from adjoint.backends.xla.devices import precise
from adjoint.core.random_counters import PROGRAM
from adjoint.data import ArrayDataset
from adjoint.parallel import sharded_checkpoint
from adjoint.train import Model

RNG = np.random.default_rng(7)
VALUES = {
    "matrix": RNG.normal(size=(16, 24)),
    "half": RNG.normal(size=(8, 3, 8)).astype(np.float16),
    "counts": np.arange(40, dtype=np.int32),
    "flags": RNG.normal(size=(8, 8)) > 0,
    "wave": (RNG.normal(size=16) + 1j).astype(np.complex64),
    "number": np.float64(2.5),
    "none": np.zeros((0, 8), np.float32),
}
#: Axes of a mesh of eight, four, two and one devices, and how the arrays lie on it.
ROWS = dict.fromkeys(VALUES, ("x",)) | {"number": ()}
BOTH = {"matrix": ("y", "x"), "half": (("x", "y"),), "counts": (), "flags": (None, "y"), "wave": (("y", "x"),), "number": (), "none": (None, "x")}  # fmt: skip


def on_mesh(shape: tuple[int, ...], specs: dict[str, Any], values: dict[str, Any] = VALUES) -> dict[str, Any]:
    """The arrays on the first devices, arranged so."""
    names = ("x", "y")[: len(shape)]
    mesh = Mesh(np.array(jax.devices("cpu")[: int(np.prod(shape))]).reshape(shape), names)
    with precise():
        return {k: jax.device_put(v, NamedSharding(mesh, PartitionSpec(*specs[k]))) for k, v in values.items()}


def same(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made" / "last"


@pytest.mark.parametrize("layout", ["rows", "both"])
def test_what_eight_devices_save_any_number_restores(layout: str, path: Path) -> None:
    saved = on_mesh((8,), ROWS) if layout == "rows" else on_mesh((2, 4), BOTH)
    parallel.save(path, saved)
    others = [on_mesh((4,), ROWS), on_mesh((1,), ROWS), on_mesh((2, 2), BOTH), on_mesh((4, 2), BOTH), saved]
    for like in others:
        blank = {k: jax.ShapeDtypeStruct(v.shape, v.dtype, sharding=v.sharding) for k, v in like.items()}
        found = parallel.load(path, like=blank)
        for name, value in VALUES.items():
            assert same(found[name], value) and found[name].sharding == like[name].sharding
    host = parallel.load(path)
    assert all(isinstance(host[k], np.ndarray) and same(host[k], v) for k, v in VALUES.items())


def test_each_element_is_written_once(path: Path) -> None:
    parallel.save(path, on_mesh((2, 4), BOTH))
    size = sum(p.stat().st_size for p in path.glob("*.safetensors"))
    assert size < sum(np.asarray(v).nbytes for v in VALUES.values()) + 8000
    index = json.loads(json.loads((path / "index.json").read_text())["body"])
    assert len(index["arrays"]["matrix"]["pieces"]) == 8 and len(index["arrays"]["counts"]["pieces"]) == 1


def test_only_the_pieces_that_are_needed_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parallel.save(path, on_mesh((8,), ROWS))
    read: list[str] = []
    original = sharded_checkpoint.Pieces._read
    monkeypatch.setattr(
        sharded_checkpoint.Pieces,
        "_read",
        lambda s, name, piece, d: [read.append(piece["key"]), original(s, name, piece, d)][1],
    )
    opened = sharded_checkpoint.Pieces(str(path))
    part = opened.part("matrix", ((3, 0), (6, 24)), {})
    assert same(part, VALUES["matrix"][3:6]) and read == ["matrix@2,0", "matrix@4,0"]


def network() -> tuple[nn.Cell, optim.Optimizer]:
    net = nn.SequentialCell(nn.Dense(3, 5), nn.Dropout(p=0.3), nn.Dense(5, 1))
    return net, optim.Adam(net.trainable_params(), 0.01)


def train(net: nn.Cell, optimiser: optim.Optimizer, steps: range) -> None:
    net.set_train()
    step = optim.compiled_step(lambda x, y: ops.mean((net(x) - y) ** 2), optimiser.parameters, optimiser)
    for k in steps:
        rng = np.random.default_rng(k)
        step(
            ad.Tensor(rng.normal(size=(6, 3)).astype(np.float32)), ad.Tensor(rng.normal(size=(6, 1)).astype(np.float32))
        )


def weights(*parts: Any) -> list[np.ndarray]:
    return [p.asnumpy() for p in parts[0].get_parameters()] + [p.asnumpy() for p in parts[1].parameters_dict().values()]


def test_a_run_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """Weights, the state of the optimiser, its steps, and the samples of dropout."""
    ad.set_seed(3)
    net, optimiser = network()
    checkpoints = parallel.Checkpoints(tmp_path / "run", keep=1)
    assert checkpoints.restore([net, optimiser]) is None
    train(net, optimiser, range(3))
    checkpoints.save(3, [net, optimiser])
    train(net, optimiser, range(3, 6))
    ad.set_seed(99)
    again = network()
    assert parallel.Checkpoints(tmp_path / "run").restore(list(again)) == 3
    train(*again, range(3, 6))
    assert all(map(same, weights(*again), weights(net, optimiser)))


def test_model_fit_goes_on_bit_for_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = ArrayDataset(rng.normal(size=(12, 3)).astype(np.float32), rng.normal(size=(12, 1)).astype(np.float32)).batch(
        4
    )

    def fit(epochs: int, folder: str, seed: int) -> list[np.ndarray]:
        ad.set_seed(seed)
        net, optimiser = network()
        checkpoints = parallel.Checkpoints(tmp_path / folder)
        first = checkpoints.restore([net, optimiser]) or 0
        Model(net, nn.MSELoss(), optimiser).fit(epochs, data, callbacks=[checkpoints], initial_epoch=first)
        assert checkpoints.steps()[-1] == epochs
        return weights(net, optimiser)

    through = fit(4, "through", 2)
    fit(2, "twice", 2)
    assert all(map(same, fit(4, "twice", 77), through))


def test_parameters_keep_their_layout(path: Path) -> None:
    net = nn.Dense(4, 8)
    parallel.save(path, {"net": net, "epoch": 2, "name": "run", "rate": 0.5, "fine": True})
    other = nn.Dense(4, 8)
    laid = on_mesh(
        (4,), {"weight": ("x",), "bias": ()}, {"weight": other.weight.asnumpy(), "bias": other.bias.asnumpy()}
    )
    other.weight._value, before = laid["weight"], laid["weight"].sharding
    like = {"net": other, "epoch": 0, "name": "", "rate": 0.0, "fine": False, "more": {}}
    found = parallel.load(path, like)
    assert found == {"net": other, "epoch": 2, "name": "run", "rate": 0.5, "fine": True, "more": {}}
    assert other.weight._value.sharding == before and isinstance(other.bias._value, np.ndarray)
    assert same(other.weight._value, net.weight.asnumpy()) and same(other.bias.asnumpy(), net.bias.asnumpy())


def test_tensors_and_dtypes_of_the_like(path: Path) -> None:
    parallel.save(
        path, {"big": np.arange(3).astype(">i4"), "turned": np.arange(6.0).reshape(2, 3).T, "gaps": np.arange(9)[::3]}
    )
    found = parallel.load(path)
    assert (
        found["big"].tolist() == [0, 1, 2]
        and found["gaps"].tolist() == [0, 3, 6]
        and found["turned"][2].tolist() == [2, 5]
    )
    parallel.save(path, {"x": ad.Tensor([1.5, 2.5]), "n": np.int32(3)})
    found = parallel.load(path, {"x": ad.Tensor(np.zeros(2)), "n": np.int64(0)})
    assert isinstance(found["x"], ad.Tensor) and found["x"].dtype == np.float64 and found["n"].dtype == np.int64
    ad.set_seed(5)
    stood = PROGRAM.state()
    parallel.save(path, {"x": ad.Tensor([1.0])})
    ops.dropout(ad.Tensor([1.0]))
    parallel.load(path)
    assert PROGRAM.state() != stood
    parallel.load(path, restore_random=True)
    assert PROGRAM.state() == stood


def test_what_does_not_fit_is_listed_and_nothing_is_loaded(path: Path) -> None:
    net = nn.Dense(4, 2)
    parallel.save(path, {"net": net, "w": np.ones(3), "i": np.ones(2), "step": 1})
    other = nn.Dense(4, 2)
    before = other.weight.asnumpy()
    like = {"net": other, "w": np.ones(4), "i": np.ones(2, np.int32), "v": np.ones(1), "step": np.ones(1), "epoch": 3}
    with pytest.raises(ad.CheckpointError) as caught:
        parallel.load(path, like)
    for words in (
        "nothing was loaded from", "'w' has shape (4,), in it (3,)", "'i' is int32, in it float64", "'v' is not in it",
        "'step' is not in it", "'epoch' is no number or text in it",
    ):  # fmt: skip
        assert words in str(caught.value)
    assert same(other.weight.asnumpy(), before)


@pytest.mark.parametrize("harm", ["cut", "flip", "missing", "index cut", "index flip", "no index"])
def test_a_damaged_checkpoint_names_the_file_and_the_one_before_stays(harm: str, tmp_path: Path) -> None:
    checkpoints = parallel.Checkpoints(tmp_path)
    for step in (1, 2):
        checkpoints.save(step, {"w": np.full(100, float(step))})
    folder = tmp_path / "step-00000002"
    file = folder / ("index.json" if "index" in harm else "rank-00000.safetensors")
    data = bytearray(file.read_bytes())
    if harm in ("missing", "no index"):
        file.unlink()
    else:
        data[-20] ^= 1
        file.write_bytes(data[: len(data) // 2] if "cut" in harm else data)
    if harm == "no index":
        assert checkpoints.restore({"w": np.zeros(100)}) == 1
    else:
        with pytest.raises(ad.CheckpointError, match="step 2 cannot be restored") as caught:
            checkpoints.restore({"w": np.zeros(100)})
        assert str(file) in str(caught.value) and "restore(state, step=1)" in str(caught.value)
    found = parallel.load(checkpoints.path(1), {"w": np.zeros(100)})
    assert same(found["w"], np.full(100, 1.0))


@pytest.mark.parametrize("place", ["_write_own", "_write_index", "_put_in_place"])
def test_a_save_that_breaks_off_leaves_the_one_before(place: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parallel.save(path, {"w": np.full(3, 1.0)})

    def breaks(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(sharded_checkpoint, place, breaks)
        with pytest.raises(OSError, match="No space left"):
            parallel.save(path, {"w": np.full(3, 2.0)})
    assert parallel.load(path)["w"][0] == 1.0
    parallel.save(path, {"w": np.full(3, 3.0)})
    assert parallel.load(path)["w"][0] == 3.0 and os.listdir(path.parent) == [path.name]


def test_an_end_between_two_names_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parallel.save(path, {"w": np.full(3, 1.0)})
    rename = os.rename

    def ends(source: str, target: str) -> None:
        if source.endswith(".saving"):
            raise KeyboardInterrupt
        rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", ends)
        with pytest.raises(KeyboardInterrupt):
            parallel.save(path, {"w": np.full(3, 2.0)})
    assert not path.exists() and parallel.load(path)["w"][0] == 1.0
    parallel.save(path, {"w": np.full(3, 3.0)})
    assert parallel.load(path)["w"][0] == 3.0


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"w": np.ones(3), "n": 1}, ""),
        ({"w": np.zeros(3), "n": 1}, "rank 1 holds other values of 'w' than rank-00000"),
        ({"w": np.ones(3), "n": 2}, "'n' is 1 on rank 0 and 2 on rank 1"),
        ({"w": np.ones(3), "n": 1, "v": np.ones(1)}, "of ranks 0 and 1, only rank 1 has 'v' in its state"),
        ({"w": np.ones(3)}, "of ranks 0 and 1, only rank 0 has 'n' in its state"),
    ],
)
def test_processes_that_do_not_agree_are_found_out(
    state: dict[str, Any], words: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes, one after the other."""
    path.mkdir(parents=True)
    mine = {"w": np.ones(3), "n": 1}
    monkeypatch.setattr(sharded_checkpoint, "processes", lambda: 2)
    for k, own in ((1, state), (0, mine)):
        monkeypatch.setattr(sharded_checkpoint, "rank", lambda k=k: k)
        arrays = {name: x for name, x in own.items() if isinstance(x, np.ndarray)}
        values = {name: x for name, x in own.items() if name not in arrays}
        sharded_checkpoint._write_own(str(path), arrays, values)
    if words:
        with pytest.raises(ad.CheckpointError, match=words):
            sharded_checkpoint._write_index(str(path), arrays, values)
    else:
        sharded_checkpoint._write_index(str(path), arrays, values)
        assert sorted(os.listdir(path)) == ["index.json", "rank-00000.safetensors"]
        assert np.array_equal(parallel.load(path)["w"], np.ones(3))


def test_a_folder_of_the_user_s_is_not_replaced(path: Path) -> None:
    path.mkdir(parents=True)
    (path / "thesis.tex").write_text("precious")
    with pytest.raises(ad.CheckpointError, match="is there and is no checkpoint"):
        parallel.save(path, {"w": np.ones(1)})
    with pytest.raises(ad.CheckpointError, match="has no index.json"):
        parallel.load(path)
    assert (path / "thesis.tex").read_text() == "precious"


def test_what_cannot_be_saved_is_refused_by_name(path: Path) -> None:
    for state, words in (
        ({"f": print}, "'f' is builtin_function_or_method"), ({1: np.ones(1)}, "named by texts, not 1"),
        ({"a/b": np.ones(1), "a": {"b": np.ones(1)}}, "two different values are named 'a/b'"), (3, "expected a Cell"),
        ({"c": np.ones(1, np.complex128)}, "'c@0' is complex128"), ({"k": jax.random.key(0)}, "save jax.random.key_data of it"),
    ):  # fmt: skip
        with pytest.raises(ad.AdjointError, match=words):
            parallel.save(path, state)
    for keep in (0, True, 1.5):
        with pytest.raises(ad.ArgumentError, match="keep must be an integer"):
            parallel.Checkpoints(path, keep=keep)  # type: ignore[arg-type]
    with pytest.raises(ad.ArgumentError, match="a step is an integer"):
        parallel.Checkpoints(path).save(-1, {})
