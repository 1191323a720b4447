"""A number as a key of a dict or an element of a set: what Python finds by its value is found in no mode by identity.

Each program is run as plain Python and in every mode, which must give the same or refuse.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import AdjointError

POINTS = [np.array([1.0, 2.0, 1.0]), np.array([-1.0, 0.5, 3.0])]


def counted(k):
    found = Counter()
    for _ in range(3):
        found[k] += 1
    return found[1] + 0.5


def remembered(k):
    @lru_cache
    def twice(n):
        return 2.0 if n == 1 else 3.0

    return twice(k) + twice.cache_info().currsize


def caught(k):
    try:
        return {1: 5.0, 2: 6.0}[k]
    except KeyError:
        return 9.0


def grouped(k):
    groups = defaultdict(list)
    groups[k].append(4.0)
    groups[1].append(5.0)
    return sum(groups[1]) + len(groups)


USES = {
    "set": lambda k: 2.0 if k in {1, 2} else 3.0,
    "frozenset": lambda k: 2.0 if k in frozenset({1, 2}) else 3.0,
    "not in": lambda k: 2.0 if k not in {1, 2} else 3.0,
    "get": lambda k: {1: 5.0, 2: 6.0}.get(k, 7.0),
    "keys": lambda k: 2.0 if k in dict.keys({1: 5.0}) else 3.0,
    "caught": caught,
    "in a tuple": lambda k: 2.0 if (k, 0) in {(1, 0)} else 3.0,
    "union": lambda k: float(len({k} | {1, 2})),
    "key": lambda k: {k: 5.0}.get(1, 7.0),
    "counted": counted,
    "grouped": grouped,
    "remembered": remembered,
    "unique": lambda k: float(len(set((k, 1) * 2))),
    "pop": lambda k: {1: 5.0}.pop(k, 6.0),
    "namespace": lambda k: vars(SimpleNamespace(a=1.0)).get(k, 2.0),
}
KEYS = {
    "element": lambda v: v[0],
    "sum": lambda v: v.sum() - v[1] - v[2] + 1,
    "position": lambda v: np.argmax(v),
    "chosen": lambda v: 1 if v[0] > 0 else 4,
    "truth": lambda v: v[0] > 0,
    "rounded": lambda v: np.floor(v[0]),
}
MODES = {
    "jit": lambda f, v: ad.jit(f)(v),
    "grad": lambda f, v: ad.value_and_grad(f)(v)[0],
    "jit of grad": lambda f, v: ad.jit(ad.value_and_grad(f))(v)[0],
    "grad of jit": lambda f, v: ad.value_and_grad(ad.jit(f))(v)[0],
    "jvp": lambda f, v: ad.jvp(f, v, np.ones(3))[0],
    "vmap": lambda f, v: ad.vmap(f)(np.stack([v, v]))[1],
    "jit of vmap": lambda f, v: ad.jit(ad.vmap(f))(np.stack([v, v]))[1],
    "vmap of jit": lambda f, v: ad.vmap(ad.jit(f))(np.stack([v, v]))[1],
}


def agrees(run, f, x):
    """Whether a mode gives what plain Python gives, or refuses at a line of this file."""
    try:
        return float(run(f, x)) == f(x)
    except AdjointError as error:
        return "test_keys.py" in str(error)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("use", USES)
def test_a_key_is_found_by_its_value_or_refused(use, key, mode):
    def f(v):
        return v[1] * USES[use](KEYS[key](v))

    assert all(agrees(MODES[mode], f, v) for v in POINTS)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("mode", ["jit", "grad", "jit of grad", "grad of jit"])
def test_a_float_as_a_key(use, mode):
    def f(x):
        return x * USES[use](x)

    assert all(agrees(MODES[mode], f, x) for x in (1.0, 4.0))


def test_the_refusal_says_what_helps():
    with pytest.raises(TypeError, match=r"`in` a list; int\(x\) or x.item\(\) is a key(.|\n)*test_keys.py"):
        ad.grad(lambda x: {1.0: x}.get(x, 0.0))(1.0)
    assert ad.grad(lambda x: {1.0: x * 3}[x.item()])(1.0) == 3.0
    assert ad.grad(lambda x: x * 2 if x in [1.0] else x)(1.0) == 2.0


def test_tensors_of_ones_own_are_keys_by_identity():
    x, y = ad.Tensor(1.0), ad.Tensor(1.0)
    w = ad.Tensor(1.0, requires_grad=True)
    p = ad.Parameter(ad.Tensor(1.0), name="p")
    names = {x: "x", y: "y", w: "w", p: "p"}
    assert [names[t] for t in (x, y, w, p)] == ["x", "y", "w", "p"]
    assert ad.grad(lambda a: a * len(names[w] + names[p]))(1.0) == 2.0
    assert ad.grad(lambda a: {a: a.sum() * 3}[a])(ad.Tensor([1.0, 2.0])).tolist() == [3.0, 3.0]
    with ad.GradientTape() as tape:
        z = {x: x * 5}[x]
    assert tape.gradient(z, x) == 5.0


NO_NUMBERS = ["a", b"a", bytearray(b"a"), None, int, {}, {1.0: 2}, {1.0}, frozenset({1.0}), ..., NotImplemented]


@pytest.mark.parametrize("other", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("x", [1.0, np.array([1.0, 2.0])], ids=["number", "array"])
def test_what_is_no_number_is_equal_to_none(x, other):
    def f(x):
        same = (x == other) if np.ndim(x) == 0 else (x == other).any()
        differs = (x != other) if np.ndim(x) == 0 else (x != other).all()
        swapped = other == x
        return x * (1.0 if same else 2.0) * (3.0 if differs else 5.0) * (1.0 if np.all(swapped) else 7.0)

    expected = f(x) if np.ndim(x) == 0 else x * 42.0
    assert np.array_equal(f(ad.Tensor(np.asarray(x))), expected)
    assert np.array_equal(ad.jit(f)(x), expected)
    assert np.array_equal(ad.grad(f)(x), np.full(np.shape(x), 42.0))
    assert np.array_equal(ad.jit(ad.grad(f))(x), np.full(np.shape(x), 42.0))
    assert np.array_equal(ad.vmap(f)(np.stack([x, x])), np.stack([expected, expected]))
    assert np.array_equal(ad.jit(ad.vmap(f))(np.stack([x, x])), np.stack([expected, expected]))


def test_a_word_among_numbers():
    for f in (
        lambda x: x * 2 if x in ("auto", None) else x * 3,
        lambda x: x * 2 if x == "auto" else x * 3,
        lambda x: x * 3 if x != [1.0] else x * 2,
    ):
        assert f(1.0) == ad.jit(f)(1.0) == 3.0
    f = lambda x: x * 2 if x in ("auto", None) else x * 3
    assert ad.grad(f)(1.0) == ad.vmap(f)(np.ones(1))[0] == 3.0
