"""mindspore.mint.special."""

from adjoint.mindspore.mint.nn.functional import log_softmax as log_softmax
from adjoint.mindspore.ops import erfc as erfc
from adjoint.mindspore.ops import exp2 as exp2
from adjoint.mindspore.ops import expm1 as expm1
from adjoint.mindspore.ops import log1p as log1p
from adjoint.mindspore.ops import round as round
from adjoint.mindspore.ops import sinc as sinc
