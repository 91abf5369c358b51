# Two commands matter: `make demo` and `make test`. Each is enough on a machine with Python 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The tests start some hundred processes. Where Python may not keep what it compiles, each of them compiles all it loads.
export PYTHONDONTWRITEBYTECODE :=
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)

# Where `make compiled` puts its tools and the wheel.
TOOLS ?= .compiled
DIST ?= dist

.PHONY: help demo quick test test-long test-elsewhere soak check compiled bench bench-retention flood record format clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo: $(BIN)/.demo  ## replay recorded agent runs into a collector and ask what happened
	@$(BIN)/retrospan demo

# The folders whose tests need no engine, or have enough that do not: what wants one is marked by its fixtures.
QUICK := interpret rules otlp redaction log config schemas answer/test_guard.py bench/test_mutations.py test_layout.py

quick: $(BIN)/.ready  ## run the tests that need no engine: interpretation, log, OTLP, redaction, guard (a minute and a half on two cores)
	@$(BIN)/pytest -q -n 2 -m "not long and not soak and not engine" $(addprefix tests/,$(QUICK))

test: $(BIN)/.ready  ## run the tests (a quarter of an hour on two cores)
	@$(BIN)/pytest -q -n 4 --dist loadfile --no-loadscope-reorder -m "not long and not soak"

test-long: $(BIN)/.ready  ## also run the long tests (three quarters of an hour in all): kill -9 under load, orders and duplicates, real clients
	@$(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not soak"

test-elsewhere: $(BIN)/.ready  ## run the tests in an environment whose Python has nothing that only Linux has
	@UV_PROJECT_ENVIRONMENT=.venv-elsewhere $(UV) sync --quiet --frozen --extra embedded --extra frames --extra mcp --python $(PYTHON)
	@cp tests/elsewhere/without_linux.py tests/elsewhere/without_linux.pth .venv-elsewhere/lib/python3*/site-packages/
	@.venv-elsewhere/bin/pytest -q -n 4 --dist loadfile --no-loadscope-reorder -m "not long and not soak"

soak: $(BIN)/.ready  ## run the heaviest tests, for hours: all of what the long ones are a sample of, runs of 50,000 spans, building the image
	@$(BIN)/pytest -q -m soak

check: $(BIN)/.ready  ## formatting, lint and types: ruff, mypy (strict), pyright
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/pyright

compiled: $(TOOLS)/.ready  ## build a wheel for this Python whose interpretation is compiled, into dist/; needs a C compiler
	@$(TOOLS)/bin/python -m compiled.build $(DIST)

bench: $(BIN)/.ready  ## measure speed and size; the table goes to bench/RESULTS.md
	@$(BIN)/python -m bench.run

bench-retention: $(BIN)/.ready  ## measure deletion in a million spans; the table goes to bench/RETENTION.md
	@$(BIN)/python -m bench.retention

flood: $(BIN)/.ready  ## send a collector twice what it can take for ten minutes; the memory goes to bench/FLOOD.md
	@$(BIN)/python -m bench.flood

record: $(BIN)/.ready  ## record a framework at its newest version and print the score: make record WHAT="pydantic-ai normal"
	@cd tests && ../$(BIN)/python -m recordings.record $(WHAT)

format: $(BIN)/.ready
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .venv-elsewhere .uv .compiled .pytest_cache .mypy_cache .ruff_cache .hypothesis

.uv/bin/uv:
	@echo "fetching uv (once)"
	@$(PYTHON) -m venv .uv
	@.uv/bin/pip install --quiet --disable-pip-version-check --requirement build-tools.txt

# What the demo needs; the environment of the tests holds it as well.
$(BIN)/.demo: pyproject.toml uv.lock | $(filter .uv/bin/uv,$(UV))
	@test -e $(BIN)/.ready || echo "installing into $(VENV) (once; about 195 MB to download, 0.6 GB on disk: it brings its own ClickHouse)"
	@test -e $(BIN)/.ready || $(UV) sync --quiet --frozen --no-dev --extra embedded --python $(PYTHON)
	@touch $@

$(TOOLS)/.ready: compiled/build-tools.txt | $(filter .uv/bin/uv,$(UV))
	@$(UV) venv --quiet --clear --python $(PYTHON) $(TOOLS)
	@$(UV) pip install --quiet --require-hashes --only-binary :all: --python $(TOOLS)/bin/python --requirement compiled/build-tools.txt
	@touch $@

$(BIN)/.ready: pyproject.toml uv.lock | $(filter .uv/bin/uv,$(UV))
	@echo "installing into $(VENV) (once; about 475 MB to download, 1.5 GB on disk, most of it the embedded ClickHouse)"
	@$(UV) sync --quiet --frozen --extra embedded --extra frames --extra mcp --python $(PYTHON)
	@touch $@
