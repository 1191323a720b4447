"""Exported functions called from C: compiled by gcc with all warnings, run without Python, compared with the interpreter."""

from __future__ import annotations

import re
import subprocess
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import tree
from adjoint.deploy.c_header import C_TYPES

RANDOM = np.random.default_rng(7)
GCC = ["gcc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
#: What an object file may need: the C library, and libm.
LIBRARY = {"malloc", "free", "realloc", "memcpy", "memset", "memmove"}
MATHS = {
    "sin",
    "cos",
    "fma",
    "fmaf",
    "floor",
    "floorf",
    "ceil",
    "ceilf",
    "trunc",
    "truncf",
    "rint",
    "rintf",
    "fmod",
    "fmodf",
}
MATHS |= {"roundeven", "roundevenf"}


def drawn(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


# ---------------------------------------------------------------- programs


def scalars(x, y, k, yes):
    return ops.sin(x) * y + k, ops.where(yes, x, -x), k * 2


def mlp(weights, x, labels):
    h = ops.tanh(x @ weights["w1"] + weights["b1"])
    return ops.mean(ops.square(h @ weights["w2"] - labels))


def convolution(kernel, x):
    h = ops.relu(ops.conv2d(x, kernel, padding=1, pad_mode="pad"))
    return ops.sum(ops.square(ops.max_pool2d(h, 2)))


def newton(a, x):
    while ops.abs(x * x - a) > 1e-9:
        x = x - (x * x - a) / (2.0 * x)
    return x


def recurrence(x, w):
    state = ops.zeros((5,), ad.float64)
    for row in x:
        state = ops.tanh(w @ state + row)
    return ops.sum(state * state)


def branches(x, limit):
    if ops.sum(x) > limit:
        return ops.exp(-x)
    return x * x


def several(x, y):
    z = x + y
    return {"sum": z, "same": z, "given": x, "fixed": ops.array([1.0, 2.5]), "number": 3.5, "both": (x @ y, [y])}


def indexed(table, rows, mask):
    return ops.sum(ops.where(mask, ops.gather(table, rows, 0), 0.25) ** 3)


def empty(x, y):
    return ops.sum(x) + y, ops.exp(x), x.T @ x


def huge(x):
    return ops.sin(x), ops.cos(x), ops.exp(x / 1e300), ops.log1p(ops.abs(x)), ops.erf(x), x**3, ops.floor(x), x % 7.0


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Dense(5, 9), nn.LayerNorm((9,)), nn.Dense(9, 3)

    def construct(self, x):
        return ops.softmax(self.last(ops.relu(self.norm(self.first(x)))), -1)


ad.set_seed(3)
NET = Net()
WEIGHTS = {"w1": drawn(13, 7), "b1": drawn(7), "w2": drawn(7, 3)}
SIGNS = RANDOM.random((6, 5)) > 0.4
PROGRAMS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "scalars": (scalars, (1.25, np.float32(0.5), np.array(7, np.int32), np.array(True)), {}),
    "mlp": (ad.value_and_grad(mlp), (WEIGHTS, drawn(11, 13), drawn(11, 3)), {}),
    "convolution": (ad.grad(convolution, (0, 1)), (drawn(3, 2, 3, 3), drawn(2, 2, 9, 7)), {}),
    "newton": (ad.value_and_grad(newton, (0, 1)), (2.0, 1.0), {}),
    "recurrence": (ad.value_and_grad(recurrence, (0, 1)), (drawn(23, 5, dtype=np.float64), drawn(5, 5, dtype=np.float64)), {}),
    "branches": (ad.value_and_grad(branches), (drawn(4, 3), 100.0), {}),
    "several": (several, (drawn(3, 3, dtype=np.float64), drawn(3, 3, dtype=np.float64)), {}),
    "indexed": (ad.value_and_grad(indexed), (drawn(9, 5, dtype=np.float64), np.array([3, -1, 0, 8, 3, 3], np.int32), SIGNS), {}),
    "empty": (empty, (np.zeros((0, 3)), 2.0), {}),
    "huge": (huge, (np.array([1e22, -3.5e9, 0.1, -0.0, np.inf, np.nan, 700.0]),), {}),
    "net": (NET, (drawn(17, 5),), {}),
    "net_open": (ad.value_and_grad(lambda x: ops.sum(NET(x) ** 2), None, NET.trainable_params()), (drawn(17, 5),), {"parameters": "inputs"}),
    "kernel": (ops.matmul, (drawn(40, 70), drawn(70, 90)), {}),
}  # fmt: skip


def inputs_of(name: str) -> list[np.ndarray]:
    fn, args, options = PROGRAMS[name]
    found = [np.asarray(x) for x in tree.leaves(args)]
    return found + ([p.asnumpy() for p in NET.trainable_params()] if options.get("parameters") == "inputs" else [])


def calls(name: str, made: Any, workspace: str) -> list[str]:
    """C code that reads the inputs of a function, calls it and writes its results."""
    lines = [f"static int run_{name}(FILE *in, FILE *out)", "{"]
    words = []
    for x, spec in made.inputs.items():
        kind, count = C_TYPES[spec.dtype.name], prod(spec.shape)
        lines += [
            f"    static {kind} {x}[{max(count, 1)}];",
            f"    if (!get({x}, sizeof({kind}), {count}, in)) return 90;",
        ]
        words.append(x if spec.shape else f"{x}[0]")
    for x, spec in made.outputs.items():
        lines.append(f"    static {C_TYPES[spec.dtype.name]} {x}[{max(prod(spec.shape), 1)}];")
        words.append(x)
    lines += [f"    int code = {made.name}({', '.join([*words, workspace])});", "    if (code) return code;"]
    for x, spec in made.outputs.items():
        lines.append(f"    fwrite({x}, sizeof({C_TYPES[spec.dtype.name]}), {prod(spec.shape)}, out);")
    return [*lines, "    return 0;", "}"]


def main_program(made: dict[str, Any], extra: str) -> str:
    lines = [
        *(f'#include "{name}.h"' for name in made),
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "#include <string.h>",
    ]
    lines += ["static int get(void *to, size_t size, size_t n, FILE *in) { return fread(to, size, n, in) == n; }"]
    for k, (name, one) in enumerate(made.items()):
        workspace = f"malloc({one.name}_workspace_size() + 1)" if k % 2 else "NULL"
        lines += calls(name, one, workspace)
    lines += [
        "int main(void)",
        "{",
        '    FILE *in = fopen("inputs", "rb"), *out = fopen("results", "wb");',
        "    int code;",
    ]
    for k, name in enumerate(made):
        lines.append(f"    if ((code = run_{name}(in, out))) return {100 + k};")
    return "\n".join([extra, *lines, "    fclose(out);", "    return 0;", "}", ""])


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], dict[str, list[np.ndarray]]]:
    """Every program for this CPU and for any: one C program calls them all."""
    folder = tmp_path_factory.mktemp("exported")
    made = {}
    for name, (fn, args, options) in PROGRAMS.items():
        made[name] = ad.export(fn, *args, path=folder / f"{name}.o", **options)
        made[f"{name}_any"] = ad.export(fn, *args, path=folder / f"{name}_any.o", cpu="generic", **options)
    (folder / "main.c").write_text(main_program(made, ""))
    with (folder / "inputs").open("wb") as file:
        for name in made:
            for x in inputs_of(name.removesuffix("_any")):
                file.write(np.ascontiguousarray(x).tobytes())
    run([*GCC, "-o", "all", "main.c", *(f"{name}.o" for name in made), "-lm"], folder)
    run(["./all"], folder)
    data, at, found = (folder / "results").read_bytes(), 0, {}
    for name, one in made.items():
        found[name] = []
        for spec in one.outputs.values():
            size = prod(spec.shape)
            found[name].append(np.frombuffer(data, spec.dtype, size, at).reshape(spec.shape))
            at += size * spec.dtype.itemsize
    assert at == len(data)
    return folder, made, found


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}, timeout=120
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def expected(name: str) -> list[np.ndarray]:
    fn, args, _ = PROGRAMS[name]
    out = ad.jit(fn, backend="interpreter")(*args)
    return [np.asarray(getattr(x, "_value", x)) for x in tree.leaves(out)]


