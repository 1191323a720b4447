"""The pictures of the documentation are those that their script makes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

FOLDER = Path(__file__).parent.parent.parent / "docs" / "graph_pictures"


def test_the_pictures_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("draw_pictures", FOLDER / "draw_pictures.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    made = dict(script.pictures())
    assert {*made, "page.png"} == {p.name for p in FOLDER.iterdir() if p.suffix in (".svg", ".png")}
    for name, text in made.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"{name}: run docs/graph_pictures/draw_pictures.py"


def test_the_page_shows_them_all() -> None:
    shown = re.findall(r"\(graph_pictures/([\w.]+)\)", (FOLDER.parent / "pictures.md").read_text())
    assert sorted(shown) == sorted(p.name for p in FOLDER.iterdir() if p.suffix in (".svg", ".png"))
