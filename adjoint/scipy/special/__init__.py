"""scipy.special for Tensors."""

from __future__ import annotations

import numpy as _np
import scipy.special as _theirs

from adjoint.numpy.ufuncs import Ufunc as _Ufunc
from adjoint.ops.numpylike.ufuncs import COMPOSED_SPECIAL as _COMPOSED
from adjoint.ops.publish import SPECIAL as _SPECIAL
from adjoint.scipy.special.combinatorics import *  # noqa: F403
from adjoint.scipy.special.exponential_sums import *  # noqa: F403
from adjoint.scipy.wrapping import absent as _absent

_NAMES = [name for name in (*_COMPOSED, *_SPECIAL) if isinstance(getattr(_theirs, name, None), _np.ufunc)]
globals().update({name: _Ufunc(getattr(_theirs, name)) for name in (*_NAMES, "jn")})

__getattr__ = _absent(__name__)
