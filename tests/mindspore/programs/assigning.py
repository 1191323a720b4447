"""Stores in Parameters inside functions and networks: what is read when, what is left, and the gradients."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.ops import operations as P

from mindspore_cases import right

X = Tensor(np.array([1.5, -0.5, 2.0], np.float32))
TWICE = "the reads before a store take part in the gradient with the new value"


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([2.0, 3.0, -1.0], np.float32)), name="w")
        self.count = Parameter(Tensor(0, ms.int32), name="count", requires_grad=False)
        self.assign = P.Assign()
        self.assign_add = P.AssignAdd()
        self.assign_sub = P.AssignSub()


def both(net, x=X):
    """The gradients by the input and the weights, and what the weights are afterwards."""
    by_x, by_w = ms.grad(net, 0, net.trainable_params())(x)
    return by_x, by_w, net.w.asnumpy(), net.count.asnumpy()


def forward(net, x=X, times=1):
    out = [net(x) for _ in range(times)]
    return [y.asnumpy().copy() for y in out[-1:]], net.w.asnumpy(), net.count.asnumpy()


class Between(Net):
    def construct(self, x):
        y = self.w * x
        self.assign(self.w, x * x)
        return y + self.w * x


def case_reads_before_and_after():
    return forward(Between(), times=2)


@right(TWICE, ([4.25, 3.25, 3.0], [3.0, -1.0, 4.0], [2.25, 0.25, 4.0], 0), modes=("pynative",))
def case_gradient_of_reads_before_and_after():
    by_x, by_w, w, count = both(Between())
    return by_x.asnumpy().tolist(), by_w[0].asnumpy().tolist(), w.tolist(), int(count)


class Attribute(Net):
    def construct(self, x):
        self.w = self.w + x
        return self.w * self.w * x


def case_an_attribute_is_assigned():
    return forward(Attribute(), times=3)


def case_gradient_when_an_attribute_is_assigned():
    return both(Attribute())


class Augmented(Net):
    def construct(self, x):
        self.w += x
        self.w *= x
        return self.w * x


def case_an_attribute_is_augmented():
    return forward(Augmented())


def case_gradient_when_an_attribute_is_augmented():
    return both(Augmented())


class Element(Net):
    def construct(self, x):
        self.w[1] = x[0]
        return self.w * x


def case_an_element_is_assigned():
    return forward(Element())


def case_gradient_when_an_element_is_assigned():
    return both(Element())


class Counter(Net):
    def construct(self, x):
        self.assign_add(self.count, 1)
        return x * self.w


def case_a_counter_counts_calls():
    return forward(Counter(), times=4)


def case_a_counter_counts_gradients():
    net = Counter()
    both(net)
    return both(net)


class SumReturned(Net):
    def construct(self, x):
        return self.assign_add(self.w, x * x) * x


def case_the_sum_that_assign_add_returns():
    return forward(SumReturned(), times=2)


def case_gradient_of_the_sum_that_assign_add_returns():
    return both(SumReturned())


class DifferenceReturned(Net):
    def construct(self, x):
        return self.assign_sub(self.w, x * 3) * x


def case_gradient_of_the_difference_that_assign_sub_returns():
    return both(DifferenceReturned())


class ValueReturned(Net):
    def construct(self, x):
        return self.assign(self.w, x * 3) * x


def case_gradient_of_what_assign_returns():
    return both(ValueReturned())


class InBranch(Net):
    def construct(self, x):
        if x.sum() > 1:
            self.w = x * 2
        else:
            self.w = x * 5
        return self.w * x


def case_a_store_in_each_branch():
    return forward(InBranch()), forward(InBranch(), -X)


def case_gradient_of_a_store_in_each_branch():
    return both(InBranch()), both(InBranch(), -X)


class InOneBranch(Net):
    def construct(self, x):
        if x.sum() > 1:
            self.assign(self.w, x * 2)
        return self.w * x


def case_a_store_in_one_branch():
    return forward(InOneBranch()), forward(InOneBranch(), -X)


def case_gradient_of_a_store_in_one_branch():
    return both(InOneBranch()), both(InOneBranch(), -X)


class InWhile(Net):
    def construct(self, x):
        i = x.sum() * 0
        while i < 3:
            self.assign_add(self.w, x)
            i = i + 1
        return self.w * x


def case_a_store_in_a_while_loop():
    return forward(InWhile())


@right(
    "a store in a loop is differentiated through",
    ([6.5, 1.5, 5.0], [1.5, -0.5, 2.0], [6.5, 1.5, 5.0]),
    modes=("graph",),
)
def case_gradient_of_a_store_in_a_while_loop():
    by_x, by_w, w, _ = both(InWhile())
    return by_x.asnumpy().tolist(), by_w[0].asnumpy().tolist(), w.tolist()


class InFor(Net):
    def construct(self, x):
        total = x * 0
        for _ in range(3):
            self.w = self.w + x
            total = total + self.w
        return total


def case_a_store_in_a_for_loop():
    return forward(InFor())


def case_gradient_of_a_store_in_a_for_loop():
    return both(InFor())


class Twice(Net):
    def construct(self, x):
        ops.assign(self.w, x)
        y = self.w * 2
        ops.assign(self.w, y)
        return self.w + y


def case_two_stores_in_order():
    return forward(Twice())


class Inner(nn.Cell):
    def __init__(self, w):
        super().__init__()
        self.w = w

    def construct(self, x):
        ops.assign(self.w, x + 10)
        return self.w * 1


class Outer(Net):
    def __init__(self):
        super().__init__()
        self.inner = Inner(self.w)

    def construct(self, x):
        y = self.w * 1
        z = self.inner(x)
        return y + z + self.w


def case_a_store_in_a_cell_inside():
    return forward(Outer())


class Depends(Net):
    def construct(self, x):
        done = self.assign(self.w, x)
        x = ops.depend(x, done)
        return self.w * x


def case_depend_keeps_the_order():
    return forward(Depends())


def case_a_compiled_function_with_a_parameter_of_no_cell():
    w = Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="weight_of_no_cell")

    @ms.jit
    def stepped(x):
        ops.assign_add(w, x)
        return w * x

    x = Tensor(np.array([0.5, -1.5], np.float32))
    first = stepped(x).asnumpy().copy()
    return first, stepped(x), w.asnumpy()


@right(
    "a store is differentiated through, where it is compiled",
    ([1.5, 0.5], [0.5, -1.5], [1.5, 0.5]),
    modes=("pynative",),
)
def case_gradient_of_a_compiled_function_with_a_store():
    w = Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="weight_of_no_cell")

    @ms.jit
    def stepped(x):
        ops.assign_add(w, x)
        return w * x

    x = Tensor(np.array([0.5, -1.5], np.float32))
    by_x, by_w = ms.grad(stepped, 0, w)(x)
    return by_x.asnumpy().tolist(), by_w.asnumpy().tolist(), w.asnumpy().tolist()


def case_gradient_of_a_function_with_a_store():
    w = Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="w")

    def f(x):
        ops.assign(w, x * x)
        return (w * x).sum()

    return ms.grad(f, 0, w)(Tensor(np.array([0.5, -1.5], np.float32))), w.asnumpy()


def case_value_and_grad_stores_once():
    net = Counter()
    value, _ = ms.value_and_grad(net, None, net.trainable_params())(X)
    return value, net.count.asnumpy()


def case_second_derivative_of_a_counter():
    net = Counter()

    def f(x):
        return (net(x) * x * x).sum()

    return ms.grad(ms.grad(f))(X), net.w.asnumpy()


# ---------------------------------------------------------------- dtypes, shapes, misuse


def case_integers_are_converted():
    w = Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="w")
    return ops.assign(w, Tensor([3, 4])), ops.assign_add(w, Tensor([1.5, 1.0], ms.float16)), w.asnumpy()


def case_a_wider_dtype_is_refused():
    w = Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="w")
    return ops.assign(w, Tensor([3.0, 4.0], ms.float64))


def case_floats_do_not_become_integers():
    return ops.assign_add(Parameter(Tensor(1, ms.int32), name="n"), 1.5)


def case_another_shape_is_refused():
    w = Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="w")
    return ops.assign(w, Tensor([3.0, 4.0, 5.0]))


def case_a_list_is_no_value():
    w = Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="w")
    return ops.assign(w, [3.0, 4.0])


def case_set_data_keeps_the_dtype():
    w = Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="w")
    w.set_data(Tensor([3, 4]))
    return w.asnumpy(), Parameter(Tensor(1, ms.int32), name="n").set_data(Tensor(2.75)).asnumpy()


def case_a_number_is_not_assigned_to_a_parameter():
    net = Net()
    net.w = 3.0
    return net.w
