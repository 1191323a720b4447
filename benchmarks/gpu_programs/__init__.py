"""The programs of the GPU benchmark, each written for adjoint, JAX and PyTorch with the same numbers in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Contender:
    """`step()` begins one step and gives what it will compute; `wait` returns when that is there, `numbers` are its values."""

    step: Callable[[], Any]
    wait: Callable[[Any], Any]
    numbers: Callable[[Any], list[np.ndarray]] = field(default=lambda found: [np.asarray(x, np.float64) for x in found])


@dataclass(frozen=True)
class Program:
    """One line of the table: how each contender is made, and how far their numbers may lie apart."""

    title: str
    note: str
    contenders: dict[str, Callable[[Any, str], Contender]]  # of a size and a device
    sizes: dict[str, Any]  # "full" and "small"
    tolerance: dict[str, float]
    calls: int = 10  # steps that are begun before the clock waits for them


def waits_for_torch(torch: Any, device: str) -> Callable[[Any], Any]:
    """How PyTorch waits."""
    return (lambda found: torch.cuda.synchronize()) if device == "gpu" else (lambda found: None)


def torch_numbers(found: Any) -> list[np.ndarray]:
    """Results of PyTorch's as NumPy arrays."""
    return [np.asarray(x.detach().float().cpu(), np.float64) for x in found]


def torch_training(torch: Any, device: str, optimiser: Any, loss: Callable[[], Any]) -> Contender:
    """PyTorch's training step on a loss."""

    def step():
        optimiser.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        optimiser.step()
        return [value]

    return Contender(step, waits_for_torch(torch, device), torch_numbers)


def torch_device(device: str) -> str:
    """What PyTorch calls it."""
    return "cuda" if device == "gpu" else device


def our_backend(device: str) -> dict[str, str]:
    """The words by which a user of adjoint asks for a device."""
    return {"backend": "xla", "device": device}


def our_wait(found: Any) -> Any:
    """Until the results of ours are there."""
    for x in found:
        getattr(x._value, "block_until_ready", lambda: None)()
