"""Ops with code of their own: products, convolution, pooling, gather and scatter, running sums.

In: a node with its operands in memory. Out: LLVM IR that writes its result: loops written for the sizes of this node.
"""
