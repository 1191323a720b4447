"""`jit` in its old and new forms, on functions, methods and Cells; settings; mutable; the executors."""

import mindspore as ms
from mindspore import JitConfig, Parameter, Tensor, jit, mutable, nn, ops
from mindspore.common.api import _cell_graph_executor, _pynative_executor

from mindspore_cases import right

X = Tensor([0.5, -1.25, 2.0], ms.float32)
Y = Tensor([[1.5, 0.25, -0.75], [2.0, -0.5, 1.0]], ms.float32)


def cube(x):
    return x * x * x


def case_jit_of_a_function():
    f = jit(cube)
    return f(X), ms.grad(f)(X), ms.jit(ms.grad(cube))(X), ms.grad(ms.grad(f))(X), ms.jit(ms.grad(ms.grad(cube)))(X)


def case_jit_as_a_decorator():
    @jit
    def f(x, y=2.0):
        return x * y

    @jit()
    def g(x):
        return x + 1

    return f(X), f(X, 3.0), f(x=X, y=X), g(X), f.__name__


def case_jit_with_new_options():
    @jit(capture_mode="ast", jit_level="O0", dynamic=0, fullgraph=False, backend="ms_backend")
    def f(x):
        return x * 2

    @jit(fullgraph=True)
    def g(x):
        if x.sum() > 0:
            return x * 3
        return x

    @jit(dynamic=1)
    def h(x):
        return x.sum()

    return f(X), g(X), h(X), h(Y), ms.grad(g)(X)


def case_jit_by_bytecode():
    @jit(capture_mode="bytecode")
    def f(x):
        return x * x + 1

    return f(X), ms.grad(f)(X)


def case_jit_with_old_options():
    @jit(mode="PSJit", jit_config=JitConfig(jit_level="O1"))
    def f(x):
        return x * 2

    @jit(input_signature=(Tensor([0.0, 0.0, 0.0], ms.float32),))
    def g(x):
        return x * 5

    @jit(hash_args=None, compile_once=True)
    def h(x):
        return x * 7

    return f(X), g(X), h(X), ms.grad(f)(X)


def case_jit_with_a_wrong_capture_mode():
    return jit(cube, capture_mode="other")


def case_jit_with_a_wrong_level():
    return jit(cube, jit_level="O9")


def case_jit_with_a_wrong_fullgraph():
    return jit(cube, fullgraph=1)


def case_jit_with_a_wrong_dynamic():
    return jit(cube, dynamic=5)


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0, 0.5], ms.float32), name="w")

    def construct(self, x):
        return x * self.w * self.w


def case_jit_of_a_cell():
    net = Scale()
    f = jit(net)
    return f(X), ms.grad(f)(X), ms.grad(f, None, net.trainable_params())(X)


class Compiled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0, 0.5], ms.float32), name="w")

    @jit
    def construct(self, x):
        return self.part(x) * self.w

    def part(self, x):
        if x.sum() > 0:
            return x * x
        return x


def case_jit_of_construct():
    net = Compiled()
    return net(X), net(-X), ms.grad(net, 0, net.trainable_params())(X), ms.grad(net)(-X)


class WithCompiledMethod(nn.Cell):
    def __init__(self):
        super().__init__()
        self.factor = 3.0

    @jit
    def scaled(self, x):
        return x * self.factor

    def construct(self, x):
        return self.scaled(x) + x


def case_jit_of_a_method_of_a_cell():
    net = WithCompiledMethod()
    return net(X), ms.grad(net)(X), net.scaled(X)


class Plain:
    def __init__(self, k):
        self.k = k

    @jit
    def apply(self, x):
        return x * self.k


def case_jit_of_a_method_of_an_object():
    a, b = Plain(2.0), Plain(5.0)
    return a.apply(X), b.apply(X), ms.grad(a.apply)(X)


@jit
class CompiledClass(nn.Cell):
    def construct(self, x):
        return x * 4


def case_jit_of_a_cell_class():
    return CompiledClass()(X)


