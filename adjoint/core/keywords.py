"""Keywords as people bring them from elsewhere: other libraries' words for an argument work, and a wrong one names the right one.

Python itself refuses an unknown keyword before the function runs. `understanding` stands around a function and looks at the
keywords only where some were given, so that a call without any costs next to nothing.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from adjoint.core.errors import ArgumentTypeError, called_at

#: Words that say the same of an array everywhere, by the word that the function may have for it.
SAME = {"dim": ("axis",), "axis": ("dim",), "keepdim": ("keepdims", "keep_dims"), "keepdims": ("keep_dims",), "keep_dims": ("keepdims",)}  # fmt: skip
#: Words that are near in meaning, not in spelling: named in the message alone.
NEAR = {"dims": "axis", "dim": "axis", "axes": "axis", "keepdim": "keepdims", "lr": "learning_rate", "x": "input", "a": "input",
        "n": "num_samples", "p": "ord", "unbiased": "ddof", "correction": "ddof", "alpha": "decay", "rho": "decay"}  # fmt: skip
#: What becomes of the arguments, if a word needs more than another name.
Change = Callable[[dict[str, Any]], dict[str, Any]]
#: The words of the functions that `understanding` has made. No attribute: `functools.wraps` gives those to other functions too.
_known: WeakKeyDictionary[Callable[..., Any], frozenset[str]] = WeakKeyDictionary()


def understanding(
    function: Callable[..., Any],
    name: str | None = None,
    words: Mapping[str, str] | None = None,
    refused: Mapping[str, str] | None = None,
    change: Change | None = None,
) -> Callable[..., Any]:
    """The function, with further words for its keywords.

    Args:
        function: what is called; one that takes any keyword is given back as it is.
        name: what it is called in messages.
        words: further words, and the argument that each of them means.
        refused: words that mean something else elsewhere, with what to write instead.
        change: makes keywords of its own words into others, before any of them is looked at.

    >>> def total(x, axis=None):
    ...     return axis
    >>> understanding(total)([1.0], dim=0)
    0
    >>> understanding(total)([1.0], dims=0)
    Traceback (most recent call last):
        ...
    adjoint.core.errors.ArgumentTypeError: total: there is no argument 'dims'; did you mean axis=?
        ...
    """
    names = _names(function)
    if names is None:
        return function
    known = frozenset(names)
    shown = function.__name__ if name is None else name  # "" for a constructor: the class of what it makes
    meant = {w: next(n for n in of if n in known) for w, of in SAME.items() if w not in known and known & {*of}}
    meant |= {w: n for w, n in (words or {}).items() if n in known and w not in known}

    @functools.wraps(function)
    def understood(*args: Any, **options: Any) -> Any:
        if options and not options.keys() <= known:
            what = shown or type(args[0]).__name__
            options = _put(what, args, change(options) if change else options, names, meant, refused or {})
        return function(*args, **options)

    _known[understood] = known
    return understood


def behind(function: Any, options: Mapping[str, Any]) -> Any:
    """What a function does with these keywords, without the look at them that it does not need."""
    known = _known.get(function) if type(function) is FunctionType else None
    return function if known is None or not options.keys() <= known else function.__wrapped__


def _put(
    shown: str, args: tuple[Any, ...], options: dict[str, Any], names: list[str], meant: Mapping[str, str],
    refused: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    """The keywords by the function's own names."""
    found: dict[str, Any] = {}
    for word, value in options.items():
        if word in refused:
            raise ArgumentTypeError(f"{shown}: {refused[word]}{called_at()}")
        own = meant.get(word, word)
        if own not in names:
            raise ArgumentTypeError(f"{shown}: there is no argument '{word}'{_hint(word, names)}{called_at()}")
        if own in found or (own != word and (own in options or names.index(own) < len(args))):
            raise ArgumentTypeError(f"{shown}: {word}= and {own}= say the same; give one of them{called_at()}")
        found[own] = value
    return found


def _hint(word: str, names: list[str]) -> str:
    """What was probably meant, or what there is."""
    of = [n for n in names if n != "self"]
    near = NEAR.get(word)
    if near not in of:
        near = next((n for n in of if min(len(n), len(word)) > 1 and (n in word or word in n)), None)
        close = difflib.get_close_matches(word, of, 1)
        near = close[0] if close else near
    if near is not None:
        return f"; did you mean {near}=?"
    return f"; there are {', '.join(of)}" if of else "; it takes no keywords"


def _names(function: Callable[..., Any]) -> list[str] | None:
    """The arguments that can be given by keyword; None if any can."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARKEYWORDS:
        return None
    count = code.co_argcount + code.co_kwonlyargcount
    return list(code.co_varnames[:count])


def understanding_class(cls: type, words: Mapping[str, str], change: Change | None = None, **refused: str) -> None:
    """Let the constructor that a class defines itself understand further words."""
    own = vars(cls).get("__init__")
    if own is None:
        return
    if getattr(own, "_plain", None) is None:
        made = understanding(own, "", words, refused, change)
        made._plain = own  # type: ignore[attr-defined]
        cls.__init__ = made  # type: ignore[misc]
