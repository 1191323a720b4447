"""Model: training, evaluation, callbacks, early stopping, resuming, and runs that repeat themselves bit for bit."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.data import ArrayDataset
from adjoint.train import (
    Accuracy,
    Callback,
    DynamicLossScaleManager,
    EarlyStopping,
    LossMonitor,
    Metric,
    Model,
    ModelCheckpoint,
    ReduceLROnPlateau,
    TimeMonitor,
    TopK,
    load_checkpoint,
)
from adjoint.train.callbacks import RunContext, RunParams

MODES = [ad.PYNATIVE_MODE, ad.GRAPH_MODE]


def clusters(n=48, seed=0):
    """Two clouds of points, and which one each point is of."""
    generator = np.random.default_rng(seed)
    y = np.arange(n, dtype=np.int32) % 2
    return ArrayDataset((generator.standard_normal((n, 2)) + 3.0 * y[:, None]).astype(np.float32), y)


def classifier(rate=0.05, dropout=0.0, **options):
    layers = [nn.Dense(2, 8), nn.Tanh(), nn.Dense(8, 2)]
    if dropout:
        layers.insert(2, nn.Dropout(p=dropout))
    net = nn.SequentialCell(*layers)
    return Model(net, ops.cross_entropy, optim.Adam(net.trainable_params(), rate), ["accuracy", "loss"], **options)


def weights(model):
    return [p.asnumpy() for p in model.network.get_parameters()]


@pytest.mark.usefixtures("mode")
def test_a_classifier_learns():
    ad.set_seed(0)
    model = classifier()
    history = model.fit(10, clusters().shuffle(1).batch(16), clusters(seed=1).batch(10))
    assert history.epoch == list(range(1, 11)) and len(history.steps) == 30
    assert history.history["eval_accuracy"][-1] >= 0.95
    assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]


@pytest.mark.usefixtures("mode")
def test_runs_repeat_bit_for_bit():
    def run(seed):
        ad.set_seed(seed)
        model = classifier(dropout=0.3)
        history = model.fit(3, clusters().shuffle().batch(16).prefetch())
        return history.steps, weights(model)

    (steps, found), (again, repeated), (other, _) = run(1), run(1), run(2)
    assert steps == again and steps != other
    assert all(np.array_equal(a, b) for a, b in zip(found, repeated, strict=True))


def test_both_modes_take_the_same_steps():
    found = []
    for mode in MODES:
        ad.set_context(mode=mode)
        ad.set_seed(0)
        found.append(classifier().fit(3, clusters().shuffle(0).batch(16)).steps)
    ad.set_context(mode=ad.PYNATIVE_MODE)
    np.testing.assert_allclose(*found, rtol=1e-4)


def test_metrics_over_uneven_batches_are_those_of_the_whole():
    ad.set_seed(0)
    model = classifier()
    whole, parts = model.eval(clusters().batch(48)), model.eval(clusters().batch(7))
    x, y = clusters().arrays
    logits = model.predict(x).asnumpy().astype(np.float64)
    expected = np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(48), y])
    assert parts["loss"] == pytest.approx(expected, rel=1e-5) == pytest.approx(whole["loss"], rel=1e-5)
    assert parts["accuracy"] == np.mean(logits.argmax(1) == y)


@pytest.mark.usefixtures("mode")
def test_training_and_evaluation_switch_the_network():
    seen = []

    class Watched(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ad.Parameter(ad.Tensor([1.0]))

        def construct(self, x):
            seen.append(self.training)
            return self.w * x

    net = Watched()
    model = Model(net, ops.mse_loss, optim.SGD([net.w], 0.1), ["mse"])
    data = ArrayDataset(np.ones((4, 1), "float32"), np.ones((4, 1), "float32")).batch(2)
    model.fit(3, data, data)
    model.predict(np.ones((2, 1), "float32"))
    assert set(seen) == {True, False} and net.training is False
    if ad.get_context("mode") == ad.GRAPH_MODE:  # each state is read once for a step, an evaluation and a prediction
        assert seen == [True, False, False]


# ---------------------------------------------------------------- callbacks


def test_the_order_of_callbacks():
    events = []

    class Log(Callback):
        def begin(self, run_context):
            events.append("begin")

        def on_train_epoch_begin(self, run_context):
            events.append(f"epoch {run_context.original_args().cur_epoch_num}")

        def step_end(self, run_context):
            events.append(f"step {run_context.original_args().cur_step_num}")

        def on_eval_end(self, run_context):
            events.append("eval")

        def epoch_end(self, run_context):
            events.append(sorted(run_context.original_args().eval_results))

        def end(self, run_context):
            events.append("end")

    classifier().fit(2, clusters().batch(24), clusters().batch(48), valid_frequency=2, callbacks=Log())
    results = ["accuracy", "loss"]
    assert events == ["begin", "epoch 1", "step 1", "step 2", [], "epoch 2", "step 3", "step 4", "eval", results, "end"]


def test_a_callback_can_end_the_run():
    class Enough(Callback):
        def on_train_step_end(self, run_context):
            if run_context.original_args().cur_step_num == 3:
                run_context.request_stop()

    assert len(classifier().train(5, clusters().batch(24), Enough()).steps) == 3


def test_monitors_print(capsys):
    timer = TimeMonitor()
    classifier().train(1, clusters().batch(12), [LossMonitor(2), timer])
    out = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in out[:2]] == ["epoch: 1 step: 2", "epoch: 1 step: 4"]
    assert out[2].startswith("Train epoch time:") and len(timer.seconds) == 1


def test_a_loss_that_is_not_a_number_ends_the_run():
    bad = ArrayDataset(np.full((4, 2), np.nan, "float32"), np.zeros(4, "int32")).batch(2)
    with pytest.raises(ValueError, match="Invalid loss"), np.errstate(all="ignore"):
        classifier().train(1, bad, LossMonitor(0))


def epochs(callback, results, monitor="loss"):
    """What a callback makes of these results: the epoch after which it ends the run."""
    run = RunParams(nn.Cell())
    context = RunContext(run)
    for run.cur_epoch_num, value in enumerate(results, 1):
        run.eval_results = {monitor: value}
        callback.on_train_epoch_end(context)
        if context.stop_requested:
            return run.cur_epoch_num
    return None


@pytest.mark.parametrize(
    "options, results, expected",
    [
        ({"patience": 2}, [3, 2, 1, 0.5], None),
        ({"patience": 2}, [3, 2, 2.5, 2.4, 1], 4),
        ({"patience": 2}, [3, 2, 2.5, 1, 1.5, 1.6], 6),
        ({"patience": 0}, [3, 3.5], 2),
        ({"patience": 1, "min_delta": 0.5}, [3, 2.8], 2),
        ({"patience": 2, "baseline": 1.0}, [3, 2, 1.5], 2),
        ({"patience": 2, "mode": "max"}, [1, 2, 1, 1], 4),
        ({"patience": 1}, [math.nan, 1, 2], 1),
        ({"patience": 2}, [math.nan, 1, math.nan, 0.5], None),
    ],
)
def test_early_stopping(options, results, expected):
    assert epochs(EarlyStopping("eval_loss", **options), results) == expected


def test_early_stopping_gives_the_best_weights_back():
    ad.set_seed(0)
    model, kept = classifier(rate=0.05), {}

    class Spoil(Callback):
        def on_train_epoch_end(self, run_context):
            run = run_context.original_args()
            kept[run.cur_epoch_num] = weights(model)

        def on_train_epoch_begin(self, run_context):
            if run_context.original_args().cur_epoch_num == 3:
                for p in model.network.get_parameters():
                    p.set_data(np.full(p.shape, 5.0))

    stop = EarlyStopping("eval_loss", patience=2, restore_best_weights=True)
    model.fit(9, clusters().batch(16), clusters().batch(48), callbacks=[Spoil(), stop])
    assert (stop.best_epoch, stop.stopped_epoch) == (2, 4)
    assert all(np.array_equal(a, b) for a, b in zip(weights(model), kept[2], strict=True))


@pytest.mark.parametrize("make", [EarlyStopping, ReduceLROnPlateau, lambda name: ModelCheckpoint(monitor=name)])
def test_a_number_that_is_not_there(make):
    data, valid = clusters().batch(24), clusters().batch(48)
    with pytest.raises(ValueError, match="no 'eval_f1' to follow, only loss, eval_accuracy, eval_loss"):
        classifier().fit(1, data, valid, callbacks=make("eval_f1"))
    with pytest.raises(ValueError, match="no 'foo' to follow, only loss; no epoch of this run is validated"):
        classifier().fit(2, data, callbacks=make("foo"))
    with pytest.raises(ValueError, match="no 'eval_loss' to follow, only loss"):  # no epoch of this run is validated
        classifier().fit(4, data, valid, valid_frequency=3, initial_epoch=3, callbacks=make("eval_loss"))


def test_a_number_that_is_there_only_in_some_epochs():
    stop = EarlyStopping("eval_loss", patience=1, baseline=-1.0)
    history = classifier().fit(6, clusters().batch(24), clusters().batch(48), valid_frequency=3, callbacks=stop)
    assert history.epoch == [1, 2, 3] and len(history.history["eval_loss"]) == 1


@pytest.mark.usefixtures("mode")
def test_a_run_resumed_from_a_checkpoint_ends_like_one_that_went_through(tmp_path):
    def start():
        ad.set_seed(5)
        return classifier()

    straight = start()
    straight.fit(4, clusters().batch(16))
    first, saver = start(), ModelCheckpoint("net", tmp_path, keep=1)
    first.fit(2, clusters().batch(16), callbacks=saver)
    assert os.listdir(tmp_path) == ["net-2.safetensors"]
    second = classifier()
    done = load_checkpoint(saver.latest, [second.network, second.optimizer], strict_load=True)
    history = second.fit(4, clusters().batch(16), initial_epoch=done["epoch"])
    assert history.epoch == [3, 4]
    assert all(np.array_equal(a, b) for a, b in zip(weights(second), weights(straight), strict=True))


@pytest.mark.usefixtures("mode")
def test_shuffling_and_dropout_go_on_where_they_stood(tmp_path):
    def start():
        ad.set_seed(5)
        return classifier(dropout=0.3), clusters().shuffle().batch(16)

    straight, data = start()
    straight.fit(4, data)
    (first, data), saver = start(), ModelCheckpoint("net", tmp_path, keep=1)
    first.fit(2, data, callbacks=saver)
    for earlier in (False, True):  # the saved counter may lie ahead or behind
        if earlier:
            ad.set_seed(5)
        second = classifier(dropout=0.3)
        parts = [second.network, second.optimizer]
        done = load_checkpoint(saver.latest, parts, strict_load=True, restore_random=True)
        second.fit(4, clusters().shuffle().batch(16), initial_epoch=done["epoch"])
        assert all(np.array_equal(a, b) for a, b in zip(weights(second), weights(straight), strict=True))


def test_files_every_so_many_steps_and_the_best(tmp_path):
    every = ModelCheckpoint("net", tmp_path, keep=2, every_steps=2)
    best = ModelCheckpoint("best", tmp_path, keep=1, monitor="eval_accuracy")
    model = classifier()
    model.fit(3, clusters().batch(16), clusters().batch(48), callbacks=[every, best])
    assert [os.path.basename(f) for f in every.files] == ["net-2_3.safetensors", "net-3_2.safetensors"]
    done = [load_checkpoint(f) for f in every.files]
    assert [(d["epoch"], d["step"]) for d in done] == [(2, 6), (2, 8)]  # the third epoch was not complete
    assert "moment1.0.weight" in done[0] and int(done[1]["global_step"]) == 8
    assert len(best.files) == 1 and len(os.listdir(tmp_path)) == 3


def test_the_state_of_an_optimiser_behind_an_accumulation_is_saved(tmp_path):
    net = nn.Dense(2, 2)
    gathering = optim.GradientAccumulation(2, optim.Adam(net.trainable_params(), 0.1))
    saver = ModelCheckpoint("net", tmp_path)
    Model(net, ops.cross_entropy, gathering).fit(1, clusters().batch(12), callbacks=saver)
    assert int(load_checkpoint(saver.latest)["global_step"]) == 2


@pytest.mark.parametrize(
    "options, results, rates",
    [
        ({"patience": 2}, [3, 2, 2, 2, 2, 2], [1, 1, 1, 0.5, 0.5, 0.25]),
        ({"patience": 1, "cooldown": 2}, [3, 3, 3, 3, 3, 3], [1, 0.5, 0.5, 0.5, 0.25, 0.25]),
        ({"patience": 1, "min_lr": 0.3}, [3, 3, 3, 3], [1, 0.5, 0.3, 0.3]),
        ({"patience": 1, "min_delta": 0.5}, [3, 2.8, 2.2], [1, 0.5, 0.5]),
        ({"patience": 0, "mode": "max"}, [1, 2, 1, 3], [1, 1, 0.5, 0.5]),
        ({"patience": 1}, [3, math.nan, 2], [1, 0.5, 0.5]),
    ],
)
def test_smaller_steps_on_a_plateau(options, results, rates):
    optimiser = optim.SGD([ad.Parameter(ad.Tensor([1.0]), name="w")], 1.0)
    run, seen = RunParams(nn.Cell(), optimizer=optim.GradientAccumulation(2, optimiser)), []
    plateau = ReduceLROnPlateau("eval_loss", factor=0.5, **options)
    for run.cur_epoch_num, value in enumerate(results, 1):
        run.eval_results = {"loss": value}
        plateau.on_train_epoch_end(RunContext(run))
        seen.append(optimiser.get_lr().item())
    assert seen == pytest.approx(rates)


@pytest.mark.usefixtures("mode")
def test_a_plateau_compiles_nothing_anew(capsys):
    data = ArrayDataset(np.zeros((4, 2), "float32"), np.zeros(4, "int32")).batch(4)
    model = classifier(rate=optim.ExponentialDecayLR(0.1, 0.5, 2))
    model.fit(3, data, callbacks=ReduceLROnPlateau("loss", 0.5, patience=1, min_delta=10.0, verbose=True))
    assert model.optimizer.get_lr().item() == pytest.approx(0.1 * 0.5**1.5 * 0.25)
    assert capsys.readouterr().out.count("learning rate") == 2
    if ad.get_context("mode") == ad.GRAPH_MODE:
        assert len(model.train_network._compiled.applying.compilations) == 1


def test_a_plateau_needs_an_optimiser_of_ours():
    run = RunParams(nn.Cell(), optimizer=lambda grads: None, loss=1.0)
    plateau = ReduceLROnPlateau("loss", patience=0)
    plateau.on_train_epoch_end(RunContext(run))
    with pytest.raises(ValueError, match="function is no optimiser"):
        plateau.on_train_epoch_end(RunContext(run))


def test_only_the_best_is_saved(tmp_path):
    saver = ModelCheckpoint("net", tmp_path, keep=2, monitor="eval_accuracy")
    epochs(saver, [0.5, 0.4, 0.7, 0.6, 0.9], "accuracy")
    assert [os.path.basename(f) for f in saver.files] == ["net-3.safetensors", "net-5.safetensors"]
    assert sorted(os.listdir(tmp_path)) == ["net-3.safetensors", "net-5.safetensors"]


# ---------------------------------------------------------------- half precision, metrics, refusals


@pytest.mark.usefixtures("mode")
def test_half_precision_learns():
    ad.set_seed(0)
    model = classifier(amp_level="O2", loss_scale_manager=DynamicLossScaleManager(2.0**16, 2, 10))
    model.fit(10, clusters().shuffle(1).batch(16))
    assert model.eval(clusters().batch(48))["accuracy"] >= 0.95
    assert all(w.dtype == np.float32 for w in weights(model))


def test_metrics_against_numpy():
    generator = np.random.default_rng(0)
    scores, labels = generator.standard_normal((50, 6)), generator.integers(6, size=50)
    rank = (scores > scores[np.arange(50), labels][:, None]).sum(1)
    for k in (1, 3, 6):
        assert TopK(k)(scores, labels) == pytest.approx(np.mean(rank < k))
    assert Accuracy()(scores, np.eye(6)[labels]) == pytest.approx(np.mean(rank < 1))


def test_a_metric_without_values_says_so():
    with pytest.raises(ad.core.errors.AdjointError, match="nothing to evaluate"):
        Accuracy().eval()
    with pytest.raises(NotImplementedError, match="observe"):
        Metric()([1.0], [1.0])
