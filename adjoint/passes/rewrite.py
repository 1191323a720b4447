"""See graph.rewrite."""

from adjoint.graph.rewrite import Rule as Rule
from adjoint.graph.rewrite import changed as changed
from adjoint.graph.rewrite import rebuild as rebuild
