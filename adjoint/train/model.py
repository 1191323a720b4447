"""Model: a network with its loss, optimiser and metrics, trained and evaluated on datasets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from adjoint.core.checkpoint_policy import CheckpointPolicy
from adjoint.core.context import no_grad
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.placement import HOST, device_of, is_device_array
from adjoint.core.tensor import Tensor
from adjoint.nn.cell import Cell
from adjoint.nn.precision import auto_mixed_precision
from adjoint.train.callbacks import Callback, History, RunContext, RunParams
from adjoint.train.cells import TrainOneStepCell, TrainOneStepWithLossScaleCell, WithEvalCell, WithLossCell
from adjoint.train.metrics import get_metrics
from adjoint.train.scaling import LossScale

Callbacks = Callback | list[Callback] | tuple[Callback, ...] | None


class Model:
    """A network that can be trained, evaluated and asked.

    Args:
        network: a Cell.
        loss_fn: a function or Cell of output and label; None if the network itself returns the loss.
        optimizer: changes the Parameters, given their gradients.
        metrics: names of metrics, or a dict of Metrics by name.
        amp_level: "O1", "O2" or "O3" computes in half precision: see `auto_mixed_precision`.
        loss_scale_manager: a scale for the loss, for half precision.
        checkpoint: what is kept for the backward pass and what is computed again there, as in `grad`.
        memory: what a step may take beyond Parameters, state and batch, such as "200MB", in static mode: see `jit`.

    In static mode a step is compiled once, with the loss, its gradients and the optimiser's update in one graph.

    >>> import adjoint as ad
    >>> from adjoint.data import ArrayDataset
    >>> from adjoint.train import Model
    >>> net = ad.nn.Cell()
    >>> net.w = ad.Parameter(ad.Tensor([0.0]))
    >>> net.construct = lambda x: net.w * x
    >>> model = Model(net, ad.ops.mse_loss, lambda grads: net.w.set_data(net.w - 0.1 * grads[0]), ["mse"])
    >>> x = ad.ops.ones((8, 1))
    >>> history = model.fit(30, ArrayDataset(x, 3 * x).batch(4))
    >>> print(f"{net.w.item():.3f}", model.eval(ArrayDataset(x, 3 * x).batch(8))["mse"] < 1e-6)
    3.000 True
    """

    def __init__(
        self,
        network: Cell,
        loss_fn: Callable[..., Any] | None = None,
        optimizer: Any = None,
        metrics: Mapping[str, Any] | Iterable[str] | None = None,
        amp_level: str = "O0",
        loss_scale_manager: LossScale | float | None = None,
        checkpoint: str | CheckpointPolicy | None = None,
        memory: int | str | None = None,
    ) -> None:
        if not isinstance(network, Cell):
            raise ArgumentTypeError(f"Model: network must be a Cell, not {type(network).__name__}{called_at()}")
        self.network, self.loss_fn, self.optimizer = network, loss_fn, optimizer
        _check_trained(network, loss_fn, optimizer)
        self.metrics = get_metrics(metrics)
        self._forward = auto_mixed_precision(network, amp_level)
        self._loss_scale = loss_scale_manager
        if memory is not None and loss_scale_manager is not None:
            raise ArgumentError(f"Model: memory= is not for steps with a loss scale; checkpoint= is{called_at()}")
        self._checkpoint, self._memory = checkpoint, memory
        self.train_network = self._step() if optimizer is not None else None
        self._eval_network = WithEvalCell(self._forward, loss_fn) if loss_fn is not None else None

    def _step(self) -> Cell:
        loss = self._forward if self.loss_fn is None else WithLossCell(self._forward, self.loss_fn)
        if self._loss_scale is None:
            return TrainOneStepCell(loss, self.optimizer, checkpoint=self._checkpoint, memory=self._memory)
        return TrainOneStepWithLossScaleCell(loss, self.optimizer, self._loss_scale, self._checkpoint)

    # ------------------------------------------------------------ training

    def train(
        self, epoch: int, train_dataset: Iterable[Any], callbacks: Callbacks = None, initial_epoch: int = 0
    ) -> History:
        """Go through the data until `epoch` epochs are done; those before `initial_epoch` count as done.

        Returns the History of the run.
        """
        return self.fit(epoch, train_dataset, None, 1, callbacks, initial_epoch)

    def fit(
        self,
        epoch: int,
        train_dataset: Iterable[Any],
        valid_dataset: Iterable[Any] | None = None,
        valid_frequency: int = 1,
        callbacks: Callbacks = None,
        initial_epoch: int = 0,
    ) -> History:
        """Train, and every `valid_frequency` epochs evaluate the metrics on `valid_dataset`. Returns the History."""
        if self.train_network is None:
            raise ArgumentError(f"Model: training needs an optimiser{called_at()}")
        _check_whole(epoch=epoch, valid_frequency=valid_frequency, initial_epoch=initial_epoch)
        _check_dataset("train_dataset", train_dataset)
        if valid_dataset is not None:
            _check_dataset("valid_dataset", valid_dataset)
        if not 0 <= initial_epoch <= epoch or valid_frequency < 1:
            raise ArgumentError(
                f"Model: epoch {epoch}, initial_epoch {initial_epoch} and valid_frequency {valid_frequency} make no run"
                f"{called_at()}"
            )
        history = History()
        all_callbacks = [history, *_listed(callbacks)]
        run = RunParams(self.network, self.train_network, self.optimizer, epoch, _length(train_dataset), initial_epoch)
        run.cur_step_num = initial_epoch * (run.batch_num or 0)
        run.validates = valid_dataset is not None and epoch // valid_frequency > initial_epoch // valid_frequency
        context = RunContext(run)
        _tell(all_callbacks, "on_train_begin", context)
        for number in range(initial_epoch + 1, epoch + 1):
            run.cur_epoch_num, run.eval_results = number, {}
            self._train_epoch(train_dataset, all_callbacks, context)
            if valid_dataset is not None and number % valid_frequency == 0 and not context.stop_requested:
                run.eval_results = self._evaluated(valid_dataset, all_callbacks, context)
            _tell(all_callbacks, "on_train_epoch_end", context)
            if context.stop_requested:
                break
        _tell(all_callbacks, "on_train_end", context)
        return history

    def _train_epoch(self, dataset: Iterable[Any], callbacks: list[Callback], context: RunContext) -> None:
        run = context.original_args()
        run.step_in_epoch, total, seen = 0, 0.0, 0
        _tell(callbacks, "on_train_epoch_begin", context)
        with _mode(self.network, training=True):
            for batch in dataset:
                inputs = self._columns(batch)
                run.batch_size = _size(inputs)
                _tell(callbacks, "on_train_step_begin", context)
                result = self.train_network(*inputs)  # type: ignore[misc]
                run.net_outputs = result[0] if isinstance(result, tuple) else result
                run.cur_step_num += 1
                run.step_in_epoch += 1
                total += float(np.mean(np.asarray(run.net_outputs))) * run.batch_size
                seen += run.batch_size
                run.loss = total / seen
                _tell(callbacks, "on_train_step_end", context)
                if context.stop_requested:
                    return
        if not run.step_in_epoch:
            raise ArgumentError(f"Model: the dataset has no batches{called_at()}")

    # ------------------------------------------------------------ evaluation

    def eval(self, valid_dataset: Iterable[Any], callbacks: Callbacks = None) -> dict[str, float]:
        """The metrics over a dataset, by name."""
        _check_dataset("valid_dataset", valid_dataset)
        return self._evaluated(valid_dataset, _listed(callbacks), RunContext(RunParams(self.network)))

    def _evaluated(self, dataset: Iterable[Any], callbacks: list[Callback], context: RunContext) -> dict[str, float]:
        if not self.metrics or self._eval_network is None:
            raise ArgumentError(f"Model: evaluation needs a loss_fn and at least one metric{called_at()}")
        _tell(callbacks, "on_eval_begin", context)
        for metric in self.metrics.values():
            metric.clear()
        with _mode(self.network, training=False), no_grad():
            for batch in dataset:
                inputs = self._columns(batch)
                loss, output, label = self._eval_network(*inputs)
                for metric in self.metrics.values():
                    if metric.needs_loss:
                        metric.update(loss, _size(inputs))
                    else:
                        metric.update(output, label)
        results = {name: metric.eval() for name, metric in self.metrics.items()}
        context.params.eval_results = results
        _tell(callbacks, "on_eval_end", context)
        return results

    def _columns(self, batch: Any) -> tuple[Any, ...]:
        """The inputs of a batch and, for the loss, its label."""
        columns = _tensors(batch, self.network)
        if self.loss_fn is not None and len(columns) < 2:
            raise ArgumentError(
                f"Model: a batch must have the network's inputs and, last, the label for loss_fn, but it has "
                f"{len(columns)} column{'s' * (len(columns) != 1)}{called_at()}"
            )
        return columns

    def predict(self, *inputs: Any) -> Any:
        """The network's output, with layers such as dropout as in use rather than in training."""
        with _mode(self.network, training=False), no_grad():
            return self._forward(*_tensors(inputs, self.network))


