"""NumPy's functions, under its names and with its signatures, on Tensors; and what NumPy's own functions do with them."""
