"""Graphs on XLA, through JAX: GPUs, TPUs and many devices.

| file | holds |
|---|---|
| `executable.py` | a graph as an executable, by where its inputs are |
| `devices.py` | names of devices, JAX's settings, arrays on devices |
| `lowering.py` | a graph gone through under `jax.jit`: cards by their `eval` on `jax.numpy`, or by a lowering |
| `failures.py` | what may go wrong at run time, and how a program hands it on |
| `failing_steps.py` | where NumPy raises an error: indices out of range, matrices that cannot be factored |
| `host_steps.py`, `python_calls.py` | what Python does: printing, checks, moving averages, functions of the user's |
| `preparing.py` | the graph in other ops first, where XLA does better with them |
| `matrix_products.py`, `fused_attention.py` | lowerings of products, and of attention to the GPU's own kernel |
| `branches_and_loops.py` | branches and loops as `lax.cond`, `lax.scan` and `lax.while_loop` |
| `growing_stacks.py` | what loops stack whose number of iterations only the device knows |
| `own_kernels.py` | kernels of our own (`backends/gpu_kernels`) in place of nests, on NVIDIA GPUs |
| `common_dtypes.py`, `numpy_numbers.py` | the dtype that NumPy computes in, and its integers |
| `lowered_cards.py` | all of the lowerings that follow |
| `indexed_updates.py`, `conv_and_pool.py`, `linear_algebra.py` | lowerings by family |
| `branch_cuts.py`, `random_bits.py`, `sorts_and_scans.py`, `special_values.py` | the same |
"""
