"""Tables as they are written, and read only if they still are."""

import pandas as pd
import pytest

from pteb_eval.errors import UserError
from pteb_eval.tables import read_csv, write_tables

FRAME = pd.DataFrame({"model": ["a", "Ω"], "subset": ["1", "2"], "delta": [0.25, -0.5]})


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "summary.csv"
    write_tables(FRAME, path, ("delta",))
    return path


def test_a_table_comes_back(csv):
    pd.testing.assert_frame_equal(read_csv(csv, dtype={"subset": str}), FRAME)
    assert "| a       |        1 |      25 |" in csv.with_suffix(".md").read_text()


@pytest.mark.parametrize(
    "damage",
    [lambda raw: raw[:-9], lambda raw: raw.replace(b"0.25", b"0.35"), lambda raw: b""],
    ids=["cut off", "another number", "empty"],
)
def test_a_table_that_was_changed_is_named_and_not_read(csv, damage):
    csv.write_bytes(damage(csv.read_bytes()))
    with pytest.raises(UserError, match=r"summary\.csv: not as it was written .*delete it and run"):
        read_csv(csv)


def test_a_table_without_its_markdown_is_read_as_it_is(csv):
    csv.with_suffix(".md").unlink()
    csv.write_text("model\nb\n")
    assert read_csv(csv)["model"].tolist() == ["b"]


def test_a_missing_table_is_one_clear_line(tmp_path):
    with pytest.raises(UserError, match=r"gone\.csv: no such file: run the step that makes it"):
        read_csv(tmp_path / "gone.csv")
