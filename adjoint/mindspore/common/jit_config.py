"""mindspore.JitConfig: how MindSpore is to compile."""

from __future__ import annotations

from typing import Any

_ONE_OF = {
    "jit_level": ("", "O0", "O1", "O2"),
    "exc_mode": ("auto", "sink", "no_sink"),
    "jit_syntax_level": ("", "STRICT", "COMPATIBLE", "LAX"),
    "debug_level": ("RELEASE", "DEBUG"),
    "infer_boost": ("", "on", "off"),
}


class JitConfig:
    """Settings of compilation; here only `jit_syntax_level="STRICT"` has an effect: what cannot become a graph is an error.

    >>> JitConfig(jit_level="O1").jit_config_dict["jit_level"]
    'O1'
    """

    def __init__(
        self,
        jit_level: str = "",
        exc_mode: str = "auto",
        jit_syntax_level: str = "",
        debug_level: str = "RELEASE",
        infer_boost: str = "off",
        **kwargs: Any,
    ) -> None:
        given = {
            "jit_level": jit_level, "exc_mode": exc_mode, "jit_syntax_level": jit_syntax_level, "debug_level": debug_level,
            "infer_boost": infer_boost,
        }  # fmt: skip
        for name, value in given.items():
            if value not in _ONE_OF[name]:
                raise ValueError(f"JitConfig: {name} must be one of {_ONE_OF[name]}, not {value!r}")
        self.jit_config_dict: dict[str, Any] = {**kwargs, **given}
        if "backend" not in kwargs and jit_level:
            self.jit_config_dict["backend"] = "GE" if jit_level == "O2" else "ms_backend"
