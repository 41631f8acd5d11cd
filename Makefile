# The two commands of the README are `make run` and `make test`; both set up what they need.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUN_VENV := .venv-run
RUN_READY := $(RUN_VENV)/.ready
SAMPLE := examples/sample-vault
# Two for each core: much of the time a test waits for a process, a browser or the clock. With three the suite is no faster,
# because its processes then take all of the processor time.
TEST_WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 2) * 2)')

WEB_READY := web/node_modules/.ready

# Containers often set it. Hundreds of tests start a process, and each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-long check lint types generate screenshots packages bundle companion web bench bench-tasks bench-peers conformance test-claude lock clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 16

$(READY): pyproject.toml requirements/dev.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(RUN_READY): pyproject.toml requirements/run.lock
	$(PYTHON) -m venv $(RUN_VENV)
	$(RUN_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.lock
	$(RUN_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

run: $(RUN_READY)  ## serve the sample vault until Ctrl+C, after a first search
	$(RUN_VENV)/bin/vaultbridge index $(SAMPLE)
	$(RUN_VENV)/bin/vaultbridge search $(SAMPLE) '"light pollution" OR task-todo:survey' --limit 3 --no-pager
	$(RUN_VENV)/bin/vaultbridge serve $(SAMPLE) --link

test: $(READY)  ## the ordinary tests
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal -m "not long"

test-long: $(READY)  ## the long tests: faults, hostile peers, type checkers, every example and every combination
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal -m long

conformance: $(READY)  ## the official MCP suite against our core and against serve, both versions (needs npm)
	$(BIN)/python tests/conformance/run.py

test-claude: $(READY)  ## the real Claude Code against our socket (needs npm and tmux)
	VAULTBRIDGE_TEST_CLAUDE=1 $(BIN)/python -m pytest -q tests/claude

bench: $(READY)  ## every measurement, as ratios within one run
	for file in benchmarks/*_bench.py; do $(BIN)/python $$file || exit 1; done

bench-tasks: $(READY)  ## what twenty requests cost an assistant, beside other servers, into docs/benchmarks.md (needs npm)
	$(BIN)/python benchmarks/tasks_bench.py --write-docs

bench-peers: $(READY)  ## the same session against other servers, into docs/benchmarks.md (needs npm and Python 3.12)
	$(BIN)/python benchmarks/peers/run.py --write-docs

generate: $(READY)  ## every generated file: schemas, the list of tools, reference pages
	$(BIN)/python -m vaultbridge.tools.generate docs/tools.md docs/cli.md
	$(BIN)/python -m vaultbridge.protocols.mcp.vault.listing
	$(BIN)/python tests/requirements/document.py
	$(BIN)/python -m vaultbridge.cli.manual man/vaultbridge.1

screenshots: $(READY)  ## the pictures of the documents, made by the browser tests (needs Chromium)
	rm -rf build/screenshots
	VAULTBRIDGE_SCREENSHOTS=build/screenshots $(BIN)/python -m pytest -q tests/browser/test_documents.py tests/browser/test_walk.py
	cp build/screenshots/note.png docs/images/note.png
	cp build/screenshots/review-1280-light.png docs/images/review.png

packages: $(READY)  ## build every package into dist/, each checked by its own tool (needs npm)
	$(BIN)/python packaging/build.py dist

bundle: $(READY)  ## the .mcpb bundle alone, for Claude Desktop (needs npm)
	$(BIN)/python packaging/build.py dist --only mcpb

companion: $(READY)  ## the release files of the Obsidian plugin alone, into dist/companion
	$(BIN)/python packaging/build.py dist --only companion

# Not `npm ci`: it insists on optional packages for other systems, which a registry need not have.
$(WEB_READY): web/package.json web/package-lock.json
	npm install --prefix web --loglevel=error
	@touch $@

web: $(WEB_READY)  ## check the page's sources and bundle them into src/vaultbridge/web/static (needs npm)
	npm run --prefix web --silent check
	npm run --prefix web --silent build

lint: $(READY)  ## style alone (ruff)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## types alone (mypy, strict), as each system sees the code
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin src
	$(BIN)/mypy --platform win32 src

check: lint types  ## style and types

lock:  ## pin the newest dependencies (needs uv)
	uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  --extra client --extra chinese pyproject.toml requirements/dev.in -o requirements/dev.lock
	uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  pyproject.toml -o requirements/run.lock
	uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  requirements/packaging.in -o requirements/packaging.lock

clean:  ## delete the environment and the caches
	rm -rf $(VENV) .venv-* .pytest_cache .mypy_cache .ruff_cache
