"""A run with judges: from ratings to tables, what it costs, and what it refuses."""

import csv
import json

import pytest
from project import JUDGED
from test_mistakes import fails

from pteb_eval.store import provenance_of, read_table

RULES = ("judgements", "gold", "validation", "drift")


def table(project, name):
    with (project.results / "tables" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_file_of_judges_says_where_it_comes_from(finished_judged):
    files = [path for kind in RULES for path in (finished_judged.results / kind).rglob("*.parquet")]
    assert len(files) == 4 * 2
    for path in files:
        about = provenance_of(read_table(path).schema)
        assert about["stage"] == "judge" and about["code"] and about["settings"], path
        assert str(finished_judged.folder) not in json.dumps(about), path


def test_each_paraphrase_is_rated_once_and_failed_ones_are_not(finished_judged):
    for task, n_failed in (("pairs", 2), ("BIOSSES", 0)):
        folder = finished_judged.results
        rated = read_table(folder / "judgements" / "reader" / "shuffler" / f"{task}.parquet")
        reworded = read_table(folder / "paraphrases" / "shuffler" / f"{task}.parquet")
        keys = ["text_id", "run"]
        assert rated.select(keys).to_pylist() == reworded.select(keys).to_pylist()
        assert rated["status"].to_pylist().count("no_paraphrase") == n_failed
        scores = [score for score in rated["score"].to_pylist() if score is not None]
        assert len(scores) == rated.num_rows - n_failed
        assert all(0 <= score <= 5 for score in scores)
        [mean] = {row["judge_mean"] for row in table(finished_judged, "summary")
                  if row["task"] == task}  # fmt: skip
        assert float(mean) == pytest.approx(sum(scores) / len(scores))
    counts = finished_judged.work().items()
    assert {n for (kind, *_), n in counts if kind == "rating"} == {1}


def test_the_judge_is_held_against_people(finished_judged):
    rows = {row["task"]: row for row in table(finished_judged, "judge_validation")}
    assert list(rows) == ["pairs", "BIOSSES", "average"]
    assert (rows["pairs"]["n"], rows["BIOSSES"]["n"], rows["average"]["n"]) == ("8", "4", "12")
    assert {row["verdict"] for row in rows.values()} == {"reliable"}
    assert float(rows["average"]["spearman"]) == pytest.approx(
        (float(rows["pairs"]["spearman"]) + float(rows["BIOSSES"]["spearman"])) / 2
    )
    page = (finished_judged.results / "report.html").read_text()
    assert "judge reader (reliable) gives" in page
    assert "Judges against people</h4>" in page and "obody has checked" not in page


def test_the_chain_with_thresholds_shards_and_a_second_judge(judged):
    """What was rated before is not rated again, nor scored otherwise."""
    before, work = table(judged, "summary"), judged.work()
    judges = [{**JUDGED["judges"][0], "shards": 2}, {"name": "letters", "engine": "edit_distance"}]
    judged.configure({**JUDGED, "judges": judges, "min_judge": [1, 4.5, 5]})
    result = judged.snakemake("--cores", "2")
    assert result.status == 0, result.output
    assert judged.work() == work
    assert table(judged, "summary") == before
    drift = [row for row in table(judged, "drift") if row["model"] == "fake-a"]
    n = {task: [int(row["n_instances"]) for row in drift if row["task"] == task]
         for task in ("pairs", "BIOSSES")}  # fmt: skip
    assert n["pairs"][:2] == [7, 7] and n["BIOSSES"][:2] == [4, 4]  # the default, and at least 1
    assert n["pairs"] == sorted(n["pairs"], reverse=True)
    for row in drift[:2]:
        [same] = [one for one in before
                  if (one["model"], one["task"]) == (row["model"], row["task"])]  # fmt: skip
        assert (row["delta"], row["min_judge"]) == (same["delta"], "")
    assert {row["other_judge"] for row in table(judged, "judge_agreement")} == {"letters"}
    assert (judged.results / "figures" / "delta_by_judge.svg").stat().st_size > 5000


def test_a_judge_that_does_not_agree_with_people_cannot_filter_and_is_marked(judged):
    strict = {**JUDGED, "min_judge_spearman": 0.99}
    judged.configure(strict)
    result = judged.snakemake("--cores", "2")
    assert result.status == 0, result.output
    assert {row["verdict"] for row in table(judged, "drift")} == {"not reliable"}
    assert "judge reader (not reliable) gives" in (judged.results / "report.html").read_text()
    assert "(not reliable)" in (judged.results / "tables" / "summary.md").read_text()

    judged.configure({**strict, "min_judge": [4]})
    result = judged.snakemake("--cores", "2")
    assert result.status == 1
    lines = {line for line in result.output.splitlines() if line.startswith("pteb-eval: ")}
    [line] = lines
    assert "min_judge: judge 'reader' is not reliable (Spearman with gold 0." in line
    assert "take `min_judge` out" in line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"judges": []}, r"validate_judge: there are no `judges` to validate"),
        (
            {"validate_judge": [], "min_judge": [3]},
            r"min_judge: needs `judges`, and `validate_judg",
        ),
        (
            {"judges": [{**JUDGED["judges"][0], "ratings": 2, "sampling": {"temperature": 0}}]},
            r"judges\.0.*: ratings: 2 greedy answers are all the same: set sampling\.temperature",
        ),
        (
            {"judges": [{**JUDGED["judges"][0], "prompt": "gone.yaml"}]},
            r"gone\.yaml: no such prompt file \(key `prompt` of a judge\)",
        ),
        ({"judges": [{"name": "n", "engine": "nli"}]}, r"judges\.0: engine nli needs a `model`"),
        ({"min_judge": [7]}, r"min_judge\.0: .*less than or equal to 5"),
    ],
)
def test_a_mistake_about_judges_stops_before_anything_runs(project, change, message):
    project.configure({**JUDGED, **change})
    fails(project, message, "snakemake", "--configfile", "my.yaml", "--cores", "2", status=1)


def test_a_task_without_gold_pairs(project):
    project.write("texts.csv", "text\nOne text.\nAnother text.\n")
    task = {"type": "texts", "name": "alone", "path": "texts.csv", "language": "eng-Latn"}
    settings = {"task": task, "max_instances": None}
    fails(
        project, r"validate_judge: alone is of type .*: pairs with gold are needed, an STS or pair",
        "pteb-eval", "judge", "--settings", json.dumps(settings), "--output", "results/new.parquet",
    )  # fmt: skip
