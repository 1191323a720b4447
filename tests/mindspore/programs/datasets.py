"""Datasets in named columns, and training from them."""

import os
import tempfile

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Parameter, Tensor, nn, ops, train
from mindspore.dataset import transforms, vision

X = np.arange(10, dtype=np.float32).reshape(5, 2)
Y = np.array([0, 1, 2, 1, 0], np.int32)


class Source:
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return X[index], Y[index]


def _data():
    return ds.NumpySlicesDataset((X, Y), ["x", "y"], shuffle=False)


def _rows(data, **kwargs):
    return [[x.asnumpy() for x in row] for row in data.create_tuple_iterator(num_epochs=1, **kwargs)]


def case_slices():
    return _rows(_data()), _data().get_dataset_size(), _data().get_col_names()


def case_slices_of_a_dict():
    data = ds.NumpySlicesDataset({"a": [1, 2], "b": [1.5, 2.5]}, shuffle=False)
    return [{k: v.asnumpy() for k, v in row.items()} for row in data.create_dict_iterator(num_epochs=1)]


def case_slices_of_a_list():
    return _rows(ds.NumpySlicesDataset([1, 2, 3], shuffle=False)), ds.NumpySlicesDataset([1, 2, 3]).get_col_names()


def case_items_by_index():
    return _rows(ds.GeneratorDataset(Source(), ["x", "y"], shuffle=False))


def case_a_generator():
    def generate():
        for k in range(3):
            yield np.array([k, k + 1]), np.float32(k)

    return _rows(ds.GeneratorDataset(generate, ["a", "b"]))


def case_output_as_numpy():
    rows = _data().create_dict_iterator(num_epochs=1, output_numpy=True)
    return [[*sorted(row), type(row["x"]).__name__] for row in rows]


def case_batch():
    return _rows(_data().batch(2)), _rows(_data().batch(2, drop_remainder=True)), _data().batch(2).get_dataset_size()


def case_sizes_of_batches():
    data = _data().batch(2, True)
    return data.get_batch_size(), data.get_dataset_size(), data.output_shapes(), data.repeat(3).get_dataset_size()


def case_map_one_column():
    return _rows(_data().map(lambda x: x * 2, "x")), _rows(
        _data().map([lambda y: np.int32(y + 1), lambda y: np.int32(y * 10)], ["y"])
    )


def case_map_two_columns():
    return _rows(_data().map(lambda x, y: (x + np.float32(y), y), input_columns=["x", "y"]))


def case_map_to_other_columns():
    data = _data().map(lambda x: (x[0], x[1]), input_columns=["x"], output_columns=["a", "b"])
    return data.get_col_names(), _rows(data.project(["b", "a"]))


def case_type_cast_and_one_hot():
    data = _data().map(transforms.OneHot(3), "y").map(transforms.TypeCast(ms.float32), "y")
    return _rows(data)


def case_compose():
    return _rows(_data().map(transforms.Compose([transforms.TypeCast(ms.int32), transforms.Fill(7)]), "x"))


def case_repeat_take_skip():
    return _rows(_data().repeat(2)), _rows(_data().skip(1).take(2)), _data().skip(1).take(2).get_dataset_size()


def case_zip():
    other = ds.NumpySlicesDataset({"z": [7, 8, 9]}, shuffle=False)
    data = ds.zip((_data(), other))
    return _rows(data), data.get_col_names()


def case_concat():
    return _rows(_data() + _data()), _rows(_data().concat(_data()))


def case_filter():
    return _rows(_data().filter(lambda y: bool(y == 1), input_columns=["y"]))


def case_rename_and_project():
    data = _data().rename("x", "inputs").project(["y", "inputs"])
    return data.get_col_names(), _rows(data)


def case_split_in_order():
    one, two = _data().split([0.6, 0.4], randomize=False)
    return _rows(one), _rows(two)


