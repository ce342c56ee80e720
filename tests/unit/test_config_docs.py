"""The configuration's page and JSON schema are those that the code makes."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from pteb_eval.config import Config, FileTask, MtebTask, parse_config
from pteb_eval.config.document import attributes, json_schema, readme
from pteb_eval.errors import UserError

CONFIG = Path(__file__).parents[2] / "config"
STALE = "run `python -m pteb_eval.config.document` and commit what it writes"


def test_the_page_is_up_to_date():
    assert (CONFIG / "README.md").read_text(encoding="utf-8") == readme(), STALE


def test_the_schema_is_up_to_date():
    assert json.loads((CONFIG / "schema.json").read_text(encoding="utf-8")) == json_schema(), STALE


def test_an_entry_of_several_lines_becomes_one():
    class Documented:
        """Summary.

        Attributes:
            one: first line
                and second; None: nothing.
            two: short.

        Raises:
            three: no attribute.
        """

    assert attributes(Documented) == {
        "one": "first line and second; null: nothing.",
        "two": "short.",
    }


def test_attributes_of_parents_are_documented_too():
    assert attributes(MtebTask)["max_instances"] == attributes(FileTask)["max_instances"]


def test_every_key_of_every_entry_has_a_row():
    page = readme()
    schema = json_schema()
    for model in (schema, *schema["$defs"].values()):
        for key, described in model["properties"].items():
            assert f"| `{key}` | " in page
            assert described["description"].replace("|", "\\|") in page


@pytest.mark.parametrize(
    "row",
    [
        "| `runs` |",
        "| `name` | name | required | names the folder `results/<name>`. |",
        '| `on_failure` | `exclude`, `substitute` | `"exclude"` |',
        "| `top_p` | number > 0, ≤ 1 | `0.9` |",
        "| `base_url` | required |",
        "| `parallel` | `4` |",
    ],
)
def test_rows_say_type_and_default(row):
    assert row in readme()


@pytest.mark.parametrize("path", sorted(CONFIG.glob("*.yaml")), ids=lambda path: path.name)
def test_the_schema_takes_the_configurations_of_this_repository(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(json_schema()).validate(content)


@pytest.mark.parametrize(
    "change",
    [{"run": 3}, {"runs": 0}, {"tasks": []}, {"models": [{"path": "x"}]}, {"generators": ["g"]}],
)
def test_the_schema_refuses_what_the_code_refuses(change):
    content = {**yaml.safe_load((CONFIG / "demo.yaml").read_text(encoding="utf-8")), **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(json_schema()).validate(content)
    with pytest.raises(UserError):
        parse_config(content, "x")


def test_defaults_in_the_schema_are_those_of_the_code():
    fields = Config.model_fields
    documented = json_schema()["properties"]
    assert documented["seed"]["default"] == fields["seed"].default
    assert documented["statistics"]["default"] == fields["statistics"].default.model_dump(
        mode="json"
    )
