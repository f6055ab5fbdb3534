# Every target works from a fresh clone: set-up comes first, and returns at once when nothing changed.
#
#   make lab          set up, then JupyterLab at the first notebook     PORT=8888  ARGS="--no-browser"
#   make test         set up, then every test, without a GPU            ARGS="-k coalescing"  ARGS=--whole
#   make check        in a minute: the tests nearest to what was changed   ARGS="helpers/pictures/coalescing/figure.py"
#   make test-gpu     the same tests on a GPU, notebooks with live numbers
#   make notebooks    run every notebook in the simulator and store its outputs   NOTEBOOKS="notebooks/03-….ipynb"
#   make slides       the notebooks as slides to hand out, in build/slides        CHECK=1 measures them in a browser
#   make wheelhouse   all packages as files, into build/wheelhouse, for set-up without a network    GPU=yes with CuPy
#   make gallery      every figure at three settings, and all stored pictures, in build/gallery
#   make record       measure on the GPU at hand, into helpers/recordings   ARGS="--suite fastest"
#   make tune         search the tile parameters on the GPU at hand
#   make kernels      the compiled kernels that come with the project, anew: after a change of a kernel or of the compiler
#   make engine       compile the programs in C for this machine: after a change of their source
#   make labextension  JupyterLab's colours for %%cuda cells, anew: after a change of their source; needs Node.js
#   make picture      the README's picture and tables of the ladder, from the recordings
#   make film         the README's moving picture, from JupyterLab itself
#   make format       formatter, import order, notebooks' form, tables of READMEs
#   make pins         resolve constraints.txt anew from pyproject.toml
#   make clean        remove what these commands made
#
# PYTHON=/path/to/python3.12 chooses the Python; GPU=yes|no overrides the search for a GPU; WHEELHOUSE=folder sets up
# from the files in it, without a network.

