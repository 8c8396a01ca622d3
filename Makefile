# ccc_django: make alone explains the commands.
.DEFAULT_GOAL := help
.PHONY: help demo test test-bare lint docs bench bench-append bench-indexes bench-groups bench-topics bench-retention bench-spark bench-consume proof clean demo-environment environment

PYTHON ?=
export PYTHON
bin := .venv/bin
extras := postgres,api,admin,spark,cli,metrics,tracing,test
suite := $(bin)/python -m pytest -n auto --cov --cov-append --cov-report= --cov-fail-under=0

help:  ## explain the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: demo-environment  ## see it run: a term of courses and orders, on SQLite (ARGS= for the job's options)
	@$(bin)/python example_project/manage.py migrate --verbosity 0
	@$(bin)/python example_project/manage.py run_term $(ARGS)

test: environment lint  ## everything: style, types, docs, and the whole suite on SQLite and on PostgreSQL
	$(bin)/python -m coverage erase
	$(suite) --database sqlite
	$(suite) --database postgres
	$(bin)/python -m coverage report
	@$(MAKE) --no-print-directory docs

test-bare:  ## both commands in a clean copy, with little more than Python and make on the PATH
	@sh .ci/bare

lint: environment  ## style, types, migrations and import arrows
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy
	$(bin)/lint-imports --no-cache
	DJANGO_SETTINGS_MODULE=tests.settings $(bin)/python -m django makemigrations --check --dry-run ccc_django

docs: environment  ## build the documentation, warnings are errors
	$(bin)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: environment  ## measure side by side, and write the tables of docs/benchmarks.md
	@$(bin)/python -m benchmarks

bench-indexes: environment  ## filters and payload indexes alone
	@$(bin)/python -m benchmarks indexes

bench-groups: environment  ## consumer groups alone
	@$(bin)/python -m benchmarks groups

bench-topics: environment  ## topics and shared groups alone
	@$(bin)/python -m benchmarks topics

bench-retention: environment  ## pruning, backfills and sessions alone
	@$(bin)/python -m benchmarks retention

bench-spark: environment  ## the data pipeline alone: a million to ten million messages, beside psql COPY, SQL and Python
	@$(bin)/python -m benchmarks spark

bench-consume: environment  ## consumers alone, beside other job queues for Python
	@$(bin)/python -m benchmarks consume

bench-append: environment  ## append and read alone
	@$(bin)/python -m benchmarks append append_sqlite reads

proof: environment  ## the long forms of the proofs (more examples of every property test)
	$(bin)/python -m pytest --database sqlite --proof --hypothesis-profile proof tests/messages tests/flow tests/topics tests/concurrency tests/worker tests/spark
	$(bin)/python -m pytest --database postgres --proof --hypothesis-profile proof tests/messages tests/flow tests/topics tests/concurrency tests/worker tests/spark

clean:  ## remove everything that the other commands made
	rm -rf .venv build dist docs/_build .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	rm -f example_project/*.sqlite3*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

demo-environment:
	@sh .ci/setup demo -e '.[cli]'

environment:
	@sh .ci/setup test -e '.[$(extras)]' --group dev
