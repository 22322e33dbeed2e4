# Everything that developers and CI run. The first target prints this help.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.driftway-installed
INSTALL_QUIETLY := $(if $(CI),--quiet,)
# Python writes the bytecode of what it imports, unless it is told not to: then it is written once, by setup.
BYTECODE := $(if $(PYTHONDONTWRITEBYTECODE),,--no-compile)
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup demo docs tutorials test check test-quick test-slow test-unit test-broker test-fault test-cluster test-versions bench bench-kernels long-log soak regenerate constraints release test-deployment broker clean

help:  ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make .venv and install everything (once)

# The interpreter is looked for only when .venv is made; PYTHON=... chooses another.
$(STAMP): pyproject.toml
	@if [ ! -x $(BIN)/python ]; then \
	  chosen=; \
	  for candidate in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11 python); do \
	    if command -v "$$candidate" >/dev/null && "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	    then chosen=$$candidate; break; fi; \
	  done; \
	  if [ -z "$$chosen" ]; then \
	    echo "Driftway needs Python 3.11 or newer; found: $$("$(or $(PYTHON),python3)" --version 2>&1 || echo none). Say make setup PYTHON=/path/to/python" >&2; \
	    exit 1; \
	  fi; \
	  echo "making $(VENV) with $$("$$chosen" --version)"; \
	  "$$chosen" -m venv $(VENV) || { rm -rf $(VENV); echo "$$chosen cannot make a virtual environment; install its venv module" >&2; exit 1; }; \
	fi
	$(BIN)/python -m pip install $(INSTALL_QUIETLY) $(BYTECODE) --editable '.[dev]'
	$(if $(BYTECODE),,$(BIN)/python -m compileall -q driftway learners worker producers workbench)
	@touch $@

demo: setup  ## See the whole way: Kafka, replay, workers, live accuracy, plot
	$(BIN)/driftway demo

# Slow tests are left to test-broker and test-fault.
test: setup  ## All checks and default tests on a real Kafka (what CI runs)
	@$(BIN)/python -m tests.stages

check: setup  ## Format, lint, types, and the rules of tests/meta
	@$(BIN)/python -m tests.stages format lint types rules

# BASE=main compares with a branch. It prints which learners it leaves out.
test-quick: setup  ## What depends on the files changed since the last commit: a minute
	@$(BIN)/python -m tests.quick $(BASE)

test-unit: setup  ## Tests without Kafka: minutes
	@$(BIN)/python -m tests.stages unit

test-broker: setup  ## Tests on the real local Kafka, slow ones included
	$(PYTEST) --require-broker -m "broker and not fault"

test-fault: setup  ## Every commit step x every fault, slow ones included
	$(PYTEST) --require-broker -m fault

test-cluster: setup  ## Faults of three brokers under load, slow ones included: 45 minutes
	@$(BIN)/python -m tests.stages cluster

# ARGS=kafka-3.9.2 runs one row; Pythons that are not on this machine are only resolved.
test-versions: setup  ## Chosen tests on older Kafkas, clients and Pythons: 13 minutes
	@$(BIN)/python -m tests.versions $(ARGS)

# Needs packages that nothing else here needs; they are installed when it is first called.
docs: setup  ## Build the documents as a site in build/site; fails at a link that leads nowhere
	@$(BIN)/python -c 'import material' 2>/dev/null || $(BIN)/python -m pip install $(INSTALL_QUIETLY) --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

tutorials: setup  ## Type every command of the tutorials, the README and the how-to pages, on a real Kafka
	$(PYTEST) --require-broker tests/broker/test_tutorials.py tests/broker/test_pages.py tests/unit/library/test_page.py tests/unit/library/test_notebook.py tests/unit/test_readme.py

# What `make test` leaves out; also on real streams, if DRIFTWAY_DATA names their folder.
test-slow: setup  ## All slow tests: hours
	@$(BIN)/python -m tests.stages slow-broker cluster slow-unit slow-examples

bench: setup  ## Throughput and latency beside the bare client
	$(BIN)/driftway bench

bench-kernels: setup  ## Rows a second of each kernel beside a plain numba loop
	DRIFTWAY_BENCH=1 $(PYTEST) tests/bench -m slow -s

# About 6 GB of disk while it runs; ARGS='--rows 200000' tries it out, ARGS='--json FILE' keeps every figure.
long-log: setup  ## Memory and speed over 10^7 messages, and seconds until a killed worker's successor goes on
	$(BIN)/python -m tests.bench.long_log $(ARGS)

# About 4 GB of disk an hour; ARGS='--minutes 5' tries it out, '--seed N' repeats the faults of a run, '--json FILE' keeps
# every figure, '--brokers 3' a cluster. A complaint leaves a folder soak-evidence-N with all that may tell why.
soak: setup  ## An hour of random faults under load: exactly once, memory, descriptors, final audit
	$(BIN)/python -m tests.soak $(ARGS)

# Minutes on two cores; needs real streams, in the folder that DRIFTWAY_DATA names.
regenerate: setup  ## Regenerate docs/learners.md, pages of docs/reference, pictures, the tables in docs/results
	$(BIN)/python -m tests.regenerate.catalogue
	$(BIN)/python -m tests.regenerate.asyncapi
	$(BIN)/python -m tests.regenerate.command_line
	$(BIN)/python -m tests.regenerate.messages
	$(BIN)/python -m tests.regenerate.metrics
	$(BIN)/python -m tests.regenerate.log_events
	$(BIN)/python -m tests.regenerate.elementary
	$(BIN)/python -m tests.regenerate.auto_ablation
	$(BIN)/python -m tests.regenerate.coverage
	$(BIN)/python -m tests.regenerate.label_delay
	$(BIN)/python -m tests.regenerate.sharing
	$(BIN)/python -m tests.regenerate.page_pictures
	for table in d-odm dfop dfop-regression sanity moving-targets online-to-batch auto; do \
	  $(BIN)/driftway evaluate --table $$table --jobs 2 --out docs/results || exit 1; \
	done
	$(BIN)/driftway evaluate sea hyperplane_staged 1CDT 2CDT 1CHT archive:2CHT UG-2C-2D electricity usenet2 \
	  --protocol segments --no-standardize --grid dfop:mu=0.0001/0.0003/0.001/0.003/0.01/0.03/0.1/0.3/0.5 \
	  --jobs 2 --out docs/results/forgetting-factor
	$(BIN)/python -m tests.regenerate.findings

# The schemas of Kubernetes (108 MB) are kept in .versions; helm, kubectl and systemd-analyze are used if they are here.
test-deployment: setup  ## Manifests, chart, unit and image by their schemas and tools, and a wheel: two minutes
	@[ -d .versions/deployment/importlib_resources ] || $(BIN)/python -m pip install --quiet --no-deps --upgrade \
	  --target .versions/deployment 'kubernetes-validate>=1.37' importlib-resources
	PYTHONPATH=.versions/deployment $(PYTEST) tests/unit/deployment

constraints: setup  ## Write constraints.txt: the versions with which a release is tried
	$(BIN)/python -m tests.regenerate.constraints

# Into dist/, with a bill of materials (CycloneDX) and the licences of what a worker needs.
release: setup  ## Build wheel and source archive, and try them in fresh environments on each Python
	@$(BIN)/python -m tests.release

broker: setup  ## A local Kafka until Ctrl-C
	$(BIN)/driftway broker

clean:  ## Remove the environment and every cache of this checkout
	rm -rf $(VENV) .versions .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find driftway learners worker producers workbench tests -name __pycache__ -prune -exec rm -rf {} +
