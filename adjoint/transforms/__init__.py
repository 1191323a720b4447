"""The derivative engine, for arrays and for graph values alike: tape, dual numbers and batches.

Each transform is a `Trace` that applies an op to the values one level below, by calling the op again. Below may be arrays,
another transform, or a graph being built: `adjoint.graph.derivatives` makes derivative graphs by these same transforms.
"""

from adjoint.core.autograd import bind as _bind
from adjoint.transforms import backward as _backward

_bind(_backward)
