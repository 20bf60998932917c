# `make run` and `make test` need nothing but Python 3.11+; each sets up what it uses.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
DATA ?= data
PYTEST := $(BIN)/python -m pytest

# Tests start thousands of processes: modules are compiled once, not by each of them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test lint unit conformance bench soak sim-long fuzz format clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

$(VENV)/.installed: pyproject.toml
	@echo "setting up $(VENV) (a Python environment inside this checkout)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
		     "Try: make PYTHON=python3.12"; exit 1; }
	@[ ! -e $(VENV)/.unfinished ] || rm -rf $(VENV) # a set-up that was interrupted
	@$(PYTHON) -m venv $(VENV) || { \
		echo "python3 -m venv failed. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	@touch $(VENV)/.unfinished
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --editable .
	@rm $(VENV)/.unfinished
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "adding Spark and the tools that the tests use (about 600 MB)"
	@$(BIN)/python -m pip install --quiet --editable '.[spark]' --group dev
	@touch $@

run: $(VENV)/.installed ## Start a broker on localhost:9092, data under ./data
	@exec $(BIN)/barnabas start --data-dir $(DATA)

test: $(VENV)/.installed-dev ## Lint, type checks, and every test that needs only PyPI and Debian packages
	@./scripts/need kcat zookeeper zsh fish java
	@$(MAKE) --no-print-directory lint
	@$(PYTEST) -q -n $(JOBS) --dist worksteal tests/unit tests/property tests/sim
	@./scripts/tests-with-processes $(PYTEST) -q -- -n $(JOBS) --dist worksteal tests/integration

lint: $(VENV)/.installed-dev ## ruff, mypy --strict, import-linter
	@$(BIN)/ruff check src tests bench examples
	@$(BIN)/ruff format --check src tests bench examples
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: $(VENV)/.installed-dev ## Let ruff format and fix
	@$(BIN)/ruff check --fix src tests bench examples
	@$(BIN)/ruff format src tests bench examples

conformance: $(VENV)/.installed-dev ## Apache Kafka's tools and clients, kafkajs (fetches from Maven and npm)
	@./scripts/need java javac mvn node npm
	@$(BIN)/python tests/conformance/fetch.py
	@./scripts/tests-with-processes $(PYTEST) -q -- tests/conformance

bench: $(VENV)/.installed-dev ## Side by side with Apache Kafka; writes docs/benchmarks.md (about 20 minutes)
	@./scripts/need java javac mvn cc librdkafka
	@$(BIN)/python tests/conformance/fetch.py
	@$(BIN)/python bench/run.py $(BENCH)

soak: $(VENV)/.installed-dev ## The long runs: crashes, exactly-once, malformed frames, MINUTES (10) of a cluster's faults, the lab 20 times, pipelines
	@./scripts/need java javac mvn zookeeper
	@$(BIN)/python tests/conformance/fetch.py
	@$(BIN)/python tests/soak/crash.py --rounds 50
	@$(BIN)/python tests/soak/exactly_once.py --rounds 50 --records 200000
	@$(BIN)/python tests/soak/fuzz.py --frames 1000000
	@$(BIN)/python tests/soak/cluster.py --minutes $(or $(MINUTES),10)
	@$(BIN)/python tests/soak/lab.py --times 20
	@$(BIN)/python tests/soak/pipelines.py --rounds 20
	@$(BIN)/python tests/soak/reconcile.py --records 10000000

sim-long: $(VENV)/.installed-dev ## N (10000) seeds of the simulator, from FIRST on; says how to see a failing one again
	@$(BIN)/python -m barnabas.lab.sim --first $(or $(FIRST),1) --count $(or $(N),10000) --jobs $(JOBS)

clean: ## Remove what the targets above made, except ./data
	@rm -rf $(VENV) .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
