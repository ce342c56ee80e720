"""staleness.yaml, row by row: a change makes exactly these jobs run again."""

import itertools
import os
import re
import shutil
import time
from pathlib import Path
from typing import get_args

import pytest
import yaml
from project import CONFIG, JUDGED
from pydantic import BaseModel

from pteb_eval.config import Config

TABLE = yaml.safe_load(Path(__file__).with_name("staleness.yaml").read_text(encoding="utf-8"))
# Rules and their wildcards; `revision` only repeats what the model says.
WILDCARDS = {
    "fetch": ("task",),
    "fetch_model": ("model",),
    "fetch_generator": ("generator",),
    "paraphrase": ("generator", "task"),
    "paraphrase_shard": ("generator", "task", "shard"),
    "paraphrase_parts": ("generator", "task"),
    "fetch_judge": ("judge",),
    "judge": ("judge", "generator", "task"),
    "judge_shard": ("judge", "generator", "task", "shard"),
    "judge_parts": ("judge", "generator", "task"),
    "judge_instances": ("judge", "generator", "task"),
    "judge_gold": ("task",),
    "judge_pairs": ("judge", "task"),
    "judge_validation": (),
    "embed_original": ("model", "task"),
    "embed_paraphrases": ("model", "generator", "task"),
    "score_original": ("model", "task"),
    "score_paraphrases": ("model", "generator", "task"),
    "score_judged": ("model", "generator", "task"),
    "mteb_result": ("model", "task"),
    "test": (),
    "rank": (),
    "plot": (),
    "report": (),
    "report_suite": (),
}


def situations():
    for row in TABLE["rows"]:
        for key, value in row.get("each", {}).items():
            changed = {**row, "set": {key: value}}
            yield pytest.param(changed, id=f"{row['change']}: {key}")
        if "each" not in row:
            yield pytest.param(row, id=row["change"])


@pytest.mark.parametrize("row", situations())
def test_a_change_runs_these_jobs_again_and_no_others(request, row):
    project = request.getfixturevalue("judged" if row.get("judged") else "project")
    config = with_keys(JUDGED if row.get("judged") else CONFIG, row.get("set", {}))
    project.configure(config)
    change_files(project.folder, row)
    result = project.snakemake("--dry-run", "--quiet", "host")
    assert result.status == 0, result.output
    assert jobs_in(result.output) == expected_jobs(row, config)


def test_every_key_of_the_configuration_has_a_row():
    covered = {
        re.sub(r"\.\d+", "", key)
        for row in TABLE["rows"]
        for key in (*row.get("set", {}), *row.get("each", {}))
    }
    missing = set(keys_of(Config)) - covered
    assert not missing, f"staleness.yaml has no row for {sorted(missing)}"


def test_the_table_names_rules_of_the_workflow(finished):
    text = "".join(
        path.read_text() for path in (finished.folder / "workflow" / "rules").glob("*.smk")
    )
    without_jobs = {"fetch_all", "tables", "figures"}  # targets to ask for by name
    assert set(re.findall(r"^rule (\w+):", text, re.MULTILINE)) == {*WILDCARDS} | without_jobs
    assert {rule for row in TABLE["rows"] for rule in row["rules"]} <= {*WILDCARDS}


def keys_of(model, prefix=""):
    """Dotted keys of a schema: of all that holds a value of its own, or a list of entries."""
    for name, field in model.model_fields.items():
        nested = list(models_in(field.annotation))
        if not nested or "list" in str(field.annotation):
            yield prefix + name
        if name == "validate_judge":
            continue  # its entries are those of `tasks`
        for inner in nested:
            yield from keys_of(inner, f"{prefix}{name}.")


def models_in(annotation):
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def with_keys(config, keys):
    """The configuration with other values under dotted keys; None takes an entry away."""
    changed = yaml.safe_load(yaml.safe_dump(config))
    for key, value in keys.items():
        *parents, last = (int(part) if part.isdigit() else part for part in key.split("."))
        place = changed
        for parent in parents:
            if isinstance(place, list):
                place[parent:] = place[parent:] or [{}]
                place = place[parent]
            else:
                place = place.setdefault(parent, {})
        if isinstance(place, list):
            place[last : last + 1] = [] if value is None else [value]
        else:
            place[last] = value
    return changed


def change_files(folder, row):
    for name, text in row.get("write", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for pattern, text in row.get("append", {}).items():
        for path in existing(folder, pattern):
            path.write_text(path.read_text() + text)
    for pattern, (old, new) in row.get("replace", {}).items():
        for path in existing(folder, pattern):
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new, 1))
    for name in row.get("touch", []):
        assert (folder / name).exists()
        os.utime(folder / name, (time.time() + 1,) * 2)
    for name in row.get("delete", []):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def existing(folder, pattern):
    paths = [path for path in folder.glob(pattern) if path.is_file()]
    assert paths, f"{pattern}: no such file"
    return paths


def jobs_in(output):
    """The jobs that a dry run shows, as `rule wildcard=value ...`."""
    jobs = set()
    for rule, block in re.findall(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", output, re.MULTILINE):
        found = re.search(r"^    wildcards: (.*)$", block, re.MULTILINE)
        values = dict(part.split("=") for part in found.group(1).split(", ")) if found else {}
        if rule != "all":
            jobs.add(named(rule, values))
    return jobs


def expected_jobs(row, config):
    names = {
        "task": [task_name(entry) for entry in config["tasks"]],
        "model": [m if isinstance(m, str) else m["name"] for m in config["models"]],
        "generator": [entry["name"] for entry in config["generators"]],
    }
    judges = config.get("judges", [])
    names["judge"] = [entry["name"] for entry in judges]
    entries = (*config["generators"], *judges)
    shards = max((entry.get("shards", 1) for entry in entries), default=1)
    names["shard"] = [f"{number}-of-{shards}" for number in range(1, shards + 1)]
    names |= {key: [value] for key, value in row.get("only", {}).items()}
    return {
        named(rule, dict(zip(WILDCARDS[rule], values, strict=True)))
        for rule in row["rules"]
        for values in itertools.product(*(names[key] for key in WILDCARDS[rule]))
    }


def task_name(entry):
    return entry.get("name") or entry.get("mteb") or entry["implicit"]


def named(rule, values):
    return " ".join([rule, *(f"{key}={values[key]}" for key in WILDCARDS[rule])])
