# `make run` and `make test` set up .venv by themselves. Nothing else is needed on a machine with
# Python 3.11 or newer, g++, make and perl; tests that need tclsh are left out, and named, where it is missing.

PYTHON := .venv/bin/python
READY := .venv/.ready

# A seed that every commit draws anew, and that is the same whenever the commit is tested.
COMMIT_SEED = $$((0x$$(git rev-parse HEAD 2>/dev/null | grep -o '^.......' || echo 2)))

# An environment that was made in another place is of no use.
$(shell test "$$(cat $(READY) 2>/dev/null)" = "$$PWD" || rm -f $(READY))

.PHONY: help run test test-all bench lint style types regression clean distclean lock tools

help:
	@echo "make run    train on the smallest worker in simulation, then generate the U280's and train on it"
	@echo "make test   lint, the regression, of each component a size and a seed that the commit draws"
	@echo "make test-all  before a release: also every size, long run and mutant of a proof, ten seeds,"
	@echo "               a sample of broken RTL of each component (hours)"
	@echo "make bench  measure"
	@echo "make lint   ruff and pyright"
	@echo "make clean  remove what was built;  make distclean  .venv too"

# The smallest worker's picture comes first: its simulator takes less than half as long as the largest's.
run: $(READY)
	.venv/bin/ingather train --data digits --preset tiny -o build/digits-tiny
	.venv/bin/ingather generate p4sgd-worker --preset u280 -o build/u280
	.venv/bin/ingather train --data digits --preset u280 -o build/digits

# Hundreds of processes import the same sources. What pytest runs is said here, not by a shell.
unexport PYTHONDONTWRITEBYTECODE PYTEST_ADDOPTS PYTEST_PLUGINS PYTEST_DISABLE_PLUGIN_AUTOLOAD

test: style
	@$(MAKE) --no-print-directory -j 2 types regression

regression: $(READY)
	$(PYTHON) -m pytest -n 2 --dist worksteal --drawn-seed $(COMMIT_SEED)

# What `make test` leaves out is marked as long; it says how much that is.
test-all: lint
	$(PYTHON) -m pytest -n 2 --dist worksteal --all
	$(PYTHON) -m pytest -n 2 --dist worksteal --all -m simulates --seed 2 --seeds 10
	.venv/bin/ingather mutate --sample 10 --control 10 --seeds 1 --jobs 2
	.venv/bin/ingather mutate --planted --jobs 2 -o build/planted

bench: $(READY)
	$(PYTHON) -m gen.commands.bench

lint: style types

style: $(READY)
	$(PYTHON) -m ruff check --quiet
	$(PYTHON) -m ruff format --check --quiet

types: $(READY)
	$(PYTHON) -m pyright --pythonpath $(PYTHON)

clean:
	rm -rf build .pytest_cache .ruff_cache .hypothesis

distclean: clean
	rm -rf .venv ingather.egg-info

tools:
	@ok=true; \
	lacks() { echo "missing: $$1 (on Debian: apt-get install $$2)" >&2; ok=false; }; \
	if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		lacks "python3, 3.11 or newer" python3; \
	elif ! python3 -c 'import venv, ensurepip' 2>/dev/null; then \
		lacks "Python's module venv" python3-venv; \
	fi; \
	command -v g++ >/dev/null || lacks g++ g++; \
	command -v perl >/dev/null || lacks perl perl; \
	$$ok

$(READY): requirements.lock pyproject.toml | tools
	@echo "making .venv ..."
	@python3 -m venv --clear .venv
	@echo "installing $$(grep -c == requirements.lock) packages (a minute or two) ..."
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps -r requirements.lock
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation --editable .
	@$(PYTHON) -c 'from sim.harness import host; host.libpython()' 2>/dev/null \
		|| { echo "missing: Python's shared library or its headers (on Debian: apt-get install libpython3-dev)" >&2; exit 1; }
	@echo "$$PWD" > $(READY)

# The newest of everything that pyproject.toml allows becomes the lock.
lock: tools
	@rm -rf build/lock && mkdir -p build
	python3 -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check \
		'setuptools>=77' -e '.[dev]'
	build/lock/bin/python -m pip freeze --all --exclude pip --exclude-editable \
		| LC_ALL=C sort --ignore-case > requirements.lock
	@rm -rf build/lock
