"""Primitives that programs define themselves: attributes, infer, rules of derivatives, Python functions."""

import copy

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops
from mindspore.ops import Primitive, PrimitiveWithCheck, PrimitiveWithInfer, prim_attr_register
from mindspore.ops import signature as sig

from mindspore_cases import right
from mindspore_programs import Scaled, x2


class Pair(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self):
        self.init_prim_io_names(inputs=["x", "y", "n"], outputs=["p", "q"])

    def infer_shape(self, x, y, n):
        return x, y

    def infer_dtype(self, x, y, n):
        return x, y


class Called(Primitive):
    @prim_attr_register
    def __init__(self, power=2):
        pass

    def __call__(self, x):
        return x**self.power


class Known(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self):
        pass

    def infer_shape(self, x):
        return ()

    def infer_dtype(self, x):
        return ms.int64

    def infer_value(self, x):
        return None if x is None else x + 1


def case_attributes():
    op = Scaled(3.0)
    return op.factor, op.label, op.twice, op.name, op.attrs, op.init_attrs


def case_attributes_by_keyword():
    op = Scaled(label="u", factor=5.0)
    return op.factor, op.label, op.attrs["twice"]


def case_text():
    return repr(Scaled()), repr(ops.ReduceSum(True)), repr(ops.Add()), repr(Pair())


def case_too_many_arguments():
    return Scaled(1.0, "a", "b")


def case_unknown_attribute():
    return Scaled().nothing


def case_add_and_delete_attributes():
    op = Scaled().add_prim_attr("extra", 7)
    before = op.extra, dict(op.attrs)
    op.del_prim_attr("extra")
    return before, op.attrs, op.del_prim_attr("never").attrs


def case_names_of_inputs():
    op = Pair()
    return op.input_names, op.output_names


def case_instance_name():
    return Scaled().set_prim_instance_name("mine").instance_name


def case_stage_device_and_strategies():
    op = ops.Add().set_stage(0).set_device("CPU").shard(((1,), (1,)))
    return op.attrs


def case_a_list_is_no_strategy():
    return ops.Add().shard([1])


def case_an_output_strategy_needs_one_for_inputs():
    return ops.Add().shard(None, ((1,),))


def case_recompute_takes_a_truth_value():
    return ops.Add().recompute("yes")


def case_update_parameter():
    return ops.Add().update_parameter, Scaled().update_parameter


def case_check_elim():
    return ops.Add().check_elim(1, 2)


def case_identity_is_equality():
    a = Scaled()
    return a == a, a == Scaled(), ops.Add() == ops.Add(), len({a, Scaled()})


def case_deepcopy():
    op = copy.deepcopy(Scaled(4.0))
    return op.factor, op.attrs, op.name, isinstance(op, Scaled)


def case_signatures():
    class Signed(Primitive):
        __mindspore_signature__ = (
            sig.make_sig("variable", sig.sig_rw.RW_WRITE, dtype=sig.sig_dtype.T),
            sig.make_sig("value", dtype=sig.sig_dtype.T),
        )

        @prim_attr_register
        def __init__(self, k=1):
            pass

    return Signed(3).k, sig.sig_rw.RW_WRITE.name, sig.sig_dtype.T1.name


def case_changed_attribute_is_used():
    op = ops.ReduceSum()
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    first = op(x, 1)
    op.keep_dims = True
    return first, op(x, 1)


def case_primitive_by_name():
    sigmoid = Primitive("Sigmoid")

    def f(x):
        return sigmoid(x)

    return f(x2()), ms.grad(f)(x2())


def case_subclass_with_the_name_of_an_operator():
    class Bent(Primitive):
        def __init__(self):
            super().__init__("Tanh")

    op = Bent()

    def f(x):
        return op(x) * 2

    return f(x2()), ms.grad(f)(x2()), op.name


def case_unknown_name():
    return Primitive("Nowhere")(x2())


def case_no_kernel():
    return Scaled()(x2())


def case_no_kernel_compiled():
    op = Scaled()

    @ms.jit
    def f(x):
        return op(x)

    return f(x2())


def case_infer_value_of_a_number():
    op = Known()

    @ms.jit
    def f(x):
        return x * op(4)

    return f(x2()), op(4)


def case_infer_value_of_a_constant_tensor():
    class Doubled(PrimitiveWithInfer):
        @prim_attr_register
        def __init__(self):
            pass

        def infer_shape(self, x):
            return x

        def infer_dtype(self, x):
            return x

        def infer_value(self, x):
            return None if x is None else Tensor(2 * x.asnumpy())

    op = Doubled()

    @ms.jit
    def f(x):
        return x + op(Tensor([4.0, 5.0]))

    return f(x2())


def case_call_is_python():
    return Called()(x2()), Called(3)(x2()), Called(power=1).power


@right("MindSpore refuses to compile it", Tensor([6.75, 0.75]), modes=("graph",))
def case_call_is_differentiated():
    op = Called(3)

    def f(x):
        return op(x)

    return ms.grad(f)(x2())


def case_check_before_a_known_operator():
    class Sigmoid(PrimitiveWithCheck):
        @prim_attr_register
        def __init__(self):
            pass

        def check_shape(self, x):
            assert len(x) == 2

        def check_dtype(self, x):
            pass

    return Sigmoid()(Tensor([[1.0, 2.0]]))
