"""Estimates of layouts: counts against those by hand, collectives against a simulated ring, times against theory."""

from __future__ import annotations

import sys
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
from adjoint import parallel
from adjoint.core.spec import Spec
from adjoint.graph.trace import trace
from adjoint.parallel import LLAMA_70B, DeviceLayout, Machine, TransformerSize, estimate_layout, layer_counts
from adjoint.parallel.collectives import all_reduce_time, gather_time, levels, sent_bytes
from adjoint.parallel.transformer_counts import TWO_BYTES, _layer, layer_graph
from adjoint.passes.forward_items import bytes_of

SMALL = TransformerSize(layers=4, width=16, heads=4, key_heads=2, hidden=24, vocabulary=50)


def test_parameters_and_products_are_those_counted_by_hand() -> None:
    d, f, v, layers, kv, s = 8192, 28672, 32000, 80, 1024, 4096
    layer = 2 * d * d + 2 * d * kv + 3 * d * f + 2 * d
    assert layer_counts(LLAMA_70B).parameters == layer
    assert LLAMA_70B.parameters == layers * layer + 2 * v * d + d
    products = 2 * s * (layer - 2 * d) + 2 * 2 * s * s * d  # with the weights, and attention's two
    assert 1 < layer_counts(LLAMA_70B).flops / products < 1.01  # beside them is little arithmetic
    assert layer_counts(LLAMA_70B).input_bytes == layer_counts(LLAMA_70B).reduced == 2 * s * d
    assert layer_counts(LLAMA_70B, micro_batch=2).flops == pytest.approx(2 * layer_counts(LLAMA_70B).flops)


def test_the_traced_layer_computes_a_transformer_layer() -> None:
    """The graph that is counted, run on numbers and compared with the same in NumPy."""
    from adjoint.graph.steps import Steps

    draw = np.random.default_rng(0)
    graph = layer_graph(SMALL, sequence=5, micro_batch=2)
    x, cos, sin, q, k, v, gate, up, out, down, n1, n2 = (
        (draw.normal(size=p.spec.shape) / 3).astype(np.float16) for p in graph.params
    )

    def norm(h, g):
        return h / np.sqrt((h**2).mean(-1, keepdims=True) + 1e-6) * g

    def turned(h):
        a, b = np.split(h, 2, -1)
        return np.concatenate([a * c - b * s, a * s + b * c], -1)

    arrays = [a.astype(np.float64) for a in (x, cos, sin, q, k, v, gate, up, out, down, n1, n2)]
    given_x, c, s, q, k, v, gate, up, out, down, n1, n2 = arrays
    h = norm(given_x, n1)
    heads = [m.reshape(2, 5, -1, 4).transpose(0, 2, 1, 3) for m in (h @ q, h @ k, h @ v)]
    qs, ks, vs = turned(heads[0]), np.repeat(turned(heads[1]), 2, 1), np.repeat(heads[2], 2, 1)
    weights = np.exp(qs @ ks.transpose(0, 1, 3, 2) / 2)
    mixed = (weights / weights.sum(-1, keepdims=True)) @ vs
    y = given_x + mixed.transpose(0, 2, 1, 3).reshape(2, 5, 16) @ out
    h = norm(y, n2)
    y = y + ((h @ gate) / (1 + np.exp(-(h @ gate))) * (h @ up)) @ down
    np.testing.assert_allclose(Steps(graph)(x, *(a.astype(np.float16) for a in arrays[1:]))[0], y, atol=0.01)


def test_no_array_of_the_models_size_is_filled() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    layer_counts(LLAMA_70B, 8192, 4)  # 53 GB of activations, 3.4 GB of weights
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000 * (
        1024 if sys.platform == "darwin" else 1
    )


def test_what_crosses_in_a_cut_is_what_the_estimate_sends() -> None:
    """The graph of four layers cut between them by `cut_graph`: a stage receives the input of a layer."""
    count, counts = 4, layer_counts(SMALL, 64, 2)
    one = [p.spec for p in layer_graph(SMALL, 64, 2).params]

    def layers(x, cos, sin, *weights):
        for k in range(count):
            x = _layer(SMALL, x, cos, sin, *weights[9 * k : 9 * k + 9])
        return [x]

    graph = trace(layers, [*one[:3], *one[3:] * count], replayed=True)[0]
    cut = parallel.cut_graph(graph, 2, machine=Machine(link_bandwidth=1e8))
    assert cut.stages[1].received == counts.input_bytes == bytes_of(Spec((2, 64, 16), TWO_BYTES))
    found = estimate_layout(SMALL, DeviceLayout(pipeline=2, micro_batch=2), batch=6, sequence=64)
    assert found.pipeline_bytes == 2 * 3 * counts.input_bytes  # forward and back, for three micro-batches
    assert cut.balance > 0.9


