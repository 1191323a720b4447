"""What fails while compiled code runs names the user's line that failed, not only the call."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def pick(x: Any, i: Any) -> Any:
    y = x * 2.0
    return y[i]  # pick


def put(x: Any, i: Any) -> Any:
    y = x * 2.0
    y[i] = 3.0  # put
    return y.sum()


def inverse(a: Any) -> Any:
    b = a * 1.0
    return np.linalg.inv(b).sum()  # inverse


def solved(a: Any) -> Any:
    return np.linalg.solve(a, np.ones(3)).sum()  # solved


def factor(a: Any) -> Any:
    return np.linalg.cholesky(a - 2.0 * np.eye(3)).sum()  # factor


def added(x: Any, n: Any) -> Any:
    s = 0.0
    for i in range(n):
        s = s + ops.sin(x[i])  # added
    return s


def chosen(x: Any, i: Any) -> Any:
    y = x[0]
    if x[0] > 0:
        y = x[i]  # chosen
    return y


def inverses(a: Any, n: Any) -> Any:
    s = 0.0
    for i in range(n):
        s = s + inverse(a * i)
    return s


def refused(x: Any) -> Any:
    if x < 0:
        raise ValueError("below zero")  # refused
    return x * x


FAR, SINGULAR = (np.ones(3), ad.Tensor(7)), (np.ones((3, 3)),)
CASES: list[tuple[Any, Any, tuple[Any, ...], type[Exception], str]] = [
    (pick, None, FAR, IndexError, "index 7 is out of bounds"),
    (pick, ad.grad, FAR, IndexError, "index 7 is out of bounds"),
    (put, None, FAR, IndexError, "index 7 is out of bounds"),
    (put, ad.grad, FAR, IndexError, "index 7 is out of bounds"),
    (inverse, None, SINGULAR, np.linalg.LinAlgError, "Singular"),
    (inverse, ad.grad, SINGULAR, np.linalg.LinAlgError, "Singular"),
    (solved, None, SINGULAR, np.linalg.LinAlgError, "Singular"),
    (factor, None, SINGULAR, np.linalg.LinAlgError, "not positive definite"),
    (added, None, FAR, IndexError, "index 3 is out of bounds"),
    (added, ad.grad, FAR, IndexError, "out of bounds"),
    (chosen, None, FAR, IndexError, "index 7 is out of bounds"),
    (chosen, ad.grad, FAR, IndexError, "index 7 is out of bounds"),
]


def line_of(mark: str) -> str:
    with open(__file__, encoding="utf-8") as file:
        (found,) = [f"{k}: {text.strip()}" for k, text in enumerate(file, 1) if text.rstrip().endswith(f"  # {mark}")]
    return f"test_error_lines.py:{found}"


@pytest.mark.parametrize(
    ("case", "backend"), [*((k, "interpreter") for k in range(len(CASES))), *((k, "native") for k in (1, 5, 9, 11))]
)
def test_the_inner_line_is_named_once(case: int, backend: str) -> None:
    fn, transform, args, kind, words = CASES[case]
    f = ad.jit((lambda *xs: fn(*xs)) if transform is None else transform(fn), backend=backend)
    with pytest.raises(kind, match=words) as caught:
        f(*args)
    text = str(caught.value)
    assert text.count(line_of(fn.__name__)) == 1, text
    assert text.count("called at") == 1, text
    assert text.splitlines()[-1].endswith("f(*args)"), text
    assert "GraphCall" not in text, text
    assert "Loop" not in text, text


def test_an_error_in_a_loop_of_a_function_that_is_called() -> None:
    f = ad.jit(inverses)
    for run in (f, ad.grad(f)):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            run(np.eye(3), ad.Tensor(3))
        assert f"at {line_of('inverse')}" in str(caught.value)


def test_the_derivative_of_a_line_says_so() -> None:
    with pytest.raises(IndexError) as caught:
        ad.jit(ad.grad(chosen))(*FAR)
    assert f"in the derivative of {line_of('chosen')}" in str(caught.value)


def test_an_exception_of_the_users_keeps_its_text() -> None:
    with pytest.raises(ValueError, match="^below zero") as caught:
        ad.jit(lambda x: refused(x * 2.0))(-1.0)
    assert str(caught.value) == "below zero"
    if sys.version_info >= (3, 11):
        assert any("test_error_lines.py:" in note for note in caught.value.__notes__)


def test_a_failure_of_a_layer_names_the_call_of_it() -> None:
    net = ad.nn.Embedding(4, 3)
    with pytest.raises(IndexError) as caught:
        ad.jit(net)(np.array([1, 5]))
    assert str(caught.value).count("ad.jit(net)") == 1
