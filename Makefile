# Every target makes the environments that it needs. `make` alone explains the targets.

# Set by the user: make report DEVICE=cpu WORKLOAD=small LABEL=tf32 RECORD=0 ARGS="--sequence 2048"
DEVICE ?=
WORKLOAD ?=
LABEL ?=
RECORD ?=
ACCEPT ?=
FORCE ?=
WAIT ?=
BASE ?= origin/main
HEAD ?=
DIRS ?=
COUNTERS ?=
MAP ?=
MAP_SECONDS ?=
FLEET ?= fleet.toml
PYTHON_A ?=
PYTHON_B ?=
ENV_A ?=
ENV_B ?=
ARGS ?=
PORT ?= 8000
JOBS ?= 2
export PYTHON PAGES_PYTHON TORCH_INDEX WHEELHOUSE_PYTHON WHEELHOUSE_PLATFORM
# By way of the environment, so that the shell does not read what a user typed.
export DEVICE WORKLOAD LABEL RECORD ACCEPT FORCE WAIT BASE HEAD DIRS COUNTERS MAP MAP_SECONDS FLEET PYTHON_A PYTHON_B ENV_A ENV_B

KNOWN := DEVICE WORKLOAD LABEL RECORD ACCEPT FORCE WAIT BASE HEAD DIRS COUNTERS MAP MAP_SECONDS FLEET PYTHON_A PYTHON_B ENV_A ENV_B ARGS PORT JOBS \
	PYTHON PAGES_PYTHON TORCH_INDEX WHEELHOUSE_PYTHON WHEELHOUSE_PLATFORM SHELL MAKEFLAGS MFLAGS MAKE PAGES CAPTURE ENVIRONMENTS
UNKNOWN := $(strip $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(filter-out $(KNOWN) -% .%,$(name)))))
$(if $(UNKNOWN),$(error $(firstword $(UNKNOWN)) is no variable of this Makefile; `make help` lists them))

# Targets write in one checkout, so -j runs them one after another all the same.
.NOTPARALLEL:

# Packages and caches that a container put into the environment must not reach the pages (-E).
# The script says what is wrong with a PYTHON that does not run, so python3 starts it where there is one.
# The semicolon makes make ask a shell: before 4.3 it looks for a program called `command`.
ENVIRONMENTS := $(if $(shell command -v python3;),python3,$(PYTHON)) requirements/environments.py
# A command takes the shell's place (exec) and ends when make does, whatever ends make.
FOLLOW = export REPORTGEN_PARENT=$$PPID && unset PYTHONSAFEPATH && exec
PAGES = pages=$$($(ENVIRONMENTS) pages) && $(FOLLOW) "$$pages" -E -m reportgen
CAPTURE = capture=$$($(ENVIRONMENTS) capture)
YES_OR_NO = $${ACCEPT:+--switch "ACCEPT=$$ACCEPT"} $${WAIT:+--switch "WAIT=$$WAIT"}
CHOICES = $${DEVICE:+--device "$$DEVICE"} $${WORKLOAD:+--workload "$$WORKLOAD"} $${LABEL:+--label "$$LABEL"} \
	$${RECORD:+--switch "RECORD=$$RECORD"} $${COUNTERS:+--counters "$$COUNTERS"} $${FORCE:+--switch "FORCE=$$FORCE"} $(YES_OR_NO) $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help report doctor profile map noise compare fleet diff history merge render site serve check lint test golden bench lock wheelhouse clean

help: ## this list
	@awk -F ':.*## ' '/^##@/ { print "\n" substr($$0, 5) ":" } /^[a-z]+:.*## / { printf "%-12s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Variables: DEVICE=cuda|cpu WORKLOAD=article|article-fp16|small|long|wide LABEL=name RECORD=0 COUNTERS=auto|on|off ARGS="--sequence 2048"'
	@echo 'A workload given by ARGS="--sequence 2048" is the device'"'"'s own (article on a GPU, small on a CPU) but for that.'
	@echo 'ACCEPT=1 replaces a recorded run without a second pass, WAIT=1 waits for another command that is at work here.'
	@echo 'FORCE=1 takes all the time that a workload needs on a CPU, instead of cutting a long capture short.'
	@echo 'MAP=1 takes the map of make map as well, before the pages are made: minutes more; MAP_SECONDS= what the map itself may take.'
	@echo 'PYTHON= profiles with that Python (it must have torch); PAGES_PYTHON= makes the pages environment;'
	@echo 'TORCH_INDEX= an index with CPU builds of torch, for a machine that has no torch; PORT= for serve; JOBS= for test.'

##@ Start here

report: ## profile this machine, render, build the site, say what came out (MAP=1 takes the map as well)
	@$(CAPTURE) && $(PAGES) report --capture-python "$$capture" $${MAP:+--switch "MAP=$$MAP"} $${MAP_SECONDS:+--map-seconds "$$MAP_SECONDS"} $(CHOICES)

serve: ## show site/ on this machine only, at PORT
	@$(PAGES) serve --port $(PORT)

# Status 1 (the report is limited) is an answer and no failure of make's; 2 (nothing can be measured) is one.
doctor: ## why no GPU, why not this GPU, what can be measured here (ARGS=--json)
	@python=$$($(ENVIRONMENTS) there) && unset PYTHONSAFEPATH && { "$$python" -m reportgen doctor $(ARGS) || [ $$? -eq 1 ]; }

