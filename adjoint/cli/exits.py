"""How a command ends: its exit code, and the sentence for what went wrong."""

from __future__ import annotations

FINE = 0
WRONG = 1  # a check found what is not right: derivatives that differ, an installation that does not work
USAGE = 2  # the command was not understood: no such function, values that do not fit
FAILED = 3  # the user's module or function raised an error
MISSING = 4  # an optional package is not installed


class CommandFailure(BaseException):
    """A command that ends here, with a sentence and an exit code; it never leaves the command line."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code
