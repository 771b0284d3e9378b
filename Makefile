# Every target sets up what it needs by itself; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# The tests start hundreds of processes: without stored bytecode, each would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
PYTHON_BIN := $(VENV)/bin/python
BESIDE_SPARK := dev,service,bench
EXTRAS := $(BESIDE_SPARK),spark,connect
# Build tools are pinned like the rest, so that packages are built with these and not in isolation.
# PySpark comes as a source package, which setuptools and wheel build.
BUILD_TOOLS := hatchling editables setuptools wheel
# Modules are compiled when they are first imported, and most of those that are installed never are.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
# Settings of setuptools, with which PySpark is built.
export DIST_EXTRA_CONFIG := $(CURDIR)/scripts/build.cfg
# More than there are cores: tests of Spark and of the service wait a good part of the time. Each
# process imports everything once, and loads all kernels.
JOBS ?= 3
# Processes of `make coverage`, which runs beside the other tests and is done before them.
COVERAGE_JOBS ?= 1
# What runs beside something else prints when it is done.
BESIDE := -j 3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
# Seconds that `make soak` has a matcher under load.
SOAK ?= 600
BENCHES := $(addprefix matchwood.lab.bench.,parser engine cores scaling strings json_events constructs named_lists endpoint_logs expressions ranges columns boxes published few peers imported updates cold_start files matcher_soak service service_steady service_match webhooks soak spark spark_files spark_changes spark_large)
# Environments with another Spark than constraints.txt pins: the oldest, the newest, and in between.
SPARK35 := .venv-spark35
SPARK42 := .venv-spark42
SPARK43 := .venv-spark43
# What the tests of Spark import, beside matchwood itself.
SPARK_TOOLS := duckdb hypothesis polars psutil pytest

# Named after what was installed: as long as these files say the same, nothing is installed again.
STAMP := $(VENV)/installed-$(shell cat pyproject.toml constraints.txt | sha256sum | cut -c1-16)
SPARKS_STAMP := installed-$(shell cat pyproject.toml constraints*.txt | sha256sum | cut -c1-16)

# Before anything that starts Spark: its Java, and the Python of its workers.
export PYSPARK_PYTHON := $(CURDIR)/$(PYTHON_BIN)
SPARK_TESTS := tests/spark tests/lab/workloads/test_spark_tables.py
USE_JAVA := JAVA_HOME="$$(scripts/java-home.sh)"; export JAVA_HOME
# Before the tests of the page.
USE_CHROMIUM := CHROMIUM="$$(scripts/chromium.sh '$(CURDIR)/$(PYTHON_BIN)')"; export CHROMIUM

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "make %-17s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: $(STAMP) ## show matchwood at its main job
	@$(USE_JAVA); $(PYTHON_BIN) examples/demo.py

.PHONY: test
test: $(STAMP) ## everything that must pass: lint, strict types, the whole test suite
	@# All tests share the compiled kernels. Programs are downloaded while these are compiled.
	@$(MAKE) $(BESIDE) lint kernels programs
	@# Most tests of Spark and of the service wait: what needs no kernels uses that time.
	@$(MAKE) $(BESIDE) coverage after-coverage

.PHONY: coverage
coverage: $(STAMP) ## the tests that need no compiled kernels, and how much of the sources they cover
	@NUMBA_DISABLE_JIT=1 $(PYTHON_BIN) -m pytest -n $(COVERAGE_JOBS) --coverage --cov --cov-report=term:skip-covered

.PHONY: after-coverage
after-coverage: $(STAMP)
	@# The plus sign has make print what this says at once.
	+@$(USE_JAVA); $(USE_CHROMIUM); $(PYTHON_BIN) -m pytest -n $(JOBS) --dist loadgroup --after-coverage

.PHONY: programs
programs: $(STAMP)
	@$(USE_JAVA); $(USE_CHROMIUM); $(PYTHON_BIN) scripts/java_classes.py $(VENV)/spark-classes.jsa 2>/dev/null \
		|| echo "Spark's classes could not be stored, so that its tests take longer" >&2

