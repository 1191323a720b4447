"""set_context and its neighbours: what they keep, and what they refuse."""

import mindspore as ms
from mindspore import Tensor, context
from mindspore.common import ms_memory_recycle

X = Tensor([0.5, -1.25, 2.0], ms.float32)


def cube(x):
    return x * x * x


def case_settings():
    names = ("device_target", "device_id", "max_call_depth", "jit_syntax_level", "save_graphs", "pynative_synchronize")
    return [context.get_context(n) for n in names]


def case_settings_can_be_set():
    ms.set_context(max_call_depth=2000, save_graphs=False, pynative_synchronize=True, device_target="CPU")
    found = [ms.get_context(n) for n in ("max_call_depth", "save_graphs", "pynative_synchronize", "device_target")]
    ms.set_context(max_call_depth=1000, pynative_synchronize=False)
    return found


def case_an_unknown_setting():
    ms.set_context(no_such_setting=1)


def case_an_unknown_setting_asked_for():
    return ms.get_context("no_such_setting")


def case_a_mode_that_is_none():
    ms.set_context(mode=7)


def case_a_mode_of_the_wrong_type():
    ms.set_context(mode="graph")


def case_a_setting_of_the_wrong_type():
    ms.set_context(save_graphs_path=3)


def case_a_wrong_syntax_level():
    ms.set_context(jit_syntax_level=9)


def case_a_call_depth_below_one():
    ms.set_context(max_call_depth=0)


def case_grad_for_scalar():
    ms.set_context(grad_for_scalar=True)


def case_a_device_that_is_not_there():
    ms.set_context(device_target="TPU")


def case_wrong_device_type():
    ms.set_context(device_id="0")


def case_seeds():
    ms.set_seed(11)
    return ms.get_seed()


def case_a_negative_seed():
    ms.set_seed(-1)


def case_a_seed_of_the_wrong_type():
    ms.set_seed("1")


def case_recursion_limit():
    ms.set_recursion_limit(2000)
    return ms.jit(cube)(X)


def case_recursion_limit_below_one():
    ms.set_recursion_limit(0)


def case_memory_recycle():
    ms_memory_recycle()
    return X


def case_parallel_mode():
    return context.ParallelMode.STAND_ALONE, ms.get_auto_parallel_context("parallel_mode")
