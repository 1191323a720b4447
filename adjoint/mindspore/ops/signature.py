"""mindspore.ops.signature: what a primitive says of its inputs (names, which are written to, which share a dtype)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class sig_rw(enum.IntEnum):
    """Whether an input is read or written to."""

    RW_READ = 0
    RW_WRITE = 1
    RW_REF = 2
    RW_EMPTY_DEFAULT_VALUE = 3


class sig_kind(enum.IntEnum):
    """How an input may be given."""

    KIND_POSITIONAL_KEYWORD = 0
    KIND_VAR_POSITIONAL = 1
    KIND_KEYWORD_ONLY = 2
    KIND_VAR_KEYWARD = 3
    KIND_EMPTY_DEFAULT_VALUE = 4


class sig_dtype(enum.IntEnum):
    """Inputs with the same mark are brought to one dtype."""

    T = 0
    T1 = 1
    T2 = 2
    T3 = 3
    T4 = 4
    T5 = 5
    T6 = 6
    T7 = 7
    T8 = 8
    T9 = 9
    T_EMPTY_DEFAULT_VALUE = 10


@dataclass(frozen=True)
class Signature:
    """What is said of one input."""

    name: str
    rw: sig_rw
    kind: sig_kind
    default: Any
    dtype: sig_dtype


def make_sig(
    name: str = "var",
    rw: sig_rw = sig_rw.RW_READ,
    kind: sig_kind = sig_kind.KIND_POSITIONAL_KEYWORD,
    default: Any = sig_kind.KIND_EMPTY_DEFAULT_VALUE,
    dtype: sig_dtype = sig_dtype.T_EMPTY_DEFAULT_VALUE,
) -> Signature:
    """The description of one input.

    >>> make_sig("x", sig_rw.RW_WRITE).rw.name
    'RW_WRITE'
    """
    return Signature(name, rw, kind, default, dtype)
