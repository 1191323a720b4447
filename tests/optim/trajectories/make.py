"""Trajectories of PyTorch's and MindSpore's optimisers on given gradients: `python make.py torch` or `python make.py mindspore`.

Writes `torch.json` or `mindspore.json` beside this file: for each case the parameters after every step.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

STEPS = 6
SHAPES = {"w": (2, 3), "norm.gamma": (3,)}

#: Name of the case -> optimiser and its arguments. Every optimiser gets the same gradients.
TORCH = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.03}),
    "sgd_nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "adam": ("Adam", {"lr": 0.01, "eps": 1e-30}),
    "adam_decay": ("Adam", {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-30, "weight_decay": 0.1}),
    "adam_amsgrad": ("Adam", {"lr": 0.01, "betas": (0.9, 0.6), "eps": 1e-30, "amsgrad": True}),
    "adamw": ("AdamW", {"lr": 0.01, "weight_decay": 0.1}),
    "adagrad": ("Adagrad", {"lr": 0.05, "initial_accumulator_value": 0.1, "eps": 0.0}),
    "rmsprop": ("RMSprop", {"lr": 0.02, "alpha": 0.9, "eps": 1e-30}),
    "rmsprop_options": ("RMSprop", {"lr": 0.02, "alpha": 0.9, "eps": 1e-30, "momentum": 0.5, "centered": True}),
}

#: Without `Momentum(use_nesterov=True)` and `Adagrad(update_slots=False)`, which MindSpore 2.10 ignores on a CPU.
MINDSPORE = {
    "sgd": ("SGD", {"learning_rate": 0.1}),
    "sgd_momentum": ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.03}),
    "sgd_nesterov": ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}),
    "momentum": ("Momentum", {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.05}),
    "momentum_scaled": ("Momentum", {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.05, "loss_scale": 4.0}),
    "adam": ("Adam", {"learning_rate": 0.01}),
    "adam_options": ("Adam", {"learning_rate": 0.01, "beta1": 0.8, "beta2": 0.99, "eps": 1e-3, "weight_decay": 0.1}),
    "adam_nesterov": ("Adam", {"learning_rate": 0.01, "use_nesterov": True}),
    "adam_amsgrad": ("Adam", {"learning_rate": 0.01, "beta2": 0.6, "use_amsgrad": True}),
    "adam_weight_decay": ("AdamWeightDecay", {"learning_rate": 0.01, "weight_decay": 0.1}),
    "adagrad": ("Adagrad", {"learning_rate": 0.05, "weight_decay": 0.1}),
    "rmsprop": ("RMSProp", {"learning_rate": 0.02, "momentum": 0.5, "weight_decay": 0.1}),
    "rmsprop_centered": ("RMSProp", {"learning_rate": 0.02, "momentum": 0.5, "epsilon": 1e-3, "centered": True}),
    "lamb": ("Lamb", {"learning_rate": 0.1, "weight_decay": 0.1}),
}  # fmt: skip


def start(name: str, dtype: type = np.float64) -> np.ndarray:
    """The first value of a parameter."""
    shape = SHAPES[name]
    return (1.0 + 0.3 * np.cos(np.arange(np.prod(shape)) + len(name))).reshape(shape).astype(dtype)


def gradient(name: str, step: int, dtype: type = np.float64) -> np.ndarray:
    """The gradient given at a step: of both signs, and large and small."""
    shape = SHAPES[name]
    return (np.sin(0.7 * np.arange(np.prod(shape)) + 1.3 * step + len(name)) * 1.5**step).reshape(shape).astype(dtype)


def torch_path(kind: str, options: dict) -> list:
    import torch

    params = [torch.tensor(start(name), requires_grad=True) for name in SHAPES]
    optimiser = getattr(torch.optim, kind)(params, **options)
    path = []
    for step in range(STEPS):
        for p, name in zip(params, SHAPES, strict=True):
            p.grad = torch.tensor(gradient(name, step))
        optimiser.step()
        path.append([p.detach().numpy().tolist() for p in params])
    return path


def mindspore_path(kind: str, options: dict) -> list | None:
    import mindspore as ms

    params = [ms.Parameter(ms.Tensor(start(name, np.float32)), name=name) for name in SHAPES]
    optimiser = getattr(ms.nn, kind)(params, **options)
    path = []
    for step in range(STEPS):
        try:
            optimiser(tuple(ms.Tensor(gradient(name, step, np.float32)) for name in SHAPES))
        except Exception as error:  # an optimiser without a CPU kernel
            print(kind, "left out:", str(error)[:200])
            return None
        path.append([p.asnumpy().astype(np.float64).tolist() for p in params])
    return path


def main(framework: str) -> None:
    cases, run = {"torch": (TORCH, torch_path), "mindspore": (MINDSPORE, mindspore_path)}[framework]
    found = {name: (kind, options, run(kind, options)) for name, (kind, options) in cases.items()}
    kept = {name: {"kind": k, "options": o, "path": p} for name, (k, o, p) in found.items() if p is not None}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in kept.items())
    Path(__file__).with_name(f"{framework}.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
