"""Metrics: numbers over batches, by MindSpore's definitions."""

import numpy as np
from mindspore import Tensor, train
from mindspore.train import metrics

from mindspore_cases import right

OUTPUT = np.array([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.5, 0.4, 0.1]], np.float32)
LABEL = np.array([1, 0, 1, 2], np.int32)
FLAGS = np.array([[1, 0, 1], [0, 0, 1]], np.float32)
TRUE = np.array([[1, 1, 1], [0, 0, 1]], np.float32)


def _twice(metric, *inputs):
    metric.clear()
    metric.update(*map(Tensor, inputs))
    metric.update(*(Tensor(x[::-1].copy()) for x in inputs))
    return metric.eval()


def case_accuracy():
    return _twice(train.Accuracy(), OUTPUT, LABEL), train.Accuracy("classification")(OUTPUT, np.eye(3)[LABEL])


def case_accuracy_of_several_labels():
    return _twice(train.Accuracy("multilabel"), FLAGS, TRUE)


def case_precision():
    return _twice(train.Precision(), OUTPUT, LABEL), train.Precision("multilabel")(FLAGS, TRUE)


def case_precision_average():
    metric = train.Precision("multilabel")
    metric.update(Tensor(FLAGS), Tensor(TRUE))
    other = train.Precision()
    other.update(Tensor(OUTPUT), Tensor(LABEL))
    return metric.eval(True), other.eval(average=True)


def case_recall():
    return _twice(train.Recall(), OUTPUT, LABEL), _twice(train.Recall("multilabel"), FLAGS, TRUE)


def case_f_scores():
    metric = train.Fbeta(2.0)
    metric.update(Tensor(OUTPUT), Tensor(LABEL))
    return metric.eval(), metric.eval(True), _twice(train.F1(), OUTPUT, LABEL)


def case_top_k():
    return (
        _twice(train.TopKCategoricalAccuracy(2), OUTPUT, LABEL),
        _twice(train.Top1CategoricalAccuracy(), OUTPUT, LABEL),
        train.Top5CategoricalAccuracy()(OUTPUT.repeat(3, axis=1), LABEL),
    )


def case_errors():
    return _twice(train.MAE(), OUTPUT[:, 0], OUTPUT[:, 1]), _twice(train.MSE(), OUTPUT[:, 0], OUTPUT[:, 1])


def case_loss():
    metric = train.Loss()
    metric.update(Tensor(np.float32(0.5)))
    metric.update(Tensor(np.array([0.25, 0.5], np.float32)))
    return metric.eval()


def case_perplexity():
    return _twice(train.Perplexity(), OUTPUT, LABEL), train.Perplexity(ignore_label=1)(OUTPUT, LABEL)


def case_dice():
    return _twice(train.Dice(), FLAGS, TRUE), train.Dice(smooth=0.5)(FLAGS, TRUE)


def case_cosine_similarity():
    return (
        train.CosineSimilarity()(OUTPUT),
        train.CosineSimilarity("dot", "sum", False)(OUTPUT),
        train.CosineSimilarity(reduction="mean")(OUTPUT),
    )


def case_confusion_matrix():
    pred = np.array([1, 0, 2, 1, 1], np.int32)
    y = np.array([1, 0, 1, 2, 0], np.int32)
    return [train.ConfusionMatrix(3, how)(pred, y) for how in ("no_norm", "target", "prediction", "all")]


def case_confusion_matrix_of_outputs():
    return (
        train.ConfusionMatrix(3)(OUTPUT, LABEL),
        train.ConfusionMatrix(2, threshold=0.4)(OUTPUT[:, 0], np.array([0, 1, 1, 0])),
    )


RATES = [
    "sensitivity", "specificity", "precision", "negative predictive value", "miss rate", "fall out", "fdr", "for", "pt",
    "ts", "accuracy", "balanced accuracy", "f1 score", "mcc", "fm", "informedness", "markedness",
]  # fmt: skip


def case_rates_of_decisions():
    found = []
    for name in RATES:
        metric = train.ConfusionMatrixMetric(metric_name=name)
        metric.clear()
        metric.update(np.array([[[0, 1, 1], [1, 0, 1]]]), np.array([[[0, 1, 0], [1, 1, 1]]]))
        found.append(metric.eval())
    return found


def case_rates_by_class():
    x = np.array([[[0, 1, 1], [1, 0, 1]], [[1, 1, 0], [0, 0, 1]]])
    y = np.array([[[0, 1, 0], [1, 1, 1]], [[1, 0, 0], [0, 1, 1]]])
    return [
        train.ConfusionMatrixMetric(False, "recall", True, "mean")(x, y),
        train.ConfusionMatrixMetric(True, "precision", True, "sum")(x, y),
    ]


