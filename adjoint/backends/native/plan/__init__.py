"""Graph -> units of work and memory.

In: a rewritten graph. Out: a `Plan`: which nodes are stored in memory and which are computed where they are used, and the units
in order: scalars in registers, loop nests over expressions, and kernels. No LLVM yet.
"""
