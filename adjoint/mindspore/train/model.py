"""mindspore.train.Model: training, evaluation and prediction with callbacks and metrics."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import bools, type_error
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.wrap.cell_wrapper import WithEvalCell, WithLossCell
from adjoint.mindspore.train.amp import build_train_network
from adjoint.mindspore.train.callback._callback import Callback, InternalCallbackParam, RunContext, transformed
from adjoint.mindspore.train.callback._monitors import TimeMonitor
from adjoint.mindspore.train.dataset_helper import DatasetHelper
from adjoint.mindspore.train.metrics import Loss, get_metrics

KEYWORDS = ("loss_scale_manager", "keep_batchnorm_fp32", "boost_config_dict", "acc_level")


class Model:
    """A network with its loss, optimizer and metrics: `train`, `fit`, `eval` and `predict`."""

    def __init__(
        self, network: Any, loss_fn: Any = None, optimizer: Any = None, metrics: Any = None, eval_network: Any = None,
        eval_indexes: Any = None, amp_level: str = "O0", boost_level: str = "O0", **kwargs: Any,
    ) -> None:  # fmt: skip
        for name in kwargs:
            if name not in KEYWORDS:
                raise ValueError(f"The argument in 'kwargs' should be one of {', '.join(KEYWORDS)}, but got '{name}'.")
        if not isinstance(network, Cell):
            raise type_error("Model", "network", "Cell", network)
        if optimizer is None and amp_level != "O0":
            raise ValueError("Auto mixed precision will not work because 'optimizer' is None.")
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._loss_scale_manager = kwargs.get("loss_scale_manager")
        if self._loss_scale_manager is not None and optimizer is None:
            raise ValueError("The argument 'optimizer' can not be None when set 'loss_scale_manager'.")
        self._amp_level, self._metrics = amp_level, metrics
        self._train_network = self._build_train_network(boost_level, kwargs)
        self._build_eval_network(metrics, eval_network, eval_indexes)
        self._predict_network = network
        self._current_epoch_num = self._current_step_num = 0

    def _build_train_network(self, boost_level: str, kwargs: dict[str, Any]) -> Any:
        if self._optimizer is None:
            return self._network if self._loss_fn is None else WithLossCell(self._network, self._loss_fn)
        chosen = {k: v for k, v in kwargs.items() if k in ("loss_scale_manager", "keep_batchnorm_fp32")}
        return build_train_network(
            self._network, self._optimizer, self._loss_fn, self._amp_level, boost_level, **chosen
        )

    def _build_eval_network(self, metrics: Any, eval_network: Any, eval_indexes: Any) -> None:
        self._metric_fns, self._eval_network, self._eval_indexes = get_metrics(metrics), eval_network, eval_indexes
        if not self._metric_fns:
            return
        if eval_network is not None:
            if eval_indexes is not None and not (isinstance(eval_indexes, list) and len(eval_indexes) == 3):
                raise ValueError(
                    "The argument 'eval_indexes' must be a list or None. If 'eval_indexes' is a list, length of it must be "
                    f"three. But got 'eval_indexes' {eval_indexes}"
                )
        else:
            if self._loss_fn is None:
                raise ValueError("If `metrics` is set, `eval_network` or `loss_fn` must not be None.")
            self._eval_network = WithEvalCell(self._network, self._loss_fn, self._amp_level in ("O2", "O3", "auto"))
            self._eval_indexes = [0, 1, 2]

    @property
    def train_network(self) -> Any:
        """The network with loss and optimizer."""
        return self._train_network

    @property
    def eval_network(self) -> Any:
        """The network for evaluation."""
        return self._eval_network

    @property
    def predict_network(self) -> Any:
        """The network alone."""
        return self._predict_network

    # ------------------------------------------------------------ training

    def train(
        self, epoch: int, train_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False, sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:  # fmt: skip
        """Train for so many epochs."""
        _check_run("train", epoch, train_dataset, sink_size, initial_epoch, dataset_sink_mode)
        self._train(epoch, train_dataset, transformed(callbacks), initial_epoch)

    def fit(
        self, epoch: int, train_dataset: Any, valid_dataset: Any = None, valid_frequency: Any = 1, callbacks: Any = None,
        dataset_sink_mode: bool = False, valid_dataset_sink_mode: bool = False, sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:  # fmt: skip
        """Train for so many epochs, and evaluate every so many."""
        _check_run("fit", epoch, train_dataset, sink_size, initial_epoch, dataset_sink_mode, valid_dataset_sink_mode)
        if not isinstance(valid_frequency, (int, list)):
            raise TypeError(
                "For 'Model.fit', the type of 'valid_frequency' must be a list or an integer, but got type "
                f"{type(valid_frequency)}."
            )
        if valid_dataset is not None and not self._metric_fns:
            raise ValueError(
                "For 'Model.fit', if valid_dataset is not None, the model argument 'metrics' can not be None."
            )
        self._train(epoch, train_dataset, transformed(callbacks), initial_epoch, valid_dataset, valid_frequency)

    def build(
        self,
        train_dataset: Any = None,
        valid_dataset: Any = None,
        sink_size: int = -1,
        epoch: int = 1,
        sink_mode: bool = True,
    ) -> None:
        """Nothing is built ahead: graphs are compiled with the first step."""

    def _params(self, mode: str, callbacks: list[Callback], dataset: Any) -> InternalCallbackParam:
        return InternalCallbackParam(
            cur_step_num=0, mode=mode, batch_num=dataset.get_dataset_size(), list_callback=callbacks,
            network=self._network, loss_fn=self._loss_fn, optimizer=self._optimizer, dataset_sink_mode=False,
            parallel_mode="stand_alone", device_number=1,
        )  # fmt: skip

    def _train(
        self, epoch: int, dataset: Any, callbacks: list[Callback], initial: int, valid: Any = None, frequency: Any = 1
    ) -> None:
        run = self._params("train", callbacks, dataset)
        run.update(
            train_network=self._train_network, epoch_num=epoch - initial, train_dataset=dataset,
            train_dataset_element=None, loss_scale_mananger=self._loss_scale_manager, last_save_ckpt_step=None,
            latest_ckpt_file=None, cur_epoch_num=initial,
        )  # fmt: skip
        context = RunContext(run)
        self._train_network.set_train(True)
        with _entered(callbacks) as entered:
            _call(entered, "on_train_begin", context)
            for number in range(initial, epoch):
                run.cur_epoch_num = self._current_epoch_num = number + 1
                _call(entered, "on_train_epoch_begin", context)
                self._epoch(dataset, run, context, entered)
                if valid is not None and _is_due(number + 1, frequency):
                    self._validate(valid, run, entered)
                _call(entered, "on_train_epoch_end", context)
                run.pop("metrics", None)
                run.pop("eval_results", None)
                if context.get_stop_requested():
                    break
            _call(entered, "on_train_end", context)

    def _epoch(self, dataset: Any, run: Any, context: RunContext, callbacks: list[Callback]) -> None:
        for batch in DatasetHelper(dataset, False):
            if self._loss_fn is not None and len(batch) != 2:
                raise ValueError(
                    f"When 'loss_fn' is not None, 'train_dataset' should return two elements, but got {len(batch)}."
                )
            run.cur_step_num += 1
            self._current_step_num = int((run.cur_step_num - 1) % run.batch_num + 1)
            run.train_dataset_element = batch
            _call(callbacks, "on_train_step_begin", context)
            self._train_network.set_train(True)
            run.net_outputs = self._train_network(*batch)
            manager = self._loss_scale_manager
            if manager is not None and manager.get_drop_overflow_update():
                manager.update_loss_scale(bool(np.all(run.net_outputs[1].asnumpy())))
            _call(callbacks, "on_train_step_end", context)
            if context.get_stop_requested():
                break

    def _validate(self, dataset: Any, run: Any, callbacks: list[Callback]) -> None:
        """Evaluate in the middle of training; afterwards callbacks see the training again."""
        names = ("cur_step_num", "batch_num", "dataset_sink_mode", "net_outputs", "mode")
        before = {name: run.get(name) for name in names}
        own = [c for c in callbacks if isinstance(c, TimeMonitor) or not type(c).__module__.startswith("adjoint.")]
        run.update(mode="eval", batch_num=dataset.get_dataset_size(), cur_step_num=0)
        self._evaluate(dataset, run, own, with_loss=True)
        self._train_network.set_train(True)
        run.update(before)

    # ------------------------------------------------------------ evaluation

    def eval(self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False) -> dict[str, Any]:
        """The metrics over a dataset."""
        bools("Model.eval", dataset_sink_mode=dataset_sink_mode)
        if not self._metric_fns:
            raise ValueError("For Model.eval, the model argument 'metrics' can not be None or empty.")
        found = transformed(callbacks)
        with _entered(found) as entered:
            return self._evaluate(valid_dataset, self._params("eval", found, valid_dataset), entered)

    def _evaluate(self, dataset: Any, run: Any, callbacks: list[Callback], with_loss: bool = False) -> dict[str, Any]:
        assert self._metric_fns is not None
        run.update(eval_network=self._eval_network, valid_dataset=dataset)
        context, loss = RunContext(run), Loss()
        for metric in self._metric_fns.values():
            metric.clear()
        _call(callbacks, "on_eval_begin", context)
        self._eval_network.set_train(False)
        _call(callbacks, "on_eval_epoch_begin", context)
        for batch in DatasetHelper(dataset, False):
            run.cur_step_num += 1
            run.eval_dataset_element = batch
            _call(callbacks, "on_eval_step_begin", context)
            outputs = run.net_outputs = self._eval_network(*batch)
            _call(callbacks, "on_eval_step_end", context)
            self._update_metrics(outputs)
            if with_loss and self._eval_indexes is not None:
                loss.clear()
                loss.update(outputs[self._eval_indexes[0]])
            if context.get_stop_requested():
                break
        _call(callbacks, "on_eval_epoch_end", context)
        found = {name: metric.eval() for name, metric in self._metric_fns.items()}
        run.metrics = {name: value.item() if isinstance(value, np.generic) else value for name, value in found.items()}
        if with_loss:
            run.eval_results = copy.deepcopy(run.metrics)
            if self._eval_indexes is not None:
                run.eval_results["eval_loss"] = loss.eval()
        _call(callbacks, "on_eval_end", context)
        return run.metrics

    def _update_metrics(self, outputs: Any) -> None:
        assert self._metric_fns is not None
        found = (outputs,) if isinstance(outputs, Tensor) else outputs
        if not isinstance(found, tuple):
            raise ValueError(f"The argument 'outputs' should be tuple, but got {type(outputs)}.")
        if self._eval_indexes is not None and len(found) < 3:
            raise ValueError(f"The length of 'outputs' must be >= 3, but got {len(found)}")
        for metric in self._metric_fns.values():
            if self._eval_indexes is None:
                metric.update(*found)
            elif isinstance(metric, Loss):
                metric.update(found[self._eval_indexes[0]])
            else:
                metric.update(found[self._eval_indexes[1]], found[self._eval_indexes[2]])

    def predict(self, *predict_data: Any, backend: Any = None, config: Any = None) -> Any:
        """The output of the network."""
        if not all(isinstance(x, (Tensor, tuple, list, dict, int, float, bool, str)) for x in predict_data):
            raise TypeError("For 'Model.predict', the inputs must be Tensors.")
        self._predict_network.set_train(False)
        return self._predict_network(*predict_data)

    def infer_predict_layout(self, *predict_data: Any, skip_backend_compile: bool = False) -> Any:
        """Not provided: there is one process."""
        raise NotImplementedError("Model.infer_predict_layout is not provided by adjoint.mindspore")

    infer_train_layout = infer_predict_layout


class _entered(ExitStack):
    """Callbacks inside their `with` blocks."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        super().__init__()
        self._given = callbacks

    def __enter__(self) -> Any:
        super().__enter__()
        targets = [(c, self.enter_context(c)) for c in self._given]
        return [target if isinstance(target, Callback) else c for c, target in targets]


def _call(callbacks: Sequence[Callback], event: str, context: RunContext) -> None:
    for callback in callbacks:
        getattr(callback, event)(context)


def _is_due(epoch: int, frequency: Any) -> bool:
    return epoch % frequency == 0 if isinstance(frequency, int) else epoch in frequency


def _check_run(what: str, epoch: Any, dataset: Any, sink_size: Any, initial: Any, *flags: Any) -> None:
    for flag in flags:
        bools(f"Model.{what}", dataset_sink_mode=flag)
    for name, value, least in (("epoch", epoch, 1), ("initial_epoch", initial, 0), ("sink_size", sink_size, -1)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise type_error(f"Model.{what}", name, "int", value)
        if value < least or (name == "sink_size" and value == 0):
            raise ValueError(f"For 'Model.{what}', the '{name}' must be at least {max(least, 0)}, but got {value}.")
    if initial >= epoch:
        raise ValueError(
            f"For 'Model.{what}', the parameter 'epoch' must bigger than parameter 'initial_epoch', but got the parameter "
            f"'epoch' is {epoch}, 'initial_epoch' is {initial}."
        )
    if dataset.get_dataset_size() == 0:
        raise ValueError("There is no valid data in dataset, please check dataset file firstly.")
