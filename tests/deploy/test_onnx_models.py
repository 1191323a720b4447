"""Programs as ONNX models: checked by onnx, run by onnxruntime, compared with the interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import tree

RANDOM = np.random.default_rng(5)


def drawn(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


def run(path: Path, feeds: dict[str, Any]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {k: np.asarray(v) for k, v in feeds.items()})  # type: ignore[no-any-return]


def leaves(out: Any) -> list[np.ndarray]:
    return [np.asarray(getattr(x, "_value", x)) for x in tree.leaves(out)]


def close(found: list[np.ndarray], out: Any, rtol: float = 1e-5) -> None:
    wanted = leaves(out)
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol)


# ---------------------------------------------------------------- programs


def branches(x, limit):
    if ops.sum(x) > limit:
        y = ops.exp(-x)
        z = 2.0
    else:
        y = x * x
        z = ops.sum(x) / 7.0
    return y, z


def newton(a, x):
    steps = 0
    while ops.abs(x * x - a) > 1e-4:
        x = x - (x * x - a) / (2.0 * x)
        steps = steps + 1
    return x, steps


def recurrence(x, w):
    state, seen = ops.zeros((5,), ad.float32), []
    for row in x:
        state = ops.tanh(w @ state + row)
        seen.append(ops.sum(state))
    return state, ops.stack(seen)


def with_break(x):
    total = ops.sum(x) * 0.0
    for k in range(50):
        total = total + x[k % 4] * k
        if total > 20.0:
            break
    return total


def nested(x):
    out = x
    for _ in range(30):
        if ops.sum(out) > 3.0:
            while ops.sum(out) > 1.0:
                out = out * 0.5
        else:
            out = out + 0.3
    return out


def mlp(weights, x, labels):
    h = ops.tanh(x @ weights["w1"] + weights["b1"])
    return ops.mean(ops.square(h @ weights["w2"] - labels))


def integers(i, j, flags):
    return i // j, i % j, ops.where(flags, i, j), (i & j) | 3, ops.sum(flags), i**3, ops.any(flags, 0), -i > j


def indexed(table, rows, x):
    y = ops.gather(table, rows, 0)
    z = ops.concat([x[::2, None, 1], ops.flip(x, 0)[1:3, None, 0]])
    return y, z, ops.cumsum(x, 1), ops.argmax(x, 1), ops.sort(x)[0], ops.einsum("ij,kj->ik", x, x)


WEIGHTS = {"w1": drawn(13, 7), "b1": drawn(7), "w2": drawn(7, 3)}
PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "branches": (branches, (drawn(4, 3), np.float32(100.0))),
    "other_branch": (branches, (drawn(4, 3), np.float32(-100.0))),
    "newton": (newton, (np.float32(2.0), np.float32(1.0))),
    "recurrence": (recurrence, (drawn(60, 5), drawn(5, 5))),
    "with_break": (with_break, (np.abs(drawn(4)),)),
    "nested": (nested, (np.abs(drawn(3)),)),
    "mlp": (ad.value_and_grad(mlp), (WEIGHTS, drawn(11, 13), drawn(11, 3))),
    "loop_gradient": (ad.grad(lambda x, w: ops.sum(recurrence(x, w)[0] ** 2), (0, 1)), (drawn(60, 5), drawn(5, 5))),
    "newton_gradient": (ad.grad(lambda a, x: newton(a, x)[0], (0, 1)), (np.float32(2.0), np.float32(1.0))),
    "jitted": (ad.jit(ad.value_and_grad(lambda x: ops.mean(ops.exp(x * 2) + x))), (drawn(6, 5),)),
    "double": (lambda x: ops.softmax(x @ x, 0) + ops.log1p(ops.exp(x)), (drawn(4, 4, dtype=np.float64),)),
    "integers": (
        integers,
        (np.array([7, -7, 0, 9]), np.array([2, 2, -3, -4]), np.array([True, False, True, True])),
    ),
    "indexed": (indexed, (drawn(9, 5), np.array([[3, -1], [0, 8]], np.int32), drawn(5, 4))),
    "empty": (lambda x: (ops.sum(x, 0), ops.exp(x), x.T @ x), (np.zeros((0, 3), np.float32),)),
    "given": (lambda x: {"same": x, "number": 2.5, "fixed": ops.ones((3, 40)), "twice": (x * 2, x * 2)}, (drawn(2),)),
    "scalar": (lambda x, n: ops.sin(x) * n, (0.5, 3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, tmp_path: Path) -> None:
    fn, args = PROGRAMS[name]
    made = ad.export(fn, *args, path=tmp_path / "f.onnx")
    assert made.format == "onnx" and made.opset == 18 and made.header is None
    numbers = [x for x in tree.leaves(args) if not isinstance(x, int)]
    used = {x.name for x in onnx.load(made.path).graph.input}
    assert list(made.inputs) == [x for x in made.inputs if x in used]
    close(run(made.path, dict(zip(made.inputs, numbers, strict=True))), ad.jit(fn, backend="interpreter")(*args), 2e-5)


# ---------------------------------------------------------------- networks


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 6, 5, pad_mode="same"), nn.Conv2d(6, 16, 3, stride=2, pad_mode="valid")
        self.norm, self.pool = nn.BatchNorm2d(6), nn.MaxPool2d(2, 2)
        self.average, self.last = nn.AvgPool2d(2, 2), nn.Dense(16 * 3 * 3, 10)

    def construct(self, x):
        h = self.pool(ops.relu(self.norm(self.first(x))))
        h = self.average(ops.gelu(self.second(h)))
        return ops.log_softmax(self.last(ops.reshape(h, (x.shape[0], -1))), -1)


def lenet() -> LeNet:
    ad.set_seed(1)
    return LeNet().set_train(False)


def test_a_network_has_its_parameters_as_initializers_by_name(tmp_path: Path) -> None:
    net, x = lenet(), drawn(3, 1, 28, 28)
    made = ad.export(net, x, path=tmp_path / "lenet.onnx", outputs=["scores"])
    assert list(made.inputs) == ["x"] and list(made.outputs) == ["scores"]
    model = onnx.load(made.path)
    held = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    for p in net.get_parameters():
        np.testing.assert_array_equal(held[p.name], p.asnumpy())
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 18)] and model.producer_name == "adjoint"
    assert {n.op_type for n in model.graph.node} >= {"Conv", "MaxPool", "Relu", "Erf", "MatMul"}
    close(run(made.path, {"x": x}), net(ad.Tensor(x)))


def test_parameters_as_inputs_and_a_newer_opset(tmp_path: Path) -> None:
    net, x = lenet(), drawn(2, 1, 28, 28)
    made = ad.export(net, x, path=tmp_path / "lenet.onnx", parameters="inputs", opset=21)
    assert onnx.load(made.path).opset_import[0].version == 21
    values = {p.name.replace(".", "_"): p.asnumpy() * 0.5 for p in net.get_parameters()}
    assert {"x", *values} == set(made.inputs) and "first_weight" in values
    found = run(made.path, {"x": x, **values})
    for p in net.get_parameters():
        p.set_data(ad.Tensor(p.asnumpy() * 0.5))
    close(found, net(ad.Tensor(x)))


@pytest.mark.parametrize("name", ["lenet", "attention", "recurrence", "loss"])
def test_a_batch_of_any_size(name: str, tmp_path: Path) -> None:
    ad.set_seed(2)
    shape, fn = {
        "lenet": ((1, 28, 28), lenet()),
        "attention": ((6, 8), nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).set_train(False)),
        "recurrence": ((5,), lambda x: recurrence(x, WEIGHTS["w1"][:5, :5])[0]),
        "loss": ((4,), lambda x: (ops.mean(x), x[:, 0] + ops.ones(x.shape[0]), ops.sum(x * x, 0) / x.shape[0], ops.ones((x.shape[0], 2)) @ ops.ones((2, 9)))),
    }[name]  # fmt: skip
    first = next(iter(ad.export(fn, drawn(4, *shape), path=tmp_path / "one.onnx").inputs))
    made = ad.export(fn, drawn(4, *shape), path=tmp_path / "any.onnx", dynamic_batch=first)
    assert onnx.load(made.path).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    for n in (4, 1, 7, 46, 120):
        x = drawn(n, *shape)
        close(run(made.path, {first: x}), ad.jit(fn, backend="interpreter")(x), 2e-5)


def printing(x):
    print(x)
    return x


def test_what_no_model_serves_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.onnx"
    other = {"dynamic_batch": "x"}
    refused = [
        (lambda x: ops.solve(x, x), (np.eye(3, dtype=np.float32),), {}, r"Solve has no form in ONNX.*test_onnx_models"),
        (lambda x: ops.fft(x), (drawn(4),), {}, "Fft on complex64 has no form"),
        (printing, (drawn(4),), {}, "no effects, such as"),
        (lambda x: x + ops.randn(4), (drawn(4),), {}, "draws random numbers"),
        (lambda i, j: i << j, (np.array([1]), np.array([2])), {}, "LeftShift has no form in ONNX"),
        (lambda x: x * ops.arange(0, x.shape[0], 1, ad.float32), (drawn(4),), other, "in another way than a"),
        (lambda x: ops.sum(x) / (x.shape[0] ** 2.0), (drawn(4),), other, "in another way than a"),
        (lambda x: x * 2 if x.shape[0] > 40 else x + 1, (drawn(4),), other, "another one for another batch size"),
    ]
    for fn, args, options, words in refused:
        with pytest.raises(ad.NotExportableError, match=words):
            ad.export(fn, *args, path=path, **options)
    wrong = [
        ({"opset": 12}, "opset must be a number from 18"),
        ({"dynamic_batch": "y"}, "dynamic_batch names"),
        ({"dynamic_batch": 0}, "dynamic_batch must be the name of an argument"),
        ({"cpu": "native"}, "cpu= is for machine code"),
        ({"parameters": "none"}, "parameters must be"),
    ]
    for options, words in wrong:
        with pytest.raises((ad.ArgumentError, ad.ArgumentTypeError), match=words):
            ad.export(lambda x: x * 2, drawn(4), path=path, **options)
    assert not path.exists()


@pytest.mark.parametrize("most", [1, 2, 3, 8, 16, 36, 100])
def test_a_function_that_branches_on_its_size_is_no_model_for_all_sizes(most: int, tmp_path: Path) -> None:
    for fn in (
        lambda x: x if len(x) > most else -x,
        lambda x: x * (1.5 if len(x) > most else 2.5),
        lambda x: ops.sum(x[: most + 1], 0) / len(x[: most + 1]),
    ):
        with pytest.raises(ad.NotExportableError, match="leave dynamic_batch out"):
            ad.export(fn, drawn(5, 3), path=tmp_path / "f.onnx", dynamic_batch="x")


def test_steps_that_fall_together_at_a_small_size_are_still_one_program(tmp_path: Path) -> None:
    for fn in (
        lambda x: ops.sum((x - ops.mean(x, 0)) ** 2, 0) / (len(x) - 1),  # two constants are the same at 3
        lambda x: x[:3] * 2,
        lambda x: x[-1] - x[0],
    ):
        made = ad.export(fn, drawn(5, 3), path=tmp_path / "f.onnx", dynamic_batch="x")
        for n in (2, 3, 4, 40, 200):
            x = drawn(n, 3)
            close(run(made.path, {"x": x}), fn(ad.Tensor(x)), 2e-5)


def test_without_onnx_a_sentence_names_the_extra() -> None:
    code = """if True:
        import sys
        sys.modules["onnx"] = None
        import adjoint as ad
        try:
            ad.export(lambda x: x, 1.0, path="f.onnx")
        except ad.AdjointError as error:
            print(error)
    """
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'adjoint[onnx]'" in out.stdout
