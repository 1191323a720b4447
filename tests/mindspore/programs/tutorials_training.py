"""What MindSpore's tutorials on datasets, training, files, mixed precision and graphs do."""

import os
import struct
import tempfile

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore import dataset as ds
from mindspore import dtype as mstype
from mindspore.amp import DynamicLossScaler, all_finite, auto_mixed_precision
from mindspore.dataset import transforms, vision
from mindspore.mindrecord import FileWriter
from mindspore.train import Model


def numbers(*shape, start=0.0):
    return np.sin(np.arange(int(np.prod(shape))) * 1.7 + start).reshape(shape).astype(np.float32)


def dense(n, m, start):
    return nn.Dense(n, m, Tensor(numbers(m, n, start=start)), Tensor(numbers(m, start=start + 9)))


class Net(nn.Cell):
    def __init__(self, n=8):
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(dense(n, 5, 0), nn.ReLU(), dense(5, 3, 1))

    def construct(self, x):
        return self.layers(self.flatten(x))


def digits(count=7, side=28):
    """A folder with files as MNIST has them."""
    folder = tempfile.mkdtemp()
    pixels = (np.arange(count * side * side) * 37 % 251).astype(np.uint8)
    with open(os.path.join(folder, "train-images-idx3-ubyte"), "wb") as file:
        file.write(struct.pack(">IIII", 2051, count, side, side) + pixels.tobytes())
    with open(os.path.join(folder, "train-labels-idx1-ubyte"), "wb") as file:
        file.write(struct.pack(">II", 2049, count) + (np.arange(count) % 3).astype(np.uint8).tobytes())
    return folder


def pipeline(count=7, batch=3):
    images = [vision.Rescale(1.0 / 255.0, 0), vision.Normalize(mean=(0.13,), std=(0.31,)), vision.HWC2CHW()]
    data = ds.MnistDataset(digits(count), shuffle=False)
    return data.map(images, "image").map(transforms.TypeCast(ms.int32), "label").batch(batch)


# ---------------------------------------------------------------- datasets


def case_digits():
    data = ds.MnistDataset(digits(), shuffle=False)
    image, label = next(data.create_tuple_iterator())
    return data.get_col_names(), data.get_dataset_size(), image[9:11, 3:7], str(image.dtype), str(label.dtype)


def case_digits_in_batches():
    data = pipeline()
    named = [
        (d["image"].shape, str(d["image"].dtype), d["label"], str(d["label"].dtype))
        for d in data.create_dict_iterator()
    ]
    return named, data.get_dataset_size(), data.get_batch_size(), next(data.create_tuple_iterator())[0][:, :, 5, ::7]


def case_functions_of_arrays():
    def scaled(column):
        return ((column / 255.0 - 0.13) / 0.31).transpose(2, 0, 1).astype(np.float32)

    def small(column):
        return column.astype(np.int32)

    data = ds.MnistDataset(digits(), shuffle=False).map(operations=scaled, input_columns=["image"])
    data = data.map(operations=small, input_columns=["label"]).batch(4, drop_remainder=True)
    return [[(x.shape, str(x.dtype)) for x in row] for row in data], data.get_dataset_size()


class _ByPlace:
    def __getitem__(self, place):
        return np.full((2,), place), np.array([place / 2])

    def __len__(self):
        return 3


class _Counting:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __iter__(self):
        self.rest = iter(range(self.low, self.high))
        return self

    def __next__(self):
        return next(self.rest)


def _counted():
    yield from range(3, 6)


def case_sources_of_ones_own():
    sources = [
        (_ByPlace(), ["data", "label"]),
        ([np.array(0), np.array(5)], ["data"]),
        (_Counting(1, 4), ["data"]),
        (_counted, ["data"]),
    ]
    return [
        [list(row) for row in ds.GeneratorDataset(source, names, shuffle=False)] for source, names in sources[:2]
    ], [[list(row) for row in ds.GeneratorDataset(source, names)] for source, names in sources[2:]]


def case_functions_one_after_another():
    data = ds.GeneratorDataset([1, 2, 3], "data", shuffle=False).map(lambda x: x * 2)
    first = str(list(data.create_tuple_iterator()))
    return first, list(data.map(lambda x: x * x + 2).create_tuple_iterator())


def case_records():
    path = os.path.join(tempfile.mkdtemp(), "some.mindrecord")
    writer = FileWriter(file_name=path, shard_num=1, overwrite=True)
    schema = {"name": {"type": "string"}, "label": {"type": "int32"}, "data": {"type": "int32", "shape": [-1]}}
    writer.add_schema(schema, "a schema")
    for k in range(3):
        writer.write_raw_data([{"name": f"{k}.jpg", "label": k, "data": np.array([k] * (k + 1), np.int32)}])
    writer.commit()
    rows = ds.MindDataset(path, shuffle=False)
    return rows.get_col_names(), [[str(x) for x in row] for row in rows]


def case_pictures():
    image = (np.arange(35) * 7 % 251).astype(np.uint8).reshape(5, 7)
    scaled = vision.Rescale(1.0 / 255.0, 0)(image)
    normal = vision.Normalize(mean=(0.13,), std=(0.31,))(scaled)
    whole = transforms.Compose([vision.Rescale(1.0 / 255.0, 0), vision.HWC2CHW()])(image[:, :, None])
    return scaled, normal, vision.HWC2CHW()(normal[:, :, None]).shape, whole