def case_roc():
    x = np.array([0.2, 0.9, 0.4, 0.4, 0.7], np.float32)
    y = np.array([0, 1, 0, 1, 1], np.int32)
    metric = train.ROC(pos_label=1)
    metric.update(Tensor(x), Tensor(y))
    fpr, tpr, thresholds = metric.eval()
    return fpr, tpr, thresholds, train.auc(fpr, tpr)


def case_roc_of_several_classes():
    x = np.array([[0.3, 0.6, 0.1], [0.2, 0.5, 0.3], [0.7, 0.1, 0.2]], np.float32)
    return train.ROC(class_num=3)(x, np.array([1, 2, 0], np.int32))


def case_area_under_a_curve():
    x, y = np.array([0.9, 0.5, 0.1]), np.array([0.2, 0.8, 0.4])
    return train.auc(x, y), train.auc(np.array([0.5, 0.1, 0.9]), y, reorder=True)


def case_bleu():
    said = [["the", "cat", "sat", "on", "a", "mat"], ["one", "two", "three", "four", "five"]]
    meant = [
        [["the", "cat", "sat", "on", "the", "mat"], ["a", "cat", "sat", "on", "a", "mat", "there"]],
        [["one", "two", "three", "four", "six", "seven"]],
    ]
    return [train.BleuScore(n, s)(said, meant) for n, s in ((1, False), (2, False), (4, False), (3, True))]


A = np.array([[3, 0, 1], [1, 3, 0], [1, 1, 2], [0, 1, 1]])
B = np.array([[0, 2, 1], [1, 2, 1], [0, 0, 1], [1, 1, 1]])


def case_hausdorff_distance():
    return [
        train.HausdorffDistance(kind, *rest)(A, B, 1)
        for kind, rest in (("euclidean", ()), ("taxicab", ()), ("chessboard", ()), ("euclidean", (60.0, True, False)))
    ]


def case_surface_distances():
    return [
        kind(symmetric, metric)(A, B, 1)
        for kind in (train.MeanSurfaceDistance, train.RootMeanSquareDistance)
        for symmetric in (False, True)
        for metric in ("euclidean", "taxicab")
    ]


def case_names():
    return metrics.names()


def case_by_name():
    metric = metrics.get_metric_fn("topk", k=2)
    return type(metric).__name__, metric.k, type(train.get_metric_fn("acc")).__name__


def case_a_metric_of_ones_own():
    class Largest(train.Metric):
        def __init__(self):
            super().__init__()
            self.clear()

        def clear(self):
            self.found = 0.0

        @train.rearrange_inputs
        def update(self, *inputs):
            y_pred, y = self._convert_data(inputs[0]), self._convert_data(inputs[1])
            self.found = max(self.found, float(np.abs(y_pred - y).max()))

        def eval(self):
            return self.found

    metric = Largest().set_indexes([2, 0])
    metric.update(Tensor([1.0, 2.0]), Tensor([9.0]), Tensor([0.5, 4.0]))
    return metric.eval(), metric.indexes


def case_nothing_to_evaluate():
    return train.Accuracy().eval()


def case_a_wrong_number_of_inputs():
    return train.MSE().update(Tensor([1.0]))


def case_other_shapes():
    return train.Accuracy()(OUTPUT, OUTPUT)


def case_other_numbers_of_classes():
    metric = train.Accuracy()
    metric.update(Tensor(OUTPUT), Tensor(LABEL))
    metric.update(Tensor(OUTPUT[:, :2]), Tensor(LABEL))


def case_an_unknown_kind():
    return train.Precision("regression")


def case_an_unknown_name():
    return metrics.get_metric_fn("speed")


def case_strings_are_no_data():
    return train.MAE()("a", "b")


def case_beta_of_zero():
    return train.Fbeta(0)


def case_indexes_that_are_no_list():
    return train.MAE().set_indexes((0, 1))


@right("wrong for more samples than classes: a reshape takes the place of a transposition", (0.5, 0.5))
def case_roc_of_more_samples_than_classes():
    y = np.array([1, 1, 0, 0], np.int32)
    scores = np.array([[0.3, 0.7], [0.6, 0.4], [0.8, 0.2], [0.1, 0.9]], np.float32)
    fpr, tpr, _ = train.ROC(class_num=2)(scores, y)
    return tuple(float(train.auc(f, t)) for f, t in zip(fpr, tpr))
