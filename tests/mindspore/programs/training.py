"""Steps of training: Cells around networks, optimizers inside functions, in both modes."""

import mindspore as ms
import mindspore.ops.functional as F
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.nn.wrap.cell_wrapper import TrainOneStepCell, WithLossCell
from mindspore.ops import composite as C

X = np.cos(np.arange(12)).reshape(4, 3).astype(np.float32)
Y = np.sin(np.arange(8)).reshape(4, 2).astype(np.float32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.linspace(-1, 1, 6).reshape(3, 2).astype(np.float32)), name="w")
        self.b = Parameter(Tensor(np.array([0.3, -0.2], np.float32)), name="b")

    def construct(self, x):
        return ops.tanh(ops.matmul(x, self.w) + self.b)


def _values(net):
    return {p.name: Tensor(p.asnumpy()) for p in net.get_parameters()}


def case_with_loss():
    cell = nn.WithLossCell(Net(), nn.MSELoss())
    return cell(Tensor(X), Tensor(Y)), [p.name for p in cell.trainable_params()], cell.backbone_network(Tensor(X))


def case_with_eval():
    return nn.WithEvalCell(Net(), nn.MSELoss())(Tensor(X), Tensor(Y))


def case_with_grad():
    return nn.WithGradCell(Net(), nn.MSELoss())(Tensor(X), Tensor(Y))


def case_with_grad_and_sens():
    return nn.WithGradCell(Net(), nn.MSELoss(), Tensor(2.0, ms.float32))(Tensor(X), Tensor(Y))


def case_forward_value_and_grad():
    net = WithLossCell(Net(), nn.MSELoss())
    weights = ParameterTuple(net.trainable_params())
    both = nn.ForwardValueAndGrad(net, weights, get_all=True, get_by_list=True)(Tensor(X), Tensor(Y))
    return both, nn.ForwardValueAndGrad(net)(Tensor(X), Tensor(Y))


def case_forward_value_and_grad_with_sens():
    net = WithLossCell(Net(), nn.MSELoss())
    found = nn.ForwardValueAndGrad(net, net.trainable_params(), get_by_list=True, sens_param=True)
    return found(Tensor(X), Tensor(Y), Tensor(3.0, ms.float32))


def case_train_one_step():
    net = Net()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.3, 0.9))
    step.set_train()
    losses = [step(Tensor(X), Tensor(Y)) for _ in range(3)]
    return losses, _values(net)


def case_train_one_step_with_sens():
    net = Net()
    opt = nn.SGD(net.trainable_params(), 0.3)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), opt, sens=8.0)
    return [step(Tensor(X), Tensor(Y)) for _ in range(2)], _values(net)


def case_train_one_step_that_returns_gradients():
    net = Net()
    opt = nn.Adam(net.trainable_params(), 0.1)
    return nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), opt, return_grad=True)(Tensor(X), Tensor(Y))


def case_a_step_of_ones_own():
    class Step(TrainOneStepCell):
        def __init__(self, network, optimizer, sens=2.0):
            super().__init__(network, optimizer, sens)
            self.hyper_map = C.HyperMap()

        def construct(self, x, y):
            weights = self.weights
            loss = self.network(x, y)
            sens = ops.ones_like(loss) * self.sens
            grads = self.grad(self.network, weights)(x, y, sens)
            grads = self.grad_reducer(grads)
            return F.depend(loss, self.optimizer(grads))

    net = Net()
    step = Step(WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.2, 0.5))
    step.set_train(True)
    return [step(Tensor(X), Tensor(Y)) for _ in range(2)], _values(net)


def case_a_step_from_grad_operation():
    class Step(nn.Cell):
        def __init__(self, network, optimizer):
            super().__init__(auto_prefix=False)
            self.network = network
            self.optimizer = optimizer
            self.weights = ParameterTuple(network.trainable_params())
            self.grad = ops.GradOperation(get_by_list=True)

        def construct(self, *inputs):
            loss = self.network(*inputs)
            grads = self.grad(self.network, self.weights)(*inputs)
            self.optimizer(grads)
            return loss

    net = Net()
    step = Step(WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.05))
    return [step(Tensor(X), Tensor(Y)) for _ in range(3)], _values(net)


def _forward(net):
    loss_fn = nn.MSELoss()

    def forward(x, y):
        logits = net(x)
        return loss_fn(logits, y), logits

    return forward


