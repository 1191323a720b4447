"""Checkpoints: what is saved comes back, a failure leaves the old file, and a hostile file is refused."""

from __future__ import annotations

import importlib.util
import json
import os
import stat
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.train import CheckpointError, load_checkpoint, load_param_into_net, safetensors, save_checkpoint


def network(seed=0):
    ad.set_seed(seed)
    return nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2))


def arrays(net):
    return {p.name: p.asnumpy() for p in net.get_parameters()}


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


def raw(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_the_extras_are_here():
    """`[test]` brings them along; where many tests fail, this one says why."""
    for extra in ("ml_dtypes", "safetensors", "tqdm"):
        assert importlib.util.find_spec(extra), f'{extra} is missing: pip install -e ".[test]"'


# ---------------------------------------------------------------- round trips


DTYPES = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64 complex64 bfloat16".split()  # noqa: SIM905


def test_every_dtype_and_shape_comes_back(tmp_path):
    saved = {
        f"{name} {shape}": np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(ad.bfloat16 if name == "bfloat16" else name)
        for name in DTYPES
        for shape in ((), (0,), (3,), (2, 1, 5))
    }  # fmt: skip
    saved["turned"] = np.arange(6.0).reshape(2, 3).T
    saved["big-endian"] = np.arange(3, dtype=">f4")
    save_checkpoint(saved, os.fsencode(tmp_path / "a.safetensors"))
    found = load_checkpoint(tmp_path / "a.safetensors")
    assert set(found) == set(saved)
    for name, array in saved.items():
        assert found[name].shape == array.shape and np.array_equal(found[name].asnumpy(), array), name
        assert found[name].dtype == array.dtype.newbyteorder("="), name


def test_the_layout_of_the_file_by_hand(tmp_path):
    """Read without our reader, as the format is described."""
    save_checkpoint({"w": np.array([1, 2], "float32"), "n": np.array(7, "int64")}, tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    begin, end = header["w"]["data_offsets"]
    assert length % 8 == 0 and struct.unpack("<2f", data[begin:end]) == (1, 2)
    begin, end = header["n"]["data_offsets"]
    assert header["n"]["dtype"] == "I64" and struct.unpack("<q", data[begin:end]) == (7,)


def test_a_file_of_the_first_version_is_read():
    """Written before checksums were, by a writer of our own."""
    pytest.importorskip("ml_dtypes")
    found = load_checkpoint(Path(__file__).parent / "fixtures" / "version_1.safetensors")
    values = {"epoch": 3, "rate": 0.1, "note": 'ü " \\ \ud800', "done": False, "random": 12}
    assert {n: found.pop(n) for n in values} == values
    assert found.pop("empty").shape == (0, 3) and found.pop("scalar").item() == 2.5
    assert found.pop("schön.名").tolist() == [1]
    assert sorted(found) == sorted(DTYPES)
    for name, array in found.items():
        assert array.dtype.name == name
        assert np.array_equal(array.asnumpy(), np.arange(6).reshape(2, 3).astype(array.dtype))


def test_the_library_reads_what_we_write_and_the_other_way_round(tmp_path):
    from safetensors.numpy import load_file, save_file

    saved = {"w": np.arange(6.0).reshape(2, 3).T, "n": np.array(7), "e": np.zeros((0, 2), "float32")}
    save_checkpoint(saved, tmp_path / "a")
    found = load_file(tmp_path / "a")
    assert found.keys() == saved.keys() and all(np.array_equal(found[n], saved[n]) for n in saved)
    save_file({n: np.ascontiguousarray(a) for n, a in saved.items()}, tmp_path / "b", {"format": "np"})
    assert np.array_equal(load_checkpoint(tmp_path / "b")["w"].asnumpy(), saved["w"])


def test_equal_values_make_equal_files(tmp_path):
    """In every process: the library orders texts by chance."""
    program = """if True:
        import sys
        import numpy as np
        from adjoint.train import save_checkpoint
        texts = {k: k + chr(i) for i, k in enumerate("zyxwabcü\\t'")}
        save_checkpoint({n: np.arange(3.0) for n in "DCAB"}, sys.argv[1], append_dict=texts)
    """
    for name in "abc":
        subprocess.run([sys.executable, "-c", program, str(tmp_path / name)], check=True, timeout=60)
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1
    assert load_checkpoint(tmp_path / "a")["\t"] == "\t\x08"


def test_truth_values_of_another_writer(tmp_path):
    (tmp_path / "a").write_bytes(raw({"x": entry("BOOL", (3,), (0, 3))}, b"\x00\x01\xff"))
    assert load_checkpoint(tmp_path / "a")["x"].tolist() == [False, True, True]


@pytest.mark.parametrize("package", ["safetensors", "safetensors.numpy"])
def test_a_missing_library_is_named_with_what_to_install(tmp_path, monkeypatch, package):
    save_checkpoint({"w": ad.Tensor([1.0])}, tmp_path / "a")
    monkeypatch.setitem(sys.modules, package, None)
    for call in (lambda: load_checkpoint(tmp_path / "a"), lambda: save_checkpoint({}, tmp_path / "b")):
        with pytest.raises(ImportError, match=r'pip install "adjoint\[train\]"'):
            call()
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_of_another_writer_is_read(tmp_path):
    (tmp_path / "a").write_bytes(raw({"__metadata__": {"format": "pt"}, "x": entry()}, struct.pack("<2f", 3, 4)))
    found = load_checkpoint(tmp_path / "a")
    assert list(found) == ["x"] and found["x"].asnumpy().tolist() == [3, 4]


def test_network_and_optimiser(tmp_path):
    x, y = ad.ops.ones((5, 3)), ad.ops.zeros((5, 2))

    def trained(net, opt, steps):
        step = ad.value_and_grad(lambda: ad.ops.mse_loss(net(x), y), None, weights=net.trainable_params())
        for _ in range(steps):
            opt(step()[1])

    straight, a, b = network(), network(), network(seed=9)
    trained(straight, optim.Adam(straight.trainable_params(), 0.1), 4)
    first = optim.Adam(a.trainable_params(), 0.1)
    trained(a, first, 2)
    save_checkpoint([a, first], tmp_path / "a", append_dict={"epoch": 2, "rate": 0.1, "note": "x", "done": False})
    second = optim.Adam(b.trainable_params(), 0.1)
    found = load_checkpoint(tmp_path / "a", [b, second], strict_load=True)
    assert (found["epoch"], found["rate"], found["note"], found["done"]) == (2, 0.1, "x", False)
    trained(b, second, 2)
    assert same(arrays(b), arrays(straight))


def test_a_file_that_has_nothing_for_the_network_is_refused(tmp_path):
    net = network()
    before = arrays(net)
    save_checkpoint({"w": ad.Tensor([1.0])}, tmp_path / "other")
    with pytest.raises(CheckpointError, match="'0.weight' is missing(.|\n)*'w' is not in the network"):
        load_checkpoint(tmp_path / "other", net)
    save_checkpoint(net, tmp_path / "net")
    with pytest.raises(CheckpointError, match="nothing was loaded"):
        load_checkpoint(tmp_path / "net", net, filter_prefix=("0", "2"))
    with pytest.raises(CheckpointError, match="'global_step' is missing"):
        load_checkpoint(tmp_path / "net", optim.Adam(net.trainable_params()))
    assert same(arrays(net), before)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_the_state_of_another_optimiser_is_refused(tmp_path, momentum):
    net = network()
    params = net.trainable_params()
    save_checkpoint([net, optim.Adam(params)], tmp_path / "a")
    sgd = optim.SGD(params, momentum=momentum)
    for target in (sgd, [net, sgd]):
        with pytest.raises(
            CheckpointError, match="another optimiser: it holds moment1, moment2 of each Parameter, SGD"
        ):
            load_checkpoint(tmp_path / "a", target)
    load_checkpoint(tmp_path / "a", [net, optim.Adam(params)])
    load_checkpoint(tmp_path / "a", net)
    load_checkpoint(tmp_path / "a", [net, optim.SGD(params, momentum=momentum)], filter_prefix="moment")


def test_what_is_not_trained_is_loaded_as_such(tmp_path):
    net = nn.SequentialCell(nn.Dense(2, 2), nn.BatchNorm1d(2))
    optimiser = optim.Adam(net.trainable_params())
    save_checkpoint([net, optimiser], tmp_path / "a")
    trained = {p.name for p in net.trainable_params()}
    found = load_checkpoint(tmp_path / "a", [net, optimiser])
    assert {n for n, p in found.items() if p.requires_grad} == trained
    assert any("moving_mean" in n for n in found) and not load_checkpoint(tmp_path / "a")["global_step"].requires_grad


@pytest.mark.parametrize("said", [{}, {"random": "far"}, {"random": 2**63}, {"random": -1}, {"random": True}])
def test_a_file_that_does_not_say_where_draws_stood(tmp_path, said):
    w = ad.Parameter(ad.Tensor([0.0]), name="w")
    save_checkpoint({"w": ad.Tensor([1.0])}, tmp_path / "a", append_dict=said)
    with pytest.raises(CheckpointError, match="where the random counter stood"):
        load_checkpoint(tmp_path / "a", [w], restore_random=True)
    assert w.item() == 0.0 and load_checkpoint(tmp_path / "a", [w])["w"].item() == w.item() == 1.0


def test_lists_of_names_choices_and_prefixes(tmp_path):
    net = network()
    save_checkpoint(
        [{"name": "a", "data": ad.Tensor([1.0])}, {"name": "b", "data": ad.Tensor([2.0])}], tmp_path / "list"
    )
    assert list(load_checkpoint(tmp_path / "list", filter_prefix="a")) == ["b"]
    save_checkpoint(net, tmp_path / "some", choice_func=lambda name: name.endswith("bias"))
    assert sorted(load_checkpoint(tmp_path / "some")) == ["0.bias", "2.bias"]


@pytest.mark.parametrize("wrong", [3, "net", [1]])
def test_what_cannot_be_saved(tmp_path, wrong):
    with pytest.raises(ValueError, match="expected a Cell"):
        save_checkpoint(wrong, tmp_path / "a")
    with pytest.raises(ValueError, match="two different values are named 'a'"):
        save_checkpoint(
            [{"name": "a", "data": ad.Tensor([1.0])}, {"name": "a", "data": ad.Tensor([1.0])}], tmp_path / "a"
        )
    for value in (3, ad.Tensor([1.0])):
        with pytest.raises(ValueError, match="'a' of append_dict is the name of a Parameter too"):
            save_checkpoint({"a": ad.Tensor([1.0])}, tmp_path / "a", append_dict={"a": value})
    with pytest.raises(ValueError, match="complex128"):
        save_checkpoint({"z": np.zeros(1, complex)}, tmp_path / "a")
    with pytest.raises(ValueError, match="object"):
        save_checkpoint({"z": np.array([None])}, tmp_path / "a")
    for name in ("__metadata__", 3, "\ud800"):
        with pytest.raises(CheckpointError, match="name of an array|cannot be written"):
            save_checkpoint({name: np.zeros(1)}, tmp_path / "a")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- whole or not at all


@pytest.mark.parametrize("broken", ["replace", "fsync", "chmod"])
def test_a_failure_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch, broken):
    save_checkpoint({"w": ad.Tensor([1.0])}, tmp_path / "a")

    def fail(*args, **kwargs):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(safetensors.os, broken, fail)
        with pytest.raises(OSError, match="no space left"):
            save_checkpoint({"w": ad.Tensor([2.0])}, tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"]
    assert load_checkpoint(tmp_path / "a")["w"].item() == 1.0


#: Saves again and again in a child, which is killed at some moment; tells which save each kill left, and how many it cut off.
KILLED = """
import glob, os, random, shutil, signal, sys, time
import numpy as np
from adjoint.train import load_checkpoint, save_checkpoint

path, cut_off = sys.argv[1], 0
def save(k):
    save_checkpoint({n: np.full(50_000, k, np.int64) for n in "abcd"}, path, append_dict={"k": k})

save(0)
random.seed(0)
for kill in range(20):
    child = os.fork()
    if not child:
        for k in range(1, 10**6):
            save(1000 * kill + k)
    time.sleep(random.uniform(0.005, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = load_checkpoint(path)
    assert {int(x) for n in "abcd" for x in np.unique(found[n].asnumpy())} == {found["k"]}, f"torn at kill {kill}"
    for part in glob.glob(os.path.join(os.path.dirname(path), ".*.part")):
        cut_off += 1
        shutil.rmtree(part)
    print(found["k"])
print(cut_off)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_killed_while_it_saves_leaves_the_old_file_or_the_new(tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path / "a")], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    *saved, cut_off = map(int, run.stdout.split())
    assert len(saved) == 20 and cut_off > 0  # kills did fall into saves


def test_a_failure_in_the_middle_leaves_the_old_file(tmp_path, monkeypatch):
    save_checkpoint({"w": ad.Tensor([1.0])}, tmp_path / "a")

    def interrupted(arrays, path, metadata):
        Path(path).write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("safetensors.numpy.save_file", interrupted)
        with pytest.raises(KeyboardInterrupt):
            save_checkpoint({"w": ad.Tensor([2.0]), "v": ad.Tensor([3.0])}, tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"] and load_checkpoint(tmp_path / "a")["w"].item() == 1.0


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path):
    program = """if True:
        import resource, sys
        import numpy as np
        from adjoint.train import CheckpointError, load_checkpoint, save_checkpoint
        save_checkpoint({"w": np.zeros(3)}, sys.argv[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        try:
            save_checkpoint({"w": np.zeros(3000)}, sys.argv[1])
        except CheckpointError as error:
            print(error)
        assert load_checkpoint(sys.argv[1])["w"].shape == (3,)
    """
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a")], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert "cannot be written" in run.stdout and "too large" in run.stdout
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_permissions_of_a_file(tmp_path):
    """A new file has those of any file, one that replaces another has that one's."""
    (tmp_path / "ordinary").touch()
    save_checkpoint({"w": ad.Tensor([1.0])}, tmp_path / "a")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "ordinary").stat().st_mode
    (tmp_path / "a").chmod(0o600)
    save_checkpoint({"w": ad.Tensor([2.0])}, tmp_path / "a")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_a_name_as_long_as_the_system_allows(tmp_path):
    save_checkpoint({"w": ad.Tensor([1.0])}, tmp_path / ("a" * 255))
    assert load_checkpoint(tmp_path / ("a" * 255))["w"].item() == 1.0


# ---------------------------------------------------------------- into a network


def test_all_that_does_not_fit_is_in_one_error_and_nothing_is_loaded():
    net = network()
    before = arrays(net)
    given = {"0.weight": np.zeros((9, 9)), "0.bias": np.zeros(4), "2.bias": np.zeros(2, complex), "extra": np.zeros(1)}
    with pytest.raises(CheckpointError) as error:
        load_param_into_net(net, given)
    for words in (
        "'0.weight' has shape (4, 3), the value (9, 9)",
        "'2.bias' is float32",
        "'2.weight' is missing",
        "'extra' is not in",
    ):
        assert words in str(error.value)
    assert same(arrays(net), before)


def test_names_that_are_missing_or_unexpected():
    net = network()
    assert load_param_into_net(net, {"0.bias": np.ones(4), "x": np.ones(1)}) == (
        ["0.weight", "2.weight", "2.bias"],
        ["x"],
    )
    assert net.parameters_dict()["0.bias"].asnumpy().tolist() == [1, 1, 1, 1]
    with pytest.raises(CheckpointError, match="'0.weight' is missing") as error:
        load_param_into_net(net, {"0.bias": np.zeros(4), "x": np.ones(1)}, strict_load=True)
    assert "'x' is not in the network" in str(error.value)
    assert net.parameters_dict()["0.bias"].asnumpy().tolist() == [1, 1, 1, 1]