##@ Recorded runs

profile: ## profile this machine and write the run, no pages; on a GPU it replaces the run in its slot without comparing
	@$(CAPTURE) && $(FOLLOW) "$$capture" -m reportgen profile $(CHOICES)

map: ## which backend is fastest at which shape here; goes on where it was left (MAP_SECONDS=240)
	@$(CAPTURE) && $(FOLLOW) "$$capture" -m reportgen map $${DEVICE:+--device "$$DEVICE"} $${RECORD:+--switch "RECORD=$$RECORD"} $${WAIT:+--switch "WAIT=$$WAIT"} $${MAP_SECONDS:+--seconds "$$MAP_SECONDS"} $(ARGS)

noise: ## take six whole runs of the same code, and record how far they lie apart
	@$(CAPTURE) && $(PAGES) noise --capture-python "$$capture" $(CHOICES)

# Status 1 (a call is worse) is an answer as well, and make passes it on as its own 2.
compare: ## what an upgrade changes, two torches interleaved on one device (PYTHON_A= there was, PYTHON_B= may come, ENV_A="NAME=VALUE")
	@$(CAPTURE) && $(PAGES) compare --capture-python "$$capture" $${PYTHON_A:+--python-a "$$PYTHON_A"} $${PYTHON_B:+--python-b "$$PYTHON_B"} \
		$${ENV_A:+--env-a "$$ENV_A"} $${ENV_B:+--env-b "$$ENV_B"} $${DEVICE:+--device "$$DEVICE"} $${RECORD:+--switch "RECORD=$$RECORD"} $${WAIT:+--switch "WAIT=$$WAIT"} $(ARGS)

fleet: ## the report on every kind of GPU of a cluster: a job each by Slurm, one merge (FLEET=fleet.toml; recipes/ has one)
	@pages=$$($(ENVIRONMENTS) fleet) && $(FOLLOW) "$$pages" -E -m reportgen fleet "$$FLEET" $(YES_OR_NO) $(ARGS)

diff: ## what changed in the recorded runs, for a pull request (BASE= a git ref or run, HEAD= a second one)
	@$(PAGES) diff "$$BASE" $${HEAD:+"$$HEAD"} $(ARGS)

history: ## what each slot held before, from git: every torch, cuDNN and driver, for the history pages
	@$(PAGES) history $${WAIT:+--switch "WAIT=$$WAIT"} $(ARGS)

merge: ## take runs and maps made elsewhere into docs/runs, and render once (DIRS="folder …", ACCEPT=1 replaces other runs)
	@$(PAGES) merge --dirs "$$DIRS" $(YES_OR_NO) $(ARGS)

##@ Pages

render: ## render docs/ and the README's table from the runs in docs/runs/ (ARGS=--live: build/docs, with the runs in build/ too)
	@$(PAGES) render $${WAIT:+--switch "WAIT=$$WAIT"} $(ARGS)

site: ## build site/ from docs/, strictly
	@$(PAGES) site $${WAIT:+--switch "WAIT=$$WAIT"}

check: ## are the committed pages exactly what the committed runs render to?
	@$(PAGES) render --check

##@ The program itself

lint: ## ruff and mypy over the code
	@lint=$$($(ENVIRONMENTS) lint) && "$$lint" -E -m ruff check reportgen variants benchmarks requirements tests && "$$lint" -E -m mypy

# Tests that need torch say so (importorskip) and run a second time under the Python that has it.
test: ## all tests: those of the pages without torch, then those of the capture with it
	@$(CAPTURE) && pages=$$($(ENVIRONMENTS) fleet) && tools=$$($(ENVIRONMENTS) test-tools) && \
	CAPTURE_PYTHON="$$capture" REQUIRE_SUBMITIT=1 "$$pages" -E -m pytest -n $(JOBS) --dist loadfile $(ARGS) tests && \
	PYTHONPATH="$$tools$${PYTHONPATH:+:$$PYTHONPATH}" "$$capture" -m pytest $(ARGS) $$(grep -rl --include="test_*.py" 'importorskip("torch")' tests)

golden: ## write the golden pages of the tests anew, after a wanted change; read their diff
	@pages=$$($(ENVIRONMENTS) pages) && UPDATE_GOLDEN=1 "$$pages" -E -m pytest -q -k golden tests/pages/test_pages.py

bench: ## time our own steps (ARGS=--report: a whole report on the CPU as well)
	@$(CAPTURE) && pages=$$($(ENVIRONMENTS) pages) && CAPTURE_PYTHON="$$capture" "$$pages" -E -m benchmarks $(ARGS)

lock: ## renew requirements/pages.txt, lint.txt and fleet.txt (needs uv)
	for name in pages lint fleet; do uv pip compile --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --excludes requirements/excludes.in -o requirements/$$name.txt requirements/$$name.in || exit; done

wheelhouse: ## collect wheelhouse/ for a machine without a network (WHEELHOUSE_PYTHON=3.12 WHEELHOUSE_PLATFORM=manylinux_2_28_x86_64)
	@$(ENVIRONMENTS) wheelhouse

clean: ## remove what was built; the environments (.venv, .venv-capture) stay
	rm -rf build site
