"""A GPU, by adjoint on XLA, JAX, PyTorch eager and torch.compile: interleaved in one run.

    python -m benchmarks.gpu --write docs/gpu_benchmark.md        # on a machine with a GPU
    python -m benchmarks.gpu --small --device cpu                 # a few seconds: does everything run and agree?

Every contender computes the same mathematics from the same weights and the same batch; their numbers are compared before
anything is timed. Then they take turns, round by round: each begins some steps one after another, as a training loop does, and
the clock stops when the last is done. Reported are medians and their ratios to ours. A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
import traceback
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_programs import Contender, Program, elementwise_chain, gpt, lenet

PROGRAMS = {"chain": elementwise_chain.PROGRAM, "gpt": gpt.PROGRAM, "lenet": lenet.PROGRAM}
PACKAGES = {"JAX": "jax", "JAX, cuDNN attention": "jax", "torch eager": "torch", "torch.compile": "torch"}
STEPS = 3  # whose numbers are compared


def main(given: list[str] | None = None) -> list[dict[str, Any]]:
    """Run from the command line; the results are returned too."""
    options = _options(given)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # PyTorch needs room beside JAX
    size = "small" if options.small else "full"
    found = []
    for name in options.programs:
        program = PROGRAMS[name]
        result = raced(program, program.sizes[size], options)
        found.append(result)
        print(table([result]), flush=True)
        for note in result["notes"]:
            print("-", note, flush=True)
    if options.write:
        options.write.write_text(page(found, options))
        options.write.with_suffix(".json").write_text(
            json.dumps({"machine": machine(), "programs": found}, indent=1) + "\n"
        )
    return found


def _options(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--small", action="store_true", help="tiny sizes: whether all runs and agrees")
    parser.add_argument("--device", default="gpu", choices=["gpu", "cpu"])
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--without", nargs="*", default=[], help="contenders to leave out")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the runs of one program may take")
    parser.add_argument(
        "--write", type=Path, help="write the table to this Markdown file, and all figures to JSON beside it"
    )
    return parser.parse_args(given)


def raced(program: Program, size: Any, options: argparse.Namespace) -> dict[str, Any]:
    """The times of all contenders for one program, in seconds, and what went wrong."""
    notes: list[str] = []
    first: dict[str, float] = {}
    ready = {}
    for name, make in program.contenders.items():
        package = PACKAGES.get(name)
        if name in options.without or (package and find_spec(package) is None):
            notes.append(f"{name}: left out")
            continue
        try:
            start = time.perf_counter()
            contender = make(size, options.device)
            numbers = _first_numbers(contender)
            first[name] = time.perf_counter() - start
            ready[name] = contender, numbers
        except Exception as error:  # a peer that cannot run is a note, not the end of the run
            if name == "adjoint":
                raise
            traceback.print_exc()
            notes.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")
    worst = _agree(program, ready)
    times = _timed(program, {name: c for name, (c, _) in ready.items()}, options)
    return {
        "title": program.title,
        "note": program.note,
        "seconds": {name: statistics.median(ts) for name, ts in times.items()},
        "spread": {name: [min(ts), max(ts)] for name, ts in times.items()},
        "runs": {name: len(ts) for name, ts in times.items()},
        "first": first,
        "difference": worst,
        "numbers": {name: [float(step[0]) for step in numbers] for name, (_, numbers) in ready.items()},
        "notes": notes,
    }


def _first_numbers(contender: Contender) -> list[list[np.ndarray]]:
    """What some steps give: losses, or the value and the gradient."""
    numbers = []
    for _ in range(STEPS):
        found = contender.step()
        contender.wait(found)
        numbers.append(contender.numbers(found))
    return numbers


def _agree(program: Program, ready: dict[str, Any]) -> dict[str, float]:
    """The largest difference of each contender's numbers from ours, relative to the largest of ours; raises where it is too large."""
    mine, worst = ready["adjoint"][1], {}
    for name, (_, numbers) in ready.items():
        worst[name] = 0.0
        for ours, theirs in zip(mine, numbers, strict=True):
            for a, b in zip(ours, theirs, strict=True):
                assert np.all(np.isfinite(a)), f"{program.title}: adjoint gives what is not finite"
                np.testing.assert_allclose(a, b, err_msg=f"{program.title}: {name}", **program.tolerance)
                worst[name] = max(worst[name], float(np.max(np.abs(a - b)) / np.max(np.abs(a))))
    return worst


