# Two commands are enough: `make demo` and `make test`. Both set everything up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LONG ?=
# torch is installed apart from the lock: which build (CPU, CUDA) is right depends on the machine.
# These words go to `pip install` as they are, so that an --index-url may be among them.
TORCH ?= torch==2.13.0
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)

.PHONY: demo test check bench lock clean system system-test setup setup-test

demo: setup
	$(BIN)/homeport demo

test: setup-test check
	$(BIN)/python -m pytest -m "not bench$(if $(LONG),, and not long)"

check: setup-test
	$(BIN)/ruff check lib tests
	$(BIN)/ruff format --check lib tests
	$(BIN)/lint-imports

bench: setup-test
	$(BIN)/python -m pytest tests/bench -m bench -q

# The programs that measure, from the distribution. Missing ones are installed where apt and the
# right to use it are there; otherwise the line to run is printed.
NEED := ping:iputils-ping traceroute:traceroute ip:iproute2 setpriv:util-linux nsenter:util-linux
system:
	@missing=""; for pair in $(NEED); do \
	  PATH="$$PATH:/usr/sbin:/sbin" command -v $${pair%%:*} >/dev/null || missing="$$missing $${pair##*:}"; done; \
	$(PYTHON) -c "import venv, ensurepip" 2>/dev/null || missing="$$missing python3-venv"; \
	if [ -n "$$missing" ]; then \
	  if command -v apt-get >/dev/null && { [ "$$(id -u)" = 0 ] || [ -n "$(SUDO)" ]; }; then \
	    echo "installing$$missing"; \
	    $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	  else echo "please install:$$missing"; exit 2; fi; fi

$(BIN)/python: | system
	$(PYTHON) -m venv $(VENV)

setup: $(VENV)/.setup
$(VENV)/.setup: requirements.lock pyproject.toml | system $(BIN)/python
	$(PIP) --no-deps --require-hashes -r requirements.lock
	$(PIP) $(TORCH)
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

setup-test: $(VENV)/.setup-test
$(VENV)/.setup-test: requirements-test.lock $(VENV)/.setup
	$(PIP) --no-deps --require-hashes -r requirements-test.lock
	@touch $@

# Resolve the versions anew (needs pip-tools): torch and its companions stay out of the lock.
lock: setup-test
	$(PIP) pip-tools
	$(COMPILE) --build-deps-for editable -o requirements.lock pyproject.toml
	$(COMPILE) --extra test --constraint requirements.lock -o requirements-test.lock pyproject.toml
COMPILE := $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --unsafe-package torch \
  --no-emit-find-links --no-emit-index-url --no-header

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find lib tests -name __pycache__ -type d -prune -exec rm -rf {} +
