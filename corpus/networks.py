"""Networks: Cells with Parameters, recurrent cells over sequences, attention, normalisation, lists of layers."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from adjoint import ops
from corpus.program import program

SEQUENCE = [[0.2, 0.9], [0.5, -0.4], [-0.7, 0.3]]


def weights(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape) * 0.5


class Dense(ad.nn.Cell):
    """One layer, with an optional activation."""

    def __init__(self, inputs, outputs, activation=None, seed=0):
        super().__init__()
        self.weight = ad.Parameter(ad.Tensor(weights(inputs, outputs, seed=seed)))
        self.bias = ad.Parameter(ad.Tensor(weights(outputs, seed=seed + 1)))
        self.activation = activation

    def construct(self, x):
        y = ops.matmul(x, self.weight) + self.bias
        if self.activation is not None:
            y = self.activation(y)
        return y


class Mlp(ad.nn.Cell):
    """Cells in attributes and in a Python list."""

    def __init__(self):
        super().__init__()
        self.first = Dense(2, 3, ops.tanh, seed=2)
        self.second = Dense(3, 2, ops.sigmoid, seed=3)
        self.layers = [self.first, self.second]

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Gate(ad.nn.Cell):
    """Its path depends on a value."""

    def __init__(self):
        super().__init__()
        self.dense = Dense(2, 2, seed=5)
        self.scale = ad.Parameter(ad.Tensor(np.array(0.7)))

    def construct(self, x):
        if x.sum() > 0:
            return self.dense(x) * self.scale
        return ops.exp(x) + self.scale


class Repeat(ad.nn.Cell):
    """Repeats its layer until the state is small."""

    def __init__(self):
        super().__init__()
        self.dense = Dense(2, 2, ops.tanh, seed=7)

    def construct(self, x, limit=0.4):
        rounds = 0
        while ops.norm(x) > limit and rounds < 6:
            x = self.dense(x) * 0.6
            rounds += 1
        return x


DENSE, MLP, GATE, REPEAT = Dense(2, 3, ops.sin), Mlp(), Gate(), Repeat()


@program([0.3, -0.8], traced=True)
def dense_cell(x):
    return DENSE(x)


@program([[0.3, -0.8], [0.5, 0.1]], traced=True)
def mlp_of_cells(x):
    return MLP(x)


@program([0.9, -0.3], also=(([-0.9, -0.3],),))
def cell_with_branch(x):
    return GATE(x)


@program([0.9, -0.3], also=(([0.1, 0.2],),))
def cell_with_while(x):
    return REPEAT(x)


@program(0.7, traced=True)
def parameter_as_constant(s):
    return (DENSE.weight * s).sum() + ops.sin(GATE.scale * s)


@program({"w1": [[0.3, 0.5], [-0.2, 0.7]], "b1": [0.1, -0.1], "w2": [0.8, -0.6]}, [0.4, 0.9], traced=True)
def mlp_from_dict(p, x):
    hidden = ops.tanh(x @ p["w1"] + p["b1"])
    return ops.dot(hidden, p["w2"])


@program([0.4, 0.9], [[0.3, 0.5], [-0.2, 0.7]], traced=True)
def layers_in_list(x, w):
    layers = [(w, ops.tanh), (w.T, ops.relu), (w @ w, None)]
    for matrix, activation in layers:
        x = x @ matrix
        x = activation(x + 0.1) if activation else x
    return x


@program(SEQUENCE, [[0.3, 0.5], [-0.2, 0.7]], traced=True)
def rnn_over_sequence(xs, w):
    h = ops.zeros(2, ad.float64)
    for x in xs:
        h = ops.tanh(x + h @ w)
    return h


@program(SEQUENCE, [0.1, -0.2], traced=True)
def lstm_over_sequence(xs, h):
    w, u = weights(2, 8, seed=11), weights(2, 8, seed=12)
    c = ops.zeros_like(h)
    for t in range(len(xs)):
        gates = xs[t] @ w + h @ u
        i, f, o = ops.sigmoid(gates[:2]), ops.sigmoid(gates[2:4]), ops.sigmoid(gates[4:6])
        c = f * c + i * ops.tanh(gates[6:])
        h = o * ops.tanh(c)
    return h * c


@program(SEQUENCE, [0.1, -0.2], traced=True)
def gru_collecting_states(xs, h):
    w, u = weights(2, 6, seed=13), weights(2, 6, seed=14)
    states = []
    for x in xs:
        a, b = x @ w, h @ u
        z, r = ops.sigmoid(a[:2] + b[:2]), ops.sigmoid(a[2:4] + b[2:4])
        h = (1 - z) * ops.tanh(a[4:] + r * b[4:]) + z * h
        states.append(h)
    return ops.stack(states)


@program(SEQUENCE, also=(([[0.2, 0.9], [3.5, 0.4], [-0.7, 0.3]],),))
def rnn_with_early_stop(xs):
    h = np.zeros(2)
    for x in xs:
        h = ops.tanh(0.5 * h + x)
        if h[0] > 0.9:
            break
    return h * 2


@program(SEQUENCE, traced=True)
def rnn_with_mask(xs):
    keep = [True, False, True]
    h = np.zeros(2)
    for x, kept in zip(xs, keep):
        h = ops.tanh(0.5 * h + x) if kept else h
    return h


@program([[0.2, 0.9], [0.5, -0.4]], SEQUENCE, traced=True)
def attention(q, kv):
    scores = q @ kv.T / np.sqrt(2.0)
    return ops.softmax(scores, -1) @ kv


@program(SEQUENCE, traced=True)
def causal_attention_by_loops(x):
    rows = []
    for t in range(3):
        scores = ops.stack([ops.dot(x[t], x[s]) for s in range(t + 1)])
        share = ops.softmax(scores)
        rows.append(sum(share[s] * x[s] for s in range(t + 1)))
    return ops.stack(rows)


@program([[0.2, 0.9, 0.4, -0.3], [0.5, -0.4, 0.1, 0.8]], traced=True)
def multi_head_attention(x):
    heads = x.reshape(2, 2, 2).transpose(1, 0, 2)
    scores = ops.matmul(heads, heads.transpose(0, 2, 1))
    mixed = ops.matmul(ops.softmax(scores, -1), heads)
    return mixed.transpose(1, 0, 2).reshape(2, 4)


@program([[0.2, 0.9, 0.4], [0.5, -0.4, 0.1]], [1.1, 0.9, 0.8], traced=True)
def layer_norm(x, gain):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return gain * (x - mean) / ops.sqrt(variance + 1e-3)


@program([[0.2, 0.9], [0.5, -0.4]], traced=True)
def batch_norm_by_mode(x, training=True):
    if training:
        mean, var = x.mean(0), x.var(0)
    else:
        mean, var = 0.0, 1.0
    return ((x - mean) / ops.sqrt(var + 0.1)) ** 3


@program([[0.2, 0.9], [0.5, -0.4]], traced=True)
def residual_blocks(x):
    for k in range(3):
        x = x + ops.gelu(x @ weights(2, 2, seed=20 + k))
    return x


@program([[0.2, 0.9, -0.1], [0.5, -0.4, 0.3]], traced=True)
def cross_entropy(logits):
    labels = np.array([1, 0])
    return -ops.log_softmax(logits, -1)[np.arange(2), labels].mean()


@program([0.4, -0.7], traced=True)
def per_example_gradients(w):
    xs, ys = np.array([[0.3, 0.5], [1.0, -0.2]]), np.array([0.1, 0.4])
    loss = lambda w, x, y: (ops.tanh(ops.dot(w, x)) - y) ** 2  # noqa: E731
    return ad.vmap(ad.grad(loss), in_axes=(None, 0, 0))(w, xs, ys)


@program([0.4, -0.7], also=(([4.0, -7.0],),))
def clipped_gradient_step(w):
    g = ad.grad(lambda v: (v**4).sum() / 4)(w)
    norm = ops.norm(g)
    if norm > 1:
        g = g / norm
    return w - 0.1 * g


@program([0.4, -0.7], traced=True)
def maml_inner_loop(w):
    def task_loss(v, shift):
        return ((ops.sin(v) - shift) ** 2).sum()

    total = 0.0
    for shift in (0.1, 0.5):
        fast = w
        for _ in range(2):
            fast = fast - 0.1 * ad.grad(task_loss)(fast, shift)
        total = total + task_loss(fast, -shift)
    return total


@program([0.4, -0.7, 0.2], traced=True)
def physics_informed_residual(w):
    def u(t):
        return w[0] * ops.tanh(w[1] * t) + w[2] * t

    total = 0.0
    for t in (0.2, 0.6, 1.0):
        total = total + (ad.grad(u)(t) + u(t) ** 2) ** 2
    return total


@program(0.3, 0.8, traced=True)
def mixture_of_experts(x, gate):
    experts = [ops.sin, ops.exp, lambda v: v * v]
    scores = ops.softmax(ops.stack([gate * x, x + gate, -gate]))
    return sum(s * e(x) for s, e in zip(scores, experts))


@program([0.3, 0.8, 0.5], also=(([0.9, 0.8, 0.5],), ([0.3, 0.2, 0.5],)))
def hard_routing(x):
    k = ops.argmax(x)
    if k == 0:
        return ops.sin(x).sum()
    elif k == 1:
        return ops.exp(x).prod()
    return (x**3).sum()


@program([0.3, 0.8], [0.5, 0.2], traced=True)
def normalizing_flow(z, u):
    log_det = 0.0
    for k in range(3):
        h = ops.tanh(ops.dot(u, z) + k)
        log_det = log_det + ops.log(1 + ops.dot(u, u) * (1 - h**2) * 0.5)
        z = z + 0.5 * u * h
    return log_det - 0.5 * (z**2).sum()