@pytest.mark.parametrize("suffix", ["", "_any"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_those_of_the_interpreter(name: str, suffix: str, ran: Any) -> None:
    found, wanted = ran[2][name + suffix], expected(name)
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        if mine.dtype.kind == "f":
            single = mine.dtype == np.float32
            # of sums that cancel, the largest terms say how far rounding reaches
            scale = max(1.0, float(np.abs(theirs).max(initial=0.0)))
            close = {"rtol": 2e-5, "atol": 2e-6 * scale} if single else {"rtol": 1e-12, "atol": 1e-13 * scale}
            np.testing.assert_allclose(mine, theirs, **close)
        else:
            np.testing.assert_array_equal(mine, theirs)


def test_an_object_needs_the_c_library_and_nothing_else(ran: Any) -> None:
    folder, made, _ = ran
    needed, public = {name: set() for name in made}, {name: set() for name in made}
    for line in run(["nm", "-A", *(f"{name}.o" for name in made)], folder).splitlines():
        file, *_, kind, symbol = line.split()
        (needed if kind == "U" else public if kind in "TDBRW" else {}).get(file.split(".")[0], set()).add(symbol)
    for name in made:
        assert needed[name] <= LIBRARY | MATHS
        assert public[name] == {name, f"{name}_workspace_size"}


def test_a_shared_library_through_ctypes_and_its_dependencies(tmp_path: Path) -> None:
    import ctypes

    fn, args, _ = PROGRAMS["mlp"]
    made = ad.export(fn, *args, path=tmp_path / "libmlp.so", cpu="native")
    assert made.name == "mlp" and made.header == tmp_path / "libmlp.h"
    needed = set(re.findall(r"(\S+)\.so[.\d]*(?: =>| \()", run(["ldd", "libmlp.so"], tmp_path)))
    assert {Path(x).name.split("-")[0] for x in needed} <= {"linux", "libc", "libm", "ld", "libpthread"}
    library = ctypes.CDLL(str(made.path))
    arrays = [np.ascontiguousarray(x) for x in inputs_of("mlp")]
    results = [np.empty(s.shape, s.dtype) for s in made.outputs.values()]
    assert library.mlp(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *results)), None) == 0
    for mine, theirs in zip(results, expected("mlp"), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)
    library.mlp_workspace_size.restype = ctypes.c_size_t
    assert library.mlp_workspace_size() == made.workspace_bytes > 0
    missing = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *results[:-1])]
    assert library.mlp(*missing, None, None) == 3  # no address for the last result


