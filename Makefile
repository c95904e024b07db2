# Everything a developer does, by name. The tools live in .venv, which is made when it is missing;
# give PYTHON=... to use an environment of your own instead.

VENV := .venv
PYTHON := $(VENV)/bin/python
# TensorFlow 2.15.1, the home version, exists for Python 3.9 to 3.11.
BASE_PYTHON ?= $(firstword $(foreach p,python3.11 python3.10 python3.9 python3, \
	$(if $(shell $p --version 2>/dev/null),$p)))
ifeq ($(PYTHON),$(VENV)/bin/python)
READY := $(VENV)/ready
endif
JOBS ?= 2
# One file's tests stay together: those of a file share what is slow to make.
PYTEST_FLAGS ?= --numprocesses=$(JOBS) --dist=loadfile

export TF_CPP_MIN_LOG_LEVEL ?= 2

CORE := $(MAKE) -j$(JOBS) --no-print-directory -f tests/core/core.mk PYTHON=$(PYTHON)
CLANG_FORMAT := $(PYTHON) -c 'import clang_format; clang_format.clang_format()'
CPP_FILES = $(shell find ops tests benchmarks -name '*.cc' -o -name '*.h')

.PHONY: setup ops test test-cpp sanitize test-python lint format bench example compat wheel clean

setup: ops

$(VENV)/ready: setup.py pyproject.toml
	$(BASE_PYTHON) -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --editable '.[tf,test,lint]'
	touch $@

# The op library, into ops/. Compiles what changed.
ops: $(READY)
	$(PYTHON) ops/build.py --directory build/ops --objects build/ops/objects

test: test-cpp sanitize test-python

test-cpp: $(READY)
	$(CORE) MODE=plain run

# The same tests under the address and undefined-behaviour sanitizers, and under the thread one.
sanitize: $(READY)
	$(CORE) MODE=address run
	$(CORE) MODE=thread run

test-python: ops
	$(PYTHON) -m pytest $(PYTEST_FLAGS)

lint: $(READY)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(CLANG_FORMAT) --dry-run -Werror $(CPP_FILES)

format: $(READY)
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	$(CLANG_FORMAT) -i $(CPP_FILES)

bench: ops
	$(PYTHON) benchmarks/run.py $(BENCH_FLAGS)

example: ops
	$(PYTHON) -m examples.movielens.train $(EXAMPLE_FLAGS)

# The smoke test on the oldest TensorFlows, where the Pythons that they need are found.
compat: $(READY)
	$(PYTHON) tests/compat/run.py

wheel: ops
	$(PYTHON) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf build dist *.egg-info ops/*.so