.PHONY: test-connect
test-connect: $(STAMP) ## the tests of Spark, all of them through Spark Connect
	@$(USE_JAVA); $(PYTHON_BIN) -m pytest tests/spark tests/lab/workloads/test_spark_tables.py --connect -k connect

.PHONY: test-spark35
test-spark35: $(SPARK35)/$(SPARKS_STAMP) ## the tests of Spark on 3.5, which managed platforms still ship
	@# PySpark 3.5 warns of itself: sockets left open, modules that Python has dropped.
	@$(USE_JAVA); PYSPARK_PYTHON='$(CURDIR)/$(SPARK35)/bin/python' $(SPARK35)/bin/python -m pytest -W ignore $(SPARK_TESTS)

.PHONY: test-spark43
test-spark43: $(SPARK43)/$(SPARKS_STAMP) ## the tests of Spark on 4.3, which is newer than its connectors
	@$(USE_JAVA); PYSPARK_PYTHON='$(CURDIR)/$(SPARK43)/bin/python' $(SPARK43)/bin/python -m pytest $(SPARK_TESTS)

.PHONY: test-connectors
test-connectors: $(STAMP) ## Spark with a broker of Kafka, and with tables of Delta and Iceberg
	@$(USE_JAVA); $(call CONNECTED,$(VENV))

.PHONY: test-connectors35
test-connectors35: $(SPARK35)/$(SPARKS_STAMP) ## the same on Spark 3.5
	@$(USE_JAVA); $(call CONNECTED,$(SPARK35)) -W ignore

.PHONY: test-connectors42
test-connectors42: $(SPARK42)/$(SPARKS_STAMP) ## the same on Spark 4.2, for which there is no connector of Iceberg
	@$(USE_JAVA); $(call CONNECTED,$(SPARK42)) -W ignore

# The connectors for the Spark of an environment, and the tests with them.
CONNECTED = CONNECTORS="$$(scripts/connectors.sh '$(CURDIR)/$(1)/bin/python' '$(CURDIR)/.connectors')"; \
	export CONNECTORS PYSPARK_PYTHON='$(CURDIR)/$(1)/bin/python'; \
	$(1)/bin/python -m pytest tests/spark/stream -m connectors

.PHONY: quick
quick: $(STAMP) kernels ## the tests of the library and the commands that take about a minute together
	@# Whole folders are not even imported.
	@$(PYTHON_BIN) -m pytest -n $(JOBS) -m "not slow and not spark and not service and not laboratory" \
		$(addprefix --ignore=tests/,lab service client spark imports match/batch/gpu)

.PHONY: test-clean
test-clean: ## the demo and the quick tests as on a machine that never saw matchwood
	@scripts/test-clean.sh

.PHONY: test-lowest
test-lowest: ## the quick tests with the lowest versions that pyproject.toml allows
	@scripts/test-bounds.sh lowest '$(EXTRAS)'

.PHONY: test-newest
test-newest: ## the quick tests with the newest versions that pyproject.toml allows
	@scripts/test-bounds.sh newest '$(EXTRAS)'

.PHONY: lint
lint: $(STAMP) ## lint, format, strict types and the layers of packages
	@$(PYTHON_BIN) -m ruff check
	@$(PYTHON_BIN) -m ruff format --check
	@$(PYTHON_BIN) -m mypy --strict
	@$(VENV)/bin/lint-imports --no-logo --no-cache

.PHONY: hooks
hooks: $(STAMP) ## have git run ruff and mypy on what is about to be committed
	@$(PYTHON_BIN) -m pip install --quiet --disable-pip-version-check 'pre-commit>=4,<5'
	@$(PYTHON_BIN) -m pre_commit install

.PHONY: kernels
kernels: $(STAMP)
	@# Unlike `warm-up`, this does not even load kernels that are there.
	@$(PYTHON_BIN) -c 'from matchwood.kernels.readiness import wait_for_kernels; wait_for_kernels()'

