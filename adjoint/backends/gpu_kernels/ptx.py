"""LLVM IR as text -> PTX for a GPU, or machine code of this CPU."""

from __future__ import annotations

import functools
from typing import Any

from adjoint.backends.gpu_kernels.block_code import KernelText
from adjoint.backends.gpu_kernels.thread_layout import ThreadLayout
from adjoint.backends.native.runtime import llvm_compile
from adjoint.core.errors import GpuKernelError

TRIPLE = "nvptx64-nvidia-cuda"
OLDEST, NEWEST = 70, 90  # the compute capabilities that PTX is written for; it runs on newer ones too

#: Stands in for the driver's launch on the CPU: one block after another.
CPU_LAUNCH = """
define i32 @launch(ptr %kernel, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared, ptr %stream, ptr %params, ptr %extra) {
entry:
  br label %head
head:
  %block = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i32 %block, %gx
  br i1 %more, label %body, label %done
body:
  call void %kernel(i32 %block, ptr %params)
  %next = add i32 %block, 1
  br label %head
done:
  ret i32 0
}
"""


def ptx(geometry: ThreadLayout, capability: int = NEWEST) -> str:
    """The kernels of a nest in PTX, for GPUs of this compute capability (90 is 9.0) or newer ones."""
    llvm = _nvptx()
    number = min(capability, NEWEST)
    try:
        target = llvm.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        raise GpuKernelError(f"this LLVM makes no code for GPUs: {error}") from None
    version = "+ptx78" if number >= 89 else "+ptx70"
    machine = target.create_target_machine(cpu=f"sm_{number}", features=version, opt=3)
    text = f'target triple = "{TRIPLE}"\n' + KernelText(geometry, gpu=True).text()
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.data_layout = str(machine.target_data)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.slp_vectorization = options.loop_vectorization = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return machine.emit_assembly(module)


def cpu_library(geometry: ThreadLayout) -> llvm_compile.Library:
    """The same kernels as machine code of this CPU, with what launches them there."""
    kernels = KernelText(geometry, gpu=False)
    return llvm_compile.compile_ir(kernels.text() + CPU_LAUNCH, [*kernels.names, "launch"])


@functools.cache
def _nvptx() -> Any:
    llvm = llvm_compile.binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm
