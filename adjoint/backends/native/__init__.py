"""Graph -> machine code for the CPU, through LLVM."""
