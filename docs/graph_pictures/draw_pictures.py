"""Makes the pictures of docs/pictures.md: python docs/graph_pictures/draw_pictures.py; `--page` also takes the picture of the page, with chromium."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint import nn, ops

FOLDER = Path(__file__).parent
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1280,800")  # fmt: skip


def f(x, y):
    return ops.log(x) + x * y - ops.sin(y)


def iterate(x):
    s = x
    for _ in range(20):
        s = s * 0.5 if s > 3.0 else s * ops.sin(x)
    return s


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Dense(4, 8)
        self.norm = nn.LayerNorm((8,))
        self.head = nn.Dense(8, 3)

    def construct(self, x):
        return ops.mean(ops.softmax(self.head(ops.relu(self.norm(self.hidden(x))))))


def pictures() -> Iterator[tuple[str, str]]:
    """The name and the text of each picture."""
    example = ad.draw(f, 2.0, 5.0)
    yield "example.svg", example.svg()
    yield "optimised.svg", example.svg("derivative", stage="strength")
    yield "loop.svg", ad.draw(iterate, 2.0).svg()
    x = ad.Tensor(np.ones((2, 4), "float32"))
    yield "network.svg", ad.draw(Network(), x, values=False, passes=False).svg()


def picture_of_the_page(target: Path) -> None:
    """The page of the first example, with a click on the sine."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "graph.html"
        ad.draw(f, 2.0, 5.0, path=page)
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (*FLAGS, f"--user-data-dir={folder}/browser"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
        try:
            driver.get(page.as_uri())
            driver.execute_script("adjoint.jump(adjoint.panes[0], 3); document.getElementById('fit').click()")
            driver.save_screenshot(str(target))
        finally:
            driver.quit()


if __name__ == "__main__":
    for name, text in pictures():
        (FOLDER / name).write_text(text, encoding="utf-8")
    if "--page" in sys.argv[1:]:
        picture_of_the_page(FOLDER / "page.png")
