"""Generic checks for op cards: your own as well as adjoint's."""

from adjoint.testing.check import check_op

__all__ = ["check_op"]
