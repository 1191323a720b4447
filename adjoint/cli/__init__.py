"""The command `adjoint`: explain, check and compare derivatives of a function in a file, a demonstration, a benchmark, a doctor."""
