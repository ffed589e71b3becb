# Two commands from a fresh machine: make demo, make test. Set-up included.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(PATH):/usr/sbin:/sbin
SUDO := $(if $(filter 0,$(shell id -u)),,sudo --preserve-env=CHAOSKIT_STATE,CHAOSKIT_CACHE)
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help setup demo test chaos nightly expectations check bench clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  make \1\t/' | expand -t 20

setup: .packages $(STAMP) ## install what is missing: Debian packages, .venv/

.PHONY: .packages
.packages:
	@./setup/privilege
	@./setup/packages

$(STAMP): pyproject.toml setup/requirements.txt
	@./setup/environment

demo: setup ## power cut on a real Kafka cluster, with and without fsync: what is lost (2 minutes)
	@$(SUDO) $(BIN)/chaoskit run scenarios/kafka-power-all-os-flush.yaml scenarios/kafka-power-all-flush-each.yaml

check: setup ## format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: .browser
.browser: .packages
	@./setup/packages browser

test: check .browser ## all tests: unit, integration, chaos tests on real Kafka and Pulsar (needs root or sudo)
	$(SUDO) $(BIN)/python -m pytest
	$(SUDO) $(BIN)/python -m pytest -m "chaos and not long" tests/chaos

chaos: setup ## all chaos tests on real Kafka, Pulsar and BookKeeper, the long ones too (50 minutes)
	$(SUDO) $(BIN)/python -m pytest -m chaos tests/chaos

nightly: setup ## thousands of generated histories against the reference checkers; every chaos test ten times
	$(BIN)/python -m pytest tests/unit --hypothesis-profile nightly -k "reference or metamorphic or synthetic or propert"
	$(SUDO) $(BIN)/python -m pytest -m chaos tests/chaos --chaos-times 10

expectations: setup ## what settings keep under which faults, and deduplication, as tables (3 hours)
	-$(SUDO) $(BIN)/chaoskit sweep scenarios/expectations-kafka.yaml
	-$(SUDO) $(BIN)/chaoskit sweep scenarios/expectations-pulsar.yaml
	-$(SUDO) $(BIN)/chaoskit sweep scenarios/journal-sync.yaml
	-$(SUDO) $(BIN)/chaoskit sweep scenarios/dedup.yaml

bench: setup ## measure recording and checking, up to 100 million messages (an hour; 24 GiB of memory, 10 of disk)
	$(SUDO) $(BIN)/python benchmarks/wal.py
	$(SUDO) $(BIN)/python benchmarks/recording.py
	$(BIN)/python benchmarks/check_log.py
	$(BIN)/python -m benchmarks.check_scaling
	$(BIN)/python -m benchmarks.check_transactions
	$(BIN)/python -m benchmarks.edn
	$(BIN)/python -m benchmarks.check_spark 100M
	$(SUDO) $(BIN)/python -m benchmarks.injection
	$(SUDO) $(BIN)/python -m benchmarks.disk speed
	$(SUDO) $(BIN)/python -m benchmarks.disk seeds 100
	$(SUDO) $(BIN)/python -m benchmarks.disk_faults

clean: ## remove what runs left on this machine, and .venv/
	-test -x $(BIN)/chaoskit && $(SUDO) $(BIN)/chaoskit heal
	rm -rf .venv