@contextlib.contextmanager
def _mode(network: Cell, training: bool) -> Iterator[None]:
    """The network in training, or out of it, and then as it was."""
    switched = [cell for _, cell in network.cells_and_names() if cell.training != training]
    for cell in switched:
        cell.training = training
    try:
        yield
    finally:
        for cell in switched:
            cell.training = not training


def _check_trained(network: Cell, loss_fn: Any, optimizer: Any) -> None:
    """Refuse an optimiser of another network. Beside this one's Parameters it may train some of the loss."""
    trained = getattr(getattr(optimizer, "optimiser", optimizer), "parameters", ())
    own = [p for part in (network, loss_fn) if isinstance(part, Cell) for p in part.get_parameters()]
    if trained and own and not {id(p) for p in trained} & {id(p) for p in own}:
        raise ArgumentError(
            "Model: the optimiser trains none of the network's Parameters, but others: make it of the network's "
            f"trainable_params(){called_at()}"
        )


def _check_whole(**values: Any) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ArgumentTypeError(f"Model: {name} must be an integer, not {value!r}{called_at()}")


def _check_dataset(name: str, dataset: Any) -> None:
    if not isinstance(dataset, Iterable) and not hasattr(dataset, "__getitem__"):
        raise ArgumentTypeError(
            f"Model: {name} must be a dataset, for example ArrayDataset(x, y).batch(32), not {dataset!r}{called_at()}"
        )


def _listed(callbacks: Callbacks) -> list[Callback]:
    listed = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for callback in listed:
        if not isinstance(callback, Callback):
            raise ArgumentTypeError(
                f"Model: callbacks must be a Callback or a list of them, not {callback!r}{called_at()}"
            )
    return listed


def _tell(callbacks: list[Callback], event: str, context: RunContext) -> None:
    for callback in callbacks:
        getattr(callback, event)(context)


def _tensors(batch: Any, network: Cell) -> tuple[Any, ...]:
    """The columns of a batch; those of the host go where a network on a device has its Parameters."""
    if isinstance(batch, Mapping):
        batch = tuple(batch.values())
    columns = batch if isinstance(batch, (tuple, list)) else (batch,)
    tensors = tuple(x if isinstance(x, Tensor) else Tensor(x) for x in columns)
    there = next((p._value for p in network.get_parameters() if is_device_array(p._value)), None)
    if there is None or len(there.sharding.device_set) > 1:
        return tensors
    return tuple(x.to(device_of(there)) if x.device == HOST else x for x in tensors)


def _size(inputs: tuple[Any, ...]) -> int:
    return inputs[0].shape[0] if inputs[0].ndim else 1


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except TypeError:
        return None
