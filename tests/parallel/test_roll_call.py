"""Processes that find one another, meet at barriers and miss one another: here as threads with real sockets."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import adjoint as ad
from adjoint.core.errors import ArgumentError, ArgumentTypeError
from adjoint.parallel.launch_variables import Seat, first_host, heartbeat, seat
from adjoint.parallel.relay import Relay
from adjoint.parallel.roll_call import Coordinator, GroupMember
from adjoint.parallel.wire import Wire

WAIT = 30.0


class Group:
    """Rank 0 and members, with what each heard of losses."""

    def __init__(self, n: int, silence: float) -> None:
        self.losses: dict[int, queue.Queue[tuple[int, str]]] = {k: queue.Queue() for k in range(n)}
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.coordinator = Coordinator(listener, n, silence, lambda *what: self.losses[0].put(what))
        self.members = [self.member(k, n, silence) for k in range(1, n)]

    def member(self, rank: int, n: int, silence: float) -> GroupMember:
        def ends(*what: Any) -> None:
            self.losses[rank].put(what)
            member.wire.close()

        member = GroupMember("127.0.0.1", self.port, rank, n, silence, ends)
        return member

    def meet(self) -> list[dict[str, Any]]:
        def lead() -> dict[str, Any]:
            self.coordinator.gather(WAIT)
            self.coordinator.start({"word": "go"})
            return {}

        return together(lead, *(lambda m=m: m.join(WAIT) for m in self.members))[1:]

    def all(self) -> list[Any]:
        return [self.coordinator, *self.members]


def together(*work: Callable[[], Any]) -> list[Any]:
    """Run side by side; gives the results, or the errors in their place."""
    results: list[Any] = [None] * len(work)

    def run(k: int) -> None:
        try:
            results[k] = work[k]()
        except Exception as error:
            results[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()
    return results


@contextlib.contextmanager
def group(n: int, silence: float = WAIT) -> Iterator[Group]:
    made = Group(n, silence)
    try:
        assert made.meet() == [{"word": "go"}] * (n - 1)
        yield made
    finally:
        made.coordinator.close()
        for member in made.members:
            member.wire.close()


def test_barriers_open_when_all_have_come_again_and_again() -> None:
    with group(3) as made:
        seen: list[str] = []
        for turn in ("first", "second"):

            def late(turn: str = turn) -> None:
                time.sleep(0.05)
                seen.append(turn)
                made.coordinator.barrier("here", WAIT)

            def early(member: GroupMember, turn: str = turn) -> bool:
                member.barrier("here", WAIT)
                return turn in seen

            assert together(late, *(lambda m=m: early(m) for m in made.members))[1:] == [True, True]


def test_a_barrier_names_those_that_did_not_come() -> None:
    with group(3) as made:
        words = [
            str(e)
            for e in together(lambda: made.coordinator.barrier("x", 0.2), lambda: made.members[0].barrier("x", 0.2))
        ]
        assert words == ["barrier 'x': rank 2 did not come within 0.2 s, though still running"] * 2


def test_a_killed_process_is_named_to_all_at_once() -> None:
    with group(4) as made:
        made.members[1].wire.connection.shutdown(socket.SHUT_RDWR)
        for rank in (0, 1, 3):
            lost, why = made.losses[rank].get(timeout=WAIT)
            assert lost == 2 and "it was killed" in why


def test_a_killed_first_process_is_named_too() -> None:
    with group(3) as made:
        made.coordinator.ended.set()
        for wire in list(made.coordinator.wires.values()):
            wire.close()
        assert [made.losses[k].get(timeout=WAIT)[0] for k in (1, 2)] == [0, 0]


def test_a_silent_process_is_lost_after_the_heartbeat() -> None:
    with group(3, silence=0.5) as made:
        made.members[0].ended.set()  # no more signs of life, though connected
        lost, why = made.losses[0].get(timeout=WAIT)
        assert lost == 1 and why == "nothing was heard from it for 0.5 s: it is stopped, or its machine is down"
        assert made.losses[2].get(timeout=WAIT)[0] == 1


def test_signs_of_life_keep_a_quiet_group_together() -> None:
    with group(2, silence=0.4) as made:
        time.sleep(1.0)
        assert made.losses[0].empty() and made.losses[1].empty()


def test_an_error_is_told_with_its_words() -> None:
    for rank in (0, 2):
        with group(3) as made:
            made.all()[rank].fail("it ended with KeyError: 'x'")
            for other in {0, 1, 2} - {rank}:
                assert made.losses[other].get(timeout=WAIT) == (rank, "it ended with KeyError: 'x'")


def test_whoever_is_done_waits_for_the_others_and_is_not_lost() -> None:
    with group(3) as made:
        assert together(*(lambda p=p: p.leave(WAIT) for p in made.all())) == [None] * 3
        made.members[0].wire.close()
        time.sleep(0.1)
        assert all(q.empty() for q in made.losses.values())
    with group(2) as made:
        (error,) = together(lambda: made.coordinator.leave(0.1))
        assert "rank 1 did not come within 0.1 s" in str(error)


def test_whoever_ends_before_all_are_done_is_lost_too() -> None:
    with group(3) as made:
        made.members[0].wire.send(bye=True)
        made.members[0].fail("it waited too long")
        assert made.losses[0].get(timeout=WAIT) == (1, "it waited too long") == made.losses[2].get(timeout=WAIT)


def test_who_does_not_come_is_named() -> None:
    made = Group(4, WAIT)
    words = together(lambda: made.coordinator.gather(0.5), lambda: made.members[1].join(WAIT))
    assert [str(w) for w in words] == ["initialize: ranks 1, 3 of 4 did not come within 0.5 s"] * 2


@pytest.mark.parametrize(
    ("rank", "n", "words"),
    [
        (1, 5, "rank 1 was started as one of 5 processes, rank 0 as one of 3"),
        (0, 3, "rank 0 of 3 came to rank 0"),
    ],
)
def test_processes_that_do_not_fit_are_refused_everywhere(rank: int, n: int, words: str) -> None:
    made = Group(3, WAIT)
    said = together(lambda: made.coordinator.gather(WAIT), lambda: made.member(rank, n, WAIT).join(WAIT))
    assert all(words in str(s) and isinstance(s, ad.ProcessGroupError) for s in said)


def test_two_processes_of_one_rank_are_refused() -> None:
    made = Group(3, WAIT)
    said = together(
        lambda: made.coordinator.gather(WAIT),
        lambda: made.members[0].join(WAIT),
        lambda: made.member(1, 3, WAIT).join(WAIT),
    )
    assert ["two processes were started as rank 1" in str(s) for s in said] == [True] * 3


def test_whoever_comes_late_waits_for_the_next_run() -> None:
    """As a process that is started again before rank 0 has ended."""
    with group(2) as made:
        (error,) = together(lambda: made.member(1, 2, WAIT).join(0.6))
        assert str(error) == "initialize: rank 1 comes to a run of 2 processes that has begun without it"
        waiting = made.member(1, 2, WAIT)
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(waiting.join(WAIT)))
        thread.start()
        time.sleep(0.1)
    listener = socket.create_server(("127.0.0.1", made.port))
    again = Coordinator(listener, 2, WAIT, lambda *_: None)
    again.gather(WAIT)
    again.start({"word": "again"})
    thread.join(WAIT)
    assert results == [{"word": "again"}]
    again.close()
    waiting.wire.close()


def test_strangers_at_the_door_disturb_nobody() -> None:
    made = Group(2, WAIT)
    for text in (b"GET / HTTP/1.1\r\n\r\n", b"\xff\x00\n", b'{"hello": "x"}\n', b""):
        with socket.create_connection(("127.0.0.1", made.port)) as stranger:
            stranger.sendall(text)
    assert made.meet() == [{"word": "go"}]
    made.coordinator.close()


def test_where_nobody_listens_the_address_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    member = GroupMember("127.0.0.1", port, 1, 2, WAIT, lambda *_: None)
    with pytest.raises(ad.ProcessGroupError, match=f"rank 1 did not reach rank 0 at 127.0.0.1:{port} within 0.3 s"):
        member.join(0.3)


def test_the_relay_passes_on_and_keeps_the_near_end_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        relay = Relay("127.0.0.1", server.getsockname()[1])
        near = socket.create_connection(("127.0.0.1", relay.port))
        far, _ = server.accept()
        near.sendall(b"there")
        assert far.recv(10) == b"there"
        far.sendall(b"and back")
        assert near.recv(10) == b"and back"
        far.close()
        near.settimeout(0.2)
        for _ in range(3):
            near.sendall(b"to nobody")
            with pytest.raises(TimeoutError):  # no end is seen
                near.recv(10)
        relay.release()
        near.close()


def test_long_messages_end_a_connection() -> None:
    here, there = socket.socketpair()
    with here, there:
        threading.Thread(target=lambda: there.sendall(b"x" * 100_000), daemon=True).start()
        assert "gone" in Wire(_tcp_like(here), 5.0).receive()


def _tcp_like(connection: socket.socket) -> Any:
    class Quiet:
        def setsockopt(self, *_: Any) -> None: ...

        def __getattr__(self, name: str) -> Any:
            return getattr(connection, name)

    return Quiet()


# ---------------------------------------------------------------- which process this is


SLURM = {
    "SLURM_JOB_ID": "1234567", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5",
    "SLURM_STEP_NODELIST": "gpu[012-013,044]",
}  # fmt: skip


def test_the_seat_comes_from_arguments_the_environment_or_slurm() -> None:
    env = {"ADJOINT_COORDINATOR": "host:1000", "ADJOINT_PROCESSES": "4", "ADJOINT_RANK": "2"}
    assert seat(None, None, None, env) == Seat("host:1000", 4, 2) == seat("host:1000", 4, 2, {})
    assert seat(None, None, 3, env) == Seat("host:1000", 4, 3)
    assert seat(None, None, None, {**SLURM, **env}) == Seat("host:1000", 4, 2)
    found = seat(None, None, None, SLURM)
    assert (found.host, found.n, found.rank) == ("gpu012", 8, 5) and 61000 <= found.port < 65000
    assert found.port != seat(None, None, None, {**SLURM, "SLURM_STEP_ID": "1"}).port
    assert seat(None, None, None, {**SLURM, "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_ID": "batch"}).n == 8
    without = {k: v for k, v in SLURM.items() if "STEP" not in k}
    assert seat(None, None, None, without).n == 1  # a batch script, outside of srun
    assert Seat("[::1]:80", 2, 0).host == "::1" and Seat("[::1]:80", 2, 0).here


def test_the_first_host_of_slurm_lists() -> None:
    assert [first_host(t) for t in ("a", "a,b", "n[1,5-7]", "n[001-010]x,m")] == ["a", "a", "n1", "n001x"]


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ((None, 2, 0), ArgumentError, "the address of rank 0 is missing: give coordinator= or set ADJOINT_COORDINATOR"),
        (("h:1", None, 0), ArgumentError, "the number of processes is missing: give n= or set ADJOINT_PROCESSES"),
        (("h:1", 2, None), ArgumentError, "the rank of this process is missing: give rank= or set ADJOINT_RANK"),
        (("h:1", 2, 2), ArgumentError, "rank 2 of 2 processes: ranks count from 0"),
        (("h", 2, 1), ArgumentError, "must be the host of rank 0 and a free port there"),
        (("h:99999", 2, 1), ArgumentError, "not 'h:99999'"),
        (("h:1", "two", 1), ArgumentTypeError, "ADJOINT_PROCESSES must be an integer, not 'two'"),
        (("h:1", 2, True), ArgumentTypeError, "ADJOINT_RANK must be an integer, not True"),
        ((5, 2, 1), ArgumentTypeError, "must be a text"),
    ],
)
def test_what_is_missing_or_wrong_is_said(given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words.replace("(", "\\(")):
        seat(*given, {})


def test_the_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heartbeat(None) == 15.0 and heartbeat(3) == 3.0
    monkeypatch.setenv("ADJOINT_HEARTBEAT", "20")
    assert heartbeat(None) == 20.0
    monkeypatch.setenv("ADJOINT_HEARTBEAT", "soon")
    with pytest.raises(ArgumentError, match="at least 1, not 'soon'"):
        heartbeat(None)


def test_without_others_there_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    parallel = ad.parallel
    parallel.initialize()
    parallel.initialize(n=1, rank=0)
    assert (parallel.rank(), parallel.processes()) == (0, 1)
    parallel.barrier("alone")
    monkeypatch.setenv("ADJOINT_PROCESSES", "2")
    monkeypatch.setenv("ADJOINT_RANK", "1")
    monkeypatch.setenv("ADJOINT_COORDINATOR", "127.0.0.1:1")
    with pytest.raises(ad.ProcessGroupError, match="call parallel.initialize\\(\\) first"):
        parallel.rank()
