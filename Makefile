# On a machine with Python >= 3.11, pip and git, `make demo` and `make test` work from nothing: each environment below is
# created when first needed, from a lock file in requirements/ whose every package is checked by hash.

PYTHON ?= python3
VENV ?= .venv
LOCK_FLAGS ?=
PYTEST_ARGS ?=

VENV_MCP1 := $(VENV)-mcp1
VENV_TOOLS := $(VENV)-tools
BIN := $(VENV)/bin
CODE := $(wildcard src tests benchmarks examples docs tools collector-config noxfile.py)

# pip of $(PYTHON) installs into a venv that needs no pip of its own (so Debian's python3-venv is not needed either).
PIP = $(PYTHON) -m pip --disable-pip-version-check --python

PYTHON_VERSION := $(shell $(PYTHON) -c 'import platform; print(platform.python_version())' 2>/dev/null)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo docs test test-all test-mcp1 test-frameworks check coverage format bench lock nox clean
.PHONY: lint lint-format lint-rules lint-types lint-layers

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'PYTHON=python3.13 chooses another interpreter (with VENV=.venv313 beside the first environment).'

demo: $(VENV)/.installed ## the whole loop in a minute, nothing else installed or running
	$(BIN)/citespan demo

test: test-all test-mcp1 ## all tests, and those of the instrumentation with the old MCP SDK too

test-all: $(VENV)/.installed ## all tests, with the newest of everything
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-mcp1: $(VENV_MCP1)/.installed ## the instrumentation's tests with mcp 1.x
	$(VENV_MCP1)/bin/python -m pytest tests/instrument $(PYTEST_ARGS)

test-frameworks: $(VENV_TOOLS)/.locked ## each framework's tests, with its oldest and its newest supported version
	$(VENV_TOOLS)/bin/nox --tags frameworks

check: lint tools coverage test-mcp1 test-frameworks ## what CI runs: lint, all tests with branch coverage, each framework

coverage: $(VENV)/.installed ## all tests under branch coverage, then the report
	$(BIN)/coverage run -m pytest $(PYTEST_ARGS)
	$(BIN)/coverage report

lint: lint-format lint-rules lint-types lint-layers ## format, lint, types, layers

lint-format: $(VENV)/.installed
	$(BIN)/ruff format --check $(CODE)

lint-rules: $(VENV)/.installed
	$(BIN)/ruff check $(CODE)

lint-types: $(VENV)/.installed
	$(BIN)/mypy

lint-layers: $(VENV)/.installed
	$(BIN)/lint-imports

format: $(VENV)/.installed ## format and fix what can be fixed
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

bench: $(VENV)/.installed $(VENV_TOOLS)/.locked ## the benchmarks, then those of the other frameworks
	$(BIN)/python -m benchmarks
	$(VENV_TOOLS)/bin/nox --session bench_frameworks

# The real programs that collector-config/ is tested with; they stay outside the checkout, see tools/programs.py.
.PHONY: tools test-collector
tools: ## build the collector and Jaeger from their Go modules: needs Go, and some minutes, once
	$(PYTHON) tools/programs.py

test-collector: tools $(VENV)/.installed ## the tests of collector-config/, with the real programs
	$(BIN)/python -m pytest tests/collector $(PYTEST_ARGS)

COMPILE = $(VENV_TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' $(LOCK_FLAGS)

lock: $(VENV_TOOLS)/.locked ## renew requirements/ after a change of pyproject.toml (LOCK_FLAGS=--upgrade: newest of all)
	$(COMPILE) pyproject.toml --extra demo --extra serve --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra demo --extra serve --group mcp1 --group test --group build -o requirements/mcp1.txt
	$(COMPILE) --group tools -o requirements/tools.txt
	for pins in requirements/frameworks/*.in; do \
		$(COMPILE) pyproject.toml $$pins --group contract --group build -o $${pins%.in}.txt || exit; done

nox: $(VENV_TOOLS)/.locked ## the tests for each Python, lowest and newest versions, each MCP SDK
	$(VENV_TOOLS)/bin/nox

docs: $(VENV)/.installed ## the documentation as a site, in build/site
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build # it would tell of its successor each time

clean: ## remove the environments, caches and reports
	rm -rf $(VENV) $(VENV_MCP1) $(VENV_TOOLS) .nox build dist htmlcov .coverage .coverage.*
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Environments: `.locked` holds exactly the lock file's packages, `.installed` has citespan too, as this source tree.
$(VENV)/.locked: requirements/dev.txt
$(VENV_MCP1)/.locked: requirements/mcp1.txt
$(VENV_TOOLS)/.locked: requirements/tools.txt

# another interpreter than the one an environment was made with makes it anew
$(foreach venv,$(VENV) $(VENV_MCP1) $(VENV_TOOLS),$(if $(wildcard $(venv)/.python),$(if \
	$(filter $(shell cat $(venv)/.python),$(PYTHON_VERSION)),,$(shell rm -f $(venv)/.locked))))

$(VENV)/.locked $(VENV_MCP1)/.locked $(VENV_TOOLS)/.locked:
	@$(PYTHON) -c 'import sys; sys.exit("make PYTHON=...: 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@echo 'Creating $(@D) from $<'
	@$(PYTHON) -m venv --clear --without-pip $(@D)
	@$(PIP) $(@D) install --quiet --require-hashes --only-binary :all: -r $<
	@echo '$(PYTHON_VERSION)' > $(@D)/.python
	@touch $@

$(VENV)/.installed: $(VENV)/.locked pyproject.toml
$(VENV_MCP1)/.installed: $(VENV_MCP1)/.locked pyproject.toml

$(VENV)/.installed $(VENV_MCP1)/.installed:
	@$(PIP) $(@D) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
