# Every target sets up what it needs; a second run finds it there.
#
#   make demo               the whole round on SQLite, no server needed
#   make test [ARGS=...]    all tests, on real servers that it fetches where they are missing
#   make test-newer         what differs by version, on the newest PostgreSQL and MariaDB of Debian
#   make soak MINUTES=10    the long explorations, sharing that time
#   make fuzz CASES=200000  random descriptions; FROM=1000000 begins at another case
#   make bench              how fast it is, against peers and the servers' limits; ARGS=quick: a first look
#   make check              linters, formatter, both type checkers
#   make format             what the linter and the formatter can do by themselves
#   make servers            the database servers alone; prints their versions and how to run them
#   make dist               the sdist and the wheel, in dist/
#   make clean              all of it away, but for the cache of servers

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
MINUTES ?= 10
CASES ?= 200000
FROM ?= 0
# Processes that share the tests, each with servers of its own. A file's tests stay together.
PARALLEL ?= 2
ARGS ?=

# What a server's version can change: statements, plans, locks, who gets which row.
NEWER := tests/test_servers.py tests/conformance/test_statements_run.py tests/conformance/test_plans.py \
	tests/conformance/test_claiming.py tests/conformance/test_fencing.py \
	tests/conformance/row_lock/test_contention.py tests/conformance/row_lock/test_locks.py \
	tests/conformance/advisory/test_taking.py tests/conformance/fifo/test_fifo_exclusion.py

.PHONY: demo test test-newer soak fuzz bench check format servers dev dist clean
.DEFAULT_GOAL := test

demo: $(VENV)/.package
	$(BIN)/sqlclaimgen demo $(ARGS)

test: dev servers
	$(BIN)/pytest -n $(PARALLEL) --dist loadfile $(ARGS)

test-newer: export SQLCLAIMGEN_TEST_RELEASE = newer
test-newer: dev servers
	$(BIN)/pytest -n $(PARALLEL) --dist loadfile -k "postgres or mariadb" $(NEWER) $(ARGS)

soak: dev servers
	SOAK_MINUTES=$(MINUTES) $(BIN)/pytest -m soak $(ARGS)

fuzz: dev
	FUZZ_CASES=$(CASES) FUZZ_FROM=$(FROM) $(BIN)/pytest -n $(PARALLEL) -m fuzz -rP tests/fuzz $(ARGS)

bench: dev servers
	$(BIN)/python -m benchmarks $(ARGS)

check: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ruff check --isolated generated_examples
	$(BIN)/ruff format --check --isolated generated_examples
	$(BIN)/mypy
	$(BIN)/pyright

format: dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

servers: dev
	$(BIN)/python -m tests.servers

dist: dev
	rm -rf dist
	$(BIN)/python -m build

dev: $(VENV)/.dev

# An editable install is redone only when the description of the package changes.
$(VENV)/.package: pyproject.toml
	scripts/create-venv $(VENV)
	$(PIP) install --editable .
	touch $@

$(VENV)/.dev: pyproject.toml
	scripts/create-venv $(VENV)
	$(PIP) install --editable '.[dev]'
	touch $(VENV)/.package $@

clean:
	rm -rf $(VENV) benchmarks/.venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
