"""Object files loaded into this process: random graphs as `jit` computes them, workspaces of the caller's, names, large constants."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.interpreter import Steps
from adjoint.backends.native import compiler, standalone
from adjoint.backends.native.runtime import llvm_compile
from adjoint.graph.node import Graph
from adjoint.testing.random_graphs import random_graph

TYPES = {
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "bool": ctypes.c_bool,
}


def call(code: bytes, graph: Graph, inputs: list[Any], shift: int | None) -> tuple[int, list[np.ndarray]]:
    """Call the function `f` of an object file, with a workspace at an odd address that is watched at both ends."""
    library = llvm_compile.link([code], ["f", "f_workspace_size"], {})
    results = [np.full(o.shape, 77).astype(o.dtype) for o in graph.outputs]
    arrays = [np.ascontiguousarray(x) for x in inputs]
    words: list[Any] = []
    for x, p in zip(arrays, graph.params, strict=True):
        words.append(ctypes.c_void_p(x.ctypes.data) if p.shape else TYPES[p.dtype.name](x.item()))
    words += [ctypes.c_void_p(y.ctypes.data if y.size else None) for y in results]
    size = ctypes.CFUNCTYPE(ctypes.c_size_t)(library["f_workspace_size"])()
    block = np.full(size + 64, 0xAB, np.uint8)
    words.append(ctypes.c_void_p(None if shift is None else block.ctypes.data + shift))
    status = ctypes.CFUNCTYPE(ctypes.c_int, *map(type, words))(library["f"])(*words)
    assert shift is None or ((block[:shift] == 0xAB).all() and (block[shift + size :] == 0xAB).all())
    return status, results


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_to_the_last_bit(seed: int) -> None:
    """On this CPU the code is that of `jit`; on any other, integers are the same."""
    random = Random(seed + 1000)
    graph, inputs = random_graph(random, random.randrange(3, 12), empty=seed % 4 == 0)
    cpu = "native" if seed % 3 else "generic"
    if compiler.Program(graph).left_out:
        with pytest.raises(ad.NotExportableError, match="have no machine code"):
            standalone.build(graph, "f", cpu)
        return
    made = standalone.build(graph, "f", cpu)
    status, found = call(made.code, graph, inputs, random.choice([None, 0, 1, 7]))
    assert status == standalone.FINE
    wanted = compiler.Program(graph)(*inputs) if cpu == "native" else Steps(graph)(*inputs)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine, np.asarray(theirs), strict=True)


def test_large_constants_and_a_function_named_as_one(tmp_path: Path) -> None:
    table = np.random.default_rng(1).standard_normal((90, 70)).astype(np.float32)
    fixed = np.arange(5000.0)
    x = np.ones((2, 90), np.float32)
    for name in ("f", "const1", "kernel", "tile1"):
        made = ad.export(lambda x: (x @ table, ops.array(fixed)), x, path=tmp_path / f"{name}_.so", name=name)
        assert made.path.stat().st_size > table.nbytes + fixed.nbytes
        found = np.empty((2, 70), np.float32), np.empty(5000)
        function = getattr(ctypes.CDLL(str(made.path)), name)
        assert function(*(ctypes.c_void_p(a.ctypes.data) for a in (x, *found)), None) == 0
        np.testing.assert_allclose(found[0], x @ table, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(found[1], fixed)


def test_names_of_arguments_and_results(tmp_path: Path) -> None:
    x, path = np.ones((3, 2)), tmp_path / "m.o"

    def weird(double, β, _x, m):
        return {"a b": double + β, "int": [_x, m]}

    def named(fn: Any, *args: Any, **options: Any) -> tuple[list[str], list[str]]:
        made = ad.export(fn, *args, path=path, **options)
        return list(made.inputs), list(made.outputs)

    assert named(weird, 1.0, 2.0, 3.0, 4.0) == (
        ["double_", "u03b2", "x", "m_2"],
        ["result_a_b", "result_int_0", "result_int_1"],
    )
    assert named(lambda: ops.ones((3,))) == ([], ["result"])
    assert named(ad.jit(ad.grad(lambda x: ops.sum(x**3))), x) == (["x"], ["d_x"])
    assert named(ad.hessian(lambda x, y: ops.sum(x**3 * y)), np.ones(3), 2.0) == (["x", "y"], ["result"])
    aux = ad.value_and_grad(lambda p, x: (ops.sum(p["w"] * x), x), has_aux=True)
    assert named(aux, {"w": x}, x) == (["p_w", "x"], ["value_0", "value_1", "d_p_w"])
    both = ad.grad(lambda x, n, y: ops.sum(x * y) * n, (2, 0))
    assert named(both, x, 3, x) == (["x", "y"], ["d_y", "d_x"])
    assert "no arguments here: n = 3." in path.with_suffix(".h").read_text()
    with pytest.raises(ad.NotExportableError, match="returns a str, which is no number: 'a'"):
        named(lambda x: (x, "a"), x)
    with pytest.raises(ad.DtypeError, match="C has no float16"):
        named(lambda x: x * 2, np.ones(3, np.float16))


def test_what_is_inside_a_branch_is_named(tmp_path: Path) -> None:
    def branching(x):
        if ops.sum(x) > 0:
            return ops.matrix_exp(x)
        return x

    with pytest.raises(ad.NotExportableError, match=r"Python runs them: Expm \(at test_standalone.py"):
        ad.export(branching, np.eye(3), path=tmp_path / "m.o")


LIMITED = """
import ctypes, resource, sys
import numpy as np
library = ctypes.CDLL(sys.argv[1])
value, slope = np.zeros(1), np.zeros(1)
words = ctypes.c_double(1.0), ctypes.c_int64(int(sys.argv[3])), *(ctypes.c_void_p(a.ctypes.data) for a in (value, slope)), None
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20), -1))
print(getattr(library, sys.argv[2])(*words), value[0], slope[0])
"""


def count_up(x, n):
    k = 0
    while k < n:
        x = ops.sin(x) + 0.5
        k = k + 1
    return x


def test_a_loop_that_finds_no_memory_ends_with_a_code(tmp_path: Path) -> None:
    """The gradient of a loop keeps a state of each iteration: ten million of them do not fit into 32 MB."""
    made = ad.export(ad.value_and_grad(count_up), 1.0, np.array(3), path=tmp_path / "count.so")
    words = " ".join(made.header.read_text().replace("*", " ").split())
    assert "take memory as they need it" in words and "COUNT_NO_MEMORY if there is none" in words

    def run(iterations: int) -> list[str]:
        command = [sys.executable, "-c", LIMITED, str(made.path), made.name, str(iterations)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    wanted = [float(y) for y in ad.value_and_grad(count_up)(1.0, np.array(3))]
    status, *found = run(3)
    assert status == "0" and list(map(float, found)) == pytest.approx(wanted, rel=1e-12)
    assert run(10_000_000) == [str(standalone.NO_MEMORY), "0.0", "0.0"]


def test_factors_of_matrices_and_a_matrix_that_has_none() -> None:
    """Large ones too, without LAPACK; what cannot be factorised ends the function with a status of its own."""
    for n in (3, 260):
        x = np.eye(n) * 4.0 + 0.5
        graph = ad.jit(lambda x: ops.solve(x, ops.cholesky(x))).graph(x)
        made = standalone.build(graph, "f")
        assert made.may_fail and not made.may_be_out_of_range
        status, (found,) = call(made.code, graph, [x], 1)
        assert status == standalone.FINE
        np.testing.assert_allclose(found, np.linalg.solve(x, np.linalg.cholesky(x)), rtol=1e-12, atol=1e-12)
        assert call(made.code, graph, [-x], None)[0] == standalone.FAILED
