"""Long stretches of code cut into pieces: the same numbers as in one piece."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.native.emit import pieces
from adjoint.backends.native.emit.pieces import in_pieces, type_of
from adjoint.backends.native.runtime import checked_build
from adjoint.testing import fuzz_graphs


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Pieces of a few lines; how many there were."""
    counts: list[int] = []

    def functions(self: pieces._Cut) -> list[str]:
        found = whole(self)
        counts.append(len(found) - 1)
        return found

    whole = pieces._Cut.functions
    monkeypatch.setattr(pieces, "LENGTH", 6)
    monkeypatch.setattr(pieces, "LONG", 12)
    monkeypatch.setattr(pieces._Cut, "functions", functions)
    return counts


def spring(x: ad.Tensor, v: ad.Tensor) -> ad.Tensor:
    steps = 0.0
    for _ in range(7):
        x, v = x + 0.1 * v, v - 0.1 * ops.sin(x) * x
        v = ops.where(x > 0.5, v * 0.9, v)
        steps = steps + ops.where(x > v, x, v)
    return x * v + steps


def looped(x: ad.Tensor, v: ad.Tensor) -> ad.Tensor:
    k = 0
    while k < 20 and abs(x) < 4.0:
        x = spring(x, v) * 0.5 if x > 0 else spring(x, v) + 0.2
        k = k + 1
    return x + k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f", [spring, looped])
def test_scalar_code_in_pieces(f: object, dtype: type, short: list[int]) -> None:
    x, v = dtype(0.7), dtype(-0.3)
    args = ad.Tensor(np.asarray(x)), ad.Tensor(np.asarray(v))
    tolerance = 1e-4 if dtype is np.float32 else 1e-11
    for fn in (f, ad.grad(f), ad.grad(ad.grad(f))):
        reference = ad.jit(fn, backend="interpreter")(*args)
        np.testing.assert_allclose(ad.jit(fn, backend="native")(*args), reference, rtol=tolerance, atol=tolerance)
    assert sum(short) > 5


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (17,), (4, 5)])
def test_arrays_in_pieces(shape: tuple[int, ...], short: list[int]) -> None:
    x, v = np.random.default_rng(3).normal(size=(2, *shape))
    for fn in (spring, ad.grad(lambda x, v: spring(x, v).sum())):
        reference = ad.jit(fn, backend="interpreter")(x, v)
        np.testing.assert_allclose(ad.jit(fn, backend="native")(x, v), reference, rtol=1e-12)


def test_random_graphs_in_pieces(short: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = checked_build.build
    monkeypatch.setattr(checked_build, "build", lambda: plain(False))  # checked code is not cut
    wrong = {seed: found for seed in range(91000, 91040) if (found := fuzz_graphs.disagreement(seed))}
    assert not wrong
    assert sum(short) > 100


def test_short_functions_and_unknown_instructions_are_left() -> None:
    text = "define void @f(ptr %p) nounwind {\nentry:\n  ret void\n}"
    assert in_pieces([text], str) == [text]
    strange = ["define void @g(ptr %p) nounwind {", "entry:", "  %a = strange thing"]
    strange += [f"  %v{k} = add i64 {k}, 1" for k in range(pieces.LONG + 1)]
    strange += ["  %z = use i64 %a", "  br label %next", "next:", "  %y = use i64 %z", "  ret void", "}"]
    assert in_pieces(["\n".join(strange)], str) == ["\n".join(strange)]


@pytest.mark.parametrize(
    ("instruction", "kind"),
    [
        ("fmul contract <4 x double> %a, %b", "<4 x double>"),
        ("add nsw i64 %a, 1", "i64"),
        ("fcmp olt <8 x float> %a, %b", "<8 x i1>"),
        ("icmp ne i8 %a, 0", "i1"),
        ("load <4 x i8>, ptr %p, align 1", "<4 x i8>"),
        ("select <4 x i1> %m, <4 x double> %a, <4 x double> %b", "<4 x double>"),
        ("select i1 %m, i64 %a, i64 %b", "i64"),
        ("sitofp i64 %a to double", "double"),
        ("zext <4 x i1> %a to <4 x i8>", "<4 x i8>"),
        ("call double @llvm.fma.f64(double %a, double %b, double %c)", "double"),
        ("tail call fast float @f(float %a)", "float"),
        ('call i64 asm "", "=r,0"(i64 %a)', "i64"),
        ("getelementptr double, ptr %p, i64 3", "ptr"),
        ("extractelement <4 x float> %a, i32 0", "float"),
        ("insertelement <2 x double> poison, double %a, i64 0", "<2 x double>"),
        ("shufflevector <4 x float> %a, <4 x float> %b, <8 x i32> <i32 0, i32 1>", "<8 x float>"),
        ("extractvalue { i64, i1 } %s, 1", ""),
        ("call { i64, i1 } @f()", ""),
    ],
)
def test_types_are_read_off_instructions(instruction: str, kind: str) -> None:
    assert type_of(instruction) == kind
