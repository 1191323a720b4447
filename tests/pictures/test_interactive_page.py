"""The interactive page, in a real browser."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.pictures import Picture
from adjoint.pictures.layered_layout import arrange
from adjoint.pictures.scene_groups import opened
from adjoint.pictures.visible import NARROW, lines_of, view_of

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--window-size=1400,900",
)  # fmt: skip


def example(x, y):
    return ops.log(x) + x * y - ops.sin(y)


def loop(x):
    s = x
    for _ in range(20):
        s = s * 0.5 if s > 3.0 else s * ops.sin(x)
    return s


class Transformer(nn.Cell):
    def __init__(self, layers: int):
        super().__init__()
        one = lambda: nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.layers = nn.CellList([one() for _ in range(layers)])

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return ops.mean(x)


class Page:
    """A page in the browser, and what a reader does with it."""

    def __init__(self, driver, path: Path):
        self.driver, self.path = driver, path

    def open(self, picture: Picture) -> None:
        picture.save(self.path)
        self.driver.get(self.path.as_uri())

    def run(self, code: str, *args):
        return self.driver.execute_script(code, *args)

    def labels(self, pane: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(`#${arguments[0]} .item`)].map(e => e.ariaLabel || e.textContent)",
            pane,
        )

    def texts(self, selector: str) -> list[str]:
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def mouse(self, kind: str, pane: str, label: str) -> None:
        """Do something with the mouse on the first box whose label begins so."""
        self.run(
            """const [kind, pane, label] = arguments;
            const box = [...document.querySelectorAll(`#${pane} .item`)].find(e => (e.ariaLabel || "").startsWith(label));
            const r = box.getBoundingClientRect(), at = {bubbles: true, clientX: r.left + 12, clientY: r.top + r.height - 6};
            box.dispatchEvent(new MouseEvent(kind, at));""",
            kind, pane, label,
        )  # fmt: skip

    def details(self) -> str:
        return self.run("return document.getElementById('details').innerText")

    def errors(self) -> list[str]:
        return [e["message"] for e in self.driver.get_log("browser")]


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    if not CHROMIUM or not DRIVER:
        if os.environ.get("ADJOINT_NEEDS_BROWSER"):
            pytest.fail("chromium and chromedriver must be there: .ci/run installs them")
        pytest.skip("no chromium on this machine")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield started
    started.quit()


@pytest.fixture
def page(driver, tmp_path):
    found = Page(driver, tmp_path / "graph.html")
    yield found
    assert found.errors() == []


def test_a_click_shows_what_is_known_of_a_step(page: Page) -> None:
    page.open(ad.draw(example, 2.0, 5.0))
    assert "log v1 = 0.6931" in page.labels("forward") and "∂/∂x = 5.5" in page.labels("derivative")
    page.mouse("click", "forward", "sin")
    said = page.details()
    for part in ("v4: sin", "v4 = sin(y)", "float64[]", "8 B", "-0.95892", "µs", "return (cos(x),)"):
        assert part in said, part
    assert "test_interactive_page.py, line" in said and "return ops.log(x) + x * y - ops.sin(y)" in said
    assert sorted(page.texts("#derivative .partner")) == ["cosg6 = 0.2837", "×g7 = -0.2837"]
    assert page.run("return document.querySelectorAll('#bridges path').length") == 2
    page.run("document.querySelector('#details .jump').click()")
    assert page.details().startswith("g6: cos") and "v4: sin" in page.details()
    page.mouse("click", "forward", "result")
    assert page.texts("#derivative .partner") == ["∂/∂result= 1"]


def test_hovering_marks_the_partner(page: Page) -> None:
    page.open(ad.draw(example, 2.0, 5.0))
    page.mouse("pointerover", "derivative", "∂/∂y")
    assert page.texts("#forward .partner") == ["y= 5"]
    page.run("document.querySelector('#derivative svg').dispatchEvent(new PointerEvent('pointerleave'))")
    assert page.texts("#forward .partner") == []


def test_the_passes_change_the_graphs(page: Page) -> None:
    picture = ad.draw(example, 2.0, 5.0)
    page.open(picture)
    names = [s.name for s in picture.program.stages]
    shown = page.texts("#stages button")
    assert len(shown) == len(names) and all(text.startswith(name) for text, name in zip(shown, names, strict=True))
    assert "neg g5 = -1" in page.labels("derivative")
    page.run("document.querySelectorAll('#stages button')[arguments[0]].click()", names.index("strength"))
    assert not any(label.startswith("neg") for label in page.labels("derivative"))
    steps = len(picture.program.stages[names.index("strength")].derivative.calls)
    assert page.texts("#derivative small") == [f"{steps} steps"] and "∂/∂y = 1.716" in page.labels("derivative")
    page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}))")
    assert page.run("return document.querySelector('[aria-current=true]').textContent").startswith("algebra")


def test_loops_and_branches_open_and_close(page: Page) -> None:
    page.open(ad.draw(loop, 2.0))
    assert "for loop, 20 times · v1" in page.labels("forward") and "then" in page.labels("forward")
    page.run("document.getElementById('close-all').click()")
    assert [label for label in page.labels("forward") if "loop" in label] == ["for loop, 20 times"]
    assert "then" not in page.labels("forward")
    page.mouse("dblclick", "forward", "for loop")
    inside = page.labels("forward")
    assert "state 0" in inside and "if" in inside and "then" not in inside
    assert any(
        "backwards" in label and "·" in label for label in page.labels("derivative")
    )  # its partner has opened too
    page.mouse("click", "forward", "> 3")
    assert "in 20 iterations" in page.details().lower()


def test_search_finds_and_reveals(page: Page) -> None:
    page.open(ad.draw(Transformer(12), ad.Tensor(np.ones((2, 3, 16), "float32")), passes=False))
    piles = page.labels("forward")
    assert "layers.0" in piles and "layers.11" in piles and len(piles) < 60
    page.run("const s = document.getElementById('search'); s.value = 'softmax'; s.dispatchEvent(new Event('input'))")
    assert page.texts("#hits") == ["24 hits"]
    page.run("document.getElementById('after').click()")
    assert page.texts("#hits") == ["1 of 24"] and page.details().startswith("softmax")
    assert any(label.startswith("self_attn") for label in page.labels("forward"))
    page.run(
        "const s = document.getElementById('search'); s.value = 'no such thing'; s.dispatchEvent(new Event('input'))"
    )
    assert page.texts("#hits") == ["no hit"]
    page.run(
        "const s = document.getElementById('search'); s.value = 'in_proj_weight'; s.dispatchEvent(new Event('input'))"
    )
    page.run("document.getElementById('after').click()")
    assert page.details().startswith("layers.0.self_attn.in_proj_weight") and "a Parameter" in page.details()


def test_the_wheel_zooms_and_the_theme_changes(page: Page) -> None:
    page.open(ad.draw(example, 2.0, 5.0))
    zoom = "return Number(document.querySelector('#forward svg > g').getAttribute('transform').match(/scale\\(([^)]+)/)[1])"
    before = page.run(zoom)
    page.run(
        "document.querySelector('#forward svg').dispatchEvent(new WheelEvent('wheel', {deltaY: -300, clientX: 200, clientY: 300}))"
    )
    assert page.run(zoom) > before * 1.3
    page.run("document.getElementById('fit').click()")
    assert page.run(zoom) == pytest.approx(before)
    colour = "return getComputedStyle(document.body).backgroundColor"
    first = page.run(colour)
    page.run("document.getElementById('theme').click()")
    assert page.run(colour) != first


@pytest.mark.parametrize("fn", [example, loop])
def test_the_page_places_boxes_where_the_svg_has_them(page: Page, fn) -> None:
    """Two implementations of one layout: each is the other's oracle."""
    picture = ad.draw(fn, *([2.0, 5.0] if fn is example else [2.0]))
    page.open(picture)
    scenes = picture.scenes()
    for number, (scene, at_first) in enumerate(zip(scenes, opened(scenes), strict=True)):
        view = view_of(scene, at_first)
        arrange(view.root, view.edges, {i: len(lines_of(scene, i)[0]) * NARROW + 14 for i in view.items}, number == 1)
        found = page.run(
            "return [...window.adjoint.panes[arguments[0]].view.items].map(([i, b]) => [i, b.x, b.y, b.width, b.height])",
            number,
        )
        assert len(found) == len(view.items)
        for i, *place in found:
            item = view.items[i]
            np.testing.assert_allclose(place, [item.x, item.y, item.width, item.height], atol=1e-6)


def test_text_of_the_user_s_is_text(page: Page) -> None:
    """Whatever a line of the program holds, nothing of it is markup or ends a script."""

    def odd(x):
        return x * len("</script><b>&amp;<!--")

    page.open(ad.draw(odd, 2.0))
    page.mouse("click", "forward", "×")
    assert '"</script><b>&amp;<!--"' in page.details()
