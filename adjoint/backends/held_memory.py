"""Memory that backends hold between calls, and the way to have it given back."""

from __future__ import annotations

import sys

HOLDER = "adjoint.backends.native.runtime.result_memory"


def release_memory() -> int:
    """Give back the memory that compiled functions hold for their next large results; the number of bytes.

    A result of a megabyte or more lies in memory that is held when its array goes, as the next call is going to ask for the same.
    At most an eighth of the memory that was free at first use is held.

    >>> import adjoint as ad
    >>> double = ad.jit(lambda x: 2 * x)
    >>> total = sum(float(double(ad.ops.ones(1 << 18))[0]) for _ in range(3))
    >>> given_back = ad.release_memory()
    >>> ad.release_memory()
    0
    """
    holder = sys.modules.get(HOLDER)
    return holder.release() if holder else 0