.PHONY: bench
bench: $(STAMP) ## run the benchmarks: each prints a table and a JSON line
	@$(USE_JAVA); for program in $(BENCHES); do $(PYTHON_BIN) -m $$program; done

.PHONY: soak
soak: $(STAMP) ## a matcher under load for ten minutes, the service for two, new random rules, then killed a hundred times on each database; streams killed, forged indexes
	@$(PYTHON_BIN) -m matchwood.lab.bench.matcher_soak --seconds $(SOAK)
	@$(PYTHON_BIN) -m matchwood.lab.bench.soak
	@NUMBA_DISABLE_JIT=1 $(PYTHON_BIN) -m pytest -n $(JOBS) --coverage --hypothesis-profile random
	@$(PYTHON_BIN) -m pytest tests/service/test_crash.py --kills 100 -s
	@$(PYTHON_BIN) -m pytest tests/service/test_replica.py tests/match --long -m "long or slow"
	@$(USE_JAVA); $(PYTHON_BIN) -m pytest tests/spark tests/lab tests/compiling tests/index/file/test_validate.py --long -m "long or slow or spark"

.PHONY: docs
docs: $(STAMP) ## build the documentation into site/
	@$(PYTHON_BIN) -m mkdocs build --strict --quiet
	@echo "site/index.html"

.PHONY: images
images: $(STAMP) ## take the pictures of the documentation again, of the service's page and of a report
	@$(USE_CHROMIUM); $(PYTHON_BIN) scripts/page_images.py

.PHONY: constraints
constraints: ## renew constraints.txt: the newest versions that install together
	@scripts/constraints.sh '$(EXTRAS)' $(BUILD_TOOLS)

.PHONY: clean
clean: ## remove all that the other targets made
	@rm -rf $(VENV) $(VENV)-* .connectors site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .schemathesis spark-warehouse metastore_db derby.log
	@find src tests examples scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(STAMP):
	@scripts/venv.sh $(VENV)
	@echo "installing matchwood and its tools into $(VENV): a minute or two, this once"
	@$(PYTHON_BIN) $(INSTALL) -c constraints.txt $(BUILD_TOOLS)
	@# PySpark is downloaded and built beside the others, which takes as long as all of them.
	@$(PYTHON_BIN) -m pip wheel --quiet --disable-pip-version-check -c constraints.txt \
		--no-build-isolation --no-deps --wheel-dir $(VENV)/wheels pyspark & pyspark=$$!; \
	$(PYTHON_BIN) $(INSTALL) -c constraints.txt --no-build-isolation -e '.[$(BESIDE_SPARK)]' \
		|| { kill $$pyspark; exit 1; }; \
	wait $$pyspark
	@$(PYTHON_BIN) $(INSTALL) -c constraints.txt --no-build-isolation --find-links $(VENV)/wheels -e '.[$(EXTRAS)]'
	@rm -rf $(VENV)/wheels
	@rm -f $(VENV)/installed-* $(VENV)/spark-classes.jsa
	@touch $@

.venv-spark%/$(SPARKS_STAMP):
	@scripts/venv.sh .venv-spark$*
	@echo "installing matchwood with another PySpark into .venv-spark$*: a minute or two, this once"
	@grep -vi -f <(sed -n 's/\(.*==\).*/^\1/p' constraints-spark$*.txt) constraints.txt \
		| cat - constraints-spark$*.txt >.venv-spark$*/constraints.txt
	@# PySpark has no wheel and is built by tools of its own, so before the rest.
	@.venv-spark$*/bin/python $(INSTALL) -c .venv-spark$*/constraints.txt $(BUILD_TOOLS) pyspark $(SPARK_TOOLS)
	@.venv-spark$*/bin/python $(INSTALL) -c .venv-spark$*/constraints.txt --no-build-isolation -e '.[spark]'
	@rm -f .venv-spark$*/installed-*
	@touch $@
