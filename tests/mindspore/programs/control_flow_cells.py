"""Branches and loops in the `construct` of Cells, what Cells keep, and what they give back."""

# ruff: noqa: F841

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

X = Tensor([0.5, -1.25, 2.0], ms.float32)
Y = Tensor([[1.5, 0.25, -0.75], [2.0, -0.5, 1.0]], ms.float32)
S = Tensor(1.75, ms.float32)


def of(net, *inputs, wrt=0):
    """What a network gives, and its gradients by inputs and by weights."""
    weights = net.trainable_params()
    if not weights:
        return net(*inputs), ms.grad(net, wrt)(*inputs)
    return net(*inputs), ms.grad(net, wrt, weights)(*inputs)


class Branching(nn.Cell):
    def __init__(self, start):
        super().__init__()
        self.w = Parameter(Tensor(start, ms.float32), name="w")

    def construct(self, x):
        if self.w.sum() > 1:
            return x * self.w
        elif x.max() > 3:
            return x + self.w
        return x * x * self.w


def case_branch_on_a_parameter():
    return [of(Branching([v, v, 0.5]), x) for v in (2.0, -1.0) for x in (X, X * 4)]


class Looping(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.5, 0.5, 1.25], ms.float32), name="w")

    def construct(self, x, n):
        i = 0
        while i < n:
            x = x * self.w + 1
            i += 1
        return x


def case_loop_with_a_parameter():
    return of(Looping(), X, 3), of(Looping(), X, Tensor(2))


class Layers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Branching([1.0, 1.5, 2.0]), Branching([0.1, 0.2, 0.3]), nn.ReLU()])

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def case_loop_over_a_cell_list():
    net = Layers()
    weights = net.trainable_params()
    return net(X), ms.grad(net, 0, weights)(X), len(net.layers), [p.name for p in weights]


class Indexed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.ReLU(), nn.Sigmoid(), nn.Tanh()])

    def construct(self, x):
        for i in range(len(self.layers)):
            x = self.layers[i](x) * (i + 1)
        for i, layer in enumerate(self.layers[1:]):
            x = x + layer(x) * i
        return x


def case_cell_list_by_index():
    return of(Indexed(), X)


class Flagged(nn.Cell):
    def __init__(self, flag, mode):
        super().__init__()
        self.flag = flag
        self.mode = mode

    def construct(self, x):
        if self.flag:
            x = x * 2
        if self.mode == "sum":
            return x.sum()
        elif self.mode == "mean":
            return x.mean()
        else:
            return x


def case_attributes_decide():
    return [of(Flagged(flag, mode), X) for flag in (True, False) for mode in ("sum", "mean", "none")]


class WithMethods(nn.Cell):
    factor = 3.0

    def __init__(self):
        super().__init__()
        self.activation = ops.ReLU()

    def scaled(self, x, by=None):
        by = self.factor if by is None else by
        return x * by

    @staticmethod
    def shifted(x):
        return x + 1

    def construct(self, x):
        y = self.scaled(x) + self.scaled(x, 2.0)
        return self.activation(self.shifted(y))


def case_methods_and_class_attributes():
    return of(WithMethods(), X)


class Base(nn.Cell):
    def construct(self, x):
        return x * 2


class Derived(Base):
    def construct(self, x):
        return super().construct(x) * x


def case_super_in_construct():
    return of(Derived(), X)


class Optional(nn.Cell):
    def construct(self, x, y=None, scale=2.0):
        if y is None:
            return x * scale
        return x * y * scale


def case_optional_inputs():
    net = Optional()
    return net(X), net(X, Y[0]), net(X, None, 3.0), ms.grad(net)(X), ms.grad(net, (0, 1))(X, Y[1])


class Outputs(nn.Cell):
    def construct(self, x):
        return x * 2, (x.sum(), [x, x + 1]), {"a": x * 3, "b": 2}, 5, 1.5, True, "text", None


def case_outputs_of_all_kinds():
    return Outputs()(X)


