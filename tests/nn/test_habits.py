"""PyTorch's words on networks, optimisers, ops and Tensors: they work, or say what to write."""

import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim

X = ad.Tensor(np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))
A = X.asnumpy()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.drop = nn.Dropout(p=0.5)
        self.modules = nn.ModuleList([nn.Linear(8, 1, bias=False)])  # a layer may have the name of one of the methods
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        h = self.norm(self.drop(ops.leaky_relu(self.first(x), negative_slope=0.1)))
        return self.modules[0](h).view(x.shape[0]).sum(dim=-1, keepdim=True) / x.numel()


def test_a_loop_as_in_pytorch_and_the_same_by_gradients() -> None:
    def run(step):
        ad.set_seed(0)
        net = Net().train()
        return step(net, optim.Adam(net.parameters(), lr=0.1, betas=(0.8, 0.9), weight_decay=0.01)), net

    def by_backward(net, optimiser):
        for _ in range(3):
            optimiser.zero_grad()
            loss = (net(X) ** 2).mean()
            loss.backward()
            optimiser.step()
        return float(loss)

    def by_gradients(net, optimiser):
        forward = ad.value_and_grad(lambda x: (net(x) ** 2).mean(), None, weights=net.parameters())
        for _ in range(3):
            loss, grads = forward(X)
            optimiser(grads)
        return float(loss)

    (one, net), (other, same) = run(by_backward), run(by_gradients)
    assert one == pytest.approx(other, rel=1e-5)
    for (name, value), (_, other_value) in zip(net.state_dict().items(), same.state_dict().items(), strict=True):
        np.testing.assert_allclose(value.asnumpy(), other_value.asnumpy(), rtol=1e-4, atol=1e-6, err_msg=name)
    assert net.eval().training is False
    np.testing.assert_allclose(ad.jit(net)(X).asnumpy(), net(X).asnumpy(), atol=1e-6)


def test_parameters_leave_out_running_statistics() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == [
        "first.weight", "first.bias", "modules.0.weight", "norm.gamma", "norm.beta",
    ]  # fmt: skip
    assert len(list(net.buffers())) == 2 and len(list(net.children())) == 4
    assert set(net.state_dict()) == {n for n, _ in net.parameters_and_names()}
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())
    assert [type(c).__name__ for c in nn.Sequential(nn.ReLU(), nn.Tanh()).modules()] == [
        "SequentialCell",
        "ReLU",
        "Tanh",
    ]


def test_state_is_kept_and_put_back() -> None:
    net, other = nn.Linear(2, 1), nn.Linear(2, 1)
    kept = net.state_dict()
    net.weight.set_data(np.zeros((1, 2), np.float32))
    assert (other.load_state_dict(kept), other.weight.asnumpy().all()) == (([], []), True)
    with pytest.raises(ValueError, match="'bias' is missing\n  'more' is not one of its names"):
        net.load_state_dict({"weight": kept["weight"], "more": 1.0})
    with pytest.raises(ValueError, match=r"'weight' has shape \(1, 2\), the value \(2,\)"):
        net.load_state_dict({"weight": [1.0, 2.0]}, strict=False)
    assert not net.weight.asnumpy().any()  # nothing was loaded
    assert net.load_state_dict({"weight": kept["weight"]}, strict=False).missing_keys == ["bias"]


def test_frozen_parameters_stay_and_missing_gradients_are_named() -> None:
    w, v = ad.Parameter(ad.Tensor([1.0]), "w"), ad.Parameter(ad.Tensor([2.0]), "v", requires_grad=False)
    optimiser = optim.SGD([w, v], lr=0.5, momentum=0.9, weight_decay=0.1)
    with pytest.raises(ValueError, match="no gradient has reached w"):
        optimiser.step()
    (w * v).sum().backward()
    optimiser.step()
    assert w.item() == pytest.approx(1 - 0.5 * 2.1) and v.item() == 2.0
    assert optimiser.slots["accum"][1].item() == 0.0
    optimiser.zero_grad(set_to_none=False)
    assert w.grad.item() == 0.0


@pytest.mark.parametrize("compiled", [False, True])
def test_a_learning_rate_is_obeyed_at_once(compiled: bool) -> None:
    w = ad.Parameter(ad.Tensor([1.0]), "w")
    optimiser = optim.SGD([w], learning_rate=0.25)
    loss = lambda x: (w * x).sum()
    step = optim.compiled_step(loss, [w], optimiser) if compiled else None
    run = step or (lambda x: optimiser(ad.grad(loss, None, weights=[w])(x)))
    for rate in (0.25, 0.5, 1.0, 2.0):
        before = w.item()
        if rate == 0.5:
            optimiser.learning_rate = rate
        elif rate == 1.0:
            optimiser.param_groups[0]["lr"] *= 2
        elif rate == 2.0:
            optimiser.lr = lambda step: 2.0
        run(ad.Tensor([1.0]))
        assert before - w.item() == rate and optimiser.learning_rate == rate
    assert step is None or len(step.applying.compilations) == 1
    with pytest.raises(ValueError, match="learning_rate must be a number >= 0"):
        optimiser.learning_rate = -1.0


