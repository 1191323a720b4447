"""Nests of a graph as kernels of our own for NVIDIA GPUs, called inside an XLA program.

A nest is what the native backend's planner makes of elementwise steps, broadcasts and reductions over one space: one pass over
memory for a value and its gradient. Here it is written for the threads of a GPU instead of the lanes of a CPU.

| file | holds |
|---|---|
| `replaced.py` | graph -> graph in which nests that gain by it are calls of kernels; why others are not |
| `thread_layout.py` | how the points of a nest are shared among blocks and threads |
| `point_code.py` | LLVM IR of what is computed at one point, and of what one thread does |
| `block_code.py` | LLVM IR of a kernel: the threads of a block together, on a GPU and, with the same bits, on the CPU |
| `branch_free.py` | elementary functions without branches, which flag rare arguments |
| `huge_arguments.py` | sines of huge arguments, for which a GPU has no libm |
| `ptx.py` | LLVM IR -> PTX; LLVM IR -> machine code of this CPU |
| `driver.py` | NVIDIA's own library: PTX -> a kernel of the driver's |
| `targets.py` | kernels as functions that XLA knows by name |
| `ffi_handler.py` | the function that XLA calls, as machine code: it launches a kernel on XLA's stream |

Sums have the same bits in every run: each block adds up in a fixed order, and a second kernel adds up what the blocks found.
"""
