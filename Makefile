# Every target makes the environments that it needs. `make` alone explains the targets.

# Set by the user: make report DEVICE=cpu WORKLOAD=small LABEL=tf32 RECORD=0 ARGS="--sequence 2048"
DEVICE ?=
WORKLOAD ?=
LABEL ?=
RECORD ?=
ACCEPT ?=
BASE ?= origin/main
HEAD ?=
DIRS ?=
COUNTERS ?=
ARGS ?=
PORT ?= 8000
JOBS ?= 2
export PYTHON PAGES_PYTHON TORCH_INDEX WHEELHOUSE_PYTHON WHEELHOUSE_PLATFORM

# Packages and caches that a container put into the environment must not reach the pages (-E).
# The script says what is wrong with a PYTHON that does not run, so python3 starts it where there is one.
ENVIRONMENTS := $(if $(shell command -v python3),python3,$(PYTHON)) requirements/environments.py
PAGES = pages=$$($(ENVIRONMENTS) pages) && "$$pages" -E -m reportgen
CAPTURE = capture=$$($(ENVIRONMENTS) capture)
CHOICES = $(if $(DEVICE),--device $(DEVICE)) $(if $(WORKLOAD),--workload $(WORKLOAD)) $(if $(LABEL),--label $(LABEL)) \
	$(if $(filter 0 no,$(RECORD)),--no-record) $(if $(COUNTERS),--counters $(COUNTERS)) $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help report profile noise diff merge render site serve check lint test golden bench lock wheelhouse clean

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12
	@echo
	@echo 'Variables: DEVICE=cuda|cpu WORKLOAD=preset LABEL=name RECORD=0 COUNTERS=auto|on|off ARGS="--sequence 2048"'
	@echo 'A workload given by ARGS="--sequence 2048" is the device'"'"'s own (article on a GPU, small on a CPU) but for that.'
	@echo 'ACCEPT=1 replaces a recorded run without a second pass.'
	@echo 'PYTHON= profiles with that Python (it must have torch); PAGES_PYTHON= makes the pages environment;'
	@echo 'TORCH_INDEX= an index with CPU builds of torch, for a machine that has no torch; PORT= for serve; JOBS= for test.'

report: ## profile this machine, render, build the site, say what came out
	@$(CAPTURE) && $(PAGES) report --capture-python "$$capture" $(if $(filter 1 yes,$(ACCEPT)),--accept) $(CHOICES)

profile: ## profile this machine and write the run, no pages; on a GPU it replaces the run in its slot without comparing
	@$(CAPTURE) && "$$capture" -m reportgen profile $(CHOICES)

noise: ## take six whole runs of the same code, and record how far they lie apart
	@$(CAPTURE) && $(PAGES) noise --capture-python "$$capture" $(CHOICES)

diff: ## what changed in the recorded runs, for a pull request (BASE= a git ref or run, HEAD= a second one)
	@$(PAGES) diff $(BASE) $(HEAD) $(ARGS)

merge: ## take runs made elsewhere into docs/runs, and render once (DIRS="folder …", ACCEPT=1 replaces other runs)
	@$(PAGES) merge $(if $(filter 1 yes,$(ACCEPT)),--accept) $(DIRS)

render: ## render docs/ and the README's table from the runs in docs/runs/ (ARGS=--live: build/docs, with the runs in build/ too)
	@$(PAGES) render $(ARGS)

site: ## build site/ from docs/, strictly
	@$(PAGES) site

serve: ## show site/ on this machine only, at PORT
	@$(PAGES) serve --port $(PORT)

check: ## are the committed pages exactly what the committed runs render to?
	@$(PAGES) render --check

lint: ## ruff and mypy over the code
	@lint=$$($(ENVIRONMENTS) lint) && "$$lint" -E -m ruff check reportgen variants benchmarks requirements tests && "$$lint" -E -m mypy

# Tests that need torch say so (importorskip) and run a second time under the Python that has it.
test: ## all tests: those of the pages without torch, then those of the capture with it
	@$(CAPTURE) && pages=$$($(ENVIRONMENTS) pages) && tools=$$($(ENVIRONMENTS) test-tools) && \
	CAPTURE_PYTHON="$$capture" "$$pages" -E -m pytest -n $(JOBS) --dist loadfile $(ARGS) tests && \
	PYTHONPATH="$$tools$${PYTHONPATH:+:$$PYTHONPATH}" "$$capture" -m pytest $(ARGS) $$(grep -rl --include="test_*.py" 'importorskip("torch")' tests)

golden: ## write the golden pages of the tests anew, after a wanted change; read their diff
	@pages=$$($(ENVIRONMENTS) pages) && UPDATE_GOLDEN=1 "$$pages" -E -m pytest -q -k golden tests/pages/test_pages.py

bench: ## time our own steps (ARGS=--report: a whole report on the CPU as well)
	@$(CAPTURE) && pages=$$($(ENVIRONMENTS) pages) && CAPTURE_PYTHON="$$capture" "$$pages" -E -m benchmarks $(ARGS)

lock: ## renew requirements/pages.txt and lint.txt (needs uv)
	for name in pages lint; do uv pip compile --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --excludes requirements/excludes.in -o requirements/$$name.txt requirements/$$name.in || exit; done

wheelhouse: ## collect wheelhouse/ for a machine without a network (WHEELHOUSE_PYTHON=3.12 WHEELHOUSE_PLATFORM=manylinux_2_28_x86_64)
	@$(ENVIRONMENTS) wheelhouse

clean: ## remove what was built; the environments (.venv, .venv-capture) stay
	rm -rf build site
