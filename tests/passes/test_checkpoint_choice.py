"""The dynamic program that chooses checkpoints, against trying everything, and its plans against what they promise."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.passes.checkpoint_choice import CheckpointChoice, Item, PlannedPart, lower_sets, prefixes


@st.composite
def programs(draw, most=6):
    """Items that read some of those before them."""
    items = []
    for k in range(draw(st.integers(1, most))):
        size = draw(st.integers(0, 5))
        reads = draw(st.lists(st.integers(0, k - 1), max_size=2, unique=True)) if k else []
        needed = size if draw(st.booleans()) else 0
        items.append(Item(draw(st.integers(0, 9)), size, needed, tuple(reads), draw(st.integers(0, 2))))
    return items


def all_lower_sets(items):
    found = []
    for size in range(len(items) + 1):
        for chosen in combinations(range(len(items)), size):
            if all(i in chosen for g in chosen for i in items[g].inputs):
                found.append(frozenset(chosen))
    return found


def kept_at(items, lower):
    """What those outside of a lower set read of it."""
    outside = [g for g in range(len(items)) if g not in lower]
    return {i for g in outside for i in items[g].inputs} & lower


def recomputation(items, begin, end):
    """The cost of having again, from what is kept at both ends, all that the backward pass of a segment needs."""
    kept = kept_at(items, end)
    wanted, done = [g for g in end if items[g].needed and g not in kept], set()
    while wanted:
        g = wanted.pop()
        if g in begin or g in done or g in kept:
            continue
        done.add(g)
        wanted += items[g].inputs
    return sum(items[g].cost for g in done)


def held_whole(items, begin, end):
    segment = end - begin
    return sum(items[g].needed for g in segment) + max((items[g].working for g in segment), default=0)


def by_trying(items):
    """The least recomputation for the backward pass of a segment in so much memory."""
    sets = all_lower_sets(items)

    @cache
    def least(begin, end, memory):
        if memory < 0:
            return inf
        if held_whole(items, begin, end) <= memory:
            return 0
        return min(
            (
                recomputation(items, begin, cut)
                + least(begin, cut, memory)
                + least(cut, end, memory - sum(items[g].bytes for g in kept_at(items, cut) - begin))
                for cut in sets
                if begin < cut < end
            ),
            default=inf,
        )

    return lambda memory: least(frozenset(), frozenset(range(len(items))), memory)


def memory_of(items, parts, begin):
    """The most that a plan holds beside what is kept at its beginning."""
    if not parts:
        return 0
    first, *rest = parts
    end = begin | set(first.items)
    if not rest:
        assert not first.again and not first.inside
        return held_whole(items, begin, end)
    inside = memory_of(items, first.inside, begin) if first.inside else held_whole(items, begin, end)
    kept = sum(items[g].bytes for g in kept_at(items, end) - begin)
    return max(inside, kept + memory_of(items, rest, end))


def cost_of(items, parts, begin):
    total = 0
    for part in parts:
        end = begin | set(part.items)
        if len(end) < len(items) and part is not parts[-1]:
            total += recomputation(items, begin, end) + cost_of(items, part.inside, begin)
        begin = end
    return total


@settings(max_examples=120, deadline=None)
@given(programs())
def test_the_least_recomputation_is_found(items):
    choice = CheckpointChoice(items, lower_sets([x.inputs for x in items], 1000), slots=10_000)
    least = by_trying(items)
    assert choice.slot == 1
    for memory in range(choice.all_bytes + 1):
        assert choice.least[0, -1, memory] == least(memory)


@settings(max_examples=60, deadline=None)
@given(programs(9), st.integers(0, 40), st.booleans())
def test_plans_keep_the_memory_and_the_cost_they_promise(items, memory, by_order):
    reads = [x.inputs for x in items]
    choice = CheckpointChoice(items, prefixes(len(items)) if by_order else lower_sets(reads, 1000), slots=10_000)
    memory = max(memory, choice.frontier[0][0])
    parts = choice.parts(memory)
    assert sorted(g for part in parts for g in part.items) == list(range(len(items)))
    assert memory_of(items, parts, frozenset()) <= memory
    promised = choice.least[0, -1, min(memory, choice.slots - 1)]
    assert cost_of(items, parts, frozenset()) == promised


def test_a_chain_takes_the_square_root_at_one_recomputation_and_less_at_more():
    chain = [Item(1, 1, 1, (k - 1,) if k else ()) for k in range(64)]
    choice = CheckpointChoice(chain, prefixes(64))
    assert choice.all_bytes == 64
    least = dict(choice.frontier)
    assert least[64] == 0 and least[11] < 64  # 11 + 10 + ... + 1 = 66
    assert least[min(least)] > 64 and min(least) <= 3


def test_a_cheap_step_after_an_expensive_one_is_computed_again_first():
    chain = []
    for k in range(
        0, 20, 2
    ):  # a product, whose result its function needs; the function, whose result the next product needs
        chain.append(Item(100, 1, 1, (k - 1,) if k else ()))
        chain.append(Item(1, 1, 1, (k,)))
    choice = CheckpointChoice(chain, prefixes(20))
    assert choice.least[0, -1, 12] <= 10 < choice.least[0, -1, 9]


def test_rounding_is_on_the_safe_side():
    chain = [Item(3, 1000 + k, 1000 + k, (k - 1,) if k else ()) for k in range(40)]
    fine, coarse = (CheckpointChoice(chain, prefixes(40), slots=n) for n in (2_000, 64))
    for memory in range(5000, 40_000, 2500):
        parts = coarse.parts(memory)
        assert memory_of(chain, parts, frozenset()) <= memory
        assert fine.least[0, -1, memory // fine.slot] <= cost_of(chain, parts, frozenset())


@pytest.mark.parametrize("limit", [3, 100])
def test_lower_sets_are_those_of_trying_everything(limit):
    reads = [(), (), (0,), (1,), (2, 3)]
    items = [Item(1, 1, 1, r) for r in reads]
    found = lower_sets(reads, limit)
    every = {sum(1 << g for g in s) for s in all_lower_sets(items)}
    assert set(found) == (every if limit == 100 else set(prefixes(5)))


def test_nothing_to_keep_is_one_part():
    assert CheckpointChoice([Item(1, 4, 0, ())], []).parts(0) == (PlannedPart((0,)),)