def case_jit_calls_jit():
    inner = jit(cube)

    @jit
    def outer(x):
        return inner(x) + inner(x * 2)

    return outer(X), ms.grad(outer)(X)


def case_jit_inside_a_differentiated_function():
    inner = jit(cube)

    def f(x):
        return inner(ops.sin(x)) * x

    return ms.grad(f)(X), ms.value_and_grad(f)(X)


def case_gradient_inside_jit():
    def loss(w, x):
        return (w * x).sum() ** 2

    @jit
    def step(w, x):
        value, g = ms.value_and_grad(loss)(w, x)
        return value, w - 0.1 * g

    return step(X, Y[0])


def case_jit_reads_what_changes():
    settings = {"scale": 2.0}

    def f(x):
        return x * settings["scale"]

    first = f(X)
    settings["scale"] = 3.0
    return first, f(X)


def case_jit_with_other_shapes_and_dtypes():
    def double(x):
        return x * 2

    f = jit(double)
    return f(X), f(Y), f(Tensor([1, 2])), f(Tensor(1.5, ms.float16)), f(Y)


def case_jit_with_keyword_arguments():
    @jit
    def f(x, scale=2.0, *, shift=0.0):
        return x * scale + shift

    return f(X), f(X, 3.0), f(X, scale=4.0), f(x=X, shift=1.0)


def case_jit_config():
    config = JitConfig(jit_level="O1", exc_mode="auto", jit_syntax_level="LAX", debug_level="RELEASE")
    net = Scale()
    net.set_jit_config(config)
    return net(X), config.jit_config_dict["jit_level"], config.jit_config_dict["jit_syntax_level"]


def case_jit_config_with_a_wrong_level():
    return JitConfig(jit_level="O7")


def case_jit_config_with_a_wrong_mode():
    return JitConfig(exc_mode="fast")


def case_jit_config_with_a_wrong_syntax_level():
    return JitConfig(jit_syntax_level="NONE")


def case_mutable_keeps_the_data():
    t, d = mutable((X, 2)), mutable({"a": X})
    return (
        t[0] * t[1],
        d["a"],
        len(t),
        mutable([1, 2, 3])[1] + 1,
        mutable(3) * 2,
        mutable(2.5) + 1,
        isinstance(t, tuple),
    )


def case_mutable_arguments():
    def product(pair):
        return pair[0] * pair[1]

    f = jit(product)
    return f(mutable((X, X))), f(mutable((X, X * 2)))


def case_mutable_of_text():
    return mutable("text")


def case_mutable_number_of_dynamic_length():
    return mutable(3, True)


class Compiles(nn.Cell):
    def construct(self, x):
        return x * 2


def case_cell_graph_executor():
    graph_id, flag = _cell_graph_executor.compile(Compiles(), X)
    return isinstance(graph_id, str), isinstance(flag, bool)


def case_compile_a_cell():
    net = Compiles()
    net.compile(X)
    return net(X)


def case_pynative_executor():
    _pynative_executor.sync()
    return ms.grad(Scale())(X)


def case_modes_switched():
    found = []
    net = Scale()
    before = ms.get_context("mode")
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        found.append((net(X), ms.grad(net)(X), ms.get_context("mode")))
    ms.set_context(mode=before)
    return found


@right("lazy_inline is refused without Ascend", (X * 3, X * 4 + 2), modes=("graph",))
def case_lazy_inline_and_no_inline():
    class Block(nn.Cell):
        @ms.lazy_inline
        def __init__(self, k):
            super().__init__()
            self.k = k

        def construct(self, x):
            return x * self.k

    @ms.no_inline
    def double(x):
        return x * 2

    @jit
    def f(x):
        return double(x) + double(x + 1)

    return Block(3.0)(X), f(X)


def case_jit_class_of_a_cell():
    return ms.jit_class(Scale)


def case_jit_class_of_no_class():
    return ms.jit_class(cube)


@right("jit by trace leaves an error behind for what comes after it", (X * X + 1, X * X * 4 + 1))
def case_jit_by_trace():
    @jit(capture_mode="trace")
    def f(x):
        return x * x + 1

    return f(X), f(X * 2)
