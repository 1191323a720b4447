"""The documentation as a site: every page in it, every link leads somewhere, every public name has an entry."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: a link that leads nowhere or a page left out is an error."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", ROOT / "mkdocs.yml", "-d", folder]
    built = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_and_every_public_name_is_there(site: Path) -> None:
    pages = {p.stem for p in (ROOT / "docs").glob("*.md")}
    assert pages <= {p.stem for p in site.glob("*.html")}
    for name, section in re.findall(
        r"^## `([\w.]+)`\n(.*?)(?=^## |\Z)", (ROOT / "docs/api.md").read_text(), re.M | re.S
    ):
        if name in ("adjoint.numpy", "adjoint.scipy", "adjoint.array_api"):  # mirrors, whose names others document
            continue
        listed = set(re.findall(r"`([A-Za-z_]\w*)`", section))
        anchors = set(re.findall(r'id="([\w.]+)"', (site / f"reference/{name}.html").read_text()))
        assert listed - anchors == set(), name


def test_an_entry_has_signature_text_example_and_methods(site: Path) -> None:
    text = re.sub(r"<[^>]+>", "", (site / "reference/adjoint.html").read_text())
    assert "grad_position: int | tuple[int, ...] | None" in text
    assert "A function that returns the gradient of" in text
    assert "GradientCheckpoint.plan" in text


def test_nothing_is_fetched_from_a_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        fetched = re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text())
        assert fetched == [], page.name
