# Each target sets up its own .venv from nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test docs versions versions-part counts check fuzz fuzz-native xla-corpus bench bench-eager clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $(STAMP)

demo: $(STAMP)  ## the worked examples checked three ways, then LeNet trained on real digits, with a picture
	$(BIN)/python examples/walkthrough.py
	$(BIN)/python examples/lenet.py

test: $(STAMP)  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

docs: $(STAMP)  ## the documentation as a site in site/, links checked: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

versions:  ## the whole suite on each of Python 3.10 to 3.13 that is on this machine
	$(PYTHON) .ci/versions.py

versions-part: $(STAMP)  ## what depends on the interpreter most, on each but the one that `make test` runs on
	$(PYTHON) .ci/versions.py --part --without $$($(BIN)/python -c "import sys; print('%d.%d' % sys.version_info[:2])")

counts: $(STAMP)  ## write the table of test cases anew, below which no run may fall
	$(BIN)/python tests/case_counts.py

check: $(STAMP)  ## lint, format, types, import direction, sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

fuzz: $(STAMP)  ## compare the modes on 100,000 random programs
	$(BIN)/python -W ignore -m adjoint.testing.fuzz 100000

# For other seeds, or a part of them: make fuzz-native START=1000000 GRAPHS=50000 PROGRAMS=10000
START ?= 0
GRAPHS ?= 100000
PROGRAMS ?= 20000
fuzz-native: $(STAMP)  ## the native backend, bounds-checked, on 100,000 random graphs and 20,000 random programs
	$(BIN)/python -W ignore -m adjoint.testing.fuzz_graphs $(GRAPHS) --start $(START)
	$(BIN)/python -W ignore -m adjoint.testing.fuzz $(PROGRAMS) --start $(START) --backend native

bench-eager: $(STAMP)  ## compare eager mode with PyTorch and autograd, where they are installed
	$(BIN)/python -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -e . torch==2.13.0 autograd
	.venv-bench/bin/python benchmarks/eager.py --write docs/eager_benchmark.md

xla-corpus: $(STAMP)  ## every program of the corpus on the backend xla, as XLA optimises it for users
	XLA_FLAGS=--xla_backend_optimization_level=3 ADJOINT_WHOLE_CORPUS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q tests/backends/xla/test_xla_corpus.py

bench: $(STAMP)  ## every workload against the other frameworks, each in an environment of its own
	$(BIN)/python -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -e . matplotlib
	for p in torch==2.13.0 jax autograd casadi; do .venv-bench/bin/python -m pip install --quiet --disable-pip-version-check $$p || echo "left out: $$p"; done
	$(BIN)/python -m venv .venv-bench-mindspore
	.venv-bench-mindspore/bin/python -m pip install --quiet --disable-pip-version-check mindspore "numpy<2" || echo "left out: mindspore"
	.venv-bench/bin/python -m benchmarks.run --threads 1 2 --python mindspore=.venv-bench-mindspore/bin/python --write docs/benchmark
	.venv-bench/bin/python -m benchmarks.memory --write docs/memory_benchmark

clean:
	rm -rf $(VENV) .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis
