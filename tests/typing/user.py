"""A user's typed program: `make check` reads it, with the types that the package ships."""

import numpy as np

import adjoint as ad
import adjoint.numpy as anp
from adjoint import nn, ops, optim
from adjoint.data import ArrayDataset
from adjoint.train import LossMonitor, Model


def loss(w: ad.Tensor, x: ad.Tensor) -> ad.Tensor:
    return ops.sum(ops.tanh(x @ w) ** 2) + anp.sin(w).sum()


@ad.jit
def step(w: ad.Tensor, x: ad.Tensor) -> ad.Tensor:
    return w - 0.1 * ad.grad(loss)(w, x)


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(2, 1)

    def construct(self, x: ad.Tensor) -> ad.Tensor:
        y: ad.Tensor = self.dense(x)
        return y


w, x = ad.Tensor([1.0, 2.0]), ad.Tensor(np.ones((3, 2)))
w = step(w, x)
print(w.shape, w.dtype, float(w[0]), (w + 1).asnumpy(), ops.Sin()(w))
print(ad.hvp(loss)(w, x, w), ad.vmap(ad.grad(loss), (None, 0))(w, x), ad.float32)
try:
    ad.jacobian(loss, 3)(w, x)
except ad.AdjointError as error:
    print(error)
net = Net()
optimiser = optim.Adam(net.trainable_params(), learning_rate=0.01)
model = Model(net, nn.MSELoss(), optimiser)
model.fit(1, ArrayDataset(np.ones((4, 2), "float32"), np.ones((4, 1), "float32")).batch(2), callbacks=[LossMonitor(0)])
