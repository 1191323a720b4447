"""mindspore.context: the mode and other settings of a program."""

from __future__ import annotations

from typing import Any

from adjoint.api import modes
from adjoint.api.modes import GRAPH_MODE as GRAPH_MODE
from adjoint.api.modes import PYNATIVE_MODE as PYNATIVE_MODE

STRICT, COMPATIBLE, LAX = 0, 1, 2

_settings: dict[str, Any] = {"device_target": "CPU", "device_id": 0, "save_graphs": False, "jit_syntax_level": LAX}


def set_context(**settings: Any) -> None:
    """Set the mode (GRAPH_MODE or PYNATIVE_MODE) and other settings."""
    for name, value in settings.items():
        if name == "mode":
            modes.set_context(mode=value)
        else:
            _settings[name] = value


def get_context(attr_key: str) -> Any:
    """A setting in force."""
    return modes.get_context("mode") if attr_key == "mode" else _settings[attr_key]
