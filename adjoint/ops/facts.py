"""What any stage may ask of the op of a node, and what holds where a card says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

#: For each axis of an input, where it is read: at `offset + step * i`, i being the index along an `axis` of the result.
#: Where no axis counts, it is None and the step 0.
IndexMap = list[tuple[int, "int | None", int]]


class Rewriter(Protocol):
    """What builds the nodes of a graph, for laws and for cards that say how they are made of simpler ops."""

    def __call__(self, op: Any, *inputs: Any) -> Any:
        """The node of a call."""

    def const(self, value: Any) -> Any:
        """The node of a number or array known now."""

    def spec(self, op: Any, *inputs: Any) -> Any:
        """Shape and dtype of what a call would give."""


class Facts:
    """Facts of an op. Cards state those that hold for them; of what is no card, none holds."""

    __slots__ = ()

    #: Whether a call does something beside its result (prints, checks): it is run each time, in the program's order.
    effect: ClassVar[bool] = False
    #: True only for what stands in a graph for a value known when it is built.
    is_constant: ClassVar[bool] = False
    #: Whether each element of the result depends on one element of each input.
    elementwise: ClassVar[bool] = False
    #: Whether the result shows elements of the input: nothing is computed, and NumPy touches no element.
    view: ClassVar[bool] = False
    #: Whether elements of the result are elements of the inputs, at most in another dtype: nothing is computed with them.
    copies: ClassVar[bool] = False
    #: Whether the result of an input in C order is the same bytes under another shape.
    same_bytes: ClassVar[bool] = False
    #: Whether the result is the input, taken only after another value is known.
    delays: ClassVar[bool] = False
    #: How a reduction combines elements: "sum", "mean", "max", "min", "any" or "all". Empty for all other ops.
    reduction: ClassVar[str] = ""
    #: What is done to the elements that arrays of indices name: "get", "add" or "set". Empty for ops without such inputs.
    indexing: ClassVar[str] = ""
    #: The place of the first array of indices among the inputs.
    first_index: ClassVar[int] = 0
    #: What NumPy raises an error about when a call runs: inputs that are "singular", a "singular triangle", "not positive definite",
    #: "not a number" or a "negative power". Empty for other ops; of indices, `indexing` says it.
    fails_where: ClassVar[str] = ""
    #: The function of scipy.special that `emit` has SciPy compute. Empty for other ops.
    calls: ClassVar[str] = ""
    #: Whether a result costs more to compute again than to store and read.
    expensive: ClassVar[bool] = False
    #: Whether the result is a product that is 0 where a factor is, even if the other is infinite or NaN.
    absorbs_zero: ClassVar[bool] = False
    #: Whether an element of the result takes a whole row of an input, or more: products and factorisations of matrices.
    dense: ClassVar[bool] = False
    #: Whether automatic mixed precision computes it in half precision: much is gained and little lost.
    half_precision: ClassVar[bool] = False
    #: Groups of inputs in which the op is linear together, the others being fixed; see `linear_part`.
    linear_in: ClassVar[tuple[tuple[int, ...], ...]] = ()

    def linear_part(self, b: Rewriter, terms: Sequence[Any], *xs: Any) -> Any:
        """What an op gives for one term of each input of a group in `linear_in`; None stands for a term that is zero."""
        raise NotImplementedError(f"{type(self).__name__} is not linear")

    def index_map(self, shape: Sequence[int]) -> IndexMap | None:
        """Where a movement reads its input, of this shape; None if it computes something or goes another way than along axes."""
        return None

    def expand(self, b: Rewriter, *xs: Any) -> Any:
        """The same in simpler ops, for a backend that has no code for this one; None if there is no such form."""
        return None

    def one_result(self, k: int) -> Any:
        """The op that gives the k-th of several results alone; None if there is none."""
        return None
