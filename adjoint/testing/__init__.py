"""Generic checks for op cards and backends: your own as well as adjoint's."""

from adjoint.testing.check import check_op
from adjoint.testing.check_backend import check_backend

__all__ = ["check_backend", "check_op"]
