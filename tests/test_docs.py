"""Every code block of the README and the documentation runs; what it prints is what stands below it."""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from registered import forgotten

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_blocks(page):
    namespace = {"__name__": "documentation"}
    with forgotten():
        for match in BLOCK.finditer(page.read_text()):
            code, expected = match.groups()
            line = page.read_text()[: match.start()].count("\n") + 2
            printed = io.StringIO()
            name = f"<{page.name}, line {line}>"
            linecache.cache[name] = (len(code), None, code.splitlines(True), name)  # so that its source can be read
            with contextlib.redirect_stdout(printed):
                exec(compile(code, name, "exec", dont_inherit=True), namespace)
            if expected is not None:
                assert printed.getvalue() == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


# ---------------------------------------------------------------- how_it_works.md follows calls from file to file

FOLLOWED = re.compile(
    r"```python\n((?:(?!```).)*)```\n```text\n[^`]*```\n((?:(?!```|\n## ).)*?^1\. `.*?)(?=```|\n## |\Z)",
    re.DOTALL | re.MULTILINE,
)
ENTRY = re.compile(r"^\d+\. `([\w/]+\.py)`", re.MULTILINE)
FILES_ENTERED = """if True:
    import linecache, sys
    from pathlib import Path
    import adjoint
    adjoint.jit  # loaded
    root, seen = str(Path(adjoint.__file__).parent) + "/", {}

    def note(frame, event, argument):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(root) and frame.f_code.co_name != "<module>":
            seen.setdefault(name[len(root):])

    parts, namespace = {}, {"__name__": "documentation"}
    for name, text in zip(("<before>", "<followed>"), sys.stdin.read().split("# followed\\n")):
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        parts[name] = compile(text, name, "exec")
    exec(parts["<before>"], namespace)
    sys.setprofile(note)
    exec(parts["<followed>"], namespace)
    sys.setprofile(None)
    print(*seen, sep="\\n")
"""


def test_calls_are_followed_in_order():
    """The files of each list are entered in its order: each for the first time after those above it."""
    page = (ROOT / "docs" / "how_it_works.md").read_text()
    before, lists = "import adjoint as ad\nfrom adjoint import ops\n", 0
    for code, text in FOLLOWED.findall(page):
        named = ENTRY.findall(text)
        out = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", FILES_ENTERED], input=f"{before}# followed\n{code}", text=True,
            capture_output=True, check=True, cwd=ROOT, env={**os.environ, "ADJOINT_BACKEND": "native"},
        )  # fmt: skip
        entered = out.stdout.splitlines()
        assert [name for name in entered if name in named] == named, (code, entered)
        before += "".join(line for line in code.splitlines(True) if not line.startswith("print("))
        lists += 1
    assert lists == 4


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_files_that_are_named_are_there(page):
    """`frontend/convert.py`, in the package or in the native backend."""
    folders = (ROOT, ROOT / "adjoint", ROOT / "adjoint" / "backends" / "native")
    for name in re.findall(r"`((?:\w+/)+\w+\.\w+)`", page.read_text()):
        assert any((folder / name).exists() for folder in folders), name


def test_every_picture_is_made_by_a_script():
    """docs/pictures/make.py makes each picture of that folder, and some page shows it."""
    script = (ROOT / "docs" / "pictures" / "make.py").read_text()
    pages = "".join(page.read_text() for page in PAGES)
    for picture in [p for p in (ROOT / "docs" / "pictures").iterdir() if p.suffix in (".png", ".svg")]:
        assert re.search(rf"^def {picture.stem}\(", script, re.MULTILINE), picture.name
        assert f"](pictures/{picture.name})" in pages, picture.name
