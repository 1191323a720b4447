"""mindspore._extends.parse."""

from adjoint.mindspore._extends.parse import compile_config as compile_config
