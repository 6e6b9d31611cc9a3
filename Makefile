# Every command of the course. Each makes .venv and installs what it needs, once.
#
#   make demo PYTHON=python3.12     another Python than python3

PYTHON ?= python3

# Packages come without compiled files (--no-compile): Python writes those it needs, once, unless it
# is told not to. Then each process compiles them anew: grading one exercise takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
NOTEBOOKS = $(sort $(wildcard 0*/[0-9]*.ipynb))

# Stamps: as long as one is newer than the files it depends on, nothing is installed again.
MADE := $(VENV)/.made
COURSE := $(VENV)/.installed
TESTS := $(VENV)/.installed-test
DEMO := runs/demo/summary.json
SITE := $(VENV)/.installed-site
PACKAGES := site/node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lab notebooks bench site site-test slides handout release clean

help:
	@echo "make demo        pretrain a small BERT on StoryWorld and fill in blanks"
	@echo "make test        lint, check the formatting, run the quick tests"
	@echo "make test-all    the same with every test"
	@echo "make lab         open the chapters in JupyterLab"
	@echo "make notebooks   run every notebook, compare with what is stored in it"
	@echo "make bench       measure speed, memory and scale beside peers; goes on where it stopped"
	@echo "make site        build the website in build/site; needs Node.js"
	@echo "make site-test   test the website in a browser"
	@echo "make slides      build slides of the notebooks in build/slides; needs Node.js"
	@echo "make handout OUT=folder         the copy for students: no solutions, one commit"
	@echo "make release OUT=folder WEEK=2  the solutions of a week, into that copy"
	@echo "make clean       remove .venv and caches; runs/ stays"

demo: $(COURSE)
	$(BIN)/python -m bert_paper.demo

PYTEST := $(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal

test: $(TESTS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(PYTEST)

# Also what starts processes, compiles, kills a command after each file or grades the banks of the
# exercises; and the shapes of all signatures are checked at every call.
test-all: $(TESTS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(PYTEST) --all

lab: $(COURSE)
	@$(if $(NOTEBOOKS),,echo "note: no chapter has a notebook yet; JupyterLab opens on the folders")
	$(BIN)/jupyter lab $(LAB)

# No notebook is written: each must still show what is stored in it, within two minutes alone and
# within three beside another, and show it again with the folded solutions in the cells that students
# fill in. The first one and those of chapters 2 to 4 open the model that the demo leaves, so the
# demo runs first if it has not yet.
notebooks: $(COURSE) $(DEMO)
	$(BIN)/python tests/run_notebooks.py --limit 180
	$(BIN)/python tests/run_notebooks.py --limit 180 --filled

$(DEMO): | $(COURSE)
	$(BIN)/python -m bert_paper.demo

# Called again, it goes on where it was stopped. All that it can do: python benchmarks/bench.py --help
bench: $(TESTS)
	$(BIN)/python benchmarks/bench.py

handout: $(COURSE)
	@$(BIN)/python -m bert_experiments.grader handout "$(or $(OUT),$(error name a folder: OUT=folder))"

release: $(COURSE)
	@$(BIN)/python -m bert_experiments.grader release --week "$(or $(WEEK),$(error name a week: WEEK=2))" \
		--out "$(or $(OUT),$(error name the copy: OUT=folder))"

# The live BERT of the pages is the demo's model: without make demo they are built without it.
site: $(SITE) $(PACKAGES)
	$(BIN)/python site/build.py
	@echo "to look at it: $(BIN)/python -m http.server --directory build/site"

site-test: $(SITE) $(PACKAGES)
	$(BIN)/python -m pip install --use-pep517 --no-compile -c constraints.txt -e '.[test,site,browser]'
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadfile --all tests/site

slides: $(SITE) $(PACKAGES)
	$(BIN)/python site/slides.py

clean:
	rm -rf build site/node_modules $(VENV) .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -c constraints.txt fixes every version, torch's among them; never install without it.
# --use-pep517: the pip of Python 3.10 would otherwise build seqeval with the setuptools that is there,
# and fail.
$(COURSE): pyproject.toml constraints.txt | $(MADE)
	$(BIN)/python -m pip install --use-pep517 --no-compile -c constraints.txt -e .
	@touch $@

$(TESTS): pyproject.toml constraints.txt | $(MADE)
	$(BIN)/python -m pip install --use-pep517 --no-compile -c constraints.txt -e '.[test]'
	@touch $(COURSE) $@

$(SITE): pyproject.toml constraints.txt | $(MADE)
	$(BIN)/python -m pip install --use-pep517 --no-compile -c constraints.txt -e '.[site]'
	@touch $(COURSE) $@

$(PACKAGES): site/package.json site/package-lock.json
	@command -v npm > /dev/null || { \
		echo "error: there is no npm: install Node.js 20 or newer" >&2; exit 1; }
	cd site && npm ci --no-audit --no-fund

# A .venv that has pip is taken as it is; one that an interrupted call left half-made is not.
$(MADE):
	@command -v $(PYTHON) > /dev/null || { \
		echo "error: there is no $(PYTHON): install Python 3.10 or newer, or name one:" \
			"make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "error: $(PYTHON) is $$($(PYTHON) -V 2>&1), and 3.10 or newer is needed:" \
			"make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || { \
		echo "error: $(PYTHON) lacks the module venv: install it" \
			"(Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@touch $@