def case_words():
    words = ds.GeneratorDataset(["to be or not to be"], "text").map(ds.text.PythonTokenizer(str.split))
    vocab = ds.text.Vocab.from_dataset(words)
    numbered = words.map(ds.text.Lookup(vocab))
    other = ds.text.Vocab.from_list(["a", "b"], special_tokens=["<pad>"], special_first=False)
    return (
        sorted(vocab.vocab().items()), list(numbered.create_tuple_iterator(output_numpy=True)), sorted(other.vocab().items()),
        other.tokens_to_ids(["b", "c"]), other.ids_to_tokens([0, 2]), ds.text.WhitespaceTokenizer()("x  y").tolist(),
    )  # fmt: skip


# ---------------------------------------------------------------- training


def _train_step(net, loss_fn, optimizer):
    def forward(data, label):
        logits = net(data)
        return loss_fn(logits, label), logits

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(data, label):
        (loss, _), grads = grad_fn(data, label)
        optimizer(grads)
        return loss

    return step


def case_a_loop():
    net, loss_fn = Net(784), nn.CrossEntropyLoss()
    step = _train_step(net, loss_fn, nn.SGD(net.trainable_params(), 1e-1))
    net.set_train()
    losses = [step(data, label) for _ in range(2) for data, label in pipeline().create_tuple_iterator()]
    net.set_train(False)
    correct = sum(int((net(data).argmax(1) == label).asnumpy().sum()) for data, label in pipeline())
    return losses, correct


def case_a_model():
    net = Net(784)
    model = Model(
        net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9), metrics={"accuracy", "loss"}
    )
    model.train(2, pipeline())
    return sorted(model.eval(pipeline()).items()), model.predict(Tensor(numbers(2, 784)))


def case_to_a_file_and_back():
    path = os.path.join(tempfile.mkdtemp(), "net.ckpt")
    ms.save_checkpoint(Net(), path)
    other = nn.SequentialCell(nn.Flatten(), nn.Dense(8, 5))
    found = ms.load_checkpoint(path)
    net = Net()
    left = ms.load_param_into_net(net, found)
    return (
        list(found),
        str(next(iter(found.values()))),
        left,
        ms.load_param_into_net(other, {})[0],
        net(Tensor(numbers(2, 8))),
    )


def case_a_graph_in_a_file():
    folder, x = tempfile.mkdtemp(), Tensor(numbers(1, 1, 2, 4))
    ms.set_context(mode=ms.GRAPH_MODE, jit_syntax_level=ms.STRICT)
    try:
        ms.export(Net(), x, file_name=os.path.join(folder, "net"), file_format="MINDIR")
        return nn.GraphCell(ms.load(os.path.join(folder, "net.mindir")))(x)
    finally:
        ms.set_context(jit_syntax_level=ms.LAX)


# ---------------------------------------------------------------- mixed precision


def case_levels():
    x = Tensor(numbers(2, 8))
    found = [auto_mixed_precision(Net(), level)(x) for level in ("O0", "O1", "O2", "O3")]
    return [str(y.dtype) for y in found], [y.astype(ms.float16) for y in found]


def case_by_hand():
    net = Net()
    for k in (0, 2):
        net.layers[k].to_float(ms.float16)
    y = net(Tensor(numbers(2, 8)))
    return y.astype(ms.float16), str(y.dtype)


def case_a_loss_that_is_scaled():
    net, loss_fn = auto_mixed_precision(Net(), "O2"), nn.CrossEntropyLoss()
    optimizer, scaler = (
        nn.SGD(net.trainable_params(), 1e-2),
        DynamicLossScaler(scale_value=2**10, scale_factor=2, scale_window=3),
    )

    def forward(data, label):
        logits = net(data)
        return scaler.scale(loss_fn(logits, label)), logits

    grad_fn = ms.value_and_grad(forward, None, net.trainable_params(), has_aux=True)

    @ms.jit
    def step(data, label):
        (loss, _), grads = grad_fn(data, label)
        loss = scaler.unscale(loss)
        finite = all_finite(grads)
        if finite:
            grads = scaler.unscale(grads)
            optimizer(grads)
        scaler.adjust(finite)
        return loss

    data, label = Tensor(numbers(4, 8)), Tensor([0, 2, 1, 0], ms.int32)
    losses = [step(data, label).astype(ms.float16) for _ in range(4)]
    return losses, scaler.scale_value.asnumpy(), scaler.counter.asnumpy()


# ---------------------------------------------------------------- graphs


class _Jitted(Net):
    @ms.jit
    def construct(self, x):
        return self.layers(self.flatten(x))


def _run(x):
    return Net()(x)


def case_graphs_in_several_ways():
    x = Tensor(numbers(3, 2, 4))
    return _Jitted()(x), ms.jit(_run)(x), Net()(x)


def case_names_of_inputs():
    x = Tensor(numbers(2, 3, 4))
    return ops.ReduceSum(True)(x, axis=2).shape, ops.ReduceMax()(x, axis=(0, 1))


class _Stored(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(3, mstype.float32), name="w")

    @ms.jit
    def construct(self, x):
        self.weight = x
        return x


def case_a_number_into_a_parameter():
    net = _Stored()
    return net(4), net.weight.asnumpy()
