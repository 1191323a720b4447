"""mindspore.train.metrics."""

from __future__ import annotations

from typing import Any

from adjoint.mindspore.train.metrics.classes import F1 as F1
from adjoint.mindspore.train.metrics.classes import Accuracy as Accuracy
from adjoint.mindspore.train.metrics.classes import Fbeta as Fbeta
from adjoint.mindspore.train.metrics.classes import Precision as Precision
from adjoint.mindspore.train.metrics.classes import Recall as Recall
from adjoint.mindspore.train.metrics.classes import Top1CategoricalAccuracy as Top1CategoricalAccuracy
from adjoint.mindspore.train.metrics.classes import Top5CategoricalAccuracy as Top5CategoricalAccuracy
from adjoint.mindspore.train.metrics.classes import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from adjoint.mindspore.train.metrics.confusion_matrix import ConfusionMatrix as ConfusionMatrix
from adjoint.mindspore.train.metrics.confusion_matrix import ConfusionMatrixMetric as ConfusionMatrixMetric
from adjoint.mindspore.train.metrics.curves import ROC as ROC
from adjoint.mindspore.train.metrics.curves import BleuScore as BleuScore
from adjoint.mindspore.train.metrics.curves import auc as auc
from adjoint.mindspore.train.metrics.distances import MAE as MAE
from adjoint.mindspore.train.metrics.distances import MSE as MSE
from adjoint.mindspore.train.metrics.distances import CosineSimilarity as CosineSimilarity
from adjoint.mindspore.train.metrics.distances import Dice as Dice
from adjoint.mindspore.train.metrics.distances import Loss as Loss
from adjoint.mindspore.train.metrics.distances import Perplexity as Perplexity
from adjoint.mindspore.train.metrics.metric import EvaluationBase as EvaluationBase
from adjoint.mindspore.train.metrics.metric import Metric as Metric
from adjoint.mindspore.train.metrics.metric import rearrange_inputs as rearrange_inputs
from adjoint.mindspore.train.metrics.surfaces import HausdorffDistance as HausdorffDistance
from adjoint.mindspore.train.metrics.surfaces import MeanSurfaceDistance as MeanSurfaceDistance
from adjoint.mindspore.train.metrics.surfaces import OcclusionSensitivity as OcclusionSensitivity
from adjoint.mindspore.train.metrics.surfaces import RootMeanSquareDistance as RootMeanSquareDistance

FACTORY: dict[str, Any] = {
    "accuracy": Accuracy, "acc": Accuracy, "precision": Precision, "recall": Recall, "F1": F1, "dice": Dice, "roc": ROC,
    "auc": auc, "bleu_score": BleuScore, "cosine_similarity": CosineSimilarity,
    "occlusion_sensitivity": OcclusionSensitivity, "topk": TopKCategoricalAccuracy,
    "hausdorff_distance": HausdorffDistance, "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy, "mae": MAE, "mse": MSE, "loss": Loss,
    "mean_surface_distance": MeanSurfaceDistance, "root_mean_square_distance": RootMeanSquareDistance,
    "perplexity": Perplexity, "confusion_matrix": ConfusionMatrix, "confusion_matrix_metric": ConfusionMatrixMetric,
}  # fmt: skip


def names() -> list[str]:
    """The names by which `get_metric_fn` knows metrics."""
    return sorted(FACTORY)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """A metric by its name."""
    if name not in FACTORY:
        raise KeyError(f"For 'get_metric_fn', unsupported metric {name}; the supported ones are {', '.join(names())}.")
    return FACTORY[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric] | None:
    """Metrics by name from a set of names or a dict."""
    if metrics is None:
        return None
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise TypeError(
                    "For 'get_metrics', if 'metrics' is dict, the key in 'metrics' must be string and value in 'metrics' must "
                    f"be Metric, but got key:{type(name)}, value:{type(metric)}."
                )
        return metrics
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in metrics}
    raise TypeError(f"For 'get_metrics', the argument 'metrics' must be None, dict or set, but got {metrics}")
