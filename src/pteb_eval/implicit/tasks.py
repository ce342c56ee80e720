"""The suite's three evaluations, as subclasses of mteb's task classes.

Baselines stand beside every score: `majority_baseline` and `random_baseline`, both accuracies.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from mteb._evaluators import PairClassificationEvaluator
from mteb.abstasks import AbsTask, AbsTaskClassification, AbsTaskPairClassification
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from pteb_eval.implicit.rows import DEV
from pteb_eval.implicit.thresholds import at_threshold, best_threshold
from pteb_eval.tasks.copies import splits_of
from pteb_eval.tasks.texts import encoded

TEXT, OPTIONS, LABEL = "text", "options", "label"
TIE = 1e-6  # cosines that differ by less are equal: float32 is not finer


class AbsTaskImplicitClassification(AbsTaskClassification):  # type: ignore[misc]
    """Logistic regression on all rows of the train split, once.

    Metrics: those of mteb (accuracy; F1, precision and recall, macro and weighted), `f1_micro`, and
    the baselines: always the most frequent label of the train split; labels drawn as often as they
    occur there, in expectation.
    """

    evaluator_model = LogisticRegression(max_iter=1000)
    n_experiments = 1
    samples_per_label = 2**31  # all

    def _run_experiment(
        self, train_split: Any, eval_split: Any, *args: Any, **kwargs: Any
    ) -> tuple[dict[str, Any], list[Any]]:
        scores, predicted = super()._run_experiment(train_split, eval_split, *args, **kwargs)
        train, test = train_split[self.label_column_name], eval_split[self.label_column_name]
        more = {"f1_micro": f1_score(test, predicted, average="micro"), **baselines(train, test)}
        return {**scores, **more}, predicted


def baselines(train: Sequence[Any], test: Sequence[Any]) -> dict[str, float]:
    """Accuracy of the train split's most frequent label, and of guessing as labels occur there."""
    seen, asked = Counter(train), Counter(test)
    guess = sum(seen[label] * n for label, n in asked.items()) / (len(train) * len(test))
    frequent = max(sorted(seen), key=seen.__getitem__)
    return {"majority_baseline": asked[frequent] / len(test), "random_baseline": guess}


class AbsTaskOptions(AbsTask):  # type: ignore[misc]
    """Zero-shot: of each item's own options the one most like the text, by the model's similarity.

    Metrics: `accuracy`, where k options that tie count 1/k if the right one is among them, as if
    one were drawn; `ties`, items whose best options tie; `random_baseline`, the mean of one over
    the number of options; and, if all items have the same options, `majority_baseline`: the answer
    most frequent in the train split.
    """

    kind = "ZeroShotClassification"
    abstask_prompt = "Choose the option that a text means."

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
        from datasets import Dataset

        def encode(texts: list[str]) -> NDArray[np.float32]:
            rows = Dataset.from_dict({TEXT: texts})
            where = {"hf_split": hf_split, "hf_subset": hf_subset}
            return np.asarray(encoded(model, rows, TEXT, self.metadata, encode_kwargs, **where))

        options, labels = list(data_split[OPTIONS]), list(data_split[LABEL])
        counts = [len(own) for own in options]
        distinct = {option: row for row, option in enumerate(dict.fromkeys(chain(*options)))}
        rows = [distinct[option] for own in options for option in own]
        similarity = np.asarray(
            model.similarity_pairwise(
                np.repeat(encode(list(data_split[TEXT])), counts, axis=0),
                encode(list(distinct))[rows],
            )
        )
        credit, tied = chosen(np.split(similarity, np.cumsum(counts)[:-1]), labels)
        if prediction_folder:
            self._save_task_predictions(
                {"credit": credit.tolist()},
                model,
                prediction_folder,
                hf_split=hf_split,
                hf_subset=hf_subset,
            )
        return {
            "accuracy": float(credit.mean()),
            "ties": int(tied.sum()),
            "random_baseline": float(np.mean(1 / np.array(counts))),
            **self._majority(options, labels),
        }

    def _majority(self, options: list[list[str]], labels: list[int]) -> dict[str, float]:
        """Score of the answer that is most frequent in the train split."""
        if any(own != options[0] for own in options):
            return {}
        found = baselines(self.train_answers, labels)
        return {"majority_baseline": found["majority_baseline"]}

    def _calculate_descriptive_statistics_from_split(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("the suite's data has no statistics published by mteb")


def chosen(
    similarities: Sequence[NDArray[np.floating]], answers: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What each item counts, in [0, 1], and whether its best options tie.

    Args:
        similarities: for each item those of its options.
        answers: index of the right option of each.
    """
    credit, tied = np.zeros(len(answers)), np.zeros(len(answers), dtype=bool)
    for item, (own, answer) in enumerate(zip(similarities, answers, strict=True)):
        best = own >= own.max() - TIE
        credit[item] = best[answer] / best.sum()
        tied[item] = best.sum() > 1
    return credit, tied


class AbsTaskThresholdPairs(AbsTaskPairClassification):  # type: ignore[misc]
    """Text and option as a pair: does the cosine say that they belong together?

    Beside mteb's metrics, accuracy, F1, precision and recall at two thresholds on the cosine:
    `dev_*` at the one that is most accurate on the development split; `best_*` at the one that is
    most accurate on the evaluated labels themselves, which is a diagnostic and no estimate of what
    a user would get. `best_threshold` and `dev_threshold` are the two. Baselines: the more frequent
    label, and guessing as labels occur, both of the evaluated labels, as in the protocol.
    """

    def _evaluate_subset(
        self, model: Any, data_split: Any, *, hf_split: str, hf_subset: str, **kwargs: Any
    ) -> dict[str, float]:
        dev = splits_of(self, hf_subset).get(DEV)
        self.dev_threshold = None
        if dev is not None:
            evaluator = PairClassificationEvaluator(
                dev,
                input1_column_name=self.input1_column_name,
                input2_column_name=self.input2_column_name,
                task_metadata=self.metadata,
                hf_split=DEV,
                hf_subset=hf_subset,
                input1_prompt_type=self.input1_prompt_type,
                input2_prompt_type=self.input2_prompt_type,
                timer=kwargs["timer"],
            )
            cosine = evaluator(model, encode_kwargs=kwargs["encode_kwargs"])["cosine_scores"]
            self.dev_threshold = best_threshold(cosine, dev[self.label_column_name])
        found: dict[str, float] = super()._evaluate_subset(
            model, data_split, hf_split=hf_split, hf_subset=hf_subset, **kwargs
        )
        return found

    def _compute_metrics(self, similarity_scores: Any, labels: Any) -> dict[str, float]:
        scores: dict[str, float] = super()._compute_metrics(similarity_scores, labels)
        cosine = similarity_scores["cosine_scores"]
        best = best_threshold(cosine, labels)
        for name, threshold in (("best", best), ("dev", self.dev_threshold)):
            if threshold is not None:
                scores[f"{name}_threshold"] = threshold
                found = at_threshold(cosine, labels, threshold)
                scores |= {f"{name}_{metric}": value for metric, value in found.items()}
        return scores | baselines(labels, labels)
