"""Containers as inputs of networks that take gradients: in GRAPH mode only `mutable` ones have any."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.ops import composite as C

by_all = C.GradOperation(get_all=True)


def tensor(*values, dtype=np.float32):
    return Tensor(np.array(values, dtype))


class OfPair(nn.Cell):
    def construct(self, pair, y):
        return pair[0] * pair[1] * y


class ByAll(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net, self.grad = net, by_all

    def construct(self, *inputs):
        return self.grad(self.net)(*inputs)


def case_pair_as_an_input_of_a_cell():
    return ByAll(OfPair())((tensor(2.0), tensor(3.0)), tensor(5.0))


def case_list_as_an_input_of_a_cell():
    return ByAll(OfPair())([tensor(2.0), tensor(3.0)], tensor(5.0))


def case_mutable_pair_as_an_input_of_a_cell():
    return ByAll(OfPair())(ms.mutable((tensor(2.0), tensor(3.0))), tensor(5.0))


def case_pair_made_in_a_cell():
    class Making(nn.Cell):
        def __init__(self):
            super().__init__()
            self.net, self.grad = OfPair(), by_all

        def construct(self, x, y):
            return self.grad(self.net)((x, x * 3), y)

    return Making()(tensor(2.0), tensor(5.0))


def case_dict_as_an_input_of_a_cell():
    class OfDict(nn.Cell):
        def construct(self, named, y):
            return named["a"] * named["b"] * y

    return ByAll(OfDict())({"a": tensor(2.0), "b": tensor(3.0)}, tensor(5.0))


def case_containers_given_back():
    class Same(nn.Cell):
        def construct(self, pair, items):
            return pair, items, len(pair) + len(items)

    return Same()((tensor(2.0), (tensor(3.0), 4)), [tensor(5.0)])


def case_containers_put_together():
    class Joined(nn.Cell):
        def construct(self, pair, items):
            last = (items[0],)
            first, *rest = pair + last
            total = first
            for x in rest:
                total = total * x
            items.append(total)
            return total, items[-1], pair[::-1]

    return Joined()((tensor(2.0), tensor(3.0)), [tensor(5.0)])
