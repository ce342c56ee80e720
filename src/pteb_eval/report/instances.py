"""The single instances behind the numbers: those that changed most, and a fair sample of the rest.

The page carries them packed, so not all of them: see `MOST`, `SAMPLE`, `LEFT_OUT` and `BUDGET`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pteb_eval.ids import digest
from pteb_eval.layout import Layout
from pteb_eval.report.packed import packed
from pteb_eval.statistics.measured import CHOICES, SUMMARIES
from pteb_eval.statistics.statistic import Array
from pteb_eval.store import provenance_of, read_table

MOST, SAMPLE, LEFT_OUT = 200, 20, 20
"""Of each generator and task: with the largest change, picked by their ids, left out."""
CUT = 2000
"""Characters of a text that are shown."""
BUDGET = 5_000_000
"""Characters that all of them together take in the page; each generator and task has a like part.
Where texts are long the three numbers above are halved until the part is enough."""
KEY = ["subset", "split", "row"]


@dataclass(frozen=True)
class Values:
    """What models had of single instances.

    Attributes:
        name: which value, as in the files of instances.
        keys: subset, split and row of each instance, (n, 3).
        gold: (n,); NaN where there is none.
        table: original and runs, (n_models, n, 1 + n_runs).
    """

    name: str
    keys: pd.MultiIndex
    gold: Array
    table: Array

    @property
    def change(self) -> Array:
        """Mean over the models of |original − mean of runs|, (n,)."""
        moved = np.abs(self.table[:, :, 0] - self.table[:, :, 1:].mean(axis=2))
        return np.asarray(np.nan_to_num(moved).mean(axis=0))


def blocks(
    layout: Layout,
    models: Sequence[tuple[str, str]],
    generators: Sequence[str],
    tasks: Sequence[str],
    judges: Sequence[str],
) -> list[dict[str, Any]]:
    """For each generator and task what the page says of it, and its instances, packed (`data`).

    Args:
        layout: the run's files.
        models: slug and name of each.
        generators: their names.
        tasks: their names.
        judges: their names.
    """
    pairs = [(generator, task) for generator in generators for task in tasks]
    return [
        _block(layout, models, generator, task, judges, BUDGET // len(pairs))
        for generator, task in pairs
    ]


def _block(
    layout: Layout,
    models: Sequence[tuple[str, str]],
    generator: str,
    task: str,
    judges: Sequence[str],
    budget: int,
) -> dict[str, Any]:
    texts = read_table(layout.texts(task))
    about = provenance_of(texts.schema)
    slots = _slots(texts)
    rewordings = read_table(
        layout.paraphrases(generator, task),
        columns=["text_id", "run", "paraphrase", "status", "copy"],
    ).to_pandas()
    rated = [
        read_table(layout.judgements(judge, generator, task), columns=["text_id", "run", "score"])
        .to_pandas()
        .set_index(["text_id", "run"])["score"]
        for judge in judges
    ]
    found = _values(layout, [slug for slug, _ in models], generator, task, about)
    keys = found.keys if found else _keys(slots[slots["reworded"]])
    bad = rewordings.loc[rewordings["status"] != "ok", "text_id"].unique()
    lost = _keys(slots[slots["reworded"] & slots["text_id"].isin(bad)]).difference(keys, sort=False)
    lost = lost[lost.get_level_values("split").isin(keys.get_level_values("split").unique())]
    data, shown = "", 0
    places_of = {key: place for place, key in enumerate(keys)}
    for halved in range(8):
        chosen = _chosen(found, keys, lost, halved)
        items = [
            {"key": list(key), "why": sorted(why), **_item(found, places_of.get(key))}
            for key, why in chosen.items()
        ]
        own = slots.merge(pd.DataFrame([*chosen], columns=KEY), on=KEY)
        listed = _listed(own, texts, rewordings, rated)
        places = {identity: place for place, identity in enumerate(own["text_id"].unique())}
        standing: dict[tuple[str, ...], list[Any]] = {key: [] for key in chosen}
        for row in own.itertuples():
            role = f"{row.role} {row.position + 1}" if row.position else row.role
            standing[row.subset, row.split, row.row].append([role, places[row.text_id]])
        for item, key in zip(items, chosen, strict=True):
            item["texts"] = standing[key]
        data = packed({"value": found and found.name, "texts": listed, "items": items})
        shown = len(items)
        if len(data) <= budget:
            break
    return {
        "generator": generator,
        "task": task,
        "offensive": bool(about.get("offensive")),
        "shown": shown,
        "total": len(keys) + len(lost),
        "data": data,
    }


def _slots(texts: pa.Table) -> pd.DataFrame:
    """A row for each place where a text stands; of retrieval and reranking only the queries."""
    lists = texts["slots"].combine_chunks()
    rows = pa.Table.from_struct_array(pc.list_flatten(lists)).to_pandas()
    parents = pc.list_parent_indices(lists)
    rows["text_id"] = texts["text_id"].take(parents).to_pandas()
    queries = rows["role"] == "query"
    return (rows[queries] if queries.any() else rows).reset_index(drop=True)


def _keys(rows: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(rows[KEY].drop_duplicates())


def _values(
    layout: Layout, slugs: Sequence[str], generator: str, task: str, about: dict[str, Any]
) -> Values | None:
    """The values that the task's main metric is made of; None if instances have none."""
    choice = CHOICES.get(about["main_metric"])
    wanted = (choice[1] if choice else SUMMARIES[1])[0]
    keys, gold = pd.MultiIndex.from_arrays([[]] * len(KEY)), np.empty(0)
    listed: pa.Table | None = None
    tables = []
    for slug in slugs:
        rows = read_table(layout.instances(slug, generator, task))
        named = pc.equal(rows["value_name"], wanted)
        rows = rows.filter(pc.and_(named, pc.not_equal(rows["value_name"], "v_measure")))
        if not rows.num_rows:
            return None
        own = rows.select([*KEY, "run"])
        if listed is None or not listed.equals(own):  # as a rule the same for all models
            index = pd.MultiIndex.from_frame(own.select(KEY).to_pandas())
            runs = own["run"].fill_null(0).to_numpy()
            if listed is None:
                keys = index.unique()
                gold = np.full(len(keys), np.nan)
                gold[keys.get_indexer(index)] = rows["gold"].to_numpy()
            places, variants = keys.get_indexer(index), np.unique(runs)
            known = places >= 0  # summarization has no value of a text that a model leaves tied
            listed = own
        table = np.full((len(keys), len(variants)), np.nan)
        where = places[known], np.searchsorted(variants, runs[known])
        table[where] = rows["value"].to_numpy()[known]
        tables.append(table)
    return Values(wanted, keys, gold, np.stack(tables))