def case_samplers():
    return [
        _rows(ds.NumpySlicesDataset((X, Y), ["x", "y"], sampler=sampler))
        for sampler in (
            ds.SequentialSampler(2, 2),
            ds.SubsetSampler([3, 0]),
            ds.DistributedSampler(2, 1, shuffle=False),
        )
    ]


def case_shuffle_keeps_all():
    seen = [row[1] for row in _rows(_data().shuffle(4))]
    return sorted(int(y) for y in seen)


def case_per_batch_map():
    def joined(xs, info):
        return ([x + info.get_batch_num() for x in xs],)

    return _rows(_data().batch(2, per_batch_map=joined, input_columns=["x"]))


def case_images():
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    return (
        vision.Rescale(1 / 255.0, 0.5)(image),
        vision.HWC2CHW()(image),
        vision.Normalize([1.0, 2.0, 3.0], [2.0, 2.0, 4.0])(image),
        vision.ToTensor()(image),
        vision.CenterCrop(2)(image),
        vision.Crop((0, 1), (2, 2))(image),
        vision.HorizontalFlip()(image),
        vision.Pad(1)(image),
    )


def case_an_unknown_column():
    return _rows(_data().map(lambda x: x, "z"))


def case_a_batch_of_none():
    return _data().batch(0)


def case_names_are_needed():
    return ds.GeneratorDataset(Source())


# ------------------------------------------------------------ training


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], np.float32)), name="w")

    def construct(self, x):
        return ops.matmul(x, self.w)


def _model(metrics=None):
    net = Net()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return net, train.Model(net, loss, nn.Momentum(net.trainable_params(), 0.05, 0.9), metrics=metrics)


def case_training_a_model():
    net, model = _model()
    model.train(2, _data().batch(2))
    return net.w


def case_evaluating_a_model():
    _, model = _model({"acc", "loss"})
    found = model.eval(_data().batch(2))
    return float(found["acc"]), float(found["loss"]), model.predict(Tensor(X))


def case_fitting_a_model():
    net, model = _model({"acc": train.Accuracy()})
    model.fit(2, _data().batch(2), _data().batch(5), callbacks=[train.LossMonitor()])
    return net.w


def case_events_of_training():
    seen = []

    class Log(train.Callback):
        def on_train_begin(self, run_context):
            seen.append("begin")

        def on_train_epoch_end(self, run_context):
            run = run_context.original_args()
            seen.append([run.cur_epoch_num, run.cur_step_num, run.batch_num, run.epoch_num, run.mode])

        def on_train_step_end(self, run_context):
            run = run_context.original_args()
            seen.append(float(run.net_outputs.asnumpy()))
            if run.cur_step_num == 4:
                run_context.request_stop()

        def on_train_end(self, run_context):
            seen.append("end")

    _, model = _model()
    model.train(5, _data().batch(2), callbacks=Log())
    return seen


def case_rates_by_a_callback():
    net, model = _model()
    history = train.History()
    model.train(2, _data().batch(3), [train.LearningRateScheduler(lambda lr, step: lr * 0.5), history])
    return net.w, sorted(history.history), len(history.history["net_output"])


def case_checkpoints_of_a_run():
    _, model = _model()
    config = train.CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=2)
    with tempfile.TemporaryDirectory() as folder:
        model.train(3, _data().batch(2), train.ModelCheckpoint("net", folder, config))
        files = sorted(f for f in os.listdir(folder) if f.endswith(".ckpt"))
        loaded = ms.load_checkpoint(os.path.join(folder, files[-1]))
    return files, loaded["w"], sorted(loaded)


def case_a_dataset_helper():
    return [[x.asnumpy() for x in row] for row in train.DatasetHelper(_data().batch(2), dataset_sink_mode=False)]


def case_epochs_that_are_none():
    _, model = _model()
    return model.train(0, _data().batch(2))


def case_eval_without_metrics():
    _, model = _model()
    return model.eval(_data().batch(2))
