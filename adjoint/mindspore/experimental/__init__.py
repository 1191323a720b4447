"""mindspore.experimental."""

from adjoint.mindspore.experimental import optim as optim
