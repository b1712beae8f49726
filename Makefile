# `make demo`, `make test` and `make bench` work in a fresh clone: each builds .venv first.
#
# On Linux, PyPI's torch wheel carries CUDA. For the small CPU wheel say
#   make TORCH_INDEX=https://download.pytorch.org/whl/cpu ...

PYTHON ?= python3
PYTEST_WORKERS ?= 2
TORCH_INDEX ?=
MINUTES ?= 10

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-long bench lint lit pytest docs sweep fuzz faults clean

demo: $(READY)
	$(BIN)/python -m benchmarks.demo

bench: $(READY)
	$(BIN)/python -m benchmarks.run

# Runs every check, whatever the others say, and fails if one did. What `lint` prints comes behind `lit`,
# beside which it runs.
test: $(READY)
	@failed=; \
	$(MAKE) --no-print-directory lint > $(VENV)/lint.log 2>&1 & lint=$$!; \
	$(MAKE) --no-print-directory lit || failed="$$failed lit"; \
	wait $$lint || failed="$$failed lint"; \
	cat $(VENV)/lint.log; \
	$(MAKE) --no-print-directory pytest || failed="$$failed pytest"; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed"; exit 1; fi; \
	echo "all checks passed"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright

lit: $(READY)
	$(BIN)/lit -v test

pytest: $(READY)
	$(BIN)/pytest -n $(PYTEST_WORKERS)

# What `make test` leaves out: variants that take long (test/long_tests.txt).
test-long: $(READY)
	$(BIN)/pytest -n $(PYTEST_WORKERS) -m long

# Random graphs and programs against the interpreter and eager; goes on where it ended.
fuzz: $(READY)
	$(BIN)/python test/fuzz/run.py --minutes $(MINUTES)

# Puts deliberate bugs into a copy, one at a time, and sees which test notices; goes on where it ended.
faults: $(READY)
	$(BIN)/python test/faults/run.py
	$(BIN)/python test/faults/run.py --report

# Rewrites what is generated from the code; a test fails when it is stale.
docs: $(READY)
	$(BIN)/python -m tilewright.frontend.tools.op_reference docs/ops.md
	$(BIN)/python -m tilewright.frontend.tools.pass_reference docs/passes.md
	$(BIN)/python -m tilewright.frontend.tools.error_reference docs/errors.md

# Bytecode at last: where Python may write none, each process of the tests would compile hundreds of modules.
$(READY): .ci/requirements.txt .ci/constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(BIN)/python -m pip install -q --index-url $(TORCH_INDEX) torch==2.13.0)
	$(BIN)/python -m pip install -q -r .ci/requirements.txt
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q dialects passes targets frontend
	touch $@

# Torch's own samples of every operator against eager; half an hour or so. SWEEP="--ops '^fmax$$'" narrows it.
sweep: $(READY)
	$(BIN)/python test/sweep/opinfo.py $(SWEEP)

clean:
	rm -rf $(VENV) build dist
