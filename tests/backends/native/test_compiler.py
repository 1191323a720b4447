"""Whole programs: every card alone, inputs of any layout, memory that ends where it should, threads and forks."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.interpreter import Steps
from adjoint.backends.native.compiler import Program
from adjoint.core.spec import Spec, spec_of
from adjoint.graph.node import Builder, Graph
from adjoint.ops import arithmetic as a
from adjoint.ops import movement as m
from adjoint.ops import reduce as r
from adjoint.ops import slicing
from adjoint.ops.card import REGISTRY
from adjoint.ops.linalg import Expm
from adjoint.testing.cases import cases

f8 = np.dtype("float64")
linux = pytest.mark.skipif(sys.platform != "linux", reason="mprotect and fork as Linux has them")


# ---------------------------------------------------------------- every card

DTYPES = ("float64", "float32")


def all_samples(name: str, dtype: str) -> tuple[Graph, list[np.ndarray]]:
    """One graph with the samples of a card side by side."""
    builder, values, outputs = Builder(), [], []
    for (case,) in cases(REGISTRY[name], "float64", 1):
        xs = [x.astype(dtype) if x.dtype.kind == "f" else x for x in case.xs]
        call = builder.build(case.op, [builder.param(spec_of(x)) for x in xs])
        count = len(call.spec) if isinstance(call.spec, tuple) else 0
        outputs += [builder.pick(call, k) for k in range(count)] if count else [call]
        values += xs
    return Graph(tuple(builder.params), tuple(outputs)), values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", range(8))
def test_the_samples_of_every_card(part: int, dtype: str) -> None:
    rtol = 2e-13 if dtype == "float64" else 1e-4
    for name in sorted(REGISTRY)[part::8]:
        if REGISTRY[name].opaque:
            continue
        graph, values = all_samples(name, dtype)
        if not graph.outputs:
            continue
        with np.errstate(all="ignore"):
            pairs = list(zip(Program(graph)(*values), Steps(graph)(*values), strict=True))
        for found, wanted in pairs:
            found, wanted = np.asarray(found), np.asarray(wanted)
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
            if wanted.dtype.kind not in "fc":
                np.testing.assert_array_equal(found, wanted, err_msg=name)
            else:
                size = np.max(np.abs(wanted), initial=0.0)
                np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * (1 + size), err_msg=name)


def test_whole_numbers_and_truth_values_go_through_every_movement_and_reduction() -> None:
    for name in ("Transpose", "Flip", "GetItem", "Concat", "Stack", "PutItem", "SetItem", "Sum", "Max", "Any", "All"):
        for dtype in ("int64", "int32", "bool"):
            graph, values = all_samples(name, dtype)
            for found, wanted in zip(Program(graph)(*values), Steps(graph)(*values), strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=f"{name} {dtype}", strict=True)


# ---------------------------------------------------------------- inputs and outputs


def mixture(builder: Builder, x: Any, y: Any) -> list[Any]:
    total = builder.build(a.Add(), [x, y])
    return [
        total,
        builder.build(r.Sum((0,)), [total]),
        builder.build(m.Transpose((1, 0)), [x]),
        builder.build(slicing.GetItem(((None, None, -2), 1)), [total]),
    ]


def misaligned(x: np.ndarray) -> np.ndarray:
    raw = np.zeros(x.nbytes + 1, np.uint8)
    found = raw[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    assert not found.flags.aligned
    return found


LAYOUTS = {
    "plain": lambda x: x,
    "columns first": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "misaligned": misaligned,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "read only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


def test_inputs_of_any_layout() -> None:
    for name in ("float64", "float32", "int32"):
        dtype = np.dtype(name)
        x, y = (np.asarray(np.arange(63).reshape(7, 9) * k % 17, dtype) for k in (3, 5))
        builder = Builder()
        params = [builder.param(Spec((7, 9), dtype)) for _ in range(2)]
        graph = Graph(tuple(params), tuple(mixture(builder, *params)))
        program = Program(graph)
        for layout, change in LAYOUTS.items():
            given = change(x)
            for found, wanted in zip(program(given, y), Steps(graph)(np.array(given, dtype), y), strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=f"{name} {layout}", strict=True)


def test_outputs_that_are_inputs_constants_views_or_the_same_twice() -> None:
    builder = Builder()
    x, unused = builder.param(Spec((2, 3), f8)), builder.param(Spec((4,), f8))
    table, number = builder.const(np.arange(3.0)), builder.const(2.5)
    flipped = builder.build(slicing.Flip((1,)), [x])
    total = builder.build(a.Add(), [x, table])
    exponential = builder.build(Expm(), [builder.build(slicing.GetItem(((None, 2, None), (None, 2, None))), [total])])
    for outputs in (
        (x, x, table, number, total, total, flipped, builder.build(m.Reshape((3, 2)), [x])),
        (table,),
        (x, unused),
        (),
        (builder.build(m.Reshape((6,)), [total]), builder.build(m.Reshape((3, 2)), [total]), total, exponential),
    ):
        graph = Graph((x, unused), outputs)
        values = [np.array([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]]), np.zeros(4)]
        for found, wanted in zip(Program(graph)(*values), Steps(graph)(*values), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_interpreted_nodes_between_compiled_ones() -> None:
    builder = Builder()
    x = builder.param(Spec((3, 3), f8))
    one = builder.build(Expm(), [builder.build(a.Mul(), [x, builder.const(2.0)])])
    two = builder.build(Expm(), [builder.build(a.Add(), [one, x])])
    graph = Graph((x,), (builder.build(r.Sum((0,)), [two]), one, builder.build(a.Neg(), [two])))
    program = Program(graph)
    assert [type(n.op).__name__ for n in program.left_out] == ["Expm", "Expm"]
    value = np.eye(3) + np.arange(9).reshape(3, 3) / 10
    for found, wanted in zip(program(value), Steps(graph)(value), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


# ---------------------------------------------------------------- memory


@linux
@pytest.mark.parametrize("graphs", ["registry", "graphs", "corpus"])
def test_nothing_is_read_or_written_outside_its_place(graphs: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.backends.native.guarded", graphs], capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, f"{done.stdout[-300:]}\n{done.stderr[-3000:]}"
    assert "ran within their memory" in done.stdout


@linux
def test_the_guard_sees_a_wrong_access() -> None:
    """The check itself fails for a kernel that reads one element too many, or writes one."""
    for wrong in ("reads", "writes"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.backends.native.guarded", f"--{wrong}"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode != 0, wrong


# ---------------------------------------------------------------- threads and processes


def busy(x, y):
    total = x * 0.0
    for _ in range(3):
        total = ops.tanh(total + x @ y) * ops.exp(-x * x)
    return total, ops.sum(total, 0), ops.sum(total)


@pytest.fixture(scope="module")
def shared() -> tuple[Graph, Program]:
    square = np.zeros((120, 120))
    graph = ad.graph.optimize_grad_graph(ad.graph.trace_function(busy, [square, square]))
    program = Program(graph)
    assert not program.left_out
    return graph, program


def test_several_python_threads_call_one_program(shared: tuple[Graph, Program]) -> None:
    _, program = shared
    draw = np.random.default_rng(0)
    inputs = [[draw.standard_normal((120, 120)) for _ in range(2)] for _ in range(4)]
    alone = [program(*xs) for xs in inputs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            for found, wanted in zip(pool.map(lambda xs: program(*xs), inputs), alone, strict=True):
                for x, y in zip(found, wanted, strict=True):
                    assert x.tobytes() == y.tobytes()


@linux
@pytest.mark.filterwarnings("ignore:.*fork")  # of Python, and of JAX where another test has loaded it
def test_a_child_of_fork_runs_the_program(shared: tuple[Graph, Program]) -> None:
    _, program = shared
    xs = [np.random.default_rng(1).standard_normal((120, 120)) for _ in range(2)]
    wanted = program(*xs)

    def child() -> None:
        found = program(*xs)
        os._exit(0 if all(x.tobytes() == y.tobytes() for x, y in zip(found, wanted, strict=True)) else 1)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    assert process.exitcode == 0
    assert program(*xs)[0].tobytes() == wanted[0].tobytes()


def test_a_scalar_computes_shared_parts_once():
    """Each iteration uses the last one twice: code that holds both of them would grow to 2**32 calls."""

    def f(x):
        for _ in range(8):
            for _ in range(4):
                x = ops.tanh(ops.where(x > 0.1, x, x[0]))
        return x[0] + ops.sum(x)

    x = np.array([0.7, -0.4, 0.05])
    expected = x
    for _ in range(32):
        expected = np.tanh(np.where(expected > 0.1, expected, expected[0]))
    assert np.allclose(ad.jit(f)(x), expected[0] + expected.sum())
