"""A walk through the two worked examples that every part of adjoint is held to.

1. f(x1, x2) = ln(x1) + x1·x2 - sin(x2) at (2, 5), step by step: the forward values, then the adjoints of each step.
2. A linear layer with binary cross-entropy: gradients of its weight and bias.

Each gradient is computed three ways: reverse mode (a tape), forward mode (dual numbers), central differences.
"""

from __future__ import annotations

import sys

import numpy as np

import adjoint as ad
from adjoint import Parameter, Tensor, nn, ops

STEP = 1e-6


def heading(text: str) -> None:
    print(f"\n{text}\n{'─' * len(text)}")


def table(columns: list[str], rows: list[list[str]]) -> None:
    """Columns lined up, the first to the left, the others to the right."""
    widths = [max(len(r[i]) for r in [columns, *rows]) for i in range(len(columns))]
    for k, row in enumerate([columns, *rows]):
        print(
            "  "
            + "   ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        )
        if k == 0:
            print("  " + "   ".join("─" * w for w in widths))


def trace_table() -> None:
    """The forward trace and, beside it, the adjoint of each step, read off the tape by hooks."""
    heading("1. f(x1, x2) = ln(x1) + x1·x2 - sin(x2) at (2, 5): value and adjoint of each step")
    values: dict[str, float] = {}
    adjoints: dict[str, float] = {}

    def noted(name: str, v: Tensor) -> Tensor:
        values[name] = v.item()
        v.register_hook(lambda g: adjoints.__setitem__(name, g.item()))
        return v

    def traced(x1: Tensor, x2: Tensor) -> Tensor:
        x1, x2 = noted("x1", x1), noted("x2", x2)
        v1 = noted("v1 = ln x1", ops.log(x1))
        v2 = noted("v2 = x1·x2", x1 * x2)
        v3 = noted("v3 = sin x2", ops.sin(x2))
        v4 = noted("v4 = v1 + v2", v1 + v2)
        return noted("v5 = v4 - v3", v4 - v3)

    ad.grad(traced, (0, 1))(2.0, 5.0)
    table(["step", "value", "adjoint"], [[n, f"{values[n]:.3f}", f"{adjoints[n]:.3f}"] for n in values])


def worked_example() -> float:
    def f(x1, x2):
        return ops.log(x1) + x1 * x2 - ops.sin(x2)

    heading("   The same gradient in both modes of differentiation, and by differences")
    at = (2.0, 5.0)
    value, reverse = ad.value_and_grad(f, (0, 1))(*at)
    rows, worst = [], 0.0
    for i, name in enumerate(("df/dx1", "df/dx2")):
        unit = tuple(1.0 if k == i else 0.0 for k in range(2))
        forward = ad.jvp(f, at, unit)[1]
        up, down = (f(*(a + s * STEP * u for a, u in zip(at, unit, strict=True))) for s in (1, -1))
        numeric = float((up - down) / (2 * STEP))
        worst = max(worst, abs(reverse[i].item() - numeric), abs(forward.item() - numeric))
        rows.append([name, f"{reverse[i].item():.9f}", f"{forward.item():.9f}", f"{numeric:.9f}"])
    print(f"  f(2, 5) = {value.item():.9f}")
    table(["", "reverse mode", "forward mode", "differences"], rows)
    return worst


def linear_layer() -> float:
    heading("2. A linear layer with binary cross-entropy: z = x·w + b")
    np.random.seed(42)
    x, y = ops.ones(5, ad.float32), ops.zeros(3, ad.float32)
    w = Parameter(Tensor(np.random.randn(5, 3), ad.float32), name="w")
    b = Parameter(Tensor(np.random.randn(3), ad.float32), name="b")

    def function(x, y, w, b):
        z = ops.matmul(x, w) + b
        return ops.binary_cross_entropy_with_logits(z, y, ops.ones_like(z), ops.ones_like(z)), z

    (loss, z), (grad_w, grad_b) = ad.value_and_grad(function, (2, 3), has_aux=True)(x, y, w, b)
    print(f"  loss {loss}    z {z}    gradient of w: shape {grad_w.shape}, each row as that of b")

    wide = [np.asarray(v.asnumpy(), np.float64) for v in (x, y, w, b)]
    forward = ad.jacfwd(lambda *a: function(*a)[0], 3)(*wide)
    rows, worst = [], 0.0
    for i in range(3):
        sides = [function(*wide[:3], wide[3] + s * STEP * np.eye(3)[i])[0] for s in (1, -1)]
        numeric = float((sides[0] - sides[1]) / (2 * STEP))
        found = [grad_b[i].item(), grad_w[0, i].item(), forward[i].item()]
        worst = max(worst, *(abs(v - numeric) for v in found))
        rows.append([f"b[{i}]", *(f"{v:.8e}" for v in [*found, numeric])])
    table(["", "reverse (float32)", "row of w (float32)", "forward (float64)", "differences (float64)"], rows)

    class Network(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.b = w, b

        def construct(self, x):
            return ops.matmul(x, self.w) + self.b

    model, loss_fn = Network(), nn.BCEWithLogitsLoss()
    step = ad.value_and_grad(lambda x, y: loss_fn(model(x), y), None, weights=model.trainable_params())
    loss, grads = step(x, y)
    same = all(np.array_equal(a, b) for a, b in zip(grads, (grad_w, grad_b), strict=True))
    print(f"  As an nn.Cell, by its trainable_params(): loss {loss}, gradients {'the same' if same else 'DIFFERENT'}")
    return worst if same else float("inf")


def higher_orders() -> float:
    heading("3. Any order, any nesting")
    x = Tensor([1.0])
    third = ad.nth_derivative(ops.sin, 3, x).item()
    mixed = ad.grad(lambda x: x * ad.grad(lambda y: x + y)(1.0))(1.0).item()
    per_example = ad.vmap(ad.grad(lambda v: (v**3).sum()))(Tensor([[1.0, 2.0], [3.0, 4.0]]))
    hessian = ad.hessian(lambda v: v[0] ** 2 * v[1])(Tensor([3.0, 5.0]))
    table(
        ["", "found", "expected"],
        [
            ["third derivative of sin at 1", f"{third:.7f}", f"{-np.cos(1.0):.7f}"],
            ["d/dx of x·d(x+y)/dy", f"{mixed:.1f}", "1.0"],
            ["per-example gradients of Σv³", str(per_example.tolist()), "[[3.0, 12.0], [27.0, 48.0]]"],
            ["Hessian of v0²·v1 at (3, 5)", str(hessian.tolist()), "[[10.0, 6.0], [6.0, 0.0]]"],
        ],
    )
    return abs(third + np.cos(1.0)) + abs(mixed - 1)


def main() -> int:
    trace_table()
    worst = max(worked_example(), linear_layer(), higher_orders())
    print(f"\nLargest difference between any two ways: {worst:.1e}")
    return 0 if worst < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
