"""scipy.stats for Tensors: distributions, and statistics of samples."""

from adjoint.scipy.stats.distribution_methods import DISTRIBUTIONS as _DISTRIBUTIONS
from adjoint.scipy.stats.distribution_methods import METHODS as METHODS
from adjoint.scipy.stats.of_samples import *  # noqa: F403
from adjoint.scipy.wrapping import absent as _absent

globals().update(_DISTRIBUTIONS)

__getattr__ = _absent(__name__)
