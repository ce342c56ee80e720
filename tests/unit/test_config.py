"""What a configuration may say, and what is said of one that is wrong."""

import copy
from pathlib import Path

import pytest
import yaml

from pteb_eval.config import Config, FileTask, FrozenSet, MtebTask, load_config, parse_config
from pteb_eval.errors import UserError

ROOT = Path(__file__).parents[2]
SMALL = {
    "name": "small",
    "tasks": ["STSBenchmark"],
    "models": ["all-MiniLM-L6-v2"],
    "generators": [{"name": "g", "engine": "llamacpp", "model": "g.gguf", "prompts": ["p.yaml"]}],
}
PAIRS = {"type": "sts", "name": "mine", "path": "pairs.csv"}


def changed(*keys, to):
    """The small configuration with one key set, or taken out if `to` is ellipsis."""
    content = copy.deepcopy(SMALL)
    *above, last = keys
    place = content
    for key in above:
        place = place[key]
    if to is ...:
        del place[last]
    elif isinstance(place, list) and last == len(place):
        place.append(to)
    else:
        place[last] = to
    return content


def mistake(content, source="my.yaml"):
    with pytest.raises(UserError) as caught:
        parse_config(content, source)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{source}: ")
    return message.removeprefix(f"{source}: ")


def test_the_defaults_are_those_of_the_protocol():
    config = parse_config(SMALL, "my.yaml")
    assert (config.runs, config.scope, config.on_failure) == (6, "pteb", "exclude")
    sampling = config.generators[0].sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (0.8, 0.9, 0)
    assert config.generators[0].attempts == 1
    assert (config.statistics.correction, config.statistics.alpha) == ("holm", 0.05)


def test_a_bare_name_is_an_entry_that_says_nothing_else():
    config = parse_config(SMALL, "my.yaml")
    assert config.tasks == [MtebTask(mteb="STSBenchmark")]
    assert [model.name for model in config.models] == ["all-MiniLM-L6-v2"]
    entries = {**SMALL, "tasks": [{"mteb": "STSBenchmark"}], "models": [{"name": "x/y"}]}
    config = parse_config(entries, "my.yaml")
    assert config.tasks[0].name == "STSBenchmark"
    assert config.models[0].slug == "x__y"


def test_a_generator_cannot_be_a_bare_name():
    assert mistake({**SMALL, "generators": ["g"]}).startswith("generators.0: ")


def test_a_frozen_set_stands_in_place_of_a_generator():
    entry = {"name": "g", "frozen": "frozen/g"}
    found = parse_config({**SMALL, "generators": [entry]}, "my.yaml").generators[0]
    assert (type(found), found.frozen) == (FrozenSet, Path("frozen/g"))
    assert mistake({**SMALL, "generators": [{**entry, "attempts": 3}]}).startswith(
        "unknown key 'generators.0.attempts'"
    )


def test_runs_auto_needs_a_width_to_reach():
    message = mistake({**SMALL, "runs": "auto"})
    assert message.startswith("runs: 'auto' needs statistics.max_width")
    narrow = {**SMALL, "runs": "auto", "statistics": {"max_width": 0.02}}
    assert parse_config(narrow, "my.yaml").runs == "auto"


def test_a_task_without_mteb_is_one_of_the_users_own():
    task = parse_config({**SMALL, "tasks": [PAIRS]}, "my.yaml").tasks[0]
    assert isinstance(task, FileTask)
    assert (task.name, task.path) == ("mine", Path("pairs.csv"))


def test_columns_by_number_stay_numbers():
    entry = {**PAIRS, "columns": {"sentence1": 5, "sentence2": "right"}}
    columns = parse_config({**SMALL, "tasks": [entry]}, "my.yaml").tasks[0].columns
    assert columns == {"sentence1": 5, "sentence2": "right"}
    assert type(columns["sentence1"]) is int


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (changed("run", to=3), "unknown key 'run': did you mean 'runs'?"),
        (changed("zzz", to=3), "unknown key 'zzz'; see config/README.md for the keys"),
        (
            changed("generators", 0, "sampling", to={"temprature": 1}),
            "unknown key 'generators.0.sampling.temprature': did you mean 'temperature'?",
        ),
        (
            changed("tasks", 0, to={"mteb": "STSBenchmark", "revison": "x"}),
            "unknown key 'tasks.0.revison': did you mean 'revision'?",
        ),
        (
            changed("tasks", 0, to={**PAIRS, "formt": {}}),
            "unknown key 'tasks.0.formt': did you mean 'format'?",
        ),
        (
            changed("tasks", 0, to={**PAIRS, "format": {"delimeter": ";"}}),
            "unknown key 'tasks.0.format.delimeter': did you mean 'delimiter'?",
        ),
        (
            changed("statistics", to={"confidance": 0.9}),
            "unknown key 'statistics.confidance': did you mean 'confidence'?",
        ),
    ],
)
def test_an_unknown_key_is_named_with_its_nearest(content, message):
    assert mistake(content) == message


