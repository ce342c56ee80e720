"""A small finished run that people can review: texts and paraphrases, and judgements if wanted."""

import pyarrow as pa

from pteb_eval.config import parse_config
from pteb_eval.ids import text_id
from pteb_eval.store import write_table
from pteb_eval.workflow import Workflow

GENERATORS, TASKS = ("secret-llm", "other-llm"), ("hidden-task", "second-task")
HOSTILE = [
    "</script><script>alert(1)</script> & <b>bold</b> <!-- ]]>",
    "\u05e9\u05dc\u05d5\u05dd, \u05de\u05d4 \u05e9\u05dc\u05d5\u05de\u05da?",
    "zero\u200bwidth and \u202eturned\u202c",
    "a nul \x00 and a bell \x07",
    "x" * 3000,
    "line\nbreaks\r\nand\ttabs",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 family",
    '{"json": "&quot;"} {{ jinja }} {% raw %}',
]
CHECKS = "sentence1,sentence2,score\n" + "".join(
    f"check {level} {number} left,check {level} {number} right,{level}\n"
    for level in range(6)
    for number in range(4)
)


def make_run(
    folder, generators=GENERATORS[:1], tasks=TASKS[:1], n_texts=20, n_runs=2, texts=None, judges=()
):
    """Write a run below `folder` and return its workflow.

    Paraphrase k of text i is `text i, run k`; every seventh failed.
    """
    folder.mkdir(exist_ok=True)
    (folder / "checks.csv").write_text(CHECKS)
    (folder / "prompt.yaml").write_text("{name: p, version: 1, kind: chat, template: '{text}'}")
    entry = {"engine": "openai", "model": "m", "prompts": [str(folder / "prompt.yaml")]}
    file = {"type": "sts", "path": str(folder / "checks.csv")}
    content = {
        "name": "checked",
        "seed": 7,
        "runs": n_runs,
        "tasks": [{**file, "name": task} for task in tasks],
        "models": ["bag-of-tokens"],
        "generators": [{**entry, "name": name} for name in generators],
        "judges": [{"name": name, "engine": "edit_distance"} for name in judges],
        "statistics": {"resamples": 200},
    }
    flow = Workflow(parse_config(content, "test"), folder / "results")
    texts = texts or [f"text {i} of them" for i in range(n_texts)]
    ids = [text_id(text) for text in texts]
    for task in tasks:
        table = pa.table({"text_id": ids, "text": texts})
        write_table(flow.layout.texts(task), table, {})
        for generator in generators:
            rows = [
                {
                    "text_id": identity,
                    "run": run,
                    "paraphrase": f"{text}, run {run}",
                    "status": "empty" if (i * n_runs + run) % 7 == 0 else "ok",
                    "edit_distance": (i % 10) / 10,
                }
                for i, (identity, text) in enumerate(zip(ids, texts, strict=True))
                for run in range(1, n_runs + 1)
            ]
            write_table(flow.layout.paraphrases(generator, task), pa.Table.from_pylist(rows), {})
    return flow


def judge_run(flow, score, judge="judge", status=lambda row: "ok"):
    """Write judgements: `score` and `status` say them of each row of a paraphrase file."""
    for generator in flow.generators:
        for task in flow.tasks:
            rows = pa.parquet.read_table(flow.layout.paraphrases(generator, task)).to_pylist()
            judged = [
                {"text_id": row["text_id"], "run": row["run"], "score": score(row)}
                | {"status": status(row)}
                for row in rows
            ]
            path = flow.layout.judgements(judge, generator, task)
            write_table(path, pa.Table.from_pylist(judged), {})
