"""Ctrl-C ends a compiled loop soon, on every thread, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.backends.native import interrupted

PROGRAM = Path(__file__).with_name("interrupted.py")
SOON = 3.0  # seconds; a second on a machine with nothing else to do


class Process:
    """A program that is sent SIGINT. It is killed when a minute has passed, so that no test waits for it forever."""

    def __init__(self, name: str) -> None:
        root = str(PROGRAM.parents[3])
        command = [sys.executable, str(PROGRAM), name]
        self.run = subprocess.Popen(command, stdout=-1, stderr=-1, text=True, cwd=root, env={"PYTHONPATH": root})
        self.watchdog = threading.Timer(60.0, self.run.kill)
        self.watchdog.daemon = True
        self.watchdog.start()

    def line(self) -> str:
        assert self.run.stdout is not None
        return self.run.stdout.readline().strip()

    def interrupt(self) -> float:
        self.run.send_signal(signal.SIGINT)
        return time.monotonic()

    def end(self, seconds: float = SOON) -> tuple[int, str]:
        try:
            _, errors = self.run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.run.kill()
            raise
        finally:
            self.watchdog.cancel()
        return self.run.returncode, errors


@pytest.mark.parametrize("name", interrupted.ARGUMENTS)
def test_a_loop_is_stopped(name):
    process = Process(name)
    assert process.line() == "ready"
    for _ in range(2):
        time.sleep(0.3)
        start = process.interrupt()
        assert process.line() == "stopped", process.end()[1]
        assert time.monotonic() - start < SOON
    assert process.end()[0] == 0


@pytest.mark.parametrize(
    "name", ["short_ways", "join", "sleep", "training", "donated", "straight_line", "own_handler", "ignored"]
)
def test_what_is_left_after_it(name):
    process = Process(name)
    assert process.line() == "ready"
    time.sleep(0.3)
    start = process.interrupt()
    assert process.line() == "stopped", process.end()[1]
    assert name in ("own_handler", "ignored") or time.monotonic() - start < SOON
    assert process.end()[0] == 0


@pytest.mark.parametrize("name", ["left_on_thread", "daemon", "main_ends"])
def test_the_process_ends(name):
    process = Process(name)
    assert process.line() == "ready"
    time.sleep(0.3)
    if name != "main_ends":
        process.interrupt()
    code, errors = process.end()
    assert code in (0, 1, -signal.SIGINT, 130) and "Fatal" not in errors, errors
