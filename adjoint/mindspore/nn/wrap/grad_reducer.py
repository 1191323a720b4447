"""mindspore.nn.wrap.grad_reducer: in one process there is nothing to reduce."""

from __future__ import annotations

from typing import Any

from adjoint.mindspore.nn.cell import Cell


class DistributedGradReducer(Cell):
    """Gradients as they are: there is one process."""

    def __init__(
        self, parameters: Any, mean: Any = None, degree: Any = None, fusion_type: int = 1, group: str = ""
    ) -> None:
        super().__init__(auto_prefix=False)
        if degree is not None and (not isinstance(degree, int) or degree <= 0):
            raise ValueError(
                "For 'DistributedGradReducer', parameter 'degree' in DistributedGradReducer should large than 0 and be int, "
                f"degree: {degree}."
            )

    def construct(self, grads: Any) -> Any:
        return grads


class PipelineGradReducer(Cell):
    """Gradients divided by the scale of the loss."""

    def __init__(self, parameters: Any, scale_sense: float = 1.0, opt_shard: Any = None) -> None:
        super().__init__(auto_prefix=False)
        self.scale_sense = scale_sense

    def construct(self, grads: Any) -> Any:
        return tuple(g / self.scale_sense for g in grads)
