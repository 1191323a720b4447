"""`python -m adjoint.mindspore --coverage`: the public names of MindSpore, and which of them are provided."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from typing import Any

from adjoint.mindspore.absent import Absent, public_names

#: Run in an environment that has MindSpore: the names that its modules and classes have, by place.
_ASK = """
import importlib, json, sys
found = {}
for place in json.loads(sys.argv[1]):
    root = importlib.import_module("mindspore")
    try:
        owner = getattr(root, place) if place in ("Tensor", "Parameter") else root.nn.Cell if place == "Cell" else (
            root if place == "mindspore" else importlib.import_module("mindspore." + place))
    except ImportError:
        continue
    found[place] = sorted({n for n in dir(owner) if not n.startswith("_")})
print("names", json.dumps(found), root.__version__)
"""


def owner(place: str) -> Any:
    """The module or class of this package that stands for a place of MindSpore; None if there is none."""
    import adjoint.mindspore as face

    if place == "mindspore":
        return face
    if place in ("Tensor", "Parameter", "Cell"):
        return face.nn.Cell if place == "Cell" else getattr(face, place)
    try:
        return importlib.import_module(f"adjoint.mindspore.{place}")
    except ModuleNotFoundError:
        return None


def absent_names(names: dict[str, frozenset[str]] | None = None) -> dict[str, list[str]]:
    """The names that are not provided, by place.

    >>> "sin" in absent_names()["ops"], "AllReduce" in absent_names()["ops"]
    (False, True)
    """
    names = public_names() if names is None else names
    return {place: sorted(n for n in found if not _provided(owner(place), n)) for place, found in names.items()}


def _provided(place: Any, name: str) -> bool:
    try:
        return place is not None and not isinstance(getattr(place, name), Absent)
    except (AttributeError, NotImplementedError):
        return False


def installed_names(python: str) -> tuple[dict[str, frozenset[str]], str]:
    """The names of the MindSpore of an environment, of those that are public in 2.10, and its version."""
    ours = public_names()
    asked = [python, "-W", "ignore", "-c", _ASK, json.dumps(list(ours))]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("names ")]
    if not lines:
        raise RuntimeError(f"there is no MindSpore that {python} could import:\n{ran.stderr[-500:]}")
    text, version = lines[-1].removeprefix("names ").rsplit(" ", 1)
    return {place: frozenset(names) & ours[place] for place, names in json.loads(text).items()}, version


def report(names: dict[str, frozenset[str]] | None = None, title: str = "MindSpore 2.10") -> str:
    """The table: how many names each place has, and how many are provided.

    >>> print(report().splitlines()[0])
    The public names of MindSpore 2.10, and how many of them adjoint.mindspore provides
    """
    names = public_names() if names is None else names
    missing = absent_names(names)
    rows = [(place, len(found), len(found) - len(missing[place])) for place, found in names.items()]
    rows.append(("all", sum(r[1] for r in rows), sum(r[2] for r in rows)))
    lines = [f"The public names of {title}, and how many of them adjoint.mindspore provides", ""]
    lines.append(f"{'place':<22}{'names':>8}{'provided':>10}{'absent':>8}{'share':>8}")
    for place, count, there in rows:
        lines.append(f"{place:<22}{count:>8}{there:>10}{count - there:>8}{100 * there / max(count, 1):>7.1f}%")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """What the command line asks for."""
    names, title = None, "MindSpore 2.10"
    if "--python" in arguments:
        where = arguments.index("--python") + 1
        if where >= len(arguments):
            print("--python takes the path of an interpreter", file=sys.stderr)
            return 2
        names, version = installed_names(arguments[where])
        title = f"the MindSpore {version} of {arguments[where]}"
    if "--absent" in arguments:
        for place, missing in absent_names(names).items():
            for name in missing:
                print(name if place == "mindspore" else f"{place}.{name}")
    else:
        print(report(names, title))
    return 0
