"""Containers and their leaves."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from adjoint.core import tree


class Pair(NamedTuple):
    a: object
    b: object


@dataclass
class Record:
    left: object
    right: object


TREES = st.recursive(
    st.integers() | st.none(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.builds(Pair, inner, inner),
        st.builds(Record, inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(OrderedDict),
    ),
    max_leaves=8,
)


@given(TREES)
def test_taking_apart_and_putting_together(t):
    leaves, rebuild = tree.flatten(t)
    again = rebuild(leaves)
    assert again == t
    assert type(again) is type(t)
    assert tree.leaves(t) == leaves
    assert tree.map(lambda x: x + 1, t) == rebuild([x + 1 for x in leaves])


@given(TREES)
def test_paths_reach_the_leaves(t):
    assert [leaf for _, leaf in tree.paths(t)] == tree.leaves(t)
    for path, leaf in tree.paths(t, "t"):
        assert eval(path, {"t": t}) == leaf


def test_a_class_is_a_leaf():
    assert tree.leaves([Record, Pair, int]) == [Record, Pair, int]


def test_a_dict_with_a_factory_keeps_it():
    node = defaultdict(list, {"a": 1})
    xs, rebuild = tree.flatten(node)
    fresh = rebuild([x * 10 for x in xs])
    assert fresh == {"a": 10}
    assert fresh["new"] == []
    assert node == {"a": 1}