def example_of(header: Path) -> str:
    """The program in the comment of a header."""
    comment = header.read_text().split("*/")[0]
    lines = [line[3:] for line in comment.splitlines() if line.startswith(" *")]
    return "\n".join(lines[lines.index("#include <stdio.h>") :]) + "\n"


THREADS = """
#include <pthread.h>
#include <string.h>
#include <stdio.h>
#include "shared.h"
static double x[23 * 5], w[25];
static void *work(void *result) {
    double value, dx[23 * 5], dw[25], first = 0;
    for (int k = 0; k < 200; k++) {
        if (shared(x, w, &value, dx, dw, NULL)) return NULL;
        if (k == 0) first = value;
        if (memcmp(&first, &value, sizeof value)) return NULL;
    }
    *(double *)result = value;
    return result;
}
int main(void) {
    pthread_t threads[4];
    double values[4];
    for (int k = 0; k < 23 * 5; k++) x[k] = 0.01 * k;
    for (int k = 0; k < 25; k++) w[k] = 0.1 - 0.01 * k;
    for (int k = 0; k < 4; k++) pthread_create(&threads[k], NULL, work, &values[k]);
    for (int k = 0; k < 4; k++) { void *done; pthread_join(threads[k], &done); if (!done || values[k] != values[0]) return 1; }
    if (shared(NULL, w, values, x, w, NULL) != SHARED_NULL_POINTER) return 2;
    printf("%.17g", values[0]);
    return 0;
}
"""


def test_threads_at_a_time_and_the_example_of_the_header(tmp_path: Path) -> None:
    fn, args, _ = PROGRAMS["recurrence"]
    made = ad.export(fn, *args, path=tmp_path / "shared.so", outputs=["loss", "dx", "dw"])
    assert (
        list(made.outputs) == ["loss", "dx", "dw"]
        and "double *dx /* float64, shape (23, 5) */" in made.header.read_text()
    )
    (tmp_path / "threads.c").write_text(THREADS)
    run([*GCC, "-o", "threads", "threads.c", "shared.so", "-lm", "-lpthread", "-Wl,-rpath,."], tmp_path)
    value = float(run(["./threads"], tmp_path))
    x, w = 0.01 * np.arange(115.0).reshape(23, 5), 0.1 - 0.01 * np.arange(25.0).reshape(5, 5)
    np.testing.assert_allclose(value, float(ad.jit(recurrence, backend="interpreter")(x, w)), rtol=1e-12)
    ad.export(scalars, *PROGRAMS["scalars"][1], path=tmp_path / "code.o", outputs=["code_2", "printf_", "kernel"])
    (tmp_path / "example.cc").write_text(example_of(tmp_path / "code.h"))
    run(["g++", "-Wall", "-Wextra", "-Werror", "-o", "example", "example.cc", "code.o", "-lm"], tmp_path)
    assert run(["./example"], tmp_path) == "code_2 0\nprintf_ -0\nkernel 0\n"


