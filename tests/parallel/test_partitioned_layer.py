"""The estimates of layouts against XLA's own partitioner: which collectives it inserts into the graph of a layer, on four virtual devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = r"""
import re
import sys
from math import prod
from pathlib import Path

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

from adjoint.backends.xla.executable import compile
from adjoint.graph.derivatives import vjp_graph
from adjoint.parallel.transformer_counts import COLUMNS, ROWS, WHOLE, TransformerSize, layer_counts, layer_graph

size = TransformerSize(layers=1, width=32, heads=8, key_heads=4, hidden=64, vocabulary=50)
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("four",))
graph, counts = layer_graph(size, 16, 4), layer_counts(size, 16, 4)
wanted = (0, *range(3, len(graph.params)))
backward = vjp_graph(graph, wanted, (0,))
seen = set()

def sums(graph, places):
    arrays = [np.ones(p.spec.shape, p.spec.dtype) for p in graph.params]
    compile(graph)(*(jax.device_put(x, NamedSharding(mesh, p)) for x, p in zip(arrays, places, strict=True)))
    written = set(Path(sys.argv[1]).glob("*after_optimizations.txt")) - seen
    seen.update(written)
    text = "\n".join(path.read_text() for path in written)
    others = re.findall(r" (all-gather|reduce-scatter|all-to-all|collective-permute)[(-]", text)
    found = re.findall(r"= (.*?) all-reduce(?:-start)?\(", text)
    return [prod(map(int, s.split(","))) for line in found for s in re.findall(r"f\d+\[([\d,]+)\]", line)], others

by_kind = {**dict.fromkeys(COLUMNS, P(None, "four")), **dict.fromkeys(ROWS, P("four", None)), **dict.fromkeys(WHOLE, P())}
tensor = [P(), P(), P(), *by_kind.values()]
data = [P("four"), P(), P(), *[P()] * 9]
print(counts.input_bytes // 2, counts.parameters)
print(*sums(graph, tensor))
print(*sums(backward, [*tensor, P()]))
print(*sums(backward, [*data, P("four")]))
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    dump = tmp_path_factory.mktemp("programs")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count=4 --xla_backend_optimization_level=0 --xla_dump_to={dump} --xla_dump_hlo_as_text",
    }
    out = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(dump)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert out.returncode == 0, out.stderr[-3000:]
    return out.stdout.splitlines()


def test_tensor_parallel_sums_are_those_of_the_estimate(lines: list[str]) -> None:
    x = lines[0].split()[0]
    assert lines[1] == f"[{x}, {x}] []"
    assert (
        lines[2] == f"[{', '.join([x] * 6)}] []"
    )  # of five products, and one of the forward pass that is computed again


def test_data_parallel_sums_every_parameter_once(lines: list[str]) -> None:
    summed, others = lines[3].split("] [")
    assert others == "]" and sum(map(int, summed[1:].split(", "))) == int(lines[0].split()[1])
