"""Losses as Cells and as functions: values and gradients by predictions and labels."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from mindspore_programs import Run


def numbers(*shape, seed=0.0, scale=1.5):
    """Numbers without a pattern, the same everywhere."""
    count = int(np.prod(shape))
    return Tensor((scale * np.sin(1.7 * np.arange(count) + seed) + 0.1).reshape(shape).astype(np.float32))


def shares(*shape, seed=0.0):
    """Probabilities along the last axis."""
    return ops.softmax(numbers(*shape, seed=seed), -1)


def both(op, *inputs, by=2):
    return Run(op)(*inputs), ms.grad(Run(op), tuple(range(by)))(*inputs)


def case_mse_loss():
    return [both(nn.MSELoss(r), numbers(2, 3), numbers(2, 3, seed=1.0)) for r in ("mean", "sum", "none")]


def case_l1_losses():
    x, y = numbers(2, 3), numbers(2, 3, seed=1.0)
    return both(nn.L1Loss(), x, y), both(nn.MAELoss("sum"), x, y), both(nn.RMSELoss(), x, y)


def case_smooth_l1_and_huber():
    x, y = numbers(2, 3), numbers(2, 3, seed=1.0)
    return (
        both(nn.SmoothL1Loss(0.5), x, y),
        both(nn.SmoothL1Loss(reduction="mean"), x, y),
        both(nn.HuberLoss("sum", 0.6), x, y),
    )


def case_softmax_cross_entropy_with_logits():
    x = numbers(2, 3)
    classes = Tensor(np.array([2, 0], np.int32))
    return (
        both(nn.SoftmaxCrossEntropyWithLogits(), x, shares(2, 3)),
        both(nn.SoftmaxCrossEntropyWithLogits(reduction="mean"), x, shares(2, 3)),
        both(nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="sum"), x, classes, by=1),
    )


def case_cross_entropy_of_classes():
    x, classes = numbers(3, 4), Tensor(np.array([2, 0, 3], np.int32))
    weight = Tensor([0.5, 1.0, 2.0, 0.7])
    return (
        both(nn.CrossEntropyLoss(), x, classes, by=1),
        both(nn.CrossEntropyLoss(weight, reduction="sum"), x, classes, by=1),
        both(nn.CrossEntropyLoss(weight), x, classes, by=1),
        both(nn.CrossEntropyLoss(ignore_index=0, reduction="none"), x, classes, by=1),
        both(nn.CrossEntropyLoss(label_smoothing=0.1), x, classes, by=1),
    )


def case_cross_entropy_of_probabilities():
    x, target = numbers(3, 4), shares(3, 4, seed=1.0)
    return both(nn.CrossEntropyLoss(), x, target), both(
        nn.CrossEntropyLoss(label_smoothing=0.2, reduction="sum"), x, target
    )


def case_cross_entropy_of_images():
    x, classes = numbers(2, 3, 2, 1), Tensor(np.array([[[2], [0]], [[1], [1]]], np.int32))

    def loss(x):
        return ops.cross_entropy(x, classes)

    return both(loss, x, by=1)


def case_nll_loss():
    logs, classes = ops.log_softmax(numbers(3, 4), 1), Tensor(np.array([2, 0, 3], np.int32))
    return both(nn.NLLLoss(), logs, classes, by=1), both(
        nn.NLLLoss(Tensor([0.5, 1.0, 2.0, 0.7]), reduction="sum"), logs, classes, by=1
    )


def case_nll_loss_function():
    logs, classes = ops.log_softmax(numbers(3, 4), 1), Tensor(np.array([2, 0, 3], np.int32))

    def loss(x):
        return ops.nll_loss(x, classes, ignore_index=0, label_smoothing=0.1)

    return both(loss, logs, by=1)


def case_bce_losses():
    x, y = ops.sigmoid(numbers(2, 3)), Tensor(np.array([[0, 1, 0.4], [1, 0.2, 0]], np.float32))
    weight = Tensor(np.array([[1, 2, 0.5], [1, 1, 3]], np.float32))
    return (
        both(nn.BCELoss(reduction="mean"), x, y),
        both(nn.BCELoss(weight, reduction="sum"), x, y),
        both(nn.BCELoss(reduction="none"), x, y),
    )


def case_bce_with_logits_losses():
    x, y = numbers(2, 3), Tensor(np.array([[0, 1, 0.4], [1, 0.2, 0]], np.float32))
    weight, pos = Tensor([1.0, 2.0, 0.5]), Tensor([2.0, 1.0, 3.0])
    return both(nn.BCEWithLogitsLoss(), x, y), both(nn.BCEWithLogitsLoss("sum", weight, pos), x, y)


def case_binary_cross_entropy_functions():
    x, y = numbers(4), Tensor([0.0, 1.0, 0.4, 1.0])
    weight = ops.ones_like(x) * 2.0

    def logits(x, y):
        return ops.binary_cross_entropy_with_logits(x, y, weight, weight, reduction="none")

    def probabilities(x, y):
        return ops.binary_cross_entropy(ops.sigmoid(x), y, weight)

    return both(logits, x, y), both(probabilities, x, y)


def case_kl_div():
    x, y = ops.log(shares(2, 3)), shares(2, 3, seed=1.0)
    return [both(nn.KLDivLoss(r), x, y) for r in ("mean", "sum", "none", "batchmean")]


def case_poisson_and_gaussian_nll():
    x, y = numbers(2, 3), ops.abs(numbers(2, 3, seed=1.0)) + 0.5
    return (
        both(nn.PoissonNLLLoss(), x, y),
        both(nn.GaussianNLLLoss(), x, y, y + 0.1),
        both(nn.GaussianNLLLoss(full=True), x, y, y + 0.1, by=3),
    )


def case_margin_ranking():
    x, y = numbers(4), numbers(4, seed=1.0)
    return both(nn.MarginRankingLoss(0.2), x, y, Tensor([1.0, -1.0, -1.0, 1.0]))


def case_cosine_embedding():
    x, y = numbers(3, 4), numbers(3, 4, seed=1.0)
    return both(nn.CosineEmbeddingLoss(0.1), x, y, Tensor(np.array([1, -1, 1], np.int32)))


def case_multi_margin():
    classes = Tensor(np.array([2, 0], np.int64))
    return both(nn.MultiMarginLoss(p=2), numbers(2, 3), classes, by=1), both(
        nn.MultiMarginLoss(margin=0.5, reduction="sum"), numbers(2, 3), classes, by=1
    )


def case_multilabel_soft_margin():
    return both(nn.MultiLabelSoftMarginLoss(), numbers(2, 3), Tensor(np.array([[0, 1, 1], [1, 0, 0]], np.float32)))


def case_triplet_with_distance():
    x, y, z = numbers(2, 3), numbers(2, 3, seed=1.0), numbers(2, 3, seed=2.0)

    def distance(a, b):
        return ops.sum((a - b) * (a - b), 1)

    return both(nn.TripletMarginWithDistanceLoss(distance_function=distance, swap=True), x, y, z, by=3)


def case_dice_losses():
    x, y = shares(2, 3), Tensor(np.array([[0, 1, 1], [1, 0, 0]], np.float32))
    return (
        both(nn.DiceLoss(), x, y),
        both(nn.MultiClassDiceLoss(), x, y),
        both(nn.MultiClassDiceLoss(ignore_indiex=1, activation="relu"), x, y),
    )


def case_focal_loss():
    x, classes = numbers(2, 3, 2), Tensor(np.array([[[0, 2]], [[1, 1]]], np.int32))
    return both(nn.FocalLoss(), x, classes, by=1), both(
        nn.FocalLoss(Tensor([1.0, 2.0, 0.5]), 1.5, "sum"), x, classes, by=1
    )


def case_ctc_loss():
    logs = ops.log_softmax(numbers(5, 2, 4), -1)
    targets, lengths, counts = (
        Tensor(np.array([[1, 2], [3, 3]], np.int32)),
        Tensor(np.array([5, 4], np.int32)),
        Tensor(np.array([2, 1], np.int32)),
    )

    def loss(x):
        return ops.ctc_loss(ops.log_softmax(x, -1), targets, lengths, counts, reduction="sum")[0]

    net = nn.CTCLoss(reduction="mean")
    return net(logs, targets, lengths, counts), both(loss, numbers(5, 2, 4), by=1)


def case_ctc_loss_by_logarithms():
    logs = ops.log_softmax(numbers(4, 1, 3), -1)

    def loss(x):
        return ops.ctc_loss(
            x, Tensor(np.array([[1, 2]], np.int32)), Tensor(np.array([4], np.int32)), Tensor(np.array([2], np.int32))
        )[0]

    return both(loss, logs, by=1)


def case_loss_of_ones_own():
    class Cubic(nn.LossBase):
        def construct(self, logits, labels):
            distance = ops.abs(logits - labels)
            return self.get_loss(distance * distance * distance, 0.5), self.get_axis(distance)

    return Cubic("sum")(numbers(2, 3), numbers(2, 3, seed=1.0))


def case_reduction_that_does_not_exist():
    return nn.MSELoss("average")


def case_functional_losses():
    x, y = numbers(2, 3), numbers(2, 3, seed=1.0)

    def all_of_them(x, y):
        return (
            ops.mse_loss(x, y),
            ops.l1_loss(x, y, "sum"),
            ops.smooth_l1_loss(x, y, 0.7, "mean"),
            ops.huber_loss(x, y, "none", 0.3),
        )

    return both(all_of_them, x, y)
