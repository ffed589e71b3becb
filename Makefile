# Two commands from a fresh machine: make demo, make test. Set-up included.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(PATH):/usr/sbin:/sbin
# Images of containers set it; each of hundreds of processes would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
SUDO := $(if $(filter 0,$(shell id -u)),,sudo --preserve-env=CHAOSKIT_STATE,CHAOSKIT_CACHE)
BIN := .venv/bin
STAMP := .venv/.installed
DURATIONS := --durations 25 --durations-min 1
SEED := $(shell date +%Y%m%d)

.PHONY: help setup demo fast test chaos nightly releases expectations check bench clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  make \1\t/' | expand -t 20

setup: .packages $(STAMP) ## install what is missing: Debian packages, .venv/

.PHONY: .packages
.packages:
	@./setup/privilege
	@./setup/packages

$(STAMP): pyproject.toml setup/requirements.txt setup/compile.py $(wildcard chaoskit/history/recording/hot*.[ch] chaoskit/interop/jepsen/*.c chaoskit/model/*.[ch]) | .packages
	@./setup/environment

demo: setup ## power cut on a real Kafka cluster, with and without fsync: what is lost (2 minutes)
	@$(SUDO) $(BIN)/chaoskit run kafka/power-all:os-flush kafka/power-all:flush-each

check: setup ## format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy || { [ $$? = 2 ] && $(BIN)/mypy --num-workers 0; } # 2: mypy gives its workers 3 s to begin
	$(BIN)/lint-imports

.PHONY: .browser
.browser: .packages
	@./setup/packages browser

.PHONY: .tests
.tests: setup # compiles the tests, once for all processes that run them
	@found=$$($(SUDO) $(BIN)/python -m pytest --collect-only -qq tests 2>&1) || { echo "$$found"; exit 1; }

fast: setup .browser ## check, unit and integration tests: `make test` without clusters (root or sudo)
fast: TESTS = -m "not long" tests/unit tests/integration
test: setup .browser ## all tests: unit, integration, short chaos tests on real clusters (11 minutes; root or sudo)
test: TESTS = -m "not chaos or not (long or nightly)" tests/unit tests/integration tests/chaos
fast test:
	@$(MAKE) --no-print-directory --jobs 2 --output-sync check .tests
	@$(SUDO) $(BIN)/python tests/pace.py
	$(SUDO) $(BIN)/python -m pytest $(DURATIONS) -n 5 --max-worker-restart 0 --dist loadfile --no-loadscope-reorder $(TESTS)
	@$(SUDO) $(BIN)/python tests/pace.py

# PART=2/6: the second of six parts
PART :=
SPLIT := $(if $(PART),--splits $(notdir $(PART)) --group $(patsubst %/,%,$(dir $(PART))))

chaos: setup ## all chaos tests on real clusters, the long ones too (5 hours; PART=1/6: a part of them)
	$(SUDO) $(BIN)/python -m pytest $(DURATIONS) $(SPLIT) -m "chaos and not nightly" tests/chaos tests/integration

# TIMES=10: every chaos test ten times, each with another seed
TIMES := 1

nightly: setup ## thousands of generated histories, mutants of the checkers, every chaos test, the newest releases (a night; also PART, TIMES)
	$(BIN)/python -m pytest tests/unit -n 2 --hypothesis-profile nightly --hypothesis-seed $(SEED) \
		-k "reference or metamorphic or synthetic or propert or mutants or attribution"
	$(BIN)/mutmut run --max-children 2 && $(BIN)/mutmut results
	$(SUDO) $(BIN)/python -m pytest $(DURATIONS) $(SPLIT) -m chaos tests/chaos --chaos-times $(TIMES)
	$(SUDO) $(BIN)/chaoskit sweep sweeps/newest

releases: setup ## the same scenarios on many releases of Kafka, Pulsar and RabbitMQ, as tables (an hour)
	-$(SUDO) $(BIN)/chaoskit sweep sweeps/releases-kafka
	-$(SUDO) $(BIN)/chaoskit sweep sweeps/releases-pulsar
	-$(SUDO) $(BIN)/chaoskit sweep sweeps/releases-rabbitmq

expectations: setup ## what settings keep under which faults, and deduplication, as tables (3 hours)
	-$(SUDO) $(BIN)/chaoskit sweep sweeps/expectations-kafka
	-$(SUDO) $(BIN)/chaoskit sweep sweeps/expectations-pulsar
	-$(SUDO) $(BIN)/chaoskit sweep sweeps/journal-sync
	-$(SUDO) $(BIN)/chaoskit sweep sweeps/dedup

bench: setup ## measure recording and checking, up to 100 million messages (over an hour; 24 GiB of memory, 10 of disk)
	$(SUDO) $(BIN)/python benchmarks/wal.py
	$(SUDO) $(BIN)/python -m benchmarks.recording
	$(SUDO) $(BIN)/python -m benchmarks.latency
	$(SUDO) $(BIN)/python -m benchmarks.full_rate
	$(BIN)/python benchmarks/check_log.py
	$(BIN)/python -m benchmarks.check_queue
	$(BIN)/python -m benchmarks.check_scaling
	$(BIN)/python -m benchmarks.check_transactions
	$(BIN)/python -m benchmarks.explain
	$(BIN)/python -m benchmarks.edn
	$(BIN)/python -m benchmarks.check_spark 100M
	$(SUDO) $(BIN)/python -m benchmarks.injection
	$(SUDO) $(BIN)/python -m benchmarks.membership
	$(SUDO) $(BIN)/python -m benchmarks.disk speed
	$(SUDO) $(BIN)/python -m benchmarks.disk seeds 100
	$(SUDO) $(BIN)/python -m benchmarks.disk_faults

clean: ## remove what runs left on this machine, and .venv/
	-test -x $(BIN)/chaoskit && $(SUDO) $(BIN)/chaoskit heal
	rm -rf .venv
