"""How far long work is: tqdm's bar on a terminal or in a notebook, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO, TypeVar

T = TypeVar("T")

SPARSE = 20  # lines come at least this fraction of the time apart that has passed before
HINT = '(for a progress bar: pip install "adjoint[train]")'


class Progress:
    """Shows how far work is that has one stage after another, such as epochs.

    Without tqdm, or where there is neither a terminal nor a notebook, it writes whole lines: at most one every `lines` seconds,
    ever fewer the longer it takes (a day has some 150), and one at the end. So log files have no carriage returns and stay
    short. Whatever becomes of the display, the work goes on.

    Args:
        show: False shows nothing, True a bar even where there is no terminal, as for consoles that are none and obey one.
        stream: where to write, stderr unless said otherwise.
        every: seconds between two pictures of a bar.

    >>> import sys
    >>> progress = Progress(stream=sys.stdout)
    >>> progress.begin("epoch 1", 3)
    >>> for _ in range(3):
    ...     progress.advance(1)
    >>> progress.end(lambda: "loss 0.5")
    >>> progress.close()
    epoch 1  3/3  loss 0.5
    """

    def __init__(
        self, show: bool | None = None, stream: TextIO | None = None, every: float = 0.1, lines: float = 10.0
    ) -> None:
        self._display = _display(show, sys.stderr if stream is None else stream)
        self._every, self._slower = (lines, 1 / SPARSE) if isinstance(self._display, _Lines) else (every, 0.0)
        self._begun = self._shown = time.perf_counter()
        self._done = 0

    def begin(self, label: str, total: int | None = None) -> None:
        """A stage of so many steps, where their number is known."""
        self._done = 0
        self._tell(lambda display: display.begin(label, total))

    def advance(self, count: int = 1, words: Callable[[], str] = str) -> None:
        """So many steps are done. `words` are asked for when they are shown."""
        self._done += count
        if self._display is not None and self._due():
            self._tell(lambda display: display.show(self._done, words()))

    def end(self, words: Callable[[], str] = str) -> None:
        """The stage is over."""
        self._tell(lambda display: display.end(self._done, words(), self._due))

    def close(self) -> None:
        """All is over."""
        self._tell(lambda display: display.close())

    def _due(self) -> bool:
        now = time.perf_counter()
        due = now - self._shown >= max(self._every, self._slower * (self._shown - self._begun))
        self._shown = now if due else self._shown
        return due

    def _tell(self, what: Callable[[Any], None]) -> None:
        try:
            if self._display is not None:
                what(self._display)
        except Exception:  # a closed pipe, a notebook without its widgets: no picture is worth a run
            self._display = None


def tracked(items: Iterable[T], label: str, total: int | None = None, after: float = 2.0) -> Iterator[T]:
    """The items one by one; if it takes longer than some seconds, it is shown how far the work is.

    >>> list(tracked(range(3), "counting", 3))
    [0, 1, 2]
    """
    begun = time.perf_counter()
    progress: Progress | None = None
    for done, item in enumerate(items):
        if progress is not None:
            progress.advance()
        elif time.perf_counter() - begun > after:
            progress = Progress()
            progress.begin(label, total)
            progress.advance(done)
        yield item
    if progress is not None:
        progress.advance()
        progress.end()
        progress.close()


class _Bars:
    """A bar for each stage."""

    def __init__(self, stream: TextIO, tqdm: Any) -> None:
        class Bar(tqdm):
            monitor_interval = 0  # no thread beside the run

        self.stream, self.make = stream, Bar
        self.bar: Any = None

    def begin(self, label: str, total: int | None) -> None:
        self.close()
        count = "step {n_fmt}" if total is None else "|{bar}| {n_fmt}/{total_fmt}"
        form = f"{{desc}}  {count}{{postfix}}"
        self.bar = self.make(
            total=total, desc=label, file=self.stream, bar_format=form, dynamic_ncols=True, mininterval=0, miniters=1
        )

    def show(self, done: int, words: str) -> None:
        self.bar.set_postfix_str(words, refresh=False)
        if not self.bar.update(done - self.bar.n):  # what draws it
            self.bar.refresh()

    def end(self, done: int, words: str, due: Callable[[], bool]) -> None:
        self.show(done, words)
        self.close()

    def close(self) -> None:
        if self.bar is not None:
            bar, self.bar = self.bar, None
            bar.close()


class _Lines:
    """A line now and then. That of a stage that ends soon after another line waits, in case it is the last."""

    def __init__(self, stream: TextIO, hint: str) -> None:
        self.stream, self.hint = stream, hint
        self.label = self.waiting = ""
        self.total: int | None = None

    def begin(self, label: str, total: int | None) -> None:
        self.label, self.total = label, total

    def show(self, done: int, words: str) -> None:
        self.waiting = self._line(done, words)
        self.close()

    def end(self, done: int, words: str, due: Callable[[], bool]) -> None:
        self.waiting = self._line(done, words)
        if due():
            self.close()

    def close(self) -> None:
        if self.waiting:
            code = getattr(self.stream, "encoding", None) or "utf-8"
            self.stream.write(self.waiting.encode(code, "replace").decode(code) + "\n")
            self.stream.flush()
            self.waiting = self.hint = ""

    def _line(self, done: int, words: str) -> str:
        count = f"step {done}" if self.total is None else f"{done}/{self.total}"
        return "  ".join(part for part in (self.label, count, words, self.hint) if part)


def _display(show: bool | None, stream: TextIO | None) -> _Bars | _Lines | None:
    """What can be shown there."""
    if show is False or stream is None:  # a program without a console has no stderr
        return None
    if not show and not stream.isatty() and not (stream is sys.stderr and _in_notebook()):
        return _Lines(stream, "")
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines(stream, HINT)
    return _Bars(stream, tqdm)


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in shell.config