def test_an_index_out_of_range_and_no_memory_are_codes(tmp_path: Path) -> None:
    import ctypes

    fn, (table, rows, mask), _ = PROGRAMS["indexed"]
    made = ad.export(fn, table, rows, mask, path=tmp_path / "indexed.so")
    library = ctypes.CDLL(str(made.path))
    results = [np.empty(s.shape, s.dtype) for s in made.outputs.values()]
    for bad, code in ((9, 1), (-10, 1), (8, 0), (-9, 0)):
        wrong = np.array([3, 0, 0, bad, 3, 3], np.int32)
        arrays = [table, wrong, mask, *results]
        assert library.indexed(*(ctypes.c_void_p(np.ascontiguousarray(x).ctypes.data) for x in arrays), None) == code


def test_what_needs_python_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "f.o"

    def printing(x):
        print(x)
        return x * 2

    refused = {
        "Expm": (lambda x: ops.matrix_exp(x), (np.eye(3),)),
        "Eigvalsh": (lambda x: ops.eigvalsh(x), (np.eye(3),)),  # by LAPACK
        "scipy.special.gammaln": (lambda x: ops.lgamma(x), (1.5,)),
        "draws random numbers": (lambda x: x + ops.randn(3), (1.5,)),
        "Print": (printing, (1.5,)),
        "complex": (lambda x: x * 1j, (1.5,)),
    }
    for words, (fn, args) in refused.items():
        with pytest.raises((ad.NotExportableError, ad.DtypeError), match=words):
            ad.export(fn, *args, path=path)
    with pytest.raises(ad.NotExportableError, match="export it after `set_train\\(False\\)`"):
        ad.export(nn.BatchNorm1d(3).set_train(), drawn(4, 3), path=path)
    counter = ad.Parameter(ad.Tensor(1.0), name="counter")
    with pytest.raises(ad.NotExportableError, match="stores in the Parameters counter"):
        ad.export(lambda x: ops.assign_add(counter, x) * x, 1.0, path=path)
    with pytest.raises(ad.NotExportableError, match="writes to its arguments"):
        ad.export(lambda x: x.__setitem__(0, 1.0) or x * 2, np.ones(3), path=path)
    assert not path.exists()


def test_wrong_arguments_of_export(tmp_path: Path) -> None:
    f, o = (lambda x: x * 2.0), tmp_path / "f.o"
    wrong = [
        ({"path": tmp_path / "f.bin"}, "does not say what to write"),
        ({"path": tmp_path / "no" / "f.o"}, "no folder"),
        ({"path": tmp_path}, "is a folder"),
        ({"path": o, "format": "dll"}, "format must be one of"),
        ({"path": o, "format": "onnx"}, "the name of another kind of file"),
        ({"path": tmp_path / "f.dylib"}, "a library of macOS"),
        ({"path": o, "name": "2f"}, "no name for a function in C, 'p_2f' would be"),
        ({"path": o, "name": "free"}, "choose another"),
        ({"path": o, "cpu": "pentium"}, "cpu must be one of 'native'"),
        ({"path": o, "parameters": "yes"}, "parameters must be"),
        ({"path": o, "outputs": ["a", "b"]}, "a list of 1 names"),
        ({"path": o, "outputs": ["x"]}, "must differ"),
        ({"path": o, "outputs": ["a b"]}, "'a_b' would be"),
        ({"path": o, "opset": 18}, "opset= is for ONNX"),
        ({"path": o, "dynamic_batch": "x"}, "dynamic_batch= is for ONNX"),
    ]
    for options, words in wrong:
        with pytest.raises(ad.ArgumentError, match=words):
            ad.export(f, 1.0, **options)
    with pytest.raises(TypeError, match="path must be the name of a file"):
        ad.export(f, 1.0, path=3)
    assert list(tmp_path.iterdir()) == []


def test_without_a_compiler_a_shared_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/no/such/cc")
    with pytest.raises(ad.NotExportableError, match="export an object file"):
        ad.export(lambda x: x, 1.0, path=tmp_path / "f.so")
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ad.NotExportableError, match="there is no cc, gcc or clang"):
        ad.export(lambda x: x, 1.0, path=tmp_path / "f.so")
