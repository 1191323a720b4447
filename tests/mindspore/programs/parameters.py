"""Parameters: how they are made, named, copied, changed and shown."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.common.initializer import (
    Constant,
    Dirac,
    Identity,
    Initializer,
    One,
    Sparse,
    Zero,
    _calculate_fan_in_and_fan_out,
    initializer,
)

START = np.array([[1.5, -2.0, 0.25]], np.float32)


def known(p):
    return p.name, p.shape, p.requires_grad, p.asnumpy()


def case_from_a_tensor():
    return known(Parameter(Tensor(START), name="weight"))


def case_from_an_array():
    return known(Parameter(START.astype(np.float64), name="weight"))


def case_from_a_float():
    return known(Parameter(0.75, name="scale"))


def case_from_an_int():
    return known(Parameter(3, name="n"))


def case_from_a_bool():
    return known(Parameter(True, name="flag"))


def case_from_a_list():
    return known(Parameter([1, 2, 3], name="items"))


def case_from_a_list_of_floats():
    return known(Parameter([0.5, 2.0], name="items"))


def case_from_an_initializer():
    return known(Parameter(initializer("ones", [2, 3], ms.float32), name="w"))


def case_from_a_parameter():
    first = Parameter(Tensor(START), name="first", requires_grad=False)
    second = Parameter(first)
    return second.name.startswith("Parameter"), second.requires_grad, second.asnumpy()


def case_from_a_string():
    return Parameter("words", name="w")


def case_the_name_of_one_without():
    return Parameter(Tensor(START)).name.startswith("Parameter#")


def case_a_name_that_is_no_text():
    return Parameter(Tensor(START), name=3)


def case_an_empty_name():
    return Parameter(Tensor(START), name="").name.startswith("Parameter#")


def case_a_name_that_is_too_long():
    return Parameter(Tensor(START), name="a" * 1030)


def case_requires_grad_is_a_bool():
    return Parameter(Tensor(START), name="w", requires_grad=1)


def case_requires_grad_is_set():
    p = Parameter(Tensor(START), name="w")
    p.requires_grad = False
    return p.requires_grad


def case_requires_grad_is_set_to_a_number():
    p = Parameter(Tensor(START), name="w")
    p.requires_grad = 2
    return p.requires_grad


def case_attributes_at_first():
    p = Parameter(Tensor(START), name="w")
    return (
        p.layerwise_parallel, p.parallel_optimizer, p.is_init, p.comm_fusion, p.parallel_optimizer_comm_recompute, p.sliced,
        p.has_init, p.inited_param is None, p.cache_enable, p.unique, p.is_pipeline_shared_param if hasattr(p, "is_pipeline_shared_param") else None,
    )  # fmt: skip


def case_other_settings():
    p = Parameter(Tensor(START), name="w", layerwise_parallel=True, parallel_optimizer=False)
    p.comm_fusion = 3
    return p.layerwise_parallel, p.parallel_optimizer, p.comm_fusion


def case_text():
    p = Parameter(Tensor(START), name="w")
    return str(p), repr(p)


def case_text_of_a_scalar_that_is_not_trained():
    p = Parameter(Tensor(2, ms.int32), name="net.count", requires_grad=False)
    return str(p), repr(p)


def case_the_name_changes():
    p = Parameter(Tensor(START), name="w")
    p.name = "v"
    return p.name


def case_value_and_data():
    p = Parameter(Tensor(START), name="w")
    return p.value(), p.data.asnumpy(), type(p.value()).__name__


def case_clone():
    p = Parameter(Tensor(START), name="w", requires_grad=False)
    q = p.clone()
    q.set_data(Tensor(START * 2))
    return q.name, q.requires_grad, q.asnumpy(), p.asnumpy()


def case_clone_of_zeros():
    return Parameter(Tensor(START), name="w").clone(init="zeros").asnumpy()


def case_clone_of_a_number():
    return Parameter(Tensor(START), name="w").clone(init=0.5).asnumpy()


def case_init_data():
    p = Parameter(initializer("ones", [2], ms.float32), name="w")
    return p.init_data().asnumpy(), type(p.init_data()).__name__


def case_set_dtype():
    p = Parameter(Tensor(START), name="w")
    p.set_dtype(ms.float16)
    return p.asnumpy().dtype.name


def case_a_tuple_of_parameters():
    a, b = Parameter(Tensor(START), name="a"), Parameter(Tensor(1.0), name="b")
    both = ParameterTuple((a, b))
    return len(both), [p.name for p in both], isinstance(both, tuple)


def case_a_tuple_with_one_name_twice():
    return len(ParameterTuple((Parameter(1.0, name="a"), Parameter(2.0, name="a"))))


def case_a_tuple_of_other_things():
    return ParameterTuple((Tensor(1.0),))


def case_a_tuple_from_no_list():
    return ParameterTuple(3)


def case_clone_of_a_tuple():
    both = ParameterTuple((Parameter(Tensor(START), name="a"), Parameter(Tensor(1.0), name="b")))
    copies = both.clone(prefix="moment", init="zeros")
    return [p.name for p in copies], [p.asnumpy() for p in copies], type(copies).__name__


def case_clone_of_a_tuple_as_it_is():
    both = ParameterTuple((Parameter(Tensor(START), name="a"),))
    return [p.asnumpy() for p in both.clone("copy")], [p.name for p in both.clone("copy")]


class Unnamed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(START))
        self.bias = Parameter(Tensor(1.0), requires_grad=False)
        self.both = ParameterTuple((Parameter(Tensor(2.0), name="p"), Parameter(Tensor(3.0), name="q")))

    def construct(self, x):
        return self.weight * x + self.bias + self.both[0] * self.both[1]


def case_names_in_a_cell():
    net = Unnamed()
    return [p.name for p in net.get_parameters()], [p.name for p in net.trainable_params()], net(Tensor(START))


def case_gradients_by_all_of_a_cell():
    net = Unnamed()
    return ms.grad(net, None, net.trainable_params())(Tensor(START))


class Doubled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = Parameter(Tensor(1.0), name="same")
        self.b = Parameter(Tensor(2.0), name="same")

    def construct(self, x):
        return self.a + self.b


def case_one_name_twice_in_a_cell():
    return [p.name for p in Doubled().get_parameters()]


class Listed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.ws = [Parameter(Tensor(1.0), name="x1"), Parameter(Tensor(2.0), name="x2")]

    def construct(self, x):
        return self.ws[0] * x + self.ws[1]


def case_a_list_in_a_cell():
    net = Listed()
    return [p.name for p in net.get_parameters()], net(Tensor(3.0))


def case_a_parameter_of_no_cell():
    w = Parameter(Tensor(START), name="w")

    def f(x):
        return (w * x * x).sum()

    return ms.grad(f, 0, w)(Tensor(START))


def case_arithmetic():
    w = Parameter(Tensor(START), name="w")
    return w + 1, 2 * w, w @ Tensor(np.ones((3, 1), np.float32)), -w, w[0, 1], w.sum(), ops.exp(w), type(w * 2).__name__


def case_is_a_tensor():
    w = Parameter(Tensor(START), name="w")
    return isinstance(w, Tensor), isinstance(w, Parameter), isinstance(Tensor(1.0), Parameter), w.ndim, w.size, len(w)


def case_equality_and_keys():
    w, v = Parameter(Tensor(START), name="w"), Parameter(Tensor(START), name="w")
    return {w: 1}[w], w in [w], hash(w) == hash(v), w is not v


def case_the_unique_flag_and_key():
    w = Parameter(Tensor(START), name="w")
    w.unique = True
    w.key = 5
    return w.unique, w.key


def case_copy_constructor_keeps_the_value():
    w = Parameter(Tensor(START), name="w")
    v = Parameter(w.value(), name="v")
    w.set_data(Tensor(START * 3))
    return v.asnumpy()


def case_from_a_random_initializer_has_its_shape():
    w = Parameter(initializer("normal", (3, 5)), name="w")
    return w.shape, w.asnumpy().dtype.name


def case_from_none():
    return Parameter(None, name="w")


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n = Parameter(Tensor(np.zeros((2,), np.float32)), name="n")

    def construct(self, x):
        return x


def case_set_data_takes_another_shape():
    w = Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="w")
    w.set_data(Tensor([3.0, 4.0, 5.0]))
    return w.shape, w.asnumpy()


def case_an_integer_takes_no_float():
    return Parameter(Tensor(1, ms.int32), name="n").set_data(2.75)


def case_a_tensor_of_another_shape_is_assigned_to_an_attribute():
    net = Counting()
    net.n = Tensor([1.0, 2.0, 3.0])
    return net.n.asnumpy(), [p.name for p in net.trainable_params()]


def case_assign_value():
    x = Tensor([1.0, 2.0, 3.0])
    return x.assign_value(Tensor([3.0, 4.0])), x


def case_initializers_of_constants():
    kinds = ("ones", "zeros", "one", 0.5, Constant(2.0), Identity(), One(), Zero())
    return [initializer(kind, [2, 3]).init_data() for kind in kinds], initializer("ones", (2,), ms.int32).init_data()


def case_initializers_of_windows():
    return (
        initializer(Dirac(), [4, 2, 3]).init_data(),
        initializer(Dirac(2), [4, 2, 3, 3]).init_data(),
        initializer("dirac", [2, 2, 3]).init_data(),
    )


def case_shapes_of_random_initializers():
    names = (
        "normal",
        "uniform",
        "xavier_uniform",
        "xavier_normal",
        "he_uniform",
        "he_normal",
        "truncatedNormal",
        "orthogonal",
        "varianceScaling",
    )
    return [initializer(name, [3, 2]).shape for name in names], (
        initializer(Sparse(0.5), [4, 3]).init_data().asnumpy() == 0
    ).sum(axis=0)


def case_an_unknown_initializer():
    return initializer("of_my_own", [2])


def case_an_initializer_without_a_kind():
    return initializer(None, [2])


def case_an_initializer_of_an_empty_shape():
    return initializer("ones", [0, 2])


def case_fans_of_a_vector():
    return initializer("xavier_uniform", [3])


def case_fans():
    return _calculate_fan_in_and_fan_out((4, 3, 2, 5))


class Ramp(Initializer):
    def _initialize(self, arr):
        arr[:] = np.arange(arr.size).reshape(arr.shape)


def case_an_initializer_of_ones_own():
    return Parameter(initializer(Ramp(), [2, 2]), name="w").asnumpy()
