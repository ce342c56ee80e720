"""Entries of `models` and `generators`: what embeds, and what rewords."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from pteb_eval.config.base import MODEL_PATTERN, FilePath, ModelName, Name, Revision, Strict


class Model(Strict):
    """A text-embedding model.

    Attributes:
        name: a packaged model (`pteb-eval list models`), or a name that mteb or the hub knows.
        revision: revision on the hub; None: the one that mteb pins.
        path: folder of a sentence-transformers model, used instead of the hub.
        dtype: of the weights; None: as stored.
        max_length: longest input in tokens; None: the model's own.
        trust_remote_code: run code that comes with the model. Off unless set here, and then shown.
    """

    name: str = Field(pattern=MODEL_PATTERN, max_length=150)
    revision: Revision | None = None
    path: FilePath | None = None
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    max_length: int | None = Field(default=None, ge=1)
    trust_remote_code: bool = False

    @property
    def slug(self) -> str:
        """The name as one path segment, with mteb's `__` for `/`."""
        return self.name.replace("/", "__")


# Options of engines that change answers, by engine; the others change speed alone.
ANSWER_OPTIONS = {
    "llamacpp": frozenset[str](),
    "openai": frozenset({"server", "extra_body"}),
    "vllm": frozenset({"dtype", "quantization"}),
}


class SamplingConfig(Strict):
    """Sampling of the generator; every field explicit, the values of the PTEB protocol.

    Attributes:
        temperature: softmax temperature; 0 is greedy.
        top_p: nucleus mass.
        top_k: number of candidates; 0: no limit.
        min_p: least probability relative to the best candidate; 0: no limit.
        repetition_penalty: 1 is none.
        max_tokens: most tokens of an answer.
    """

    temperature: float = Field(default=0.8, ge=0, le=5)
    top_p: float = Field(default=0.9, gt=0, le=1)
    top_k: int = Field(default=0, ge=0)
    min_p: float = Field(default=0, ge=0, le=1)
    repetition_penalty: float = Field(default=1, gt=0)
    max_tokens: int = Field(default=512, ge=1)


_SECRET = re.compile(
    r"(x[-_])?(api|auth|access|secret)[-_]?(key|token)|authorization|password", re.I
)


def _hold_no_secret(options: dict[str, Any]) -> dict[str, Any]:
    """Options stand in logs and files: a key may be named there, never written out."""
    kept_out = "put it into an environment variable and name that in options.api_key_env"
    waiting: list[Any] = [options]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if secret := next((key for key in value if _SECRET.fullmatch(key)), None):
                raise ValueError(f"{secret}: a secret in a configuration: {kept_out}")
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    address, name = options.get("base_url"), options.get("api_key_env")
    if isinstance(address, str) and re.search(r"[@?#\s]", address):
        raise ValueError(f"base_url: an address without user, password or query: {kept_out}")
    if name is not None and not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name)):
        raise ValueError("api_key_env: the name of an environment variable, not the key itself")
    return options


Options = Annotated[dict[str, Any], AfterValidator(_hold_no_secret)]


class Generator(Strict):
    """What rewords the texts: an engine, a model, its sampling and one or more prompts in a chain.

    Attributes:
        name: name in files and tables.
        engine: `llamacpp` (in process), `openai` (any compatible endpoint), `vllm`.
        model: the engine's name of the model; for `llamacpp` a GGUF file or a packaged GGUF.
        revision: revision of the model on the hub.
        prompts: prompt files, applied one after the other to each text (paraphrase: one).
        sampling: sampling fields.
        attempts: times that a text is asked for, each with a seed of its own, until an answer can
            be used. 1: never asked again.
        options: the engine's own options, such as `parallel`. Most change speed and not answers;
            those of `ANSWER_OPTIONS` do change answers.
        rate: paraphrases a second that `pteb-eval plan` reckons with until it has measured one.
        shards: jobs that one task's generation is split into; the results do not depend on it.
    """

    name: Name
    engine: Literal["llamacpp", "openai", "vllm"]
    model: ModelName
    revision: Revision | None = None
    prompts: list[FilePath] = Field(min_length=1)
    sampling: SamplingConfig = SamplingConfig()
    attempts: int = Field(default=1, ge=1, le=10)
    options: Options = Field(default={})
    rate: float | None = Field(default=None, gt=0)
    shards: int = Field(default=1, ge=1, le=1000)


class FrozenSet(Strict):
    """Paraphrases that were made before, in place of a generator: no LLM is needed.

    Attributes:
        name: name in files and tables.
        frozen: folder that `pteb-eval paraphrases export` wrote, with a file for each task.
    """

    name: Name
    frozen: FilePath


def _generator_kind(value: Any) -> str:
    if isinstance(value, FrozenSet) or (isinstance(value, dict) and "frozen" in value):
        return "<frozen>"
    return "<engine>"


GeneratorEntry = Annotated[
    Annotated[Generator, Tag("<engine>")] | Annotated[FrozenSet, Tag("<frozen>")],
    Discriminator(_generator_kind),
]
