# The two commands of the README are `make preview` and `make test`; both set everything up first.
STACK ?= prod
BASE ?=
FORMAT ?= terminal
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PULUMI_ERROR_OUTPUT_STRING := true
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# uv knows nothing of pip's settings; behind a company's proxy both must trust its certificate.
ifdef PIP_CERT
export SSL_CERT_FILE ?= $(PIP_CERT)
endif

.PHONY: setup preview test engines test-cluster test-node test-node-full test-chain test-mosaic image test-browser golden docs lint format benchmark lock hooks clean

setup: $(VENV)/.installed

$(VENV)/.installed: requirements/bootstrap.txt requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "floodplain needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	@echo "setting up $(VENV) (once; about a minute)" >&2
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/bootstrap.txt
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes --compile-bytecode requirements/dev.txt
	@touch $@

preview: setup
	@$(BIN)/python -m preview report --stack '$(STACK)' --format '$(FORMAT)' $(if $(BASE),--base '$(BASE)')

test: setup
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile

# The tiers below start real engines; each builds first what it lacks, or says what the machine lacks. See docs/testbed.md.
engines: setup
	@$(BIN)/python -m testbed build

test-cluster: setup
	@$(BIN)/python -m testbed build --tier cluster
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/cluster

test-node: setup
	@$(BIN)/python -m testbed build --tier node
	@$(BIN)/python -m testbed image
	@$(BIN)/python -m pytest -q -m 'not full' tests/node

test-node-full: setup
	@$(BIN)/python -m testbed build --tier node
	@$(BIN)/python -m testbed image
	@$(BIN)/python -m pytest -q tests/node

test-chain: setup
	@$(BIN)/python -m testbed build --tier chain
	@$(BIN)/python -m testbed image
	@$(BIN)/python -m pytest -q -s tests/chain

test-browser: setup
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { echo "the browser tests need Chromium: apt-get install chromium" >&2; exit 1; }
	@$(BIN)/python -m pytest -q tests/browser

# The example's flow on a real Prefect server and two pools of processes, all on loopback.
test-mosaic: setup
	@bash .ci/example_mosaic

# The image of the service, built without a registry and started once. As root, with buildah and debootstrap.
image:
	@bash .ci/image

golden: setup
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile --refresh-golden
	@git --no-pager diff --stat -- tests

docs: setup
	@$(BIN)/python -m docs.tables

format: setup
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

lint: setup
	@sh .ci/lint

benchmark: setup
	@$(BIN)/python -m benchmarks $(NAME)

# Pinned, hashed, without a registry's address.
lock: setup
	@for name in bootstrap dev; do \
	  $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/$$name.in -o requirements/$$name.txt; done
	@for name in program service raster; do \
	  $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/$$name.in -c requirements/dev.txt -o requirements/$$name.txt; done
	@cp requirements/program.txt components/requirements.txt
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 examples/mosaic/requirements.in -o examples/mosaic/requirements.txt

hooks: setup
	@$(BIN)/pre-commit install

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
