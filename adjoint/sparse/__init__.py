"""Sparse matrices with derivatives: products with dense vectors and matrices, in both modes.

The values are differentiable, their places are constant integers. A matrix is an input like any other: the gradient by it
is a matrix with the same places.

>>> import adjoint as ad
>>> from adjoint import sparse
>>> A = sparse.coo(ad.Tensor([2.0, 3.0]), [0, 1], [1, 0], shape=(2, 2))
>>> x = ad.Tensor([1.0, 10.0])
>>> print(A @ x, ad.grad(lambda A: (A @ x).sum())(A).values, ad.grad(lambda x: (A @ x).sum())(x))
[20.  3.] [10.  1.] [3. 2.]
"""

from adjoint.sparse.matrices import COO as COO
from adjoint.sparse.matrices import CSR as CSR
from adjoint.sparse.matrices import coo as coo
from adjoint.sparse.matrices import csr as csr
from adjoint.sparse.matrices import from_dense as from_dense
from adjoint.sparse.matrices import from_scipy as from_scipy
