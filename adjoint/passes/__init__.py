"""Graph -> better graph. A pass is a pure function; the list of passes is a value."""

from adjoint.passes.cost import schedule as schedule
from adjoint.passes.pipeline import PASSES as PASSES
from adjoint.passes.pipeline import Report as Report
from adjoint.passes.pipeline import optimise as optimise
