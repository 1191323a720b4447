"""Every code block of the README and the documentation runs; what it prints is what stands below it."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path

import pytest

from adjoint.ops.card import REGISTRY

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_blocks(page):
    namespace = {"__name__": "documentation"}
    known = set(REGISTRY)
    try:
        for match in BLOCK.finditer(page.read_text()):
            code, expected = match.groups()
            line = page.read_text()[: match.start()].count("\n") + 2
            printed = io.StringIO()
            name = f"<{page.name}, line {line}>"
            linecache.cache[name] = (len(code), None, code.splitlines(True), name)  # so that its source can be read
            with contextlib.redirect_stdout(printed):
                exec(compile(code, name, "exec"), namespace)
            if expected is not None:
                assert printed.getvalue() == expected
    finally:
        for name in set(REGISTRY) - known:
            del REGISTRY[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
