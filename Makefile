# Every command that a developer needs. `make up` and `make test` need Python 3.11 and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock

.PHONY: install up test test-rabbitmq test-browser soak contracts lint format bench lock clean

# What runs Muster.
$(VENV)/.run: setup.cfg pyproject.toml requirements.lock
	@echo "Installing Muster and its local chain into $(VENV), once. This takes a minute or two."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[local]'
	$(BIN)/python -m engine.chain.anvil
	touch $@

# What develops it: that, and the servers and tools of the tests.
$(VENV)/.dev: $(VENV)/.run
	@echo "Installing what the tests need into $(VENV), once. This takes a minute or two."
	$(PIP) -e '.[local,postgres,redis,rabbitmq,dev]'
	touch $@

install: $(VENV)/.dev

up: $(VENV)/.run
	$(BIN)/muster up $(ARGS)

# Most tests wait for something, so more of them run at once than there are cores. Hundreds of
# processes start; each would compile all modules again if it were told to keep nothing.
test soak: export PYTHONDONTWRITEBYTECODE =
test: install
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "not soak and not rabbitmq and not browser" $(ARGS)

# Needs rabbitmq-server from the system's packages.
test-rabbitmq: install
	$(BIN)/python -m pytest -m rabbitmq $(ARGS)

# Needs chromium from the system's packages.
test-browser: install
	$(BIN)/python -m pytest -m browser $(ARGS)

# Long fault and race rounds, with their full counts.
soak: install
	MUSTER_SOAK=1 $(BIN)/python -m pytest -m soak $(ARGS)

# Forge, slither and halmos over the contracts; a quarter of an hour, and needs PyPI and npm.
contracts: install
	$(BIN)/python -m tests.contracts $(ARGS)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(PIP) -e '.[bench]'
	$(BIN)/python -m tests.bench $(ARGS)

# Exact versions of everything, from the lower bounds in setup.cfg.
lock:
	rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet -e '.[local,postgres,redis,rabbitmq,dev,bench]'
	$(VENV)-lock/bin/python -m pip freeze --exclude-editable > requirements.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) .muster build *.egg-info
