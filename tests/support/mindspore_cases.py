"""Programs written for MindSpore, what MindSpore itself made of them, and how to compare.

A program is a function `case_...` without arguments in a file of tests/mindspore/programs; it imports `mindspore` and returns
numbers, Tensors, or containers of them. To record what MindSpore gives, in an environment that has it:

    PYTHONPATH=tests/support python -m mindspore_cases [family ...]
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent / "mindspore"
MODES = ("pynative", "graph")


def right(reason: str, value: Any, modes: tuple[str, ...] = MODES) -> Callable[[Any], Any]:
    """Marks a case that MindSpore gets wrong (or refuses) in these modes: why, and the answer that we are held to."""

    def mark(case: Any) -> Any:
        case.right = dict.fromkeys(modes, (reason, value))
        return case

    return mark


def families() -> list[str]:
    return sorted(p.stem for p in (HERE / "programs").glob("*.py"))


def load(family: str) -> dict[str, Callable[[], Any]]:
    """The cases of a family; `mindspore` must be importable."""
    spec = importlib.util.spec_from_file_location(f"mindspore_programs_{family}", HERE / "programs" / f"{family}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # MindSpore's compiler looks a function's module up
    spec.loader.exec_module(module)
    return {n.removeprefix("case_"): f for n, f in vars(module).items() if n.startswith("case_")}


def run(case: Callable[[], Any], mode: str) -> Any:
    """What a case gives in a mode, as plain data; an exception is given too."""
    import mindspore as ms

    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(0)
    try:
        return plain(case())
    except Exception as error:
        kinds = [k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins"]
        return {"raises": kinds, "text": str(error).strip().splitlines()[:1]}
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def plain(value: Any) -> Any:
    """A result as data that JSON keeps."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"number": repr(float(value))}
    if isinstance(value, dict):
        return {"dict": [[str(k), plain(v)] for k, v in value.items()]}
    if isinstance(value, (tuple, list)):
        return {"tuple" if isinstance(value, tuple) else "list": [plain(v) for v in value]}
    array = value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)
    parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    texts = [[repr(x) if isinstance(x, float) else x for x in p.astype(wide(p)).ravel().tolist()] for p in parts]
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": texts if len(parts) == 2 else texts[0]}


def wide(array: np.ndarray) -> Any:
    return np.float64 if array.dtype.kind in "fV" or "float" in str(array.dtype) else array.dtype


def differences(ours: Any, theirs: Any, rtol: float = 2e-4, atol: float = 2e-5, at: str = "result") -> list[str]:
    """In what two results differ; nothing if they agree."""
    if isinstance(theirs, dict) and "raises" in theirs:
        if not (isinstance(ours, dict) and "raises" in ours):
            return [f"{at}: MindSpore raises {theirs['raises'][0]} {theirs['text']}, we give {ours}"]
        return [] if theirs["raises"][0] in ours["raises"] else [f"{at}: raises {ours}, MindSpore {theirs}"]
    if isinstance(ours, dict) and "raises" in ours:
        return [f"{at}: raises {ours}"]
    if isinstance(theirs, dict) and "shape" in theirs and isinstance(ours, dict) and "shape" in ours:
        if (ours["shape"], ours["dtype"]) != (theirs["shape"], theirs["dtype"]):
            return [f"{at}: {ours['dtype']}{ours['shape']}, MindSpore {theirs['dtype']}{theirs['shape']}"]
        a, b = (np.array(x["values"], np.float64) for x in (ours, theirs))
        loose = 20 if ours["dtype"] in ("float16", "bfloat16") else 1
        same = np.allclose(a, b, rtol * loose, atol * loose, equal_nan=True)
        return [] if same else [f"{at}: {ours['values']}, MindSpore {theirs['values']}"]
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        (key,) = theirs
        if key == "number":
            same = np.isclose(float(ours[key]), float(theirs[key]), rtol, atol, equal_nan=True)
            return [] if same else [f"{at}: {ours[key]}, MindSpore {theirs[key]}"]
        pairs = list(zip(ours[key], theirs[key]))
        if len(ours[key]) != len(theirs[key]):
            return [f"{at}: {len(ours[key])} parts, MindSpore {len(theirs[key])}"]
        return [d for i, (a, b) in enumerate(pairs) for d in _parts(a, b, rtol, atol, f"{at}[{i}]")]
    return [] if ours == theirs else [f"{at}: {ours}, MindSpore {theirs}"]


def _parts(a: Any, b: Any, rtol: float, atol: float, at: str) -> list[str]:
    if isinstance(a, list) and isinstance(b, list):  # a key of a dict with its value
        return ([] if a[0] == b[0] else [f"{at}: key {a[0]}, MindSpore {b[0]}"]) + differences(
            a[1], b[1], rtol, atol, at
        )
    return differences(a, b, rtol, atol, at)


@functools.cache
def recorded(family: str) -> dict[str, dict[str, Any]]:
    """What MindSpore gave, by case and mode."""
    path = HERE / "recorded" / f"{family}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def record(family: str) -> None:
    """Write down what the MindSpore of this environment gives."""
    found = {name: {mode: run(case, mode) for mode in MODES} for name, case in load(family).items()}
    for name, by_mode in found.items():
        errors = [r["raises"][0] for r in by_mode.values() if isinstance(r, dict) and "raises" in r]
        print(f"{family}.{name}", *errors)
    lines = [f"{json.dumps(name)}: {json.dumps(by_mode)}" for name, by_mode in found.items()]
    (HERE / "recorded" / f"{family}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # MindSpore leaves files behind
    for chosen in sys.argv[1:] or families():
        record(chosen)
