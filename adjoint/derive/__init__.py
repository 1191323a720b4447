"""Graph -> derivative graph: the reverse sweep, the forward sweep, batching, and the same for loops."""

from adjoint.core.verbs import verbs
from adjoint.derive import loops as _loops
from adjoint.derive.batch import vmap_graph as vmap_graph
from adjoint.derive.forward import jvp_graph as jvp_graph
from adjoint.derive.gradient import grad_graph as grad_graph
from adjoint.derive.reverse import vjp_graph as vjp_graph

vars(verbs).update(
    grad_graph=grad_graph,
    vjp_graph=vjp_graph,
    jvp_graph=jvp_graph,
    vmap_graph=vmap_graph,
    loop_vjp=_loops.loop_vjp,
    loop_jvp=_loops.loop_jvp,
    loop_tangents=_loops.loop_tangents,
    loop_vmap=_loops.loop_vmap,
)