def ring(n: int, count: float, latency: float, bandwidth: float) -> tuple[float, list[float]]:
    """An all-reduce simulated message by message: the time, and what each device sends. Sums are checked on the way."""
    value = [[{device} for _ in range(n)] for device in range(n)]  # whose share is in each piece
    clock, sent = [0.0] * n, [0.0] * n
    for turn in range(2 * (n - 1)):
        before, arrivals = [[set(piece) for piece in mine] for mine in value], list(clock)
        for device in range(n):
            piece, to = (device - turn) % n, (device + 1) % n
            value[to][piece] = before[device][piece] | (before[to][piece] if turn < n - 1 else set())
            sent[device] += count / n
            arrivals[to] = max(arrivals[to], clock[device] + latency + count / n / bandwidth)
        clock = arrivals
    assert all(piece == set(range(n)) for mine in value for piece in mine)
    return max(clock), sent


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_the_formula_of_a_ring_is_what_a_simulated_ring_takes(n: int) -> None:
    machine = Machine(link_bandwidth=3e9, link_latency=2e-6)
    seconds, sent = ring(n, 1e6, 2e-6, 3e9)
    assert all_reduce_time(machine, n, 1e6) == pytest.approx(seconds)
    assert sent == pytest.approx([2 * sent_bytes(n, 1e6)] * n)


def test_groups_on_several_nodes_go_over_both_kinds_of_links() -> None:
    machine = Machine(link_bandwidth=1e9, link_latency=0, network_bandwidth=1e8, network_latency=0, devices_per_node=4)
    assert levels(machine, 8, 1) == (4, 2) and levels(machine, 8, 4) == (1, 8) and levels(machine, 2, 1) == (2, 1)
    assert gather_time(machine, 8, 8e6) == pytest.approx(6e6 / 1e9 + 1e6 / 1e8)
    assert gather_time(machine, 8, 8e6, stride=4) == pytest.approx(7e6 / 1e8)


powers = st.sampled_from([1, 2, 4, 8])


@given(powers, powers, powers, st.integers(0, 3), st.sampled_from(["none", "attention", "layer"]))
def test_every_layout_does_the_work_of_the_model(d: int, t: int, p: int, zero: int, recompute: str) -> None:
    size = TransformerSize(layers=8, width=64, heads=8, key_heads=8, hidden=128, vocabulary=100)
    layout = DeviceLayout(d, t, p, zero=zero, recompute=recompute)
    found = estimate_layout(size, layout, batch=16, sequence=32)
    one = estimate_layout(size, DeviceLayout(recompute=recompute), batch=16, sequence=32)
    assert found.model_flops == one.model_flops and found.utilisation <= found.machine.share + 1e-9
    assert found.compute_seconds * layout.devices >= one.compute_seconds * (1 - 1e-9)  # no work is lost
    assert found.overlapped_seconds <= found.step_seconds * (1 + 1e-9)
    assert (found.data_bytes == 0) == (d == 1) and (found.tensor_bytes == 0) == (t == 1)
    assert (found.pipeline_bytes == 0) == (p == 1)
    assert found.bubble >= (p - 1) / (found.micro_batches + p - 1) - 1e-9
    more = estimate_layout(
        size, DeviceLayout(d, t, p, zero=max(zero - 1, 0), recompute=recompute), batch=16, sequence=32
    )
    assert found.state_bytes <= more.state_bytes and found.gradient_bytes <= more.gradient_bytes


def test_zero_shares_what_it_says() -> None:
    full, one, two, three = (estimate_layout(LLAMA_70B, DeviceLayout(64, 8, 2, zero=z)) for z in range(4))
    weights = full.weight_bytes / 2
    assert full.state_bytes == 12 * weights and one.state_bytes == 12 * weights / 64
    assert one.gradient_bytes == 2 * weights and two.gradient_bytes == 2 * weights / 64
    assert three.weight_bytes < 0.1 * full.weight_bytes
    share = 63 / 64 * 2 * weights
    assert full.data_bytes == pytest.approx(2 * share) and one.data_bytes == pytest.approx(2 * share)
    assert two.data_bytes == pytest.approx((two.micro_batches + 1) * share)
    assert three.data_bytes == pytest.approx(3 * three.micro_batches * share)


def test_a_thousand_devices() -> None:
    found = parallel.compare_layouts(LLAMA_70B, [DeviceLayout(1024), DeviceLayout(16, 8, 8, zero=1)])
    assert prod((16, 8, 8)) == found.estimates[1].layout.devices == 1024
    assert not found.estimates[0].fits and found.best() is found.estimates[1]
    assert found._repr_html_().startswith("<table>") and "!" in str(found)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: DeviceLayout(data=0), "data must be above zero"),
        (lambda: DeviceLayout(zero=4), "zero must be one of 0, 1, 2, 3"),
        (lambda: DeviceLayout(recompute="all"), "recompute must be one of"),
        (lambda: DeviceLayout(schedule="x"), "schedule must be one of"),
        (lambda: estimate_layout(SMALL, DeviceLayout(3), batch=16), "not divided by 3 copies"),
        (lambda: estimate_layout(SMALL, DeviceLayout(pipeline=5), batch=16), "4 layers cannot be 5 stages"),
        (lambda: estimate_layout(SMALL, DeviceLayout(tensor=3), batch=16), "4 heads cannot be shared by 3"),
        (lambda: TransformerSize(1, 10, 4, 2, 8, 9), "heads times an even number"),
        (lambda: parallel.compare_layouts(LLAMA_70B, [DeviceLayout(1024)]).best(), "none of 1 layouts fits"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make, said: str) -> None:
    with pytest.raises(ad.ArgumentError, match=said):
        make()
