"""The cards that XLA does in another way than their `eval`, all of them: importing this enters them into the table."""

from adjoint.backends.xla import branch_cuts as branch_cuts
from adjoint.backends.xla import conv_and_pool as conv_and_pool
from adjoint.backends.xla import host_algebra as host_algebra
from adjoint.backends.xla import indexed_updates as indexed_updates
from adjoint.backends.xla import linear_algebra as linear_algebra
from adjoint.backends.xla import numpy_numbers as numpy_numbers
from adjoint.backends.xla import random_bits as random_bits
from adjoint.backends.xla import sorts_and_scans as sorts_and_scans
from adjoint.backends.xla import special_values as special_values
