"""Probability distributions on Tensors: samples with derivatives, densities, entropies and divergences.

>>> import adjoint as ad
>>> ad.set_seed(0)
>>> x = ad.distributions.Normal(1.0, 2.0).sample((10000,))
>>> print(x.mean().round(1), x.std().round(1))
1.0 2.0
"""

from adjoint.distributions.base_distribution import Distribution as Distribution
from adjoint.distributions.base_distribution import NoClosedValueError as NoClosedValueError
from adjoint.distributions.discrete_distributions import Bernoulli as Bernoulli
from adjoint.distributions.discrete_distributions import Binomial as Binomial
from adjoint.distributions.discrete_distributions import Categorical as Categorical
from adjoint.distributions.discrete_distributions import Geometric as Geometric
from adjoint.distributions.discrete_distributions import Poisson as Poisson
from adjoint.distributions.divergences import kl as kl
from adjoint.distributions.gamma_family import Beta as Beta
from adjoint.distributions.gamma_family import Dirichlet as Dirichlet
from adjoint.distributions.gamma_family import Exponential as Exponential
from adjoint.distributions.gamma_family import Gamma as Gamma
from adjoint.distributions.gamma_family import StudentT as StudentT
from adjoint.distributions.location_scale import Cauchy as Cauchy
from adjoint.distributions.location_scale import Gumbel as Gumbel
from adjoint.distributions.location_scale import HalfNormal as HalfNormal
from adjoint.distributions.location_scale import Laplace as Laplace
from adjoint.distributions.location_scale import LogNormal as LogNormal
from adjoint.distributions.location_scale import Normal as Normal
from adjoint.distributions.location_scale import Uniform as Uniform
from adjoint.distributions.multivariate_distributions import Independent as Independent
from adjoint.distributions.multivariate_distributions import MultivariateNormal as MultivariateNormal
from adjoint.distributions.transformed_distributions import AffineBijector as AffineBijector
from adjoint.distributions.transformed_distributions import Bijector as Bijector
from adjoint.distributions.transformed_distributions import ExpBijector as ExpBijector
from adjoint.distributions.transformed_distributions import SigmoidBijector as SigmoidBijector
from adjoint.distributions.transformed_distributions import TanhBijector as TanhBijector
from adjoint.distributions.transformed_distributions import TransformedDistribution as TransformedDistribution


def __getattr__(name: str) -> object:
    from adjoint.core.other_words import missing

    raise missing("adjoint.distributions", name)