class Nothing(nn.Cell):
    def construct(self, x):
        y = x * 2


def case_a_cell_that_returns_nothing():
    return Nothing()(X)


class Shapes(nn.Cell):
    def construct(self, x):
        return x.shape, x.ndim, x.size, len(x), x.shape[0] * 2


def case_shapes_are_python_numbers():
    return Shapes()(Y)


class Raises(nn.Cell):
    def construct(self, x):
        if x.ndim != 2:
            raise ValueError(f"expected 2 axes, got {x.ndim}")
        return x * 2


def case_raise_in_construct():
    return Raises()(Y)


def case_raise_in_construct_is_raised():
    return Raises()(X)


class RaisesOnValues(nn.Cell):
    def construct(self, x):
        if x.sum() > 1:
            raise ValueError("the sum is too large")
        return x * 2


def case_raise_on_values():
    return of(RaisesOnValues(), -X)


def case_raise_on_values_is_raised():
    return RaisesOnValues()(X)


class Asserts(nn.Cell):
    def construct(self, x, n):
        assert n > 1, "n must be above 1"
        return x * n


def case_assert_holds():
    return of(Asserts(), X, 2)


def case_assert_fails():
    return Asserts()(X, 1)


class ByNumPy(nn.Cell):
    def construct(self, x):
        table = np.array([1.0, 2.0, 3.0], np.float32)
        return x * Tensor(table * 2) + Tensor(np.arange(3).astype(np.float32))


def case_numpy_constants_in_construct():
    return of(ByNumPy(), X)


class AsNumPy(nn.Cell):
    def construct(self, x):
        y = x.asnumpy()
        return Tensor(np.sort(y))


def case_asnumpy_in_construct():
    return AsNumPy()(X)


@ms.jit_class
class Scaler:
    bias = 0.5

    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return x * self.factor + self.bias

    def __call__(self, x):
        return self.apply(x) * 2


class UsesObject(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scaler = Scaler(3.0)

    def construct(self, x):
        return self.scaler.apply(x) + self.scaler(x) * self.scaler.factor


def case_objects_of_a_jit_class():
    return of(UsesObject(), X)


class MakesObject(nn.Cell):
    def construct(self, x):
        return Scaler(2.0).apply(x)


def case_a_jit_class_made_inside():
    return of(MakesObject(), X)


class Strings(nn.Cell):
    def construct(self, x, name):
        full = name + "_end"
        if full == "a_end" and name != "b":
            return x * 2
        return x * len(full)


def case_strings_decide():
    return of(Strings(), X, "a"), of(Strings(), X, "bcd")


class Types(nn.Cell):
    def construct(self, x, y):
        if isinstance(y, Tensor):
            return x * y
        if isinstance(y, (tuple, list)):
            return x * y[0]
        if isinstance(y, (int, float)) and not isinstance(y, bool):
            return x + y
        return x


def case_isinstance():
    net = Types()
    return [net(X, y) for y in (Y[0], (X, 2), [3.0], 4, 2.5, True)], ms.grad(net)(X, Y[0])


class HasAttributes(nn.Cell):
    def __init__(self):
        super().__init__()
        self.factor = 4.0

    def construct(self, x):
        if hasattr(self, "factor"):
            x = x * self.factor
        if not hasattr(self, "other"):
            x = x * getattr(self, "other", 0.5)
        return x


def case_getattr_and_hasattr():
    return of(HasAttributes(), X)


class Weights(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = Parameter(Tensor([1.0, 2.0, 3.0], ms.float32), name="a")
        self.b = Parameter(Tensor([0.5, 0.25, 4.0], ms.float32), name="b")
        self.both = ParameterTuple((self.a, self.b))

    def construct(self, x):
        for w in self.both:
            x = x * w
        return x


def case_loop_over_parameters():
    return of(Weights(), X)


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = 0

    def construct(self, x):
        self.count = self.count + 1
        return x * self.count


def case_an_attribute_changed_in_construct():
    net = Counting()
    return net(X), net(X), net.count