def _timed(program: Program, contenders: dict[str, Contender], options: argparse.Namespace) -> dict[str, list[float]]:
    """Seconds a step in each round."""
    calls = 2 if options.small else program.calls
    for contender in contenders.values():
        _steps(contender, calls)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    end = time.perf_counter() + options.seconds
    for _ in range(2 if options.small else options.runs):
        for name, contender in contenders.items():
            _steps(contender, 1)
            start = time.perf_counter()
            _steps(contender, calls)
            times[name].append((time.perf_counter() - start) / calls)
        if time.perf_counter() > end:
            break
    return times


def _steps(contender: Contender, count: int) -> None:
    for _ in range(count):
        found = contender.step()
    contender.wait(found)


# ---------------------------------------------------------------- what is written


def table(found: list[dict[str, Any]]) -> str:
    """Milliseconds a step, with the ratio to ours: above 1 adjoint is faster."""
    names = ["adjoint", *PACKAGES]
    lines = [
        "| program | " + " | ".join(f"{n} ms" for n in names) + " | against the best peer |",
        "|---" * (len(names) + 2) + "|",
    ]
    for result in found:
        seconds = result["seconds"]
        mine = seconds["adjoint"]
        cells = [_cell(name, seconds.get(name), mine) for name in names]
        peers = [t for name, t in seconds.items() if name != "adjoint"]
        best = f"{min(peers) / mine:.2f}x" if peers else "–"
        lines.append(f"| {result['title']} | " + " | ".join(cells) + f" | {best} |")
    return "\n".join(lines)


def _cell(name: str, seconds: float | None, mine: float) -> str:
    if seconds is None:
        return "–"
    return f"**{seconds * 1e3:.3f}**" if name == "adjoint" else f"{seconds * 1e3:.3f} ({seconds / mine:.2f}x)"


def machine() -> str:
    """The accelerator and the versions."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        where = subprocess.run(query, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        where = platform.processor() or platform.machine()
    versions = []
    for package in ("numpy", "jax", "jaxlib", "torch"):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return f"{where}; Python {platform.python_version()}, {', '.join(versions)}"


def page(found: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """The Markdown page."""
    rows = ["| program | " + " | ".join(["adjoint", *PACKAGES]) + " |", "|---" * (len(PACKAGES) + 2) + "|"]
    for result in found:
        cells = [f"{result['first'][n]:.1f}" if n in result["first"] else "–" for n in ["adjoint", *PACKAGES]]
        rows.append(f"| {result['title']} | " + " | ".join(cells) + " |")
    apart = [
        f"- {result['title']}: {result['note']} Largest difference from ours: "
        + ", ".join(f"{name} {value:.1e}" for name, value in result["difference"].items() if name != "adjoint")
        for result in found
    ]
    notes = [f"- {result['title']}: {note}" for result in found for note in result["notes"]]
    return PAGE.format(
        machine=machine(), day=date.today().isoformat(), runs=options.runs, table=table(found),
        first="\n".join(rows), apart="\n".join(apart), notes="\n".join(notes) or "None.", steps=STEPS,
    )  # fmt: skip


PAGE = """# A GPU against its peers

Written by `python -m benchmarks.gpu --write docs/gpu_benchmark.md` on {day}: medians of up to {runs} interleaved runs in one process, each
of several steps begun one after another. The number in brackets is that contender's time divided by adjoint's: above 1, adjoint is faster.

Machine: {machine}.

{table}

The programs, and how far the numbers of the first {steps} steps lie apart:

{apart}

Seconds until the first {steps} steps are done, compilation included:

{first}

Left out or failed:

{notes}
"""

if __name__ == "__main__":
    main()
