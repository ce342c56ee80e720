"""A mistake ends in one line that names the file or key and says what to do; nothing is written."""

import json
import re
import subprocess
import sys

import pytest
from project import CONFIG, PAIRS

from pteb_eval.store import read_table

HEAD, *ROWS = PAIRS.splitlines()


def tree(folder):
    """All files below a folder with their contents, but for what the tests themselves leave."""
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and path.name != "work.log"
        and not {".snakemake", ".programs", "__pycache__", "logs"} & set(path.parts)
    }


def fails(project, message, program, *arguments, status=2, **env):
    """The program fails in one line with this message, writing nothing."""
    before = tree(project.folder)
    result = project.run(program, *arguments, **env)
    assert result.status == status, result.output
    lines = [line for line in result.output.splitlines() if "pteb-eval: " in line]
    assert len(lines) == 1, result.output
    assert re.search(message, lines[0]), lines[0]
    assert "Traceback" not in result.output
    assert tree(project.folder) == before


def fetch_arguments(**changes):
    task = {"type": "sts", "name": "pairs", "path": "pairs.csv", "language": "eng-Latn"}
    settings = {"task": {**task, **changes}, "scope": "pteb", "max_instances": None}
    return ["fetch", "--settings", json.dumps(settings), "--output", "results/new/texts.parquet"]


# The configuration


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stastistics": {}}, r"unknown key 'stastistics': did you mean 'statistics'\?"),
        ({"statistics": {"resample": 9}}, r"unknown key .*resample': did you mean 'resamples'\?"),
        ({"runs": 0}, r"runs.* \(value '0'\)"),
        ({"tasks": [{"type": "sts", "name": "gone", "path": "gone.csv"}]}, r"gone\.csv: no such"),
        ({"models": [{"name": "m", "path": "models/gone"}]}, r"'m': models/gone: no such folder"),
        (
            {"generators": [{**CONFIG["generators"][0], "prompts": ["gone.yaml"]}]},
            r"gone\.yaml: no such prompt file \(key `prompts`",
        ),
    ],
)
def test_a_mistake_in_the_configuration_stops_before_anything_runs(project, change, message):
    project.configure({**CONFIG, **change})
    snakemake = ("snakemake", "--configfile", "my.yaml", "--cores", "2")
    fails(project, message, *snakemake, status=1)
    fails(project, message, "pteb-eval", "plan", "my.yaml")


def test_a_configuration_that_is_none(project):
    fails(project, r"gone\.yaml: no such configuration file", "pteb-eval", "plan", "gone.yaml")
    project.write("my.yaml", "- just\n- a list\n")
    fails(project, r"my\.yaml: must be a mapping of keys", "pteb-eval", "plan", "my.yaml")
    project.write("my.yaml", "name: [never closed\n")
    fails(project, r"my\.yaml: cannot be read as YAML", "pteb-eval", "plan", "my.yaml")


def test_settings_that_are_no_json(project):
    arguments = ["fetch", "--settings", "{", "--output", "results/new.parquet"]
    fails(project, r"--settings: not JSON", "pteb-eval", *arguments)


# Tasks


def test_an_unknown_task_of_mteb_gets_near_matches(project):
    settings = {"task": {"mteb": "STSBenchmrk"}, "scope": "pteb", "max_instances": None}
    fails(
        project, r"unknown mteb task 'STSBenchmrk': did you mean 'STSBenchmark'", "pteb-eval",
        "fetch", "--settings", json.dumps(settings), "--output", "results/new.parquet",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "changes", "message"),
    [
        (["a,sentence2,score", *ROWS], {}, r"no column 'sentence1'"),
        ([HEAD, ROWS[0], "One.,Two.,7"], {}, r"line 3: '7' in column 'score' is outside \[0, 5\]"),
        ([HEAD, ROWS[0], "One.,Two.,good"], {}, r"line 3: 'good' in column 'score' is not a num"),
        ([HEAD, ROWS[0], "One.,,3"], {}, r"line 3: the text in column 'sentence2' is empty"),
        ([HEAD], {}, r"no rows"),
        ([HEAD, *ROWS], {"langauge": ""}, r"type sts has no key 'langauge': did you mean 'lang"),
        ([HEAD, *ROWS], {"language": "english"}, r"language 'english' is unknown: use the ISO"),
    ],
)
def test_a_mistake_in_a_file_names_the_line(project, lines, changes, message):
    project.write("pairs.csv", "\n".join(lines) + "\n")
    where = r"pteb-eval: (pairs\.csv|task 'pairs'): "
    fails(project, where + message, "pteb-eval", *fetch_arguments(**changes))


def test_pairs_that_occur_twice_are_counted_kept_and_said(project):
    project.write("pairs.csv", "\n".join([HEAD, *ROWS, ROWS[0], ROWS[0], ROWS[1]]) + "\n")
    result = project.run("pteb-eval", *fetch_arguments())
    assert result.status == 0, result.output
    assert re.search(r"fetch pairs: .*repeat an earlier one, kept: 3", result.output)
    table = read_table(project.folder / "results" / "new" / "texts.parquet")
    assert table.num_rows == 16
    assert sum(len(slots) for slots in table["slots"].to_pylist()) == 2 * 11


