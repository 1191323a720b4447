"""mindspore.train.DatasetHelper: iterates a dataset batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjoint.core.tensor import Tensor


class DatasetHelper:
    """Iterates a dataset; there is no sink mode, whose batches a device would fetch by itself."""

    def __init__(self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1) -> None:
        if not isinstance(dataset_sink_mode, bool):
            raise TypeError(
                f"For 'DatasetHelper', the 'dataset_sink_mode' must be bool, but got {dataset_sink_mode!r}."
            )
        if not isinstance(sink_size, int):
            raise TypeError(f"For 'DatasetHelper', the 'sink_size' must be int, but got {sink_size!r}.")
        if sink_size < -1 or sink_size == 0:
            raise ValueError(f"The 'sink_size' must be -1 or positive, but got sink_size {sink_size}.")
        self.dataset, self._sink_size = dataset, sink_size

    def __iter__(self) -> Iterator[Any]:
        for batch in self.dataset.create_tuple_iterator(num_epochs=1):
            yield tuple(x if isinstance(x, Tensor) else Tensor(x) for x in batch)

    def sink_size(self) -> int:
        """The number of batches of one iteration."""
        return 1 if self._sink_size == -1 else self._sink_size

    def types_shapes(self) -> Any:
        """The dtypes and shapes of a batch."""
        return self.dataset.output_types(), self.dataset.output_shapes()

    def stop_send(self) -> None:
        """Nothing is sent."""

    def continue_send(self) -> None:
        """Nothing is sent."""

    def release(self) -> None:
        """Nothing is held."""

    def get_data_info(self) -> Any:
        """The dtypes and shapes of a batch."""
        return self.types_shapes()


def connect_network_with_dataset(network: Any, dataset_helper: DatasetHelper) -> Any:
    """The network as it is: batches are handed to it."""
    return network


def data_sink(fn: Any, dataset: Any, sink_size: int = 1, jit_config: Any = None, input_signature: Any = None) -> Any:
    """A function that takes the next `sink_size` batches of a dataset, and calls `fn` with each."""
    batches: list[Iterator[Any]] = []

    def step() -> Any:
        result = None
        for _ in range(sink_size):
            if not batches:
                batches.append(iter(DatasetHelper(dataset)))
            batch = next(batches[0], None)
            if batch is None:
                batches[0] = iter(DatasetHelper(dataset))
                batch = next(batches[0])
            result = fn(*batch)
        return result

    return step
