# `make run` and `make test` need nothing but Python 3.11+ and make: each sets up .venv first.
PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench

.PHONY: run test lint docs bench bench-all clean

run: $(VENV)/.ready
	$(VENV)/bin/echoscale reproduce

test: $(VENV)/.ready
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile

lint: $(VENV)/.ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

docs: $(VENV)/.ready
	$(VENV)/bin/sphinx-build -W -q -c docs . build/site

# The peers live in an environment of their own. Add resdag (and with it PyTorch) there by hand to include it.
bench: $(BENCH_VENV)/.ready
	$(BENCH_VENV)/bin/python benchmarks/speed.py
	$(BENCH_VENV)/bin/python benchmarks/online.py

# All that fits a machine without a GPU: hours on two cores. Those with a ledger go on where they were stopped.
BENCH_ALL := speed online psmnist storage choices walks suggest narma_seeds psmnist_memory telegraph tuning
bench-all: $(BENCH_VENV)/.ready
	for name in $(BENCH_ALL); do $(BENCH_VENV)/bin/python benchmarks/$$name.py || exit 1; done

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

clean:
	rm -rf $(VENV) $(BENCH_VENV) out build .pytest_cache .mypy_cache .ruff_cache
