"""mindspore.context: the mode and other settings of a program."""

from __future__ import annotations

from typing import Any

from adjoint.api import modes
from adjoint.api.modes import GRAPH_MODE as GRAPH_MODE
from adjoint.api.modes import PYNATIVE_MODE as PYNATIVE_MODE
from adjoint.core import context as _engine

STRICT, COMPATIBLE, LAX = 0, 1, 2
RELEASE, DEBUG = 0, 1

#: The kind that a setting must be of, as MindSpore checks it.
_KINDS: dict[str, Any] = {
    "mode": int, "device_target": str, "device_id": int, "save_graphs": (bool, int), "save_graphs_path": str,
    "aoe_tune_mode": str, "aoe_config": dict, "enable_reduce_precision": bool, "variable_memory_max_size": str,
    "enable_auto_mixed_precision": bool, "inter_op_parallel_num": int, "enable_graph_kernel": bool,
    "reserve_class_name_in_scope": bool, "check_bprop": bool, "max_device_memory": str, "print_file_path": str,
    "max_call_depth": int, "env_config_path": str, "graph_kernel_flags": str, "save_compile_cache": bool,
    "runtime_num_threads": int, "load_compile_cache": bool, "pynative_synchronize": bool, "mempool_block_size": str,
    "disable_format_transform": bool, "op_timeout": int, "deterministic": str, "ascend_config": dict,
    "jit_syntax_level": int, "debug_level": int, "jit_enable_inplace_ops": bool, "gpu_config": dict, "jit_config": dict,
    "enable_compile_cache": bool,
}  # fmt: skip

#: What settings are before a program says otherwise; they change nothing here but `mode` and `jit_syntax_level`.
_settings: dict[str, Any] = {
    "device_target": "CPU", "device_id": 0, "save_graphs": 0, "save_graphs_path": ".", "jit_syntax_level": LAX,
    "max_call_depth": 1000, "pynative_synchronize": False, "check_bprop": False, "deterministic": "OFF",
    "debug_level": RELEASE, "memory_optimize_level": 0, "enable_compile_cache": None, "compile_cache_path": "",
    "enable_graph_kernel": False, "graph_kernel_flags": "", "runtime_num_threads": 30, "inter_op_parallel_num": 1,
    "op_timeout": 900, "exec_order": "bfs", "jit_config": {}, "ascend_config": {}, "gpu_config": {}, "aoe_config": {},
    "aoe_tune_mode": "", "reserve_class_name_in_scope": True, "enable_debug_runtime": False, "support_binary": False,
    "print_file_path": "", "profiling_options": "training_trace", "enable_reduce_precision": True,
    "max_device_memory": 1024.0, "mempool_block_size": 1.0, "disable_format_transform": False, "enable_ge": False,
    "variable_memory_max_size": "0", "save_compile_cache": False, "load_compile_cache": False, "enable_loop_sink": False,
    "enable_task_sink": True, "enable_mem_reuse": True, "jit_enable_inplace_ops": True, "enable_profiling": False,
    "enable_parallel_split": False, "enable_infer_opt": False, "profiling_dir_path": "",
}  # fmt: skip

_ONE_OF: dict[str, tuple[Any, ...]] = {
    "mode": (GRAPH_MODE, PYNATIVE_MODE),
    "device_target": ("CPU",),
    "jit_syntax_level": (STRICT, COMPATIBLE, LAX),
    "debug_level": (RELEASE, DEBUG),
    "deterministic": ("ON", "OFF"),
    "memory_optimize_level": ("O0", "O1"),
    "exec_order": ("bfs", "dfs"),
}
_AT_LEAST = {
    "max_call_depth": 1, "runtime_num_threads": 0, "op_timeout": 0, "inter_op_parallel_num": 0, "device_id": 0,
}  # fmt: skip
_REMOVED = {"exception_dump", "precompile_only", "grad_for_scalar"}
_OF_ASCEND = {
    "precision_mode", "jit_compile", "atomic_clean_policy", "matmul_allow_hf32", "conv_allow_hf32", "op_precision_mode",
    "host_scheduling_max_threshold", "ge_options", "op_debug_option",
}  # fmt: skip
#: Settings that MindSpore takes on other devices than this one, or no longer heeds.
_IGNORED = {
    "enable_sparse", "auto_tune_mode", "enable_auto_mixed_precision", "enable_reduce_precision", "print_file_path",
    "variable_memory_max_size", "max_device_memory", "mempool_block_size", "disable_format_transform", "ascend_config",
    "gpu_config",
}  # fmt: skip


