"""Small programs as people write them, on which every mode of differentiation must agree."""

from adjoint.testing.corpus import algebra as algebra
from adjoint.testing.corpus import algorithms as algorithms
from adjoint.testing.corpus import branches as branches
from adjoint.testing.corpus import closures as closures
from adjoint.testing.corpus import containers as containers
from adjoint.testing.corpus import counters as counters
from adjoint.testing.corpus import indexing as indexing
from adjoint.testing.corpus import loops as loops
from adjoint.testing.corpus import models as models
from adjoint.testing.corpus import networks as networks
from adjoint.testing.corpus import numerics as numerics
from adjoint.testing.corpus import optimisation as optimisation
from adjoint.testing.corpus import simulation as simulation
from adjoint.testing.corpus.program import COLLECTED as PROGRAMS
from adjoint.testing.corpus.program import Program as Program

__all__ = ["PROGRAMS", "Program"]