PYTHON ?=
GPU ?= auto
WHEELHOUSE ?=
PORT ?= 8888
ARGS ?=
NOTEBOOKS ?= $(sort $(wildcard notebooks/*.ipynb))

FINDER := $(or $(shell command -v python3 || command -v python),$(PYTHON))
SETUP = $(or $(FINDER),$(error No python3 found. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3)) \
	-I helpers/tools/setup_environment.py --gpu $(GPU) $(if $(PYTHON),--python "$(PYTHON)") \
	$(if $(WHEELHOUSE),--wheelhouse "$(WHEELHOUSE)")
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
VENV_PYTHON := .venv/$(PROGRAMS)/python
UV := build/uv/$(PROGRAMS)/uv

# Notebooks run on the kernel of .venv even where the user has another one called python3.
export JUPYTER_PREFER_ENV_PATH := 1

COMMA := ,
SIMULATOR := GEMM_COURSE_BACKEND=simulator
FIRST_NOTEBOOK = $(firstword $(sort $(wildcard notebooks/*.ipynb)))
# JupyterLab refuses to start as root unless told; in a container root is usual.
AS_ROOT = $(if $(filter 0,$(shell id -u 2>/dev/null)),--allow-root)
# A worker takes a whole file: the cells of a notebook share one kernel. Files come in their order, the short notebooks
# last, so that no worker is left with a long one.
WORKERS := -n auto --maxprocesses=4 --dist=loadscope --no-loadscope-reorder
PYTEST = $(VENV_PYTHON) -m pytest $(WORKERS) --nbval-current-env --nbval-cell-timeout=120 tests notebooks

.PHONY: help lab test check test-gpu notebooks slides wheelhouse gallery record kernels engine labextension tune picture film format pins clean setup setup-test

help:
	@sed -n '/^#   make/s/^#   //p' Makefile

# Installing compiles them, too; this finds them there, or compiles what has changed since.
COMPILE = @$(VENV_PYTHON) -I helpers/gpusim/src/gpusim/native/building.py

setup:
	@$(SETUP)
	$(COMPILE)

setup-test:
	@$(SETUP) --extra test
	$(COMPILE)
	@git config core.hooksPath .ci/hooks 2>/dev/null || true

lab: setup
	$(VENV_PYTHON) -m jupyterlab $(AS_ROOT) --port=$(PORT) --LabApp.default_url="/lab/tree/$(FIRST_NOTEBOOK)" $(ARGS)

# Some containers forbid Python to keep what it compiles: then each of a hundred processes would compile all modules anew.
test check test-gpu: export PYTHONDONTWRITEBYTECODE :=

test: setup-test
	$(SIMULATOR) $(PYTEST) --nbval $(ARGS)

check: setup-test
	$(VENV_PYTHON) -m ruff check .
	$(SIMULATOR) $(VENV_PYTHON) -m tests.quick $(ARGS)

# Measured numbers differ from run to run: --nbval-lax runs every cell and does not compare what it prints.
test-gpu: setup-test
	GEMM_COURSE_BACKEND=gpu $(PYTEST) --nbval-lax $(ARGS)

notebooks: setup
	$(SIMULATOR) $(VENV_PYTHON) -m helpers.tools.notebooks.run $(NOTEBOOKS)

slides:
	@$(SETUP) --extra $(if $(CHECK),test,slides)
	$(VENV_PYTHON) -m helpers.tools.slides $(if $(CHECK),--check) $(NOTEBOOKS)
	$(if $(CHECK),$(VENV_PYTHON) -m tests.browser.live_slides $(NOTEBOOKS))

# uv installs from files but does not gather them; hatchling, editables and ziglang build this project itself.
wheelhouse: setup
	$(VENV_PYTHON) -m pip download --disable-pip-version-check -q -d build/wheelhouse -c constraints.txt \
		"hatchling>=1.27,<2" editables pip uv ziglang ".[$(if $(filter yes,$(GPU)),gpu$(COMMA))slides]"
	@echo "Without a network: make lab GPU=$(if $(filter yes,$(GPU)),yes,no) WHEELHOUSE=build/wheelhouse"

gallery: setup
	$(VENV_PYTHON) -m helpers.tools.gallery.page $(ARGS)

record: setup
	$(VENV_PYTHON) -m helpers.tools.measuring record $(ARGS)
	$(if $(ARGS),,$(VENV_PYTHON) -m tests.gpusim.goldens.record prepare build/goldens)
	$(if $(ARGS),,$(VENV_PYTHON) -m tests.gpusim.goldens.record record build/goldens)

kernels: setup
	$(VENV_PYTHON) -m helpers.tools.shipped_kernels

engine:
	@$(SETUP) --extra native
	rm -rf helpers/gpusim/src/gpusim/native/*/built
	$(COMPILE) -Werror

labextension: setup
	$(VENV_PYTHON) -m helpers.tools.labextension
	@$(SETUP)

tune:
	@$(SETUP) --extra gpu --extra tune
	$(VENV_PYTHON) -m helpers.tools.measuring tune $(ARGS)

picture: setup
	$(VENV_PYTHON) -m helpers.tools.pages.ladder --fix
	$(VENV_PYTHON) -m helpers.tools.pages.kernel_log --fix
	$(VENV_PYTHON) -m helpers.tools.pages.products --fix

film: setup-test
	$(VENV_PYTHON) -m tests.browser.film

format: setup-test
	$(VENV_PYTHON) -m ruff check --fix-only .
	$(VENV_PYTHON) -m ruff format .
	$(VENV_PYTHON) -m helpers.tools.pages.course --fix
	$(VENV_PYTHON) -m helpers.tools.pages.modelled --fix
	$(VENV_PYTHON) -m helpers.tools.notebooks.form --fix
	$(VENV_PYTHON) -m ruff check .

pins: setup
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --fork-strategy fewest --all-extras \
		--group setup --no-annotate --custom-compile-command "make pins" pyproject.toml -o constraints.txt

clean:
	rm -rf .venv build helpers/gpusim/src/gpusim/native/*/built .pytest_cache .ruff_cache .import_linter_cache
	find gemm_kernels helpers tests notebooks -name __pycache__ -prune -exec rm -rf {} +
