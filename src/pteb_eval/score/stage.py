"""Stage `score`: mteb's score of a task as it is, and of each run."""

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.errors import UserError
from pteb_eval.progress import say
from pteb_eval.provenance import stamp
from pteb_eval.score.instances import INSTANCES, instance_rows
from pteb_eval.score.serving import ServingEncoder
from pteb_eval.score.surface import SURFACE, surface_rows
from pteb_eval.store import provenance_of, read_table, write_table, write_text
from pteb_eval.store.files import disk_errors
from pteb_eval.tasks import Instance
from pteb_eval.variants import Variants, load_variants

SCORES = pa.schema(
    [
        ("subset", pa.string()),
        ("split", pa.string()),
        ("variant", pa.string()),
        ("run", pa.int32()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("n_instances", pa.int64()),
    ]
)
ALL = "original_all"  # the task as it is, with the instances that are not compared


class Evaluation:
    """Evaluates tasks with one served model and collects the long tables."""

    def __init__(self, variants: Variants, encoder: ServingEncoder) -> None:
        self.variants = variants
        self.encoder = encoder
        self.scores: list[dict[str, Any]] = []
        self.instances: list[dict[str, Any]] = []

    def add(self, variant: str, run: int | None, task: Any) -> dict[str, Mapping[str, Any]]:
        """Score one version of the task; returns mteb's scores by split and subset."""
        counts: dict[tuple[str, str], int] = {}
        for instance in self.variants.structure.instances(task):
            where = (instance.split, instance.subset)
            counts[where] = counts.get(where, 0) + 1
        scores: dict[str, Mapping[str, Any]] = {}
        for split in task.eval_splits:
            temporary = Path(tempfile.gettempdir())
            with disk_errors(temporary), tempfile.TemporaryDirectory() as predictions:
                scores[split] = task.evaluate(
                    self.encoder,
                    split=split,
                    encode_kwargs={"show_progress_bar": False},
                    prediction_folder=Path(predictions),
                )
                self.instances += [
                    {**row, "variant": variant, "run": run}
                    for row in instance_rows(task, split, Path(predictions), scores[split])
                ]
            for subset, found in scores[split].items():
                self.scores += [
                    {
                        "subset": subset,
                        "split": split,
                        "variant": variant,
                        "run": run,
                        "metric": metric,
                        "value": float(value),
                        "n_instances": counts.get((split, subset), 0),
                    }
                    for metric, value in _numbers(found)
                ]
        return scores

    def write(self, scores: Path, instances: Path, provenance: Mapping[str, Any]) -> None:
        """Write both tables."""
        write_table(instances, pa.Table.from_pylist(self.instances, INSTANCES), provenance)
        write_table(scores, pa.Table.from_pylist(self.scores, SCORES), provenance)


def run_original(
    settings: dict[str, Any],
    code: str,
    texts: Path,
    embeddings: Path,
    outputs: Mapping[str, Path],
) -> None:
    """Score the task as it is, on all its instances.

    Args:
        settings: `model`, `task`.
        code: fingerprint of this stage.
        texts: the task's texts file.
        embeddings: vectors of its own texts.
        outputs: paths of `scores` and `instances`. The scores file's metadata holds mteb's own
            `TaskResult`, see `export_mteb`.
    """
    from mteb import TaskResult

    encoder = ServingEncoder(settings["model"], [embeddings])
    variants = load_variants(settings["task"], texts, None)
    evaluation = Evaluation(variants, encoder)
    began = time.monotonic()
    scores = evaluation.add(ALL, None, variants.task)
    result = TaskResult.from_task_results(
        variants.task, scores, evaluation_time=time.monotonic() - began
    )
    provenance = stamp(
        "score",
        settings,
        code,
        encoder=encoder.provenance["encoder"],
        mteb_result=json.loads(result.model_dump_json()),
    )
    evaluation.write(outputs["scores"], outputs["instances"], provenance)
    _report(settings, variants, evaluation)


def export_mteb(scores: Path, output: Path) -> None:
    """Write the `TaskResult` of an original's scores file as JSON, which mteb itself reads back."""
    result = provenance_of(read_table(scores).schema)["mteb_result"]
    write_text(output, json.dumps(result, indent=2) + "\n")


def run_paraphrases(
    settings: dict[str, Any],
    code: str,
    texts: Path,
    paraphrases: Path,
    embeddings: list[Path],
    outputs: Mapping[str, Path],
) -> None:
    """Score the compared instances: as they are, and in each run.

    An instance with a failed paraphrase in any run is left out of the original and of every run
    (`on_failure: exclude`), or keeps its own text where a paraphrase failed (`substitute`).

    Args:
        settings: `model`, `task`, `on_failure`.
        code: fingerprint of this stage.
        texts: the task's texts file.
        paraphrases: the generator's paraphrases of these texts.
        embeddings: vectors of the texts and of the paraphrases.
        outputs: paths of `scores`, `instances` and `surface`.

    Raises:
        UserError: if no instance is left to score.
    """
    encoder = ServingEncoder(settings["model"], embeddings)
    variants = load_variants(settings["task"], texts, paraphrases)
    outside, failed = variants.outside(), variants.failed()
    excluded = outside | (failed if settings["on_failure"] == "exclude" else set())
    _check_left(variants, excluded, failed)
    evaluation = Evaluation(variants, encoder)
    evaluation.add("original", None, variants.original(excluded))
    for run in variants.runs:
        evaluation.add("paraphrase", run, variants.run(run, excluded))
    provenance = stamp(
        "score",
        settings,
        code,
        encoder=encoder.provenance["encoder"],
        excluded_instances=_count(failed) if settings["on_failure"] == "exclude" else {},
        substituted_instances=_count(failed) if settings["on_failure"] == "substitute" else {},
    )
    surface = pa.Table.from_pylist(list(surface_rows(encoder, variants)), SURFACE)
    write_table(outputs["surface"], surface, provenance)
    evaluation.write(outputs["scores"], outputs["instances"], provenance)
    _report(settings, variants, evaluation)


def _check_left(variants: Variants, excluded: set[Instance], failed: set[Instance]) -> None:
    left = set(variants.structure.instances(variants.task)) - excluded
    if len(left) < 2:
        raise UserError(
            f"task {variants.task.metadata.name}: {len(left)} instances are left, since "
            f"{len(failed)} have a failed paraphrase in some run: use a better generator, or more "
            "`attempts`"
        )


def _count(instances: set[Instance]) -> dict[str, int]:
    """Scored instances by subset."""
    counts: dict[str, int] = {}
    for instance in instances:
        if not instance.part:
            counts[instance.subset] = counts.get(instance.subset, 0) + 1
    return counts


def _numbers(scores: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The scalar metrics of mteb's scores; per-experiment lists and texts are not metrics."""
    return (
        (metric, value)
        for metric, value in scores.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    )


def _report(settings: dict[str, Any], variants: Variants, evaluation: Evaluation) -> None:
    main: dict[str, list[float]] = {}
    for row in evaluation.scores:
        if row["metric"] == "main_score":
            main.setdefault(row["variant"], []).append(row["value"])
    parts = ", ".join(
        f"{variant} {100 * sum(values) / len(values):.2f}" for variant, values in main.items()
    )
    say(f"score {settings['model']}, {variants.task.metadata.name}: {parts}")