def _check(name: str, value: Any) -> None:
    kinds = _KINDS.get(name)
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    if kinds is not None and (not isinstance(value, kinds) or (type(value) is bool and bool not in allowed)):
        raise TypeError(f"set_context: {name} must be of type {kinds}, not {type(value).__name__}")
    if name in _REMOVED:
        raise ValueError(f"set_context: there is no {name!r} any more in MindSpore 2.10")
    if name in _OF_ASCEND:
        raise ValueError(f"set_context: {name!r} is a part of ascend_config")
    if name in _ONE_OF and value not in _ONE_OF[name]:
        raise ValueError(f"set_context: {name} must be one of {_ONE_OF[name]}, not {value!r}")
    if name in _AT_LEAST and value < _AT_LEAST[name]:
        raise ValueError(f"set_context: {name} must be at least {_AT_LEAST[name]}, not {value}")
    if name == "save_graphs" and value > 3:
        raise ValueError(f"set_context: save_graphs must be 0, 1, 2 or 3, not {value}")
    if name not in _KINDS and name not in _settings and name not in _IGNORED and name != "mode":
        raise ValueError(f"set_context: the keyword argument {name} is not recognized")


def set_context(**settings: Any) -> None:
    """Set the mode (GRAPH_MODE or PYNATIVE_MODE) and other settings.

    In GRAPH_MODE what cannot become a graph runs op by op, unless `jit_syntax_level=STRICT`. Settings that could change no
    result here are checked and kept.
    """
    for name, value in settings.items():
        _check(name, value)
    for name, value in settings.items():
        if name == "mode":
            modes.set_context(mode=value)
        elif name == "save_graphs":
            _settings[name] = {True: 2, False: 0}.get(value, value) if isinstance(value, bool) else value
        elif name not in _IGNORED:
            _settings[name] = value
    _engine.lenient.set(is_lax() and modes.get_context("mode") == GRAPH_MODE)


def is_lax() -> bool:
    """Whether Python runs what cannot become a graph."""
    return _settings["jit_syntax_level"] != STRICT


def get_context(attr_key: str) -> Any:
    """A setting in force."""
    if attr_key == "mode":
        return modes.get_context("mode")
    if attr_key not in _settings:
        raise ValueError(f"get_context: the argument {attr_key} is not recognized")
    return _settings[attr_key]


def _get_mode() -> int:
    return modes.get_context("mode")


def get_jit_config() -> dict[str, Any]:
    """The settings of compilation."""
    return _settings["jit_config"]


class ParallelMode:
    """The ways of training on several devices, as MindSpore names them."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = (STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL)


_parallel: dict[str, Any] = {}
_PARALLEL = {
    "device_num": 1, "global_rank": 0, "gradients_mean": False, "gradient_fp32_sync": True,
    "parallel_mode": ParallelMode.STAND_ALONE, "parameter_broadcast": False, "full_batch": False, "dataset_strategy": "",
    "pipeline_stages": 1, "enable_parallel_optimizer": False, "loss_repeated_mean": True, "grad_accumulation_step": 1,
    "strategy_ckpt_load_file": "", "strategy_ckpt_save_file": "", "auto_parallel_search_mode": "recursive_programming",
    "search_mode": "recursive_programming", "parallel_optimizer_config": {}, "comm_fusion": {}, "all_reduce_fusion_config": [],
}  # fmt: skip


def set_auto_parallel_context(**settings: Any) -> None:
    """Settings of training on several devices: there is one device here, so that only "stand_alone" is possible."""
    for name, value in settings.items():
        if name not in _PARALLEL:
            raise ValueError(f"set_auto_parallel_context: the keyword argument {name} is not recognized")
        if name == "parallel_mode" and value not in ParallelMode.MODE_LIST:
            raise ValueError(f"set_auto_parallel_context: parallel_mode must be one of {ParallelMode.MODE_LIST}")
        _parallel[name] = value


def get_auto_parallel_context(attr_key: str) -> Any:
    """A setting of training on several devices."""
    if attr_key not in _PARALLEL:
        raise ValueError(f"get_auto_parallel_context: the argument {attr_key} is not recognized")
    return _parallel.get(attr_key, _PARALLEL[attr_key])


def reset_auto_parallel_context() -> None:
    """Forget what `set_auto_parallel_context` was told."""
    _parallel.clear()


__all__ = [
    "COMPATIBLE", "GRAPH_MODE", "LAX", "PYNATIVE_MODE", "STRICT", "ParallelMode", "get_auto_parallel_context", "get_context",
    "get_jit_config", "reset_auto_parallel_context", "set_auto_parallel_context", "set_context",
]  # fmt: skip
