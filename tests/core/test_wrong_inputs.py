"""What is no number is refused in our words, with the user's line."""

from __future__ import annotations

from typing import Any

import pytest

import adjoint as ad
from adjoint import ops


@pytest.mark.parametrize("bad", ["a", None, b"a"])
def test_text_and_none_are_no_operands(bad: Any) -> None:
    for f in (lambda: ops.sin(bad), lambda: ad.Tensor([1.0]) * bad, lambda: ad.grad(lambda x: ops.sum(x * bad))(1.0)):
        with pytest.raises(TypeError, match=r"input \d is (None|the str 'a'|the bytes b'a'); pass a number") as caught:
            f()
        assert "test_wrong_inputs.py:" in str(caught.value)


def test_lists_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="the lists in it differ in length") as caught:
        ad.Tensor([[1.0, 2.0], [3.0]])
    assert "test_wrong_inputs.py:" in str(caught.value)
