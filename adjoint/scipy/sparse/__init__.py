"""scipy.sparse with Tensors: products with SciPy's own sparse matrices and arrays, which stay constants."""

from adjoint.scipy.imports import SPARSE as _SPARSE
from adjoint.scipy.sparse_products import dense_difference as _difference
from adjoint.scipy.sparse_products import dense_reflected_difference as _reflected_difference
from adjoint.scipy.sparse_products import dense_sum as _sum
from adjoint.scipy.sparse_products import product as _product
from adjoint.scipy.sparse_products import reflected_product as _reflected_product
from adjoint.scipy.sparse_products import reflected_star as _reflected_star
from adjoint.scipy.sparse_products import star as _star
from adjoint.scipy.wrapping import absent as _absent

_OPERATORS = {
    "__matmul__": _product, "dot": _product, "__rmatmul__": _reflected_product, "__mul__": _star, "__rmul__": _reflected_star,
    "__add__": _sum, "__radd__": _sum, "__sub__": _difference, "__rsub__": _reflected_difference,
}  # fmt: skip

#: Methods of SciPy's own objects, called with Tensors.
METHODS = {f"{name}.{method}": function for name in _SPARSE for method, function in _OPERATORS.items()}

__getattr__ = _absent(__name__)