def test_state_of_an_optimiser() -> None:
    def make(rate):
        w = ad.Parameter(ad.Tensor([1.0]), "w")
        return optim.Adam([{"params": [w], "lr": rate}, {"params": [ad.Parameter(ad.Tensor([1.0]), "v")]}], lr=0.25)

    one, other = make(0.5), make(0.125)
    one((ad.Tensor([2.0]), ad.Tensor([1.0])))
    one.reduce_lr(0.5)
    other.load_state_dict(one.state_dict())
    assert other.learning_rate == [0.25, 0.125] and int(other.global_step) == 1
    for optimiser in (one, other):
        optimiser((ad.Tensor([2.0]), ad.Tensor([1.0])))
    assert one.slots["moment1"][0].item() == other.slots["moment1"][0].item()
    with pytest.raises(ValueError, match="'global_step' is missing"):
        other.load_state_dict({})
    pickle.loads(pickle.dumps(one))


@pytest.mark.parametrize(
    "ours, numpy",
    [
        (lambda x: x.sum(dim=0), A.sum(0)),
        (lambda x: ops.mean(x, dim=-1, keepdim=True), A.mean(-1, keepdims=True)),
        (lambda x: x.argmax(dim=1), A.argmax(1)),
        (lambda x: ops.cat([x, x], dim=1), np.concatenate([A, A], 1)),
        (lambda x: ops.stack([x, x], dim=1), np.stack([A, A], 1)),
        (lambda x: x.var(dim=0, unbiased=True), A.var(0, ddof=1)),
        (lambda x: x.std(dim=0, correction=0), A.std(0)),
        (lambda x: x.amax(dim=0), A.max(0)),
        (lambda x: x.cumsum(dim=0), A.cumsum(0)),
        (lambda x: ops.flip(x, dims=(0, 1)), A[::-1, ::-1]),
        (lambda x: ops.roll(x, 1, dims=0), np.roll(A, 1, 0)),
        (lambda x: x.unsqueeze(dim=0).squeeze(dim=0), A),
        (lambda x: ops.norm(x, p=2, dim=1), np.linalg.norm(A, 2, 1)),
        (lambda x: x.norm(p=2), np.linalg.norm(A)),
        (lambda x: x.norm(p=1), np.abs(A).sum()),
        (lambda x: ops.norm(x, p=3, dim=(0, 1), keepdim=True), (np.abs(A) ** 3).sum(keepdims=True) ** (1 / 3)),
        (lambda x: x.norm(p="fro"), np.linalg.norm(A)),
        (lambda x: x.norm(ord=2), np.linalg.norm(A, 2)),
        (lambda x: x.sum(1, True), A.sum(1, keepdims=True)),
        (lambda x: x.sort(dim=1, descending=True)[0], -np.sort(-A, 1)),
        (lambda x: x.chunk(2, dim=1)[1], A[:, 2:]),
        (lambda x: ops.topk(x, 1, axis=0)[0], A.max(0, keepdims=True)),
        (lambda x: ops.swapaxes(x, dim0=0, dim1=1), A.T),
        (lambda x: x.double().clone().contiguous() * x.shape[-1], A.astype(np.float64) * 4),
        (lambda x: nn.functional.softmax(x, dim=1).sum(dim=1), np.ones(3)),
    ],
)  # fmt: skip
def test_words_of_ops(ours, numpy) -> None:
    np.testing.assert_allclose(ours(X), numpy, rtol=1e-5)


def test_words_are_understood_in_every_mode() -> None:
    def f(x):
        return (
            ops.softmax(x, dim=1).sum(dim=0).mean(dim=0, keepdim=True) * x.shape[0] + x.var(dim=1, correction=1).sum()
        )

    np.testing.assert_allclose(ad.jit(f)(X).asnumpy(), f(X).asnumpy(), rtol=1e-5)
    ad.check_grads(f, ad.Tensor(A.astype(np.float64)))
    np.testing.assert_allclose(ad.vmap(lambda r: r.sum(dim=0))(X), A.sum(1), rtol=1e-5)


