"""scipy.interpolate for Tensors."""
# ruff: noqa: I001  (a line for each name)

from adjoint.scipy.piecewise import (
    Akima1DInterpolator as Akima1DInterpolator,
    CubicHermiteSpline as CubicHermiteSpline,
    CubicSpline as CubicSpline,
    PPoly as PPoly,
    PchipInterpolator as PchipInterpolator,
    integral_of_scipy as _integral_of_scipy,
    of_scipy as _of_scipy,
)
from adjoint.scipy.spline_bases import (
    BSpline as BSpline,
    RegularGridInterpolator as RegularGridInterpolator,
    bspline_of_scipy as _bspline_of_scipy,
    grid_of_scipy as _grid_of_scipy,
    interp1d as interp1d,
    interp1d_of_scipy as _interp1d_of_scipy,
    interpn as interpn,
    make_interp_spline as make_interp_spline,
)
from adjoint.scipy.wrapping import absent as _absent

#: Methods of SciPy's own objects, called with Tensors.
_POLYNOMIALS = ("PPoly", "CubicSpline", "CubicHermiteSpline", "PchipInterpolator", "Akima1DInterpolator")
METHODS = {
    **{f"{name}.__call__": _of_scipy for name in _POLYNOMIALS},
    **{f"{name}.integrate": _integral_of_scipy for name in _POLYNOMIALS},
    "BSpline.__call__": _bspline_of_scipy,
    "interp1d.__call__": _interp1d_of_scipy,
    "RegularGridInterpolator.__call__": _grid_of_scipy,
}

__getattr__ = _absent(__name__)