@pytest.mark.parametrize("key", ["name", "tasks", "models"])
def test_a_missing_key_is_named(key):
    assert mistake(changed(key, to=...)) == f"key {key!r} is missing"


def test_a_missing_key_of_an_entry_is_named_with_its_place():
    assert mistake(changed("generators", 0, "model", to=...)) == (
        "key 'generators.0.model' is missing"
    )
    assert mistake({**SMALL, "tasks": [{"name": "mine", "path": "x.csv"}]}) == (
        "key 'tasks.0.type' is missing"
    )


def test_an_unknown_key_is_said_before_the_mistakes_that_it_causes():
    content = changed("generators", 0, "model", to=...)
    content["generators"][0]["modell"] = "g.gguf"
    assert mistake(content) == (
        "unknown key 'generators.0.modell': did you mean 'model'? (and 1 more)"
    )


@pytest.mark.parametrize(
    ("content", "key", "value"),
    [
        (changed("runs", to=0), "runs", "0"),
        (changed("runs", to=2.5), "runs", "2.5"),
        (changed("name", to="a/b"), "name", "a/b"),
        (changed("name", to="../up"), "name", "../up"),
        (changed("seed", to=-1), "seed", "-1"),
        (changed("on_failure", to="keep"), "on_failure", "keep"),
        (changed("max_failure_rate", to=5), "max_failure_rate", "5"),
        (changed("tasks", to=[]), "tasks", "[]"),
        (changed("models", to="all-MiniLM-L6-v2"), "models", "all-MiniLM-L6-v2"),
        (changed("tasks", 0, to={"mteb": "a b"}), "tasks.0.mteb", "a b"),
        (changed("tasks", 0, to={**PAIRS, "type": "stss"}), "tasks.0.type", "stss"),
        (changed("tasks", 0, to={**PAIRS, "max_instances": 0}), "tasks.0.max_instances", "0"),
        (changed("models", 0, to={"name": "m", "dtype": "int8"}), "models.0.dtype", "int8"),
        (changed("generators", 0, "engine", to="ollama"), "generators.0.engine", "ollama"),
        (changed("generators", 0, "attempts", to=0), "generators.0.attempts", "0"),
        (changed("generators", 0, "prompts", to=[]), "generators.0.prompts", "[]"),
        (
            changed("generators", 0, "sampling", to={"top_p": 0}),
            "generators.0.sampling.top_p",
            "0",
        ),
        (changed("statistics", to={"alpha": 1}), "statistics.alpha", "1"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(content, key, value):
    message = mistake(content)
    assert message.startswith(key)
    assert repr(value) in message


@pytest.mark.parametrize(
    ("key", "entry", "name"),
    [
        ("tasks", "STSBenchmark", "STSBenchmark"),
        ("tasks", {**PAIRS, "name": "STSBenchmark"}, "STSBenchmark"),
        ("models", {"name": "all-MiniLM-L6-v2", "max_length": 64}, "all-MiniLM-L6-v2"),
        ("generators", SMALL["generators"][0], "g"),
    ],
)
def test_two_entries_of_one_name_would_write_the_same_files(key, entry, name):
    message = mistake(changed(key, 1, to=entry))
    assert message == f"{key}: {name!r} stands there twice; names must differ"


def test_original_is_kept_for_the_texts_as_they_are():
    message = mistake(changed("generators", 0, "name", to="original"))
    assert message.startswith("generators")
    assert "'original' is kept for the texts as they are" in message


def test_a_checked_configuration_cannot_be_changed():
    config = parse_config(SMALL, "my.yaml")
    with pytest.raises(ValueError, match="frozen"):
        config.runs = 3


def test_a_long_value_does_not_make_a_long_message():
    assert len(mistake(changed("runs", to="x" * 10_000))) < 300


def test_the_source_is_the_file(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(yaml.safe_dump(changed("run", to=3)))
    with pytest.raises(UserError, match="unknown key 'run'") as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name: [", "cannot be read as YAML"),
        (b"\xff\xfe\x00", "cannot be read as YAML"),
        (b"- just\n- a list\n", "must be a mapping of keys to values"),
        (b"", "must be a mapping of keys to values"),
    ],
)
def test_a_file_that_is_no_configuration(tmp_path, content, message):
    path = tmp_path / "my.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="no such configuration file"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="cannot be read as YAML"):
        load_config(tmp_path)


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.name)
def test_the_configurations_of_this_repository_are_sound(path):
    config = load_config(path)
    assert Config.model_validate(config.model_dump(mode="json")) == config


def test_the_example_of_own_data_reads_the_sts_benchmark():
    """What docs/own-data.md says of the file: its columns, its pairs and the one that repeats."""
    file = ROOT.parent / "shared" / "data" / "stsbenchmark" / "sts-test.tsv.gz"
    if not file.is_file():
        pytest.skip("the STS Benchmark's test file is not here")
    from pteb_eval.fetch import texts_table
    from pteb_eval.workflow_judges import task_settings

    entry = load_config(ROOT / "config" / "own_sts.yaml").tasks[0]
    settings = task_settings(entry.model_copy(update={"path": file}))
    table, about = texts_table(
        {"task": settings, "scope": "pteb", "max_instances": entry.max_instances}
    )
    assert (about["n_instances"], table.num_rows) == (1379, 2552)
    assert sum(table["reworded"].to_pylist()) == 351
    assert about["notes"] == ["pairs that repeat an earlier one, kept: 1"]


@pytest.mark.parametrize("value", [2.5, "often"])
def test_a_value_of_no_right_type_names_the_key_alone(value):
    assert mistake(changed("runs", to=value)).startswith("runs: ")


def test_models_whose_files_would_have_one_name_are_refused():
    assert "'a__b' stands there twice" in mistake(changed("models", to=["a/b", "a__b"]))


# Judges

JUDGE = {"name": "j", "engine": "llamacpp", "model": "j.gguf", "prompt": "j.yaml"}


def judged(**changes):
    return {**SMALL, "judges": [JUDGE], "validate_judge": ["STSBenchmark"], **changes}


def test_a_judge_is_greedy_and_rates_both_orders():
    [judge] = parse_config(judged(), "my.yaml").judges
    assert (judge.sampling.temperature, judge.ratings, judge.both_orders) == (0, 1, True)
    given = {**JUDGE, "sampling": {"max_tokens": 2}}
    [judge] = parse_config(judged(judges=[given]), "my.yaml").judges
    assert (judge.sampling.temperature, judge.sampling.max_tokens) == (0, 2)


def test_a_name_in_validate_judge_is_that_task_or_one_of_mteb():
    config = parse_config(
        judged(tasks=[PAIRS], validate_judge=["mine", "BIOSSES", {**PAIRS, "name": "more"}]),
        "my.yaml",
    )
    assert config.validate_judge[0] == config.tasks[0]
    assert config.validate_judge[1] == MtebTask(mteb="BIOSSES")
    assert config.validate_judge[2].name == "more"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (judged(judges=[]), "validate_judge: there are no `judges` to validate"),
        (judged(min_judge=[3], validate_judge=[]), "min_judge: needs `judges`, and `validate_"),
        (
            judged(validate_judge=[{**PAIRS, "type": "retrieval"}]),
            "validate_judge: 'mine' is of type retrieval: pairs with gold are needed",
        ),
        (
            judged(tasks=[PAIRS], validate_judge=[{**PAIRS, "path": "other.csv"}]),
            "validate_judge: 'mine' differs from that of `tasks`",
        ),
        (judged(judges=[JUDGE, JUDGE]), "judges: 'j' stands there twice"),
        (judged(judges=[{**JUDGE, "attempts": 2}]), "judges.0: attempts: 2 greedy answers are"),
        (
            judged(judges=[{"name": "n", "engine": "edit_distance", "model": "m"}]),
            "judges.0: engine edit_distance takes no `model`",
        ),
        (judged(judges=[{**JUDGE, "promt": 1}]), "unknown key 'judges.0.promt': did you mean"),
    ],
)
def test_a_mistake_about_judges_names_the_key(content, message):
    assert mistake(content).startswith(message)
