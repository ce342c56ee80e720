"""The rules call the stages as they are meant to be called, and reading them costs little."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from pteb_eval.cli.app import app
from pteb_eval.config import load_config
from pteb_eval.workflow import STAGE_MODULES, Workflow

ROOT = Path(__file__).parents[2]
RULE_FILES = [ROOT / "Snakefile", *sorted((ROOT / "workflow" / "rules").glob("*.smk"))]
VERBS = {"fetch", "paraphrase", "judge", "embed", "score", "test", "rank", "plot", "report"}
HEAVY = ("torch", "mteb", "datasets", "transformers", "sentence_transformers", "pandas", "scipy",
         "sklearn", "matplotlib", "xllamacpp", "vllm")  # fmt: skip
# All that reading the Snakefile does, for the demo.
PARSE = """
import sys
from pathlib import Path
from pteb_eval.config import load_config
from pteb_eval.workflow import STAGE_MODULES, Workflow
flow = Workflow(load_config(Path("config/demo.yaml")))
for stage in STAGE_MODULES:
    flow.code(stage)
for task in flow.tasks:
    flow.fetch_settings(task), flow.data_files(task)
    for model in flow.models:
        flow.embed_settings(model, task), flow.score_settings(model, task)
    for generator in flow.generators:
        flow.paraphrase_settings(task, generator), flow.engine_options(generator)
flow.test_settings(), flow.rank_settings(), flow.report_settings(), flow.mteb_results()
print(*sys.modules)
"""


def rules():
    """Every rule as (name, its lines)."""
    for path in RULE_FILES:
        for name, body in re.findall(
            r"^rule (\w+):\n((?:[ \t].*\n|\n)*)", path.read_text(), re.MULTILINE
        ):
            yield pytest.param(name, body, id=f"{path.name}: {name}")


def block(body, directive):
    """The lines below a directive of a rule."""
    found = re.search(rf"^    {directive}:.*\n((?:        .*\n)*)", body, re.MULTILINE)
    return found.group(0) if found else ""


@pytest.mark.parametrize(("name", "body"), rules())
def test_params_depend_on_wildcards_alone(name, body):
    """Snakemake does not notice a changed setting in a function of `params` that takes `input`."""
    params = block(body, "params")
    for arguments in re.findall(r"lambda\s*([^:]*):", params):
        assert arguments.strip() in ("wc", "wildcards"), f"{name}: lambda {arguments}"
    # A function by name could take anything; calls and constants are evaluated on reading.
    for value in re.findall(r"^        \w+=(.*?),?$", params, re.MULTILINE):
        # A part of an output's path holds no setting.
        allowed = r"(lambda|flow\.|str\(|subpath\(output\[0\], |[A-Z_]+$)"
        assert re.match(allowed, value), f"{name}: {value}"
    assert "config" not in params


@pytest.mark.parametrize(("name", "body"), rules())
def test_a_rule_is_one_call_of_a_stage_with_options_that_it_has(name, body):
    shell = block(body, "shell")
    if not shell:
        assert not block(body, "output"), f"{name}: makes files without a stage"
        return
    verbs = re.findall(r"pteb-eval (\w+)", shell)
    assert len(verbs) == 1
    assert verbs[0] in VERBS
    assert verbs[0] == "score" or name.startswith(verbs[0])
    known = {
        option for parameter in get_command(app).commands[verbs[0]].params
        for option in parameter.opts
    }  # fmt: skip
    assert set(re.findall(r"--[a-z-]+", shell)) <= known
    for value in re.findall(r"\{([^}]*)\}", shell):
        quoted = value.endswith(":q") or value in ("params.code", "resources.device",
                                                   "wildcards.shard")  # fmt: skip
        assert quoted, f"{name}: {{{value}}} breaks on names with blanks"


@pytest.mark.parametrize(("name", "body"), rules())
def test_a_stage_is_rerun_when_its_code_or_step_changes(name, body):
    params = block(body, "params")
    if name in ("mteb_result",) or name.startswith("fetch_") or not block(body, "shell"):
        return  # copies what another file says, or loads what its settings name
    assert "code=flow.code(" in params or re.search(r"step=[A-Z]+_STEP", params), name
    stage = re.search(r'flow\.code\("(\w+)"\)', params)
    assert not stage or stage.group(1) in STAGE_MODULES


def test_rule_files_hold_no_logic():
    for path in RULE_FILES:
        assert not re.search(r"^\s*(def|for|while|class) ", path.read_text(), re.MULTILINE), path
    assert len((ROOT / "Snakefile").read_text().splitlines()) < 60


def test_reading_the_snakefile_imports_nothing_heavy_and_writes_nothing(tmp_path):
    for name in ("config", "resources"):
        (tmp_path / name).symlink_to(ROOT / name)
    result = subprocess.run(
        [sys.executable, "-c", PARSE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = {module.split(".")[0] for module in result.stdout.split()}
    assert not loaded & set(HEAVY)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config", "resources"]


def test_the_default_profile_is_where_snakemake_looks_for_it():
    profile = yaml.safe_load((ROOT / "profiles" / "default" / "config.yaml").read_text())
    assert profile["resources"]["gpu"] == 1
    assert profile["rerun-incomplete"]


@pytest.mark.parametrize(("name", "body"), rules())
def test_a_rule_that_takes_what_a_machine_has_is_told_how_much_on_a_cluster(name, body):
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/config.yaml").read_text())
    if "gpu=1" in block(body, "resources"):
        assert profile["set-resources"][name]["gpu"]
    if re.search(r"^    threads: ALL_CORES", body, re.MULTILINE):
        assert profile["set-threads"][name]
    assert "workflow.cores" not in body  # a cluster has no such number


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.name)
def test_settings_do_not_depend_on_the_order_of_keys(path, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    content = yaml.safe_load(path.read_text())
    turned = tmp_path / "turned.yaml"
    turned.write_text(yaml.safe_dump(dict(reversed(content.items())), sort_keys=False))
    monkeypatch.setattr("pathlib.Path.exists", lambda self: True)
    one, other = (Workflow(load_config(config)) for config in (path, turned))
    for task in one.tasks:
        assert one.fetch_settings(task) == other.fetch_settings(task)
        for generator in one.generators:
            args = (task, generator)
            assert one.paraphrase_settings(*args) == other.paraphrase_settings(*args)
    assert one.test_settings() == other.test_settings()
