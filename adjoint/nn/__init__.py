"""Networks: cells that hold Parameters, and losses as cells."""

from adjoint.nn.cell import Cell as Cell
from adjoint.nn.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
