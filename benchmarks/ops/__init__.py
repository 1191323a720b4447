"""The op names of the workloads (those of `adjoint.ops`), said in each framework: one module each."""
