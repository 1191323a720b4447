"""Progress: tqdm's bar where it can be seen, sparse lines elsewhere, and never a run that fails for want of either."""

from __future__ import annotations

import io
import sys
import types

import numpy as np
import pytest

from adjoint import nn, ops, optim
from adjoint.core import progress
from adjoint.core.progress import HINT, Progress
from adjoint.data import ArrayDataset
from adjoint.train import Callback, Model, ProgressBar

DATA = ArrayDataset(np.ones((48, 2), "float32"), np.zeros(48, "int32"))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def fit(epochs, bar, batch=16, callbacks=()):
    net = nn.Dense(2, 2)
    model = Model(net, ops.cross_entropy, optim.SGD(net.trainable_params(), 0.1), ["accuracy"])
    return model.fit(epochs, DATA.batch(batch), DATA.batch(48), callbacks=[bar, *callbacks])


@pytest.fixture
def no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


@pytest.fixture
def slow_clock(monkeypatch):
    """A clock of which each look takes a second."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(ticks)))


def test_a_bar_for_each_epoch(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    for bar, stream in ((True, io.StringIO()), (None, Terminal())):
        fit(2, ProgressBar(bar, stream, every=0))
        pictures = [p for p in stream.getvalue().split("\r") if "epoch" in p]
        assert any("epoch 1/2" in p and "1/3" in p and "loss" in p and "left" in p for p in pictures)
        last = next(p for p in reversed(pictures) if "epoch 1/2" in p)
        assert "3/3" in last and "accuracy" in last and "samples/s" in last
        assert stream.getvalue().count("\n") == 2 and "epoch 2/2" in pictures[-1]


def test_epochs_of_unknown_length():
    stream = Terminal()
    bar = Progress(stream=stream, every=0)
    bar.begin("epoch 1")
    bar.advance(5, lambda: "loss 1")
    bar.end(lambda: "loss 2")
    assert "epoch 1  step 5, loss 2" in stream.getvalue()


def test_one_line_where_there_is_no_terminal():
    stream = io.StringIO()
    fit(20, ProgressBar(stream=stream))
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("epoch 20/20  3/3  loss ") and "accuracy" in line and "\r" not in line


@pytest.mark.usefixtures("slow_clock")
def test_a_long_run_has_few_lines_and_no_carriage_return():
    stream = io.StringIO()
    bar = Progress(stream=stream)
    bar.begin("a day", 86400)
    for _ in range(86400):
        bar.advance()
    bar.end()
    bar.close()
    lines = stream.getvalue().splitlines()
    assert 20 < len(lines) < 160
    assert lines[0].startswith("a day  9/") or lines[0].startswith("a day  10/")
    assert lines[-1] == "a day  86400/86400"
    assert "\r" not in stream.getvalue()


@pytest.mark.usefixtures("slow_clock")
def test_a_line_every_ten_seconds():
    stream = io.StringIO()
    bar = Progress(stream=stream)
    for epoch in range(4):
        bar.begin(f"epoch {epoch}", 12)
        for _ in range(12):
            bar.advance()
        bar.end(lambda: "end")
    bar.close()
    lines = stream.getvalue().splitlines()
    assert lines == [
        "epoch 0  10/12",
        "epoch 1  7/12",
        "epoch 2  4/12",
        "epoch 3  1/12",
        "epoch 3  11/12",
        "epoch 3  12/12  end",
    ]


def test_a_run_that_is_stopped_early_says_where():
    class Stop(Callback):
        def on_train_step_end(self, run_context):
            if run_context.original_args().cur_step_num == 4:
                run_context.request_stop()

    stream = io.StringIO()
    fit(20, ProgressBar(stream=stream), callbacks=[Stop()])
    assert stream.getvalue().startswith("epoch ") and stream.getvalue().count("\n") == 1


@pytest.mark.usefixtures("no_tqdm")
def test_without_tqdm_there_are_lines_and_a_hint():
    stream = Terminal()
    fit(3, ProgressBar(stream=stream))
    (line,) = stream.getvalue().splitlines()
    assert "epoch 3/3" in line and line.endswith(HINT) and 'pip install "adjoint[train]"' in HINT
    plain = io.StringIO()
    fit(3, ProgressBar(stream=plain))
    assert HINT not in plain.getvalue()


def test_nothing_is_shown_if_so_wished(capfd, monkeypatch):
    stream = Terminal()
    fit(2, ProgressBar(False, stream))
    assert stream.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)  # a program without a console
    fit(2, ProgressBar())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("error", [BrokenPipeError, ValueError("I/O operation on closed file"), UnicodeError])
def test_a_display_that_fails_does_not_end_the_run(tty, error):
    class Broken(io.StringIO):
        def isatty(self):
            return tty

        def write(self, text):
            raise error

    assert len(fit(2, ProgressBar(stream=Broken(), every=0)).history["loss"]) == 2


def test_words_that_the_stream_cannot_write():
    raw = io.BytesIO()
    bar = Progress(stream=io.TextIOWrapper(raw, "ascii"))
    bar.begin("épöque", 1)
    bar.end(lambda: "→ 1")
    bar.close()
    assert raw.getvalue() == b"?p?que  0/1  ? 1\n"


def test_a_notebook_has_a_bar(monkeypatch):
    """Its stderr is no terminal; tqdm.auto chooses what it draws there."""
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    fit(1, ProgressBar(every=0))
    assert stream.getvalue().count("\r") > 2


def test_no_thread_is_left(monkeypatch):
    import threading

    before = threading.active_count()
    fit(1, ProgressBar(True, io.StringIO(), every=0))
    assert threading.active_count() == before
