# Everything a developer does, by name. The tools live in .venv, which `make setup` makes; give
# PYTHON=... to use an environment of your own instead.

VENV := .venv
PYTHON := $(VENV)/bin/python
# TensorFlow 2.15.1, the home version, exists for Python 3.9 to 3.11.
BASE_PYTHON ?= $(firstword $(foreach p,python3.11 python3.10 python3.9 python3, \
	$(if $(shell $p --version 2>/dev/null),$p)))
JOBS ?= 2
ifeq ($(PYTHON),$(VENV)/bin/python)
READY := $(VENV)/ready
endif

export TF_CPP_MIN_LOG_LEVEL ?= 2

CORE := $(MAKE) -j$(JOBS) --no-print-directory -f tests/core/core.mk PYTHON=$(PYTHON)
CPP_FILES = $(shell git ls-files '*.cc' '*.h')

.PHONY: setup ops test test-cpp sanitize test-python lint format bench example compat wheel clean

setup: $(READY)

$(VENV)/ready: setup.py pyproject.toml
	$(BASE_PYTHON) -m venv $(VENV)
	$(PYTHON) -m pip install --editable '.[tf,test,lint]'
	touch $@

ops: $(READY)
	$(PYTHON) ops/build.py --directory build/ops --objects build/ops/objects

test: test-cpp sanitize test-python

test-cpp: $(READY)
	$(CORE) MODE=plain
	build/core/plain/core_test --gtest_brief=1

sanitize: $(READY)
	$(CORE) MODE=address
	build/core/address/core_test --gtest_brief=1
	$(CORE) MODE=thread
	build/core/thread/core_test --gtest_brief=1

test-python: ops
	$(PYTHON) -m pytest

lint: $(READY)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -c 'import clang_format; clang_format.clang_format()' --dry-run -Werror $(CPP_FILES)

format: $(READY)
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	$(PYTHON) -c 'import clang_format; clang_format.clang_format()' -i $(CPP_FILES)

clean:
	rm -rf build dist *.egg-info ops/*.so
