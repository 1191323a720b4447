"""Text of LLVM IR -> machine code in memory, and the way into it from Python and back.

In: IR text and the specs of arguments and results. Out: a Python callable on arrays, or on containers of Tensors. Here are the
object cache, the threads that compiled code runs on, Ctrl-C, and the bounds-checked build.
"""