def _chosen(
    found: Values | None, keys: pd.MultiIndex, lost: pd.MultiIndex, halved: int
) -> dict[tuple[str, ...], set[str]]:
    """Instances to show, with why: `change`, `sample`, `left out`."""
    most, sample, left = (max(1, count >> halved) for count in (MOST, SAMPLE, LEFT_OUT))
    chosen: dict[tuple[str, ...], set[str]] = {}
    if found:
        order = np.argsort(-found.change, kind="stable")[:most]
        for place in order:
            chosen.setdefault(keys[place], set()).add("change")
    for key in sorted(keys, key=lambda key: digest(list(key)))[:sample]:
        chosen.setdefault(key, set()).add("sample")
    for key in sorted(lost, key=lambda key: digest(list(key)))[:left]:
        chosen.setdefault(key, set()).add("left out")
    return chosen


def _item(found: Values | None, place: int | None) -> dict[str, Any]:
    """Gold and the models' values of an instance; nothing of one that was left out."""
    if found is None or place is None:
        return {}
    return {
        "gold": _rounded(found.gold[place], 3),
        "values": [[_rounded(value, 4) for value in row] for row in found.table[:, place].tolist()],
    }


def _rounded(value: float, digits: int) -> float | None:
    return None if math.isnan(value) else round(float(value), digits)


def _listed(
    own: pd.DataFrame, texts: pa.Table, rewordings: pd.DataFrame, rated: list[pd.Series]
) -> list[dict[str, Any]]:
    """The texts of chosen instances, each with what became of it in every run."""
    wanted = own["text_id"].unique()
    table = texts.filter(pc.is_in(texts["text_id"], pa.array(wanted, pa.string())))
    by_id = dict(zip(table["text_id"].to_pylist(), table["text"].to_pylist(), strict=True))
    rows = rewordings[rewordings["text_id"].isin(wanted)].sort_values("run")
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in rows.itertuples():
        one: dict[str, Any] = {"run": row.run, "status": row.status, **_cut(row.paraphrase)}
        if row.copy and row.status == "ok":
            one["copy"] = True
        if rated:
            one["scores"] = [_score(scores, row.text_id, row.run) for scores in rated]
        runs.setdefault(row.text_id, []).append(one)
    return [{**_cut(by_id[identity]), "runs": runs.get(identity, [])} for identity in wanted]


def _score(scores: pd.Series, identity: str, run: int) -> float | None:
    score = scores.get((identity, run))
    return None if score is None or pd.isna(score) else round(float(score), 2)


def _cut(text: str | None) -> dict[str, Any]:
    """A text as it is shown, with its length where that is not all of it."""
    text = text or ""
    return {"text": text[:CUT]} | ({"length": len(text)} if len(text) > CUT else {})
