"""The schedules of a pipeline: every task once, in an order that can be, with the bubble that theory says."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
from adjoint.parallel import PipelineSchedule, Task, pipeline_schedule


@given(st.sampled_from(["gpipe", "1f1b"]), st.integers(1, 9), st.integers(1, 20))
def test_every_micro_batch_goes_once_forward_and_back_through_each_stage(name: str, p: int, m: int) -> None:
    schedule = pipeline_schedule(name, p, m)
    assert schedule.stages == p and schedule.micro_batches == m
    for s, order in enumerate(schedule.orders):
        assert sorted(order) == sorted(Task(kind, s, k) for kind in "FB" for k in range(m))
        for kind in "FB":
            assert [t.micro_batch for t in order if t.kind == kind] == list(range(m))  # sums are added in one order
        assert all(order.index(Task("F", s, k)) < order.index(Task("B", s, k)) for k in range(m))
    limit = [m] * p if name == "gpipe" else [min(m, p - s) for s in range(p)]
    assert schedule.in_flight() == limit


@given(st.sampled_from(["gpipe", "1f1b"]), st.integers(1, 9), st.integers(1, 20), st.floats(0.1, 5), st.floats(0.1, 5))
def test_equal_stages_idle_as_theory_says(name: str, p: int, m: int, f: float, b: float) -> None:
    """(p - 1) / (m + p - 1) of the time, whatever forward and backward take."""
    timeline = pipeline_schedule(name, p, m).simulate(f, b)
    assert timeline.length == pytest.approx((m + p - 1) * (f + b))
    assert timeline.bubble == pytest.approx((p - 1) / (m + p - 1), abs=1e-9)


@given(st.sampled_from(["gpipe", "1f1b"]), st.integers(1, 6), st.integers(1, 9), st.data())
def test_no_task_begins_before_what_it_needs(name: str, p: int, m: int, data: st.DataObject) -> None:
    times = st.floats(0.0, 3.0)
    forward, backward = ([data.draw(times) for _ in range(p)] for _ in range(2))
    transfer = [data.draw(times) for _ in range(p - 1)]
    schedule = pipeline_schedule(name, p, m)
    at = {t.task: t for row in schedule.simulate(forward, backward, transfer).rows for t in row}
    for task, time in at.items():
        _, s, k = task
        if task.kind == "F" and s:
            assert time.start >= at[Task("F", s - 1, k)].end + transfer[s - 1]
        if task.kind == "B" and s < p - 1:
            assert time.start >= at[Task("B", s + 1, k)].end + transfer[s]
        assert time.end - time.start == pytest.approx((forward if task.kind == "F" else backward)[s])
    for row in schedule.simulate(forward, backward, transfer).rows:
        assert all(a.end <= b.start for a, b in pairwise(row))
    order = schedule.issue_order()
    place = {task: i for i, task in enumerate(order)}
    assert len(place) == 2 * p * m
    assert all(place[a] < place[b] for row in schedule.orders for a, b in pairwise(row))
    assert all(place[Task("F", s, k)] < place[Task("F", s + 1, k)] for s in range(p - 1) for k in range(m))
    assert all(place[Task("B", s + 1, k)] < place[Task("B", s, k)] for s in range(p - 1) for k in range(m))


def test_the_picture() -> None:
    schedule = pipeline_schedule("1f1b", 3, 4)
    svg = schedule._repr_svg_()
    assert svg.startswith("<svg") and svg.count("<title>") == 24 and svg.endswith("</svg>")
    assert "stage 2" in str(schedule) and "idles 33.3%" in str(schedule)
    many = str(pipeline_schedule("gpipe", 4, 300))
    assert max(map(len, many.splitlines())) < 200


def test_wrong_arguments() -> None:
    for arguments, error, said in (
        (("pipedream", 2, 2), ad.ArgumentError, "no schedule 'pipedream'"),
        (("gpipe", 0, 2), ad.ArgumentError, "stages must be above zero"),
        (("gpipe", 2, 2.0), ad.ArgumentTypeError, "must be an integer"),
    ):
        with pytest.raises(error, match=said):
            pipeline_schedule(*arguments)
    with pytest.raises(ad.ArgumentError, match="forward must be 2 times"):
        pipeline_schedule("gpipe", 2, 2).simulate([1.0])
    circle = PipelineSchedule("circle", ((Task("B", 0, 0), Task("F", 0, 0)),))
    with pytest.raises(ad.ArgumentError, match="waits for itself"):
        circle.simulate()
