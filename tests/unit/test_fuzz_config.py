"""Configurations and prompt files that nobody would write, and names that want to be paths."""

import copy
import json
import os
from datetime import date
from pathlib import Path

import pytest
import yaml
from fuzzing import (
    NASTY,
    damaged,
    ends_well,
    inputs,
    json_values,
    mutants,
    nasty_text,
    only_written,
)
from hypothesis import given
from hypothesis import strategies as st

from pteb_eval.config import load_config, parse_config
from pteb_eval.paraphrase.prompts import load_judge_prompt, load_prompt
from pteb_eval.workflow import Workflow

ROOT = Path(__file__).parents[2]
PROMPT = "{name: p, version: 1, kind: chat, template: 'Say {text} again.', stop: ['\\n']}"
FULL_CONFIG = {
    "name": "run",
    "seed": 1,
    "runs": 6,
    "scope": ["sentence1"],
    "tasks": [
        "STSBenchmark",
        {"mteb": "Banking77Classification", "revision": "a" * 40, "subsets": ["en"],
        "splits": ["test"]},
        {"implicit": "pstance", "path": "data.csv"},
        {
            "type": "sts", "name": "own", "path": ["data.csv"], "columns": {"sentence1": 0,
            "score": "s"},
            "format": {"delimiter": ";", "header": False, "quoting": "none", "encoding": "latin-1"},
            "min_score": 0, "max_score": 1, "language": {"en": "eng-Latn"},
            "prompt": {"query": "q: "},
            "description": "Mine.", "max_instances": 5,
        },
    ],
    "models": ["bag-of-tokens", {"name": "a/b", "revision": "main", "max_length": 512,
    "dtype": "float32"}],
    "generators": [
        {
            "name": "g", "engine": "openai", "model": "m", "prompts": ["prompt.yaml"], "rate": 2.5,
            "sampling": {"temperature": 0.5, "top_p": 0.9}, "attempts": 2, "shards": 3,
            "options": {"base_url": "http://localhost:1/v1", "extra_body": {"a": [1, {"b": None}]}},
        },
        {"name": "f", "frozen": "frozen"},
    ],
    "judges": [{"name": "j", "engine": "edit_distance"}],
    "embedding": {"batch_size": 8, "device": "cpu"},
    "statistics": {"resamples": 100, "epsilon": 0.01},
}  # fmt: skip
CONFIGS = sorted((ROOT / "config").glob("*.yaml"))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder to run in, with the files that configurations name."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "prompt.yaml").write_text(PROMPT)
    (folder / "data.csv").write_text("sentence1,sentence2,score\na,b,1\n")
    (folder / "frozen").mkdir()
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


def planned(content, read):
    """A configuration as the Snakefile reads it; every file that it would make is in its folder."""
    config = read(content)
    flow = Workflow(config)
    root = (Path("results") / config.name).absolute()
    files = [*flow.final_files(), *flow.fetched_files(), *flow.mteb_results(), *flow.score_files()]
    for task in flow.tasks:
        json.loads(flow.fetch_settings(task))
    for path in files:
        assert Path(os.path.normpath(Path(path).absolute())).is_relative_to(root), path
        assert max(map(len, Path(path).parts)) < 200, path
    return flow


yaml_text = st.one_of(
    st.sampled_from([path.read_bytes() for path in CONFIGS]).flatmap(damaged),
    st.just(yaml.safe_dump(FULL_CONFIG).encode()).flatmap(damaged),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.lists(
        st.sampled_from(
            ["name: ", "a", "&x ", "*x", "- ", "\n", "\n  ", "\t", ": ", "? ", "[", "]", "{", "}",
            "<<: ",
             "!!int ", "!!timestamp ", "!!bool ", "!!float ", "!!binary ", "!!set ", "!!omap ",
             "!!null ",
             "!!python/object/apply:os.system ", "2024-13-99", "0x" + "f" * 5000, "1" * 5000,
             "1:2:3", ".inf",
             "'", '"\\ud800"', '"\\UFFFFFFFF"', "%YAML 9\n", "---", "...", "|\n", ">\n", "#", "~",
             "=", "<<",
             *NASTY],
        ),
        max_size=12,
    ).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass")),
    st.binary(max_size=40),
)  # fmt: skip


@inputs(100, 1_500)
@given(content=yaml_text)
def test_yaml_of_any_kind(project, content):
    (project / "my.yaml").write_bytes(content)
    with only_written(project, project / "my.yaml"):
        ends_well(planned, Path("my.yaml"), load_config, counted="config: YAML")


def places(value, path=()):
    yield path
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in parts:
        yield from places(part, (*path, key))


PLACES = [place for place in places(FULL_CONFIG) if place]
odd_values = st.one_of(
    json_values,
    st.sampled_from([
        "a" * 300, "a/../../b", "/abs", "..", ".", "a" * 25_000, "x/" * 3000, date(2024, 1, 1),
        b"\xff",
        {1: 2}, {None: 1}, {("a",): 1}, {"a", "b"}, [[[[[]]]]], "cpu; touch /tmp/owned", "{task}",
        "a\nb",
        "cache", "CACHE", "original", "shards", "http://u:p@h/v1", {"api_key": "k"}, "auto", "é",
        "A",
        float("nan"), float("inf"), 10**5000, "results", "é" * 150,
    ]),
)  # fmt: skip


@inputs(100, 1_500)
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), odd_values), min_size=1, max_size=3))
def test_one_value_that_is_none(project, changes):
    content = copy.deepcopy(FULL_CONFIG)
    for place, value in changes:
        part = content
        try:
            for key in place[:-1]:
                part = part[key]
            part[place[-1]] = value
        except (TypeError, KeyError, IndexError):
            continue  # an earlier change took the place away
    with only_written(project):
        ends_well(
            planned, content, lambda it: parse_config(it, "my.yaml"), counted="config: values"
        )


prompts = st.one_of(
    st.just(PROMPT.encode()).flatmap(damaged),
    st.dictionaries(
        st.sampled_from(["name", "version", "kind", "template", "stop", "same_language"]),
        json_values,
    ).map(lambda value: json.dumps(value).encode()),
)


@inputs(60, 1_000)
@given(content=prompts, text=nasty_text)
def test_prompt_files(project, content, text):
    (project / "odd.yaml").write_bytes(content)
    for load in (load_prompt, load_judge_prompt):
        prompt = ends_well(load, project / "odd.yaml", counted="prompts" * (load is load_prompt))
        if prompt:
            prompt.render(text, text)


def test_mutants_of_configurations(project):
    path = project / "my.yaml"
    for content in mutants(
        100, 10_000, yaml.safe_dump(FULL_CONFIG).encode(), CONFIGS[0].read_bytes()
    ):
        path.write_bytes(content)
        with only_written(project, path):
            ends_well(planned, Path("my.yaml"), load_config, counted="config: mutants")