# Models


def model_arguments(name, path=None):
    empty = {"revision": None, "dtype": None, "max_length": None, "trust_remote_code": False}
    settings = json.dumps({"name": name, "path": path, **empty})
    return ["fetch", "--model", settings, "--output", "results/new/model.json"]


def test_a_folder_that_is_no_model(project):
    fails(
        project, r"model 'own': models/fake-b is no model folder \(no modules\.json or config",
        "real-pteb-eval", *model_arguments("own", "models/fake-b"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "network",
    [{"HF_HUB_OFFLINE": "1"}, {"HTTPS_PROXY": "http://127.0.0.1:9", "HF_HUB_OFFLINE": ""}],
)
def test_a_model_of_the_hub_without_a_network(project, network):
    """In a process of its own: the hub's library reads these variables once."""
    before = tree(project.folder)
    result = subprocess.run(
        [sys.executable, "-c", "from pteb_eval.cli import main; main()",
         *model_arguments("intfloat/e5-small-v2")],
        cwd=project.folder, env=project.environment(**network, HF_HOME=str(project.folder / "hub")),
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert result.returncode == 2, result.stderr
    lines = result.stderr.splitlines()
    assert re.search(r"^pteb-eval: model 'intfloat/e5-small-v2': .*hub.*", lines[-1]), lines
    assert "Traceback" not in result.stderr
    assert set(tree(project.folder)) - set(before) <= set((project.folder / "hub").rglob("*"))


# Generators


def paraphrase_arguments(project, **changes):
    settings = {**project.settings_of("paraphrases/shuffler/pairs"), **changes}
    return [
        "paraphrase", "--settings", json.dumps(settings), "--cache", "results/cache",
        "--texts", "results/small/texts/pairs.parquet", "--output", "results/new/pairs.parquet",
    ]  # fmt: skip


def test_too_many_failures_stop_with_what_failed_and_how_often(project):
    fails(
        project,
        r"generator shuffler, task pairs: 6\.2% of 32 paraphrases failed \(2 empty\), more than "
        r"max_failure_rate 5\.0%: raise `attempts`",
        "pteb-eval", *paraphrase_arguments(project, max_failure_rate=0.05),
    )  # fmt: skip


def test_an_engines_option_that_it_does_not_have(project):
    fails(
        project, r"options of engine openai: paralel: unknown; choose from", "real-pteb-eval",
        *paraphrase_arguments(project, engine="openai"), "--engine-options", '{"paralel": 2}',
    )  # fmt: skip


def test_a_generators_model_that_is_not_there(project):
    fails(
        project, r"model gone-gguf: neither a file nor an installed package: pip install",
        "real-pteb-eval", *paraphrase_arguments(project, model="gone-gguf"),
    )  # fmt: skip


# The cache


def test_a_damaged_shard_stops_with_its_name_and_stays(project):
    shard = next((project.folder / "results" / "cache" / "paraphrases").rglob("shard-*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-50])
    message = rf"{shard.name}: unreadable cache shard .*: move it away to make its rows again"
    fails(project, message, "pteb-eval", *paraphrase_arguments(project))


def test_a_damaged_input_stops_with_its_name(project):
    texts = project.results / "texts" / "pairs.parquet"
    texts.write_bytes(texts.read_bytes()[:-50])
    message = r"results/small/texts/pairs\.parquet: unreadable .*: it is damaged; move it away"
    fails(project, message, "pteb-eval", *paraphrase_arguments(project))


# The disk


def on_disk(project, **changes):
    """Paraphrasing with cache and output on the small disk."""
    arguments = paraphrase_arguments(project, **changes)
    return [part.replace("results/cache", "disk/cache").replace("results/new", "disk/new")
            for part in arguments]  # fmt: skip


def test_a_full_disk_stops_with_the_files_name_and_loses_nothing(project, small_disk):
    arguments = on_disk(project, runs=120)
    result = project.run("pteb-eval", *arguments, FAKE_DELAY="0.003")
    assert result.status == 2, result.output
    last = result.output.splitlines()[-1]
    assert re.search(r"^pteb-eval: disk/.*: the disk is full: free some space and run again", last)
    assert "Traceback" not in result.output
    disk = project.folder / "disk"
    assert not list(disk.rglob("*.tmp"))
    [store] = {path.parent for path in disk.rglob("shard-*.parquet")}
    kept = [read_table(path)["key"].to_pylist() for path in store.iterdir()]
    made = project.work()

    assert small_disk.mount("remount,size=16m")
    assert project.run("pteb-eval", *arguments).status == 0
    again = project.work() - made
    assert not {("answer", key) for keys in kept for key in keys} & set(again)
    assert read_table(disk / "new" / "pairs.parquet").num_rows == 16 * 120


def test_a_folder_that_cannot_be_written(project, small_disk):
    assert small_disk.mount("remount,ro")
    fails(
        project, r"disk/.*: the file system is read-only: choose a results folder", "pteb-eval",
        *on_disk(project),
    )  # fmt: skip
    shared = [part.replace("disk/cache", "results/cache") for part in on_disk(project)]
    fails(project, r"disk/new/pairs\.parquet: the file system is read-only", "pteb-eval", *shared)
