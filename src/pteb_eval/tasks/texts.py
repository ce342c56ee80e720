"""Texts without labels: does a reworded text still find its own original?

The task needs no gold, so it works on any list of texts. A row has the text, which is reworded, and
the same text as `reference`, which never is.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mteb._create_dataloaders import create_dataloader
from mteb.abstasks import AbsTask

from pteb_eval.statistics.surface import invariance
from pteb_eval.tasks.flat import Flat
from pteb_eval.tasks.structure import ModelInput, Task

TEXT, REFERENCE = "text", "reference"


def encoded(
    model: Any, data: Any, column: str, metadata: Any, encode_kwargs: Any, **where: str
) -> Any:
    """Vectors of a column's texts, (n, dim), asked for as mteb's evaluators do.

    Args:
        model: what encodes.
        data: rows with that column.
        column: its name.
        metadata: of the task.
        encode_kwargs: as mteb hands them on.
        where: `hf_split` and `hf_subset`.
    """
    loader = create_dataloader(data, task_metadata=metadata, input_column=column, **encode_kwargs)
    return model.encode(loader, task_metadata=metadata, **where, **encode_kwargs)


class AbsTaskTexts(AbsTask):  # type: ignore[misc]
    """Mean reciprocal rank of each reference's own text among all texts, by cosine.

    Of the task as it is, texts and references are the same, and the score is 1 by construction; of
    a run of paraphrases it is what is left of that. Metrics: `mrr` and `hit_at_1` in [0, 1], and
    `cosine`, the mean cosine of a text and its reference.
    """

    kind = "Texts"

    def _evaluate_subset(
        self,
        model: Any,
        data_split: Any,
        *,
        encode_kwargs: Any,
        hf_split: str,
        hf_subset: str,
        prediction_folder: Path | None = None,
        **kwargs: Any,
    ) -> dict[str, float]:
        where = {"hf_split": hf_split, "hf_subset": hf_subset}
        references, texts = (
            encoded(model, data_split, column, self.metadata, encode_kwargs, **where)
            for column in (REFERENCE, TEXT)
        )
        found = invariance(references, texts)
        if prediction_folder:
            predictions = {"reciprocal_rank": (1 / found.rank).tolist()}
            self._save_task_predictions(
                predictions, model, prediction_folder, hf_split=hf_split, hf_subset=hf_subset
            )
        return {
            "mrr": found.mrr,
            "hit_at_1": found.hit_at_1,
            "cosine": float(found.cosine.mean()),
        }

    def _calculate_descriptive_statistics_from_split(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a user's own texts have no published statistics")


class Mirrored(Flat):
    """One reworded text a row, and its reference beside it."""

    def inputs(self, task: Task) -> Iterator[ModelInput]:
        """The references, then the texts. See `Structure.inputs`."""
        for subset, split, rows, _ in self.reads(task):
            references = self.data(task, subset, split)[REFERENCE][:]
            yield from (ModelInput(references[row], None, subset, split) for row in rows)
        yield from super().inputs(task)
