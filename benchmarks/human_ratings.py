"""Human ratings of paraphrases as files for `validate_judge`.

    python benchmarks/human_ratings.py DATA OUTPUT --pairs 300

DATA holds the public sets as tables with a header, tabs and no quoting (`.tsv.gz`), in the folders
and with the columns of `SETS`. OUTPUT gets one CSV a set, `sentence1`, `sentence2`, `score`: the
mean over people who rated the same pair, for a seeded sample of the pairs. Of ParaQuality, whose
workers' errors are labeled and not rated, `score` is 1 where the meaning was kept and 0 where not.
"""

import argparse
import csv
from pathlib import Path

import pandas as pd

SETS = {
    "parabank_eval": ("parabank_eval/judgments", "reference", "candidate", "human_score"),
    "twitter_para": ("parascore/twitter_para", "source", "candidate", "score"),
    "simplicity_da": ("simplicity_da/simplicity_DA", "orig_sent", "simp_sent", "meaning"),
    "simplicity_structural": (
        "simplicity_da/structural_simplicity", "orig_sent", "simp_sent", "meaning",
    ),
    "paraquality": ("paraquality/paraquality", "expression", "paraphrase", "categories"),
}  # fmt: skip
"""By name of the set: its table, and the columns of the two texts and the rating."""
MEANING_LOST = ("Semantic Error", "Cheating", "Answering")
UNCLEAR = ("Translation", "")


def ratings(data: Path, name: str) -> pd.DataFrame:
    table, *columns = SETS[name]
    frame = pd.read_csv(
        data / f"{table}.tsv.gz", sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False
    )[columns].set_axis(["sentence1", "sentence2", "score"], axis=1)
    if name == "paraquality":
        labels = frame["score"].str.split("|")
        clear = [not set(own) & set(UNCLEAR) for own in labels]
        frame["score"] = [float(not set(own) & set(MEANING_LOST)) for own in labels]
        frame = frame[clear]
    frame["score"] = pd.to_numeric(frame["score"])
    blank = (frame["sentence1"].str.strip() == "") | (frame["sentence2"].str.strip() == "")
    rated = frame[~blank].dropna()
    means = rated.groupby(["sentence1", "sentence2"], sort=False)["score"].mean().reset_index()
    if name == "paraquality":  # a pair whose labels disagree has none
        means = means[means["score"].isin([0, 1])].astype({"score": int})
    return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--pairs", type=int, default=300)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in SETS:
        pairs = ratings(options.data, name)
        drawn = pairs.sample(min(options.pairs, len(pairs)), random_state=42)
        drawn.to_csv(options.output / f"{name}.csv", index=False)
        print(f"{name}: {len(drawn)} of {len(pairs)} pairs, mean {drawn['score'].mean():.2f}")


if __name__ == "__main__":
    main()
