"""Seeing what a program does while it runs: where a NaN arose (`ad.debug_nan`), where time and memory go (`ad.profile`)."""
