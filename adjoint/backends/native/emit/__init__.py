"""Units of work -> text of LLVM IR.

In: a `Plan` and the buffers of its inputs and results. Out: functions in a module of IR text, one for each loop nest, and the
straight code that calls them and the kernels, with one arena for everything that is stored in between.
"""
