"""Environments say what the code needs, in versions that pyproject.toml allows."""

import re
import runpy
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from pteb_eval.config import parse_config
from pteb_eval.workflow import STAGE_MODULES
from pteb_eval.workflow_judges import environment

ROOT = Path(__file__).parents[2]
ENVS = ROOT / "envs"
write = runpy.run_path(str(ENVS / "write.py"))
ENVIRONMENTS = write["ENVIRONMENTS"]
OF_GPU = ("demo", "gcs", "generic", "kubernetes", "openai", "review", "s3", "slurm", "vllm")
RULES = "\n".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_files_are_up_to_date(name):
    stale = "run `python envs/write.py` and commit what it writes"
    assert (ENVS / f"{name}.yaml").read_text() == write["content"](ENVIRONMENTS[name]), stale


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_conda_can_read_them(name):
    """Channels, and an exact version of each package, as conda's own format has them."""
    environment = yaml.safe_load((ENVS / f"{name}.yaml").read_text())
    assert environment.keys() == {"channels", "dependencies"}
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    *conda, pip = environment["dependencies"]
    assert [re.fullmatch(r"(\w+)=\d+(\.\d+)+", entry)[1] for entry in conda] == ["python", "pip"]
    assert pip.keys() == {"pip"}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", entry) for entry in pip["pip"])
    # Snakemake runs this after it made the environment; without it there is no `pteb-eval`.
    assert (ENVS / f"{name}.post-deploy.sh").read_text().startswith("#!/bin/sh\n")


@pytest.mark.parametrize(
    ("constraints", "extras"), [("constraints-cpu.txt", ["dev"]), ("constraints-gpu.txt", OF_GPU)]
)
def test_the_constraints_are_what_the_project_asks_for(constraints, extras):
    pins = write["versions"](constraints)
    wanted = write["requirements"]()
    for extra in extras:
        wanted += write["requirements"](extra)
    for requirement in wanted:
        if requirement.name != "pteb-eval":
            version = pins.get(canonicalize_name(requirement.name))
            assert version, f"{requirement} is not pinned: run `make constraints`"
            assert requirement.specifier.contains(version, prereleases=True), requirement


def test_cpus_and_gpus_differ_only_where_vllm_wants_it():
    cpu, gpu = (write["versions"](f"constraints-{kind}.txt") for kind in ("cpu", "gpu"))
    assert "vllm" not in cpu and not any(name.startswith("nvidia") for name in cpu)
    different = {name for name in cpu.keys() & gpu.keys() if cpu[name] != gpu[name]}
    assert different <= {"torch", "transformers", "setuptools"}


def test_each_rule_runs_in_an_environment_with_its_code():
    within = r"(?:(?!^rule ).)*?"
    pattern = rf'^rule (\w+):{within}/envs/(\w+)\.yaml"{within}flow\.code\("(\w+)"\)'
    found = re.findall(pattern, RULES, re.M | re.S)
    assert {stage for _, _, stage in found} == set(STAGE_MODULES)
    for rule, name, stage in found:
        assert STAGE_MODULES[stage] in ENVIRONMENTS[name].modules, rule


def test_an_environment_has_what_its_modules_import():
    names = write["imported_distributions"](["pteb_eval.statistics.stage"])
    assert {"numpy", "scipy", "statsmodels", "pandas"} <= names
    assert not names & {"torch", "mteb", "matplotlib"}
    assert "torch" in write["imported_distributions"](["pteb_eval.embed.stage"])


# Images


def test_the_image_has_the_python_that_its_versions_were_chosen_for():
    dockerfile = (ROOT / "Dockerfile").read_text()
    python = re.search(r"^ARG BASE=python:(\d+\.\d+\.\d+)-slim-\w+$", dockerfile, re.M)[1]
    assert python == ENVIRONMENTS["vllm"].python
    chosen = re.search(r"--python-version (\S+) --python-platform", (ROOT / "Makefile").read_text())
    assert python.startswith(f"{chosen[1]}.")
    assert python in SpecifierSet(">=3.11")


def test_the_image_is_built_from_versions_alone_and_does_not_run_as_root():
    dockerfile = (ROOT / "Dockerfile").read_text()
    installs = re.findall(r"pip install (.*?)(?: \\)?$", dockerfile, re.M)
    assert len(installs) == 2 and all("--no-deps" in line for line in installs)
    assert "--requirement constraints-gpu.txt" in installs[0]
    [folder] = re.findall(r"^WORKDIR (/opt/.*)$", dockerfile, re.M)
    profile = (ROOT / "workflow" / "profiles" / "kubernetes" / "config.yaml").read_text()
    assert f"PIP_CONSTRAINT={folder}/constraints-gpu.txt\n" in profile
    assert re.findall(r"^USER (.*)$", dockerfile, re.M)[-1] not in {"root", "0"}


def test_all_that_the_image_copies_passes_the_ignore_file():
    """The ignore file shuts everything out but these."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert {"envs/constraints-gpu.txt", "pyproject.toml", "src", "LICENSE", "README.md"} == kept
    assert all((ROOT / name).exists() for name in kept)


def test_apptainer_makes_the_same_image():
    dockerfile, recipe = (ROOT / "Dockerfile").read_text(), (ENVS / "apptainer.def").read_text()
    assert (
        re.search(r"^From: (.*)$", recipe, re.M)[1]
        == re.search(r"^ARG BASE=(.*)$", dockerfile, re.M)[1]
    )
    for line in re.findall(r"(?:pip|apt-get) install .*?(?= *\\?$)", dockerfile, re.M):
        assert line in recipe
    variables = set(re.findall(r"([A-Z_]+=\S+?)(?: \\)?$", dockerfile, re.M))
    variables = {line for line in variables if not line.startswith(("NVIDIA_", "BASE="))}
    assert variables == set(re.findall(r"export (\S+)$", recipe, re.M))


def test_the_jobs_of_a_generator_run_where_its_engine_is():
    prompts = ["resources/prompts/paraphrase_chat.yaml"]
    generators = [
        {"name": engine, "engine": engine, "model": "m", "prompts": prompts}
        | ({"options": {"base_url": "http://localhost:1/v1"}} if engine == "openai" else {})
        for engine in ("llamacpp", "openai", "vllm")
    ]
    content = {"name": "a", "tasks": ["BIOSSES"], "models": ["m"], "generators": generators}
    for generator in parse_config(content, "config").generators:
        name = Path(environment(generator)).stem
        assert name == ("vllm" if generator.name == "vllm" else "generate")
        assert generator.name == "openai" or generator.name in ENVIRONMENTS[name].extras
