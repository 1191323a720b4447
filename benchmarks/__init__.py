"""The benchmarks: `python -m benchmarks.run --help` for the race against other frameworks, `eager.py` for eager mode alone."""
