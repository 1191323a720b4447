"""Containers of arrays as values: `ad.tree.map`, `ad.tree.ravel`, and classes of one's own as containers."""

from adjoint.api.tree_classes import register as register
from adjoint.api.tree_classes import register_dataclass as register_dataclass
from adjoint.api.tree_classes import static_field as static_field
from adjoint.api.trees import Structure as Structure
from adjoint.api.trees import all as all
from adjoint.api.trees import flatten as flatten
from adjoint.api.trees import leaves as leaves
from adjoint.api.trees import map as map
from adjoint.api.trees import paths as paths
from adjoint.api.trees import ravel as ravel
from adjoint.api.trees import reduce as reduce
from adjoint.api.trees import structure as structure
from adjoint.api.trees import unflatten as unflatten
