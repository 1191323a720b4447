"""Names of inputs and results as C and ONNX take them: made of the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: What a name in a C or C++ program cannot be.
_WORDS = """\
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const consteval constexpr
    constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long main mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short signed
    sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq workspace NULL
    linux unix printf"""
RESERVED = frozenset(_WORDS.split())


def identifier(text: str) -> str:
    """A name that C takes, made of any text.

    >>> identifier("params['w'][0]"), identifier("2nd layer"), identifier("float"), identifier("β")
    ('params_w_0', 'p_2nd_layer', 'float_', 'u03b2')
    """
    plain = "".join(c if c.isascii() else f"u{ord(c):04x}" for c in text)
    name = re.sub(r"_*[^0-9A-Za-z_]+_*", "_", plain).strip("_") or "x"
    name = f"p_{name}" if name[0].isdigit() else name
    return f"{name}_" if name in RESERVED else name


def unique(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names with numbers behind those that were there before.

    >>> unique(["x", "x", "x_2"], ["y"])
    ['x', 'x_2', 'x_2_2']
    """
    seen, found = set(taken), []
    for name in names:
        fresh, k = name, 1
        while fresh in seen:
            k += 1
            fresh = f"{name}_{k}"
        seen.add(fresh)
        found.append(fresh)
    return found
