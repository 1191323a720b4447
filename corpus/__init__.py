"""Small programs as people write them, on which every mode of differentiation must agree. Not part of the package."""

from corpus import algebra as algebra
from corpus import algorithms as algorithms
from corpus import branches as branches
from corpus import closures as closures
from corpus import containers as containers
from corpus import counters as counters
from corpus import indexing as indexing
from corpus import loops as loops
from corpus import models as models
from corpus import networks as networks
from corpus import numerics as numerics
from corpus import optimisation as optimisation
from corpus import simulation as simulation
from corpus.program import COLLECTED as PROGRAMS
from corpus.program import Program as Program

__all__ = ["PROGRAMS", "Program"]
