"""Meshes, layouts and the op that lays values out."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import parallel
from adjoint.backends.xla import executable
from adjoint.parallel.layouts_on_mesh import as_layout, check_fits, sharding


def test_a_mesh_is_printed_as_a_table():
    mesh = parallel.mesh(data=2, model=3)
    assert repr(mesh) == "Mesh(data=2, model=3)" and mesh.size == 6 and mesh.axes == {"data": 2, "model": 3}
    assert str(mesh).splitlines() == [
        "Mesh(data=2, model=3)",
        "data  model 0  model 1  model 2",
        "0     cpu:0    cpu:1    cpu:2",
        "1     cpu:3    cpu:4    cpu:5",
    ]
    assert str(parallel.mesh(data=2)).splitlines()[1:] == ["  data 0  data 1", "  cpu:0   cpu:1"]


def test_sizes_devices_and_equality():
    assert parallel.mesh({"data": -1, "model": 2}).axes == {"data": 4, "model": 2}
    chosen = parallel.mesh(data=2, devices=["cpu:5", "cpu:2"])
    assert chosen.devices == ["cpu:5", "cpu:2"]
    assert chosen != parallel.mesh(data=2) and parallel.mesh(data=2) == parallel.mesh({"data": 2})
    assert len({parallel.mesh(data=2), parallel.mesh(data=2)}) == 1


@pytest.mark.parametrize(
    ("axes", "devices", "said"),
    [
        ({"data": 16}, None, r"data=16 takes 16 devices, and JAX sees 8 \(cpu\)\. .*virtual_devices\(16\)"),
        ({"data": 3}, ["cpu:0", "cpu:1"], "takes 3 devices, and 2 are given"),
        ({"data": 2}, ["cpu:0", "cpu:0"], "cpu:0 is given twice"),
        ({"data": 2}, "cpu:0", "must be a list of names"),
        ({"data": 2}, ["cpu:8", "cpu:1"], "of cpu there are 8"),
        ({"data": 0}, None, "must be a number of devices above zero"),
        ({"data": True}, None, "must be a number of devices above zero"),
        ({"data": -1, "model": -1}, None, "one axis may be -1"),
        ({3: 2}, None, "an axis has a name"),
        ({}, None, "name at least one axis"),
    ],
)
def test_meshes_that_make_no_sense(axes, devices, said):
    with pytest.raises(ad.AdjointError, match=said):
        parallel.mesh(axes, devices=devices)


def test_axes_are_given_in_one_way():
    with pytest.raises(ad.ArgumentError, match="not both"):
        parallel.mesh({"data": 2}, model=2)


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("data", "for each axis"),
        ((3,), "named by a text"),
        (("data", "data"), "each can be used once"),
        (4, "for each axis"),
    ],
)
def test_layouts_that_make_no_sense(layout, said):
    with pytest.raises(ad.AdjointError, match=said):
        as_layout("here", layout)


def test_layouts_that_do_not_fit():
    mesh = parallel.mesh(data=4, model=2)
    with pytest.raises(
        ad.ShapeError, match=r"axis 1 of the shape \(4, 6\) has 6 elements, which do not make 4 equal parts"
    ):
        check_fits("here", (None, "data"), (4, 6), mesh)
    with pytest.raises(ad.ShapeError, match="is for 2 axes"):
        check_fits("here", (None, "data"), (4,), mesh)
    with pytest.raises(ad.ArgumentError, match=r"none called 'rows'.*parallel\.mesh\(data=4, model=2, rows=1\)"):
        check_fits("here", ("rows",), (4,), mesh)
    check_fits("here", (("data", "model"),), (8,), mesh)


def test_constrain_is_the_identity_in_every_mode():
    x = np.arange(6.0).reshape(2, 3)
    f = lambda x: (parallel.constrain(x * x, ("data", None)) * x).sum()
    expected = 3 * x * x
    np.testing.assert_allclose(ad.grad(f)(x), expected)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x), expected)
    np.testing.assert_allclose(ad.jit(ad.grad(f), backend="interpreter")(x), expected)
    np.testing.assert_allclose(ad.jit(ad.grad(f), backend="xla")(x), expected)
    np.testing.assert_allclose(ad.jvp(f, x, x)[1], (expected * x).sum())
    np.testing.assert_allclose(
        ad.vmap(ad.grad(lambda row: (parallel.constrain(row, ("data",)) ** 3).sum()))(x), expected
    )
    with pytest.raises(ad.ShapeError, match="is for 2 axes"):
        parallel.constrain(x[0], (None, "data"))


def test_values_lie_where_they_are_to_and_results_where_the_inputs_did():
    """The executable itself, on arrays of JAX's: one program for many steps."""
    import jax

    mesh = parallel.mesh(data=4, model=2)
    place = lambda x, layout: jax.device_put(np.array(x), sharding(mesh, layout))

    def step(w, x):
        y = parallel.constrain(x @ w, ("data", "model"))
        return (y * y).sum(), w - 0.1 * (x.T @ y)

    w, x = np.ones((6, 4), "float32"), np.linspace(-1, 1, 48, dtype="float32").reshape(8, 6)
    run = executable.compile(ad.jit(step).graph(w, x))
    run.replaced = {1: 0}
    a, b = place(w, (None, "model")), place(x, ("data",))
    for _ in range(3):
        loss, a = run(a, b)
        _, w = step(w, x)
    assert a.sharding == sharding(mesh, (None, "model"))
    np.testing.assert_allclose(a, w, rtol=1e-5)
    programs = {id(program): program for program, _ in run.made.values()}
    assert len(programs) == 1
    (text,) = (program.as_text() for program in programs.values())
    assert " all-reduce(" in text
    with pytest.raises(ad.DeviceError, match="cpu:0 and a mesh of 8 devices"):
        run(jax.device_put(w, jax.devices()[0]), b)


def test_numpy_s_arrays_may_be_written_to_after_a_call():
    """JAX reads them after it has returned; what it reads is a copy."""
    import jax

    run = executable.compile(ad.jit(lambda x, y: x + y).graph(np.zeros(4), np.zeros(4)))
    here = np.ones(4)
    with executable.precise():
        there = jax.device_put(np.zeros(4), jax.devices()[3])
    (y,) = run(there, here)
    here[:] = 5
    assert np.asarray(y).tolist() == [1.0] * 4 and y.device == jax.devices()[3]


STARTED = """
import jax
from adjoint import parallel
parallel.virtual_devices(3)
print(len(jax.devices()))
parallel.virtual_devices(2)
try:
    parallel.virtual_devices(5)
except ValueError as error:
    print(error)
"""


def test_virtual_devices(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    out = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True)
    assert out.stdout.startswith("3\nvirtual_devices: JAX has begun already, with 3 CPU devices"), out.stderr