def test_size_is_a_number_as_in_numpy() -> None:
    """An int that could be called as well would not be a weak number to NumPy: float32 / x.size must stay float32."""
    assert type(X.size) is int and X.numel() == X.size == 12
    assert (X.sum() / X.size).dtype == (X.sum() / X.numel()).dtype == np.float32


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda: nn.Dense(3, 4, biass=True), "Dense: there is no argument 'biass'; did you mean has_bias="),
        (lambda: ops.sum(X, dims=0), "sum: there is no argument 'dims'; did you mean axis="),
        (lambda: X.mean(axes=0), "mean: there is no argument 'axes'; did you mean axis="),
        (lambda: optim.Adam([], learningrate=1.0), "Adam: there is no argument 'learningrate'; did you mean learning_rate="),
        (lambda: nn.BatchNorm2d(3, track_running_stats=True), "BatchNorm2d: there is no argument 'track_running_stats'"),
        (lambda: ops.sum(X, 0, dim=1), "dim= and axis= say the same"),
        (lambda: optim.SGD([], lr=0.1, learning_rate=0.1), "lr= and learning_rate= say the same"),
        (lambda: optim.Adam([], betas=(0.9, 0.99), beta1=0.9), "betas= and beta1= say the same"),
        (lambda: X.max(dim=0), r"the values are ops.amax\(x, axis\)"),
        (lambda: X.median(dim=0), "gives values and positions in PyTorch"),
        (lambda: X.std(dim=0), "say which: correction=1"),
        (lambda: X.transpose(dim0=0, dim1=1), "is ops.swapaxes"),
        (lambda: X.gather(1, ad.Tensor([[0]])), "is ops.gather_elements"),
        (lambda: nn.ReLU(inplace=True), "ReLU: there is no inplace="),
        (lambda: ops.relu(X, inplace=True), "there is no inplace="),
        (lambda: optim.SGD([], lr=0.1, maximize=True), "minimise the negative"),
    ],
)  # fmt: skip
def test_wrong_words_name_the_right_ones(wrong, message) -> None:
    with pytest.raises(TypeError, match=message):
        wrong()


def test_layers_with_pytorchs_arguments() -> None:
    assert nn.Conv2d(1, 2, 3, padding=1, bias=True)(ops.ones((1, 1, 5, 5))).shape == (1, 2, 5, 5)
    assert nn.Conv2d(1, 2, 3, padding=(0, 0, 2, 2))(ops.ones((1, 1, 5, 5))).shape == (1, 2, 3, 7)
    assert nn.Embedding(num_embeddings=3, embedding_dim=2)(ad.Tensor([0, 2])).shape == (2, 2)
    assert nn.LeakyReLU(negative_slope=0.5)(ad.Tensor([-2.0])).item() == -1.0
    assert nn.LayerNorm(4, eps=1e-5).epsilon == 1e-5 and nn.Softmax(dim=1).axis == 1
    exact, tanh = nn.GELU("none")(ad.Tensor([1.0])).item(), nn.GELU("tanh")(ad.Tensor([1.0])).item()
    assert (exact, tanh) == (pytest.approx(0.8413447, abs=1e-6), pytest.approx(0.841192, abs=1e-6))
    with pytest.raises(ValueError, match="approximate must be"):
        nn.GELU("fast")


def test_a_device_that_is_not_there_says_what_is() -> None:
    for ask in (lambda: X.to("cuda"), lambda: X.cuda(), lambda: nn.Linear(1, 1).to("cuda:0"), lambda: X.to("tpu")):
        with pytest.raises(ValueError, match="on this machine: JAX sees cpu"):
            ask()
    with pytest.raises(ValueError, match="a device is one of cpu, gpu, tpu"):
        X.to("mps")


def test_names_of_modules_are_hinted() -> None:
    for name, hint in (("zeros", "adjoint.ops.zeros"), ("tensor", "adjoint.Tensor"), ("manual_seed", "set_seed")):
        with pytest.raises(AttributeError, match=hint):
            getattr(ad, name)


@pytest.mark.parametrize("options", [{"keep_prob": 0.3}, {"keep_prob": 0.5}])
def test_dropout_takes_one_probability(options):
    with pytest.raises(ad.AdjointError, match="keep_prob is 1 - p: give one of them"):
        ad.nn.Dropout(p=0.6, **options)
    assert ad.nn.Dropout().p == ad.nn.Dropout(0.5).p == 0.5


@pytest.mark.parametrize(
    ("rank", "layer", "op"), [(1, nn.Conv1d, ops.conv1d), (2, nn.Conv2d, ops.conv2d), (3, nn.Conv3d, ops.conv3d)]
)
def test_padding_by_name(rank, layer, op) -> None:
    image = ad.Tensor(np.random.default_rng(0).standard_normal((1, 3, *[7] * rank)).astype(np.float32))
    for mode, size in (("same", 7), ("valid", 5)):
        named = layer(3, 4, 3, padding=mode)
        assert named(image).shape == (1, 4, *[size] * rank)
        np.testing.assert_array_equal(op(image, named.weight, padding=mode), op(image, named.weight, pad_mode=mode))
    with pytest.raises(ad.ArgumentError, match="padding='same' does not go with pad_mode='valid'"):
        layer(3, 4, 3, pad_mode="valid", padding="same")
    with pytest.raises(ad.ArgumentError, match="pad_mode='same' may be what is meant"):
        ops.conv_transpose2d(ops.ones((1, 2, 4, 4)), ops.ones((2, 2, 3, 3)), padding="same")


def test_betas_by_position_are_named() -> None:
    weight = ad.Parameter(ad.Tensor([1.0]), name="w")
    for kind in (optim.Adam, optim.AdamW, optim.Lamb):
        with pytest.raises(
            TypeError, match=r"beta1 is one number, not \(0\.9, 0\.99\); two together are given as betas="
        ):
            kind([weight], 1e-3, (0.9, 0.99))
