"""`pteb-eval` with a generator, an encoder and one mteb task that need no model and no network.

Everything else is the real command line. Work is counted: each answer and each vector adds a line
to the file that FAKE_LOG names.

    FAKE_DELAY    seconds that each piece of work takes
    FAKE_STUCK    a process does so many pieces, then waits
    FAKE_SHARD    rows that the caches write at a time
    FAKE_PIDS     file to which each process adds its id and stage
    FAKE_ENGINE   llamacpp, vllm: the stand-in works inside the loop of this engine of the package
"""

import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path
from threading import Lock
from types import ModuleType, SimpleNamespace

import numpy as np

from pteb_eval.cli import main
from pteb_eval.embed import encoders, vectors
from pteb_eval.paraphrase import answers
from pteb_eval.paraphrase.engines import Completion, Sampling
from pteb_eval.paraphrase.engines import load as engines
from pteb_eval.paraphrase.engines.llamacpp import LlamaCppEngine
from pteb_eval.paraphrase.engines.vllm import VllmEngine
from pteb_eval.tasks import load as tasks

_begun, _one_by_one = [], Lock()
REFUSED = "unspeakable"  # a text with this word gets no usable answer


def work(*piece):
    """Do one piece of work, visibly."""
    with _one_by_one:
        _begun.append(piece)
    is_stuck = len(_begun) > float(os.environ.get("FAKE_STUCK", "inf"))
    time.sleep(600 if is_stuck else float(os.environ.get("FAKE_DELAY", "0")))
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
        yield from map(answered, requests)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


class PooledEngine(LlamaCppEngine):
    """The loop of llama.cpp's engine: answers come from threads that nobody can stop."""

    def __init__(self):
        super().__init__(Path("none"), Sampling(), parallel=2)

    def __enter__(self):
        return self

    def _complete(self, request):
        return answered(request)


class BatchingEngine(VllmEngine):
    """The loop of vLLM's engine: answers come a step at a time, three together."""

    def __init__(self):
        super().__init__("none", Sampling())
        self.queue = {}
        exceptions = ModuleType("vllm.v1.engine.exceptions")
        exceptions.EngineDeadError = type("EngineDeadError", (Exception,), {})
        for name in ("vllm", "vllm.v1", "vllm.v1.engine"):
            sys.modules[name] = ModuleType(name)
        sys.modules[exceptions.__name__] = exceptions
        engine = SimpleNamespace(
            renderer=SimpleNamespace(render_cmpl=lambda prompts: [None]),
            add_request=lambda number, prompt, request: self.queue.update({number: request}),
            abort_request=lambda numbers: [self.queue.pop(number) for number in numbers],
            step=self.step,
            engine_core=SimpleNamespace(shutdown=lambda: None),
        )
        self.llm = SimpleNamespace(llm_engine=engine)

    def __enter__(self):
        return self

    def _tokens(self, prompt):
        return prompt.split()

    def parameters(self, request):
        return request

    def step(self):
        made = []
        for number in list(self.queue)[:3]:
            answer = answered(self.queue.pop(number))
            said = SimpleNamespace(
                text=answer.text, finish_reason="stop", token_ids=range(answer.n_tokens)
            )
            made.append(
                SimpleNamespace(
                    request_id=number, finished=True, outputs=[said],
                    prompt_token_ids=range(answer.n_prompt_tokens),
                )
            )  # fmt: skip
        return made


def answered(request):
    if request.choices:
        work("rating", request.key)
        return Completion(request.key, shared_words(request.prompt), "stop", 9, 1)
    work("answer", request.key)
    words = request.prompt.splitlines()[-2].removeprefix("Sentence: ").split()
    random.Random(request.seed).shuffle(words)
    text = "" if REFUSED in words else " ".join(words)
    return Completion(request.key, text, "stop", len(request.prompt.split()), len(words))


def shared_words(prompt):
    first, second = (
        line.partition(": ")[2].lower().strip(".").split() for line in prompt.splitlines()[-3:-1]
    )
    share = len({*first} & {*second}) / len({*first} | {*second})
    return str(max(0, round(5 * share) - (first[:1] != second[:1])))


load_real, identity_of_real = engines.load_engine, engines.engine_identity


def load_engine(settings, *, cache_dir):
    """The stand-in; an endpoint is asked for real."""
    if settings["engine"] == "openai":
        return load_real(settings, cache_dir=cache_dir)
    engine = {"llamacpp": PooledEngine, "vllm": BatchingEngine}.get(os.environ.get("FAKE_ENGINE"))
    return engine() if engine else ShufflingEngine(engine_identity(settings))


def engine_identity(settings):
    if settings["engine"] == "openai":
        return identity_of_real(settings)
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
    if "FAKE_PIDS" in os.environ:
        with Path(os.environ["FAKE_PIDS"]).open("a", encoding="utf-8") as pids:
            pids.write(f"{os.getpid()} {sys.argv[1]}\n")
    if "FAKE_SHARD" in os.environ:
        answers.MOST_ROWS = vectors.FIRST_CHUNK = vectors.LAST_CHUNK = int(os.environ["FAKE_SHARD"])
        answers.FIRST_FLUSH = answers.LAST_FLUSH = float("inf")
    engines.engine_identity = engine_identity
    engines.load_engine = load_engine
    encoders.load_encoder = lambda settings, device: WordEncoder(settings)
    tasks._load = load
    main()
