"""`adjoint launch`: processes that start together and end together. The programs here need nothing but Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adjoint.cli import launch
from adjoint.cli.main import main

ROOT = Path(__file__).parents[2]


def script(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(f"import os, sys, time, signal\nrank = int(os.environ['ADJOINT_RANK'])\n{text}\n")
    return str(path)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ended(pids: list[int]) -> bool:
    until = time.monotonic() + 20
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(alive, pids))


def test_each_process_has_its_rank_and_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "print(os.environ['ADJOINT_PROCESSES'], sys.argv[1:], flush=True); print('aside', file=sys.stderr); print('no end', end='')"
    assert main(["launch", "-n", "2", script(tmp_path, text), "--at", "-1", "-n", "7"]) == 0
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == sorted(
        f"[{k}] {t}" for k in (0, 1) for t in ("2 ['--at', '-1', '-n', '7']", "no end")
    )
    assert sorted(err.splitlines()) == ["[0] aside", "[1] aside"]


def test_a_module_and_devices(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=8 --other=1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    text = "import os;print(os.environ['XLA_FLAGS'])"
    assert main(["launch", "-n", "1", "--devices-per-process", "3", "-m", "timeit", "-n1", "-r1", text]) == 0
    assert "[0] --other=1 --xla_force_host_platform_device_count=3\n" in capsys.readouterr().out


def test_gpus_are_dealt_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    program = script(tmp_path, "print(os.environ['CUDA_VISIBLE_DEVICES'])")
    assert main(["launch", "-n", "2", program]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == ["[0] 4,5", "[1] 6,7"]
    assert main(["launch", "-n", "3", "--devices-per-process", "2", program]) == 2
    assert "3 processes with 2 GPUs each need 6; this machine has 4" in capsys.readouterr().err
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert launch._gpus() == []


def test_the_first_failure_is_the_exit_code_and_ends_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("adjoint.cli.child_processes.GRACE", 0.2)
    text = "print(os.getpid(), flush=True)\nif rank == 1: sys.exit(7)\ntime.sleep(60)"
    assert main(["launch", "-n", "3", script(tmp_path, text)]) == 7
    out, err = capsys.readouterr()
    assert "adjoint: rank 1 ended with exit code 7; all processes have ended" in err
    assert len(out.splitlines()) == 3 and ended([int(line.split()[1]) for line in out.splitlines()])


def test_what_the_processes_started_ends_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if they do not listen to SIGTERM, or outlive the process that started them."""
    monkeypatch.setattr("adjoint.cli.child_processes.GRACE", 0.2)
    monkeypatch.setattr("adjoint.cli.child_processes.PATIENCE", 0.5)
    text = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0: time.sleep(60)
print(child, flush=True)
if rank == 1: os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""
    assert main(["launch", "-n", "2", script(tmp_path, text)]) == 128 + signal.SIGKILL
    out, err = capsys.readouterr()
    assert "adjoint: rank 1 was ended by SIGKILL" in err
    assert len(out.splitlines()) == 2 and ended([int(line.split()[1]) for line in out.splitlines()])


def test_a_process_that_follows_another_is_not_the_first_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "if rank == 1: time.sleep(1)\nsys.exit(9 if rank == 1 else 5)"
    assert main(["launch", "-n", "2", script(tmp_path, text)]) == 9
    assert "rank 1 ended with exit code 9" in capsys.readouterr().err


def test_restarts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "t = os.environ['ADJOINT_RESTART']; print('try', t, flush=True); sys.exit(3 if rank == 0 and t < '2' else 0)"
    program = script(tmp_path, text)
    assert main(["launch", "-n", "2", "--restarts", "2", program]) == 0
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == sorted(f"[{k}] try {t}" for k in (0, 1) for t in (0, 1, 2))
    assert "starting all again: restart 2 of 2" in err
    assert main(["launch", "-n", "1", "--restarts", "1", program]) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "0", "{}"], "-n must be at least 1"),
        (["-n", "2", "--restarts", "-1", "{}"], "--restarts at least 0"),
        (["-n", "2", "--heartbeat", "0", "{}"], "--heartbeat is a number of seconds"),
        (["-n", "2", "--devices-per-process", "0", "{}"], "--devices-per-process must be at least 1"),
        (["-n", "2"], "say what to launch"),
        (["-n", "2", "no_such.py"], "there is no file 'no_such.py' to launch"),
        (["{}"], "arguments are required: -n"),
    ],
)
def test_what_is_not_understood(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = script(tmp_path, "")
    assert main(["launch", *(a.format(program) for a in arguments)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_whoever_ends_the_launcher_ends_all(number: int, code: int, tmp_path: Path) -> None:
    """Ctrl-C, a scheduler that asks, or one that does not."""
    program = script(tmp_path, "print(os.getpid(), flush=True)\ntime.sleep(60)")
    command = [sys.executable, "-m", "adjoint", "launch", "-n", "2", program]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stdout is not None
        pids = [int(run.stdout.readline().split()[1]) for _ in range(2)]
        assert all(map(alive, pids))
        run.send_signal(number)
        assert run.wait(30) == code
        assert ended(pids)
