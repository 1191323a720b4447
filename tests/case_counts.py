"""How many cases each test function has: a committed table that may only grow.

A run that collects fewer cases of a function than the table says, or none of a function that it names, fails: whatever
shut the gate, a renamed attribute or a filtered list. `python tests/case_counts.py` (`make counts`) writes the table anew.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest

TABLE = Path(__file__).parent / "case_counts.json"
LEAST = 20  # functions with fewer cases are counted with their file
FREE = {"tests/test_architecture.py"}  # one case for each file of the project


def families(items: Iterable[pytest.Item], known: Iterable[str] = ()) -> Counter[str]:
    """Cases by file, and by function where there are many."""
    files: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for item in items:
        name = item.nodeid.split("[", 1)[0]
        files[name.split("::")[0]] += 1
        functions[name] += 1
    named = {name: n for name, n in functions.items() if n >= LEAST or name in set(known)}
    return files + Counter(named)


def missing(found: Mapping[str, int], table: Mapping[str, int], files: set[str]) -> list[str]:
    """What there are fewer of than the table says, of the files that were collected whole."""
    return [
        f"{name}: {found.get(name, 0)} cases, {least} are known (tests/case_counts.json; `make counts` if they are gone for good)"
        for name, least in table.items()
        if name.split("::")[0] in files and found.get(name, 0) < least
    ]


def whole_files(root: Path, arguments: Iterable[str], names: Iterable[str]) -> set[str]:
    """The files of which a run collects all: those that its arguments name, and those in folders that they name."""
    asked = [(root / a).resolve() for a in arguments if "::" not in a]
    files = {name.split("::")[0] for name in names}
    return {f for f in files if any(p == root / f or p in (root / f).parents for p in asked)}


def problems(config: pytest.Config, items: Iterable[pytest.Item]) -> list[str]:
    """What this run has fewer of than the table says. With an older NumPy there are fewer functions to try."""
    if np.lib.NumpyVersion(np.__version__) < "2.4.0":
        return []
    table = json.loads(TABLE.read_text())
    found = families(items, table)
    files = whole_files(config.rootpath, config.args, [*table, *found])
    ignored = whole_files(config.rootpath, map(str, config.getoption("ignore") or ()), files) if files else set()
    return missing(found, table, files - ignored)


class _Writing:
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        counts = {name: n for name, n in sorted(families(items).items()) if name.split("::")[0] not in FREE}
        TABLE.write_text(json.dumps(counts, indent=1) + "\n")


if __name__ == "__main__":
    sys.path[0] = str(TABLE.parent.parent)
    TABLE.write_text("{}")
    sys.exit(pytest.main(["--collect-only", "-qqq", "--no-summary", str(TABLE.parent)], plugins=[_Writing()]))
