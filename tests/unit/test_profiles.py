"""The profiles name rules that exist, and nothing but them knows where jobs run."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROFILES = {
    path.parent.name: yaml.safe_load(path.read_text())
    for path in (ROOT / "workflow" / "profiles").glob("*/config.yaml")
}
ON_CLUSTERS = ("generic", "kubernetes", "slurm")
SOURCES = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
TEXT = "\n".join(path.read_text() for path in SOURCES)
RULES = {
    name: body
    for name, body in re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", TEXT, re.M | re.S)
}  # fmt: skip
LOCAL = set(
    re.search(r"^localrules:\n(.*?)\n(?:\S|\Z)", TEXT + "\n", re.M | re.S)[1]
    .replace(" ", "")
    .replace("\n", "")
    .split(",")
) - {""}


def test_there_are_profiles_for_a_workstation_and_for_clusters():
    assert set(PROFILES) == {"default", *ON_CLUSTERS}
    assert len(RULES) > 20 and "fetch" in LOCAL


@pytest.mark.parametrize("name", ON_CLUSTERS)
def test_a_profile_names_rules_that_exist_and_are_submitted(name):
    profile = PROFILES[name]
    arrays = profile.get("slurm-array-jobs", "").split(",")
    named = {*profile["set-resources"], *profile["set-threads"], *filter(None, arrays)}
    assert named <= RULES.keys() - LOCAL


@pytest.mark.parametrize("name", ON_CLUSTERS)
def test_what_takes_a_whole_workstation_is_told_how_much_it_gets(name):
    profile = PROFILES[name]
    for rule, body in RULES.items():
        if "threads: ALL_CORES" in body:
            assert profile["set-threads"][rule] < 1024, rule
        if "gpu=1" in body:
            resources = profile["set-resources"][rule]
            assert resources["gpu"] == 1 and str(resources["mem_mb"]).strip(), rule


@pytest.mark.parametrize("name", ON_CLUSTERS)
def test_the_plugins_of_a_profile_are_extras(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = list(chain.from_iterable(project["optional-dependencies"].values()))
    asked = {f"executor-plugin-{PROFILES[name]['executor']}"}
    if provider := PROFILES[name].get("default-storage-provider"):
        asked.add(f"storage-plugin-{provider}")
    for plugin in asked:
        assert any(line.startswith(f"snakemake-{plugin}") for line in lines)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_rules_know_no_scheduler_and_no_object_store(path):
    engines = r"slurm|sbatch|partition|kubernetes|s3://|gs://|storage\."
    assert not re.search(engines, path.read_text())


def test_every_rule_that_needs_a_network_runs_where_snakemake_does():
    assert {rule for rule in RULES if rule.startswith("fetch")} <= LOCAL
