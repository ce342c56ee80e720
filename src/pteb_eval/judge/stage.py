"""Stage `judge`: rate paraphrases against their originals, and pairs whose gold is known."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pteb_eval.errors import UserError
from pteb_eval.judge.ratings import RATING_FIELDS, Pair, Rater, Rating
from pteb_eval.paraphrase.stage import in_shard
from pteb_eval.progress import say
from pteb_eval.provenance import stamp
from pteb_eval.store import provenance_of, read_table, write_table
from pteb_eval.versions import JUDGE_STEP

SCHEMA = pa.schema([("text_id", pa.string()), ("run", pa.int32()), *RATING_FIELDS])
GOLD_SCHEMA = pa.schema(
    [
        ("subset", pa.string()),
        ("split", pa.string()),
        ("row", pa.string()),
        ("gold", pa.float64()),
        *RATING_FIELDS,
    ]
)
NO_PARAPHRASE = "no_paraphrase"


def load_rater(settings: dict[str, Any], options: dict[str, Any], cache: Path, label: str) -> Rater:
    """The judge of these settings; an LLM is loaded only when something must be asked.

    Raises:
        UserError: if it cannot be used.
    """
    if "prompt" in settings:
        from pteb_eval.judge.llm import LlmRater

        return LlmRater(settings, options, cache, label)
    from pteb_eval.judge.models import ModelRater

    return ModelRater(settings, cache, label)


def run(
    settings: dict[str, Any],
    texts: Path,
    paraphrases: Path,
    cache: Path,
    output: Path,
    options: dict[str, Any],
    shard: tuple[int, int] | None = None,
) -> None:
    """Rate a generator's paraphrases of a task.

    Args:
        settings: `judge` (its name), `task`, `generator`, `max_failure_rate`, and what the judge
            takes.
        texts: the task's texts file.
        paraphrases: the paraphrases of these texts.
        cache: the cache folder.
        output: the Parquet file to write, columns as in `SCHEMA`: one row a text and run. A failed
            paraphrase has the status `no_paraphrase` and no score.
        options: the engine's own options, which change speed and not answers.
        shard: (i, n) for the i-th of n shards, from 1; None: all texts.

    Raises:
        UserError: if the judge cannot be used, or its engine failed too often; what was rated stays
            in the cache.
    """
    originals = read_table(texts, columns=["text_id", "text"])
    text_of = dict(
        zip(originals["text_id"].to_pylist(), originals["text"].to_pylist(), strict=True)
    )
    columns = ["text_id", "run", "paraphrase", "status"]
    rows = [
        row
        for row in read_table(paraphrases, columns=columns).to_pylist()
        if in_shard(row["text_id"], shard)
    ]
    label = f"judge {settings['task']} of {settings['generator']} by {settings['judge']}"
    label += f", shard {shard[0]} of {shard[1]}" if shard else ""
    pairs = [
        Pair(text_of[row["text_id"]], row["paraphrase"]) if row["status"] == "ok" else None
        for row in rows
    ]
    with load_rater(settings, options, cache, label) as judge:
        rated = judge.rate([pair for pair in pairs if pair is not None])
        _check_engine(settings, rated.values())
        none = Rating(None, NO_PARAPHRASE)
        found = [none if pair is None else rated[pair] for pair in pairs]
        made = [
            {"text_id": row["text_id"], "run": row["run"], **rating.as_row()}
            for row, rating in zip(rows, found, strict=True)
        ]
        _write(output, pa.Table.from_pylist(made, SCHEMA), settings, judge)
    _report(label, [rating for rating in found if rating is not none])


def assemble(
    settings: dict[str, Any], paraphrases: Path, sources: Sequence[Path], output: Path
) -> None:
    """Put shards together; the file equals what a single job would have written.

    Args:
        settings: as for `run`.
        paraphrases: the rated paraphrases, which give the order.
        sources: all shards, in any order.
        output: the file to write.
    """
    tables = [read_table(path) for path in sources]
    rows = pa.concat_tables(tables)
    place = {key: row for row, key in enumerate(_keys(rows))}
    order = [place[key] for key in _keys(read_table(paraphrases, columns=["text_id", "run"]))]
    say(f"judge {settings['task']}: {len(order)} judgements from {len(sources)} files")
    write_table(output, rows.take(pa.array(order, pa.int64())), provenance_of(tables[0].schema))


def _keys(rows: pa.Table) -> list[tuple[str, int]]:
    return list(zip(rows["text_id"].to_pylist(), rows["run"].to_pylist(), strict=True))


def rate_gold(
    settings: dict[str, Any], gold: Path, cache: Path, output: Path, options: dict[str, Any]
) -> None:
    """Rate the pairs of a task with gold ratings.

    Args:
        settings: `judge`, `task`, `max_failure_rate`, and what the judge takes.
        gold: the pairs, as `gold.run` wrote them.
        cache: the cache folder.
        output: the Parquet file to write, columns as in `GOLD_SCHEMA`: one row a pair.
        options: the engine's own options.

    Raises:
        UserError: as for `run`.
    """
    table = read_table(gold)
    asked = table.to_pylist()
    pairs = [Pair(row["first"], row["second"]) for row in asked]
    label = f"judge {settings['task']}, gold pairs, by {settings['judge']}"
    with load_rater(settings, options, cache, label) as judge:
        rated = judge.rate(pairs)
        _check_engine(settings, rated.values())
        rows = [
            {name: row[name] for name in ("subset", "split", "row", "gold")} | rated[pair].as_row()
            for row, pair in zip(asked, pairs, strict=True)
        ]
        graded = provenance_of(table.schema)["graded"]
        _write(output, pa.Table.from_pylist(rows, GOLD_SCHEMA), settings, judge, graded=graded)
    _report(label, [rated[pair] for pair in pairs])


def _write(
    output: Path, table: pa.Table, settings: dict[str, Any], judge: Rater, **more: Any
) -> None:
    write_table(
        output, table, stamp("judge", settings, JUDGE_STEP, identity=judge.identity, **more)
    )


def _check_engine(settings: dict[str, Any], ratings: Iterable[Rating]) -> None:
    """Stop where the engine fails; answers that cannot be read are the judge's own fault."""
    ratings = list(ratings)
    errors = [rating.error for rating in ratings if rating.status == "engine_error"]
    if len(errors) > settings["max_failure_rate"] * len(ratings):
        raise UserError(
            f"judge {settings['judge']}, task {settings['task']}: the engine failed on "
            f"{len(errors)} of {len(ratings)} pairs, more than max_failure_rate "
            f"{settings['max_failure_rate']:.1%}; last error: {errors[-1]}"
        )


def _report(label: str, ratings: Sequence[Rating]) -> None:
    statuses = Counter(rating.status for rating in ratings)
    scores = pc.mean(pa.array([rating.score for rating in ratings], pa.float64())).as_py()
    mean = "no score" if scores is None else f"mean {scores:.2f}"
    kinds = ", ".join(f"{status} {count}" for status, count in statuses.most_common())
    say(f"{label}: {mean}, {kinds or 'nothing to rate'}")
