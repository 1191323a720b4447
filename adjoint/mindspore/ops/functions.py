"""The functions of mindspore.ops: the engine's where they mean the same, and MindSpore's own."""

from adjoint.mindspore.ops.array_functions import *  # noqa: F403
from adjoint.mindspore.ops.assign_functions import *  # noqa: F403
from adjoint.mindspore.ops.creation_functions import *  # noqa: F403
from adjoint.mindspore.ops.decomposition_functions import *  # noqa: F403
from adjoint.mindspore.ops.diagonal_functions import *  # noqa: F403
from adjoint.mindspore.ops.fourier_functions import *  # noqa: F403
from adjoint.mindspore.ops.index_functions import *  # noqa: F403
from adjoint.mindspore.ops.linalg_functions import *  # noqa: F403
from adjoint.mindspore.ops.math_functions import *  # noqa: F403
from adjoint.mindspore.ops.random_functions import *  # noqa: F403
from adjoint.mindspore.ops.reduction_functions import *  # noqa: F403
from adjoint.mindspore.ops.special_functions import *  # noqa: F403