def case_a_function_as_step():
    net = Net()
    opt = nn.SGD(net.trainable_params(), 0.4)
    grad_fn = ms.value_and_grad(_forward(net), None, opt.parameters, has_aux=True)

    def step(x, y):
        (loss, _), grads = grad_fn(x, y)
        opt(grads)
        return loss

    return [step(Tensor(X), Tensor(Y)) for _ in range(3)], _values(net)


def case_a_compiled_function_as_step():
    net = Net()
    opt = nn.Adam(net.trainable_params(), 0.1, weight_decay=0.01)
    grad_fn = ms.value_and_grad(_forward(net), None, opt.parameters, has_aux=True)

    @ms.jit
    def step(x, y):
        (loss, _), grads = grad_fn(x, y)
        loss = ops.depend(loss, opt(grads))
        return loss

    return [step(Tensor(X), Tensor(Y)) for _ in range(3)], _values(net), opt.global_step + 0


def case_a_compiled_step_with_changing_rates():
    net = Net()
    opt = nn.Momentum(net.trainable_params(), nn.ExponentialDecayLR(0.5, 0.5, 1), 0.9)
    grad_fn = ms.value_and_grad(_forward(net), None, opt.parameters, has_aux=True)

    @ms.jit
    def step(x, y):
        (loss, _), grads = grad_fn(x, y)
        opt(grads)
        return loss

    return [step(Tensor(X), Tensor(Y)) for _ in range(3)], _values(net)


def case_accumulated_gradients():
    net = Net()
    opt = nn.SGD(net.trainable_params(), 0.4)
    sums = opt.parameters.clone(prefix="sums", init="zeros")
    grad_fn = ms.value_and_grad(_forward(net), None, opt.parameters, has_aux=True)
    add = ops.HyperMap()

    def collect(x, y):
        (loss, _), grads = grad_fn(x, y)
        add(ops.assign_add, sums, grads)
        return loss

    losses = [collect(Tensor(X[k : k + 2]), Tensor(Y[k : k + 2])) for k in (0, 2)]
    opt(sums)
    return losses, _values(net)


def case_clipped_gradients():
    net = Net()
    opt = nn.SGD(net.trainable_params(), 1.0)
    grads = ms.grad(WithLossCell(net, nn.MSELoss()), None, opt.parameters)(Tensor(X), Tensor(Y))
    opt(ops.clip_by_global_norm(grads, 0.1))
    return _values(net)


def case_parameters_that_are_frozen():
    net = Net()
    net.b.requires_grad = False
    step = nn.TrainOneStepCell(WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.5))
    step(Tensor(X), Tensor(Y))
    return _values(net), [p.name for p in net.trainable_params()]


def case_a_network_without_a_loss_function():
    class Whole(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Net()

        def construct(self, x, y):
            return ops.reduce_mean(ops.abs(self.inner(x) - y))

    net = Whole()
    step = nn.TrainOneStepCell(net, nn.RMSProp(net.trainable_params(), 0.01))
    return step(Tensor(X), Tensor(Y)), _values(net)


def case_a_loss_of_several_elements():
    net = Net()
    step = nn.TrainOneStepCell(WithLossCell(net, nn.MSELoss(reduction="none")), nn.SGD(net.trainable_params(), 0.05))
    return step(Tensor(X), Tensor(Y)), _values(net)


def case_parts_of_a_batch():
    net = nn.MicroBatchInterleaved(WithLossCell(Net(), nn.MSELoss()), 2)
    return net(Tensor(X), Tensor(Y)), nn.PipelineCell(WithLossCell(Net(), nn.MSELoss()), 4)(Tensor(X), Tensor(Y))


def case_an_update_of_a_parameter():
    p = Parameter(Tensor([1.0, 2.0], ms.float32), name="p")
    update = nn.ParameterUpdate(p)
    return update(Tensor([3.0, 4.0], ms.float32)), p


def case_the_scale_of_a_loss():
    scale = Parameter(Tensor(16.0, ms.float32), name="scale")
    update = nn.DynamicLossScaleUpdateCell(16.0, 2, 3)
    seen = []
    for overflow in (False, True, False, False, False, True):
        update(scale, Tensor(overflow))
        seen.append(Tensor(scale.asnumpy()))
    return seen, update.get_loss_scale(), nn.FixedLossScaleUpdateCell(4.0).get_loss_scale()


def case_sens_of_zero():
    net = Net()
    return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params()), sens=0)


def case_a_scale_that_is_no_tensor():
    net = Net()
    return nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params()), 1024)


def case_weights_that_are_missing():
    return nn.ForwardValueAndGrad(Net(), get_by_list=True)


def case_no_network():
    return nn.ForwardValueAndGrad(3)
