"""`pteb-eval` with a generator, an encoder and one mteb task that need no model and no network.

Everything else is the real command line. Work is counted: each answer and each vector adds a line
to the file that FAKE_LOG names. FAKE_DELAY (seconds) slows each of them down.
"""

import hashlib
import json
import os
import random
import time
from pathlib import Path

import numpy as np

from pteb_eval.cli import main
from pteb_eval.embed import encoders
from pteb_eval.paraphrase.engines import Completion
from pteb_eval.paraphrase.engines import load as engines
from pteb_eval.tasks import load as tasks

REFUSED = "unspeakable"  # a text with this word gets no usable answer


def work(*piece):
    """Do one piece of work, visibly."""
    time.sleep(float(os.environ.get("FAKE_DELAY", "0")))
    line = json.dumps(piece) + "\n"
    with Path(os.environ["FAKE_LOG"]).open("a", encoding="utf-8") as log:
        log.write(line)


class ShufflingEngine:
    """Answers with the words of the prompt's last sentence in another order, set by the seed.

    As a judge it rates by the words that the two sentences share, and takes a point off where they
    begin otherwise.
    """

    def __init__(self, identity):
        self._identity = identity

    def identity(self):
        return self._identity

    def generate(self, requests):
        for request in requests:
            if request.choices:
                work("rating", request.key)
                yield Completion(request.key, shared_words(request.prompt), "stop", 9, 1)
                continue
            work("answer", request.key)
            words = request.prompt.splitlines()[-2].removeprefix("Sentence: ").split()
            random.Random(request.seed).shuffle(words)
            text = "" if REFUSED in words else " ".join(words)
            yield Completion(request.key, text, "stop", len(request.prompt.split()), len(words))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


def shared_words(prompt):
    first, second = (
        line.partition(": ")[2].lower().strip(".").split() for line in prompt.splitlines()[-3:-1]
    )
    share = len({*first} & {*second}) / len({*first} | {*second})
    return str(max(0, round(5 * share) - (first[:1] != second[:1])))


def engine_identity(settings):
    return {key: value for key, value in settings.items() if key != "options"}


class WordEncoder:
    """Counts of words, hashed into 16 dimensions together with the place that the word stands in.

    The place makes a text in another order another vector; the model's name makes models differ.
    """

    similarity = "cosine"

    def __init__(self, settings):
        self.identity = {"model": settings["name"], "revision": settings["revision"] or "1"}

    def prompt(self, task_metadata, prompt_type):
        return ""

    def encode(self, texts, task_metadata, prompt_type, batch_size):
        return np.stack([self._vector(text) for text in texts])

    def count_tokens(self, texts, prompt):
        return [(len(text.split()), False) for text in texts]

    def _vector(self, text):
        work("vector", self.identity["model"], text)
        vector = np.full(16, 0.1, dtype=np.float32)
        for place, word in enumerate(text.lower().split()):
            for feature in (word, f"{place} {word}"):
                code = hashlib.sha256(f"{self.identity['model']} {feature}".encode()).digest()
                vector[code[0] % 16] += 1 if code[1] % 2 else -1
        return vector


def load(task, fetching):
    """Sentence pairs in place of a download."""
    from datasets import Dataset, DatasetDict

    pairs = [
        {"sentence1": f"The child eats {n} red apples today.", "sentence2": second, "score": score}
        for n, (second, score) in enumerate(
            [
                ("A child is eating some red apples.", 5.0),
                ("The child eats bread every day.", 2.0),
                ("Nobody knows what the weather will be.", 0.0),
                ("Today a child eats the apples.", 4.0),
            ],
            start=2,
        )
    ]
    task.dataset = DatasetDict({split: Dataset.from_list(pairs) for split in task.eval_splits})
    task.data_loaded = True


if __name__ == "__main__":
    real_identity, real_engine = engines.engine_identity, engines.load_engine
    engines.engine_identity = lambda settings: (
        engine_identity(settings) if settings["model"] == "fake" else real_identity(settings)
    )
    engines.load_engine = lambda settings, *, cache_dir: (
        ShufflingEngine(engine_identity(settings))
        if settings["model"] == "fake"
        else real_engine(settings, cache_dir=cache_dir)
    )
    encoders.load_encoder = lambda settings, device: WordEncoder(settings)
    tasks._load = load
    main()
