"""mindspore.log: messages of a program, by Python's logging."""

from __future__ import annotations

import logging
from typing import Any

_logger = logging.getLogger("mindspore")
DEBUG, INFO, WARNING, ERROR, CRITICAL = 0, 1, 2, 3, 4
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Say something for those who look for errors."""
    _logger.debug(msg, *args, **kwargs)


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Say what is done."""
    _logger.info(msg, *args, **kwargs)


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Say what may be wrong."""
    _logger.warning(msg, *args, **kwargs)


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Say what is wrong."""
    _logger.error(msg, *args, **kwargs)


def critical(msg: str, *args: Any, **kwargs: Any) -> None:
    """Say why it cannot go on."""
    _logger.critical(msg, *args, **kwargs)


def get_level() -> str:
    """The level from which on messages are shown, as a digit.

    >>> get_level()
    '2'
    """
    shown = _logger.getEffectiveLevel()
    return str(next((i for i, level in enumerate(_LEVELS) if level >= shown), CRITICAL))


def set_level(level: int | str) -> None:
    """Show messages from this level on, 0 (debug) to 4 (critical)."""
    _logger.setLevel(_LEVELS[int(level)])


def get_log_config() -> dict[str, str]:
    """How messages are shown."""
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}
