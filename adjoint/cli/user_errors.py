"""An error of the user's code in one sentence: what it was, and on which line."""

from __future__ import annotations

import traceback

from adjoint.core.errors import PACKAGE, called_at, shown_place


def words_of(error: BaseException) -> str:
    """What an error says, without the line that it takes for the user's where that is the command itself."""
    return str(error).replace(called_at(), "")


def told(error: BaseException) -> str:
    """The error's kind and words, and the last line of the user's own that it went through."""
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r})"
    words = words_of(error)
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{type(error).__name__}: {error.msg} ({shown_place((error.filename, error.lineno))})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith((PACKAGE, "<frozen"))]
    where = ""
    if own and own[-1].lineno and "called at" not in words:
        where = f" ({shown_place((own[-1].filename, own[-1].lineno))})"
    return f"{type(error).__name__}: {words}{where}" if words else f"{type(error).__name__}{where}"
