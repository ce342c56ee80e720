"""Pairs of known rating for the judge's question about implied meaning, made of Fig-QA.

    python benchmarks/implied_meaning.py DATA/figqa/dev.csv.gz implied.csv --phrases 60

Fig-QA (Liu et al. 2022, MIT) has figurative phrases in twos that differ in a word or two and mean
opposite things, and says in plain words what each means. On the scale of `judge_implicit_chat`:

5  the phrase and itself with a filler: the same is said, and implied;
3  the phrase and its meaning in plain words: what was implied is spelled out;
1  the two phrases: nearly the same letters, the opposite implied;
0  phrases of two different topics.

So letters rank the third kind far above the second. The file is an STS task for `validate_judge`.
"""

import argparse
from pathlib import Path

import pandas as pd


def implied_pairs(phrases: pd.DataFrame) -> pd.DataFrame:
    """Four pairs for each phrase whose counterpart is there: `sentence1`, `sentence2`, `score`."""
    twos = [two for _, two in phrases.groupby("qid") if sorted(two["labels"]) == [0, 1]]
    rows = []
    for place, two in enumerate(twos):
        phrase, opposite = two["startphrase"]
        meaning = two[f"ending{two['labels'].iloc[0] + 1}"].iloc[0]
        elsewhere = twos[(place + 1) % len(twos)]["startphrase"].iloc[0]
        filled = f"You know, {phrase[0].lower()}{phrase[1:]}"
        pairs = ((filled, 5), (meaning, 3), (opposite, 1), (elsewhere, 0))
        rows += [(phrase, other, score) for other, score in pairs]
    return pd.DataFrame(rows, columns=["sentence1", "sentence2", "score"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figqa", type=Path, help="dev.csv or train.csv, gzipped or not")
    parser.add_argument("output", type=Path)
    parser.add_argument("--phrases", type=int, default=60, help="four pairs each")
    options = parser.parse_args()
    pairs = implied_pairs(pd.read_csv(options.figqa))
    pairs.head(4 * options.phrases).to_csv(options.output, index=False)
    print(f"{options.output}: {len(pairs.head(4 * options.phrases))} pairs")


if __name__ == "__main__":
    main()
