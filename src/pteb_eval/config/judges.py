"""Entries of `judges`: what rates whether paraphrases keep the meaning."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from pteb_eval.config.base import FilePath, ModelName, Name, Revision, Strict
from pteb_eval.config.models import Options, SamplingConfig


class JudgeSampling(SamplingConfig):
    """Sampling of a judge: one greedy answer of a few tokens, unless set otherwise.

    Attributes:
        temperature: softmax temperature; 0 is greedy.
        top_p: nucleus mass.
        max_tokens: most tokens of an answer.
    """

    temperature: float = Field(default=0, ge=0, le=5)
    top_p: float = Field(default=1, gt=0, le=1)
    max_tokens: int = Field(default=8, ge=1)


class LlmJudge(Strict):
    """An LLM that rates from 0 to 5 how close two texts are in meaning.

    Attributes:
        name: name in files and tables.
        engine: `llamacpp` (in process), `openai` (any compatible endpoint), `vllm`.
        model: as of a generator.
        revision: revision of the model on the hub.
        prompt: prompt file, with `{first}` and `{second}` where the texts go.
        sampling: sampling fields.
        ratings: ratings of a pair that are averaged, each with a seed of its own; more than one
            needs a temperature above 0.
        both_orders: rate each pair in both orders and average, since judges lean to one side.
        constrained: allow the engine no answer but 0 to 5; else the rating is read from its words.
        attempts: times that a pair is asked for, each with a seed of its own, until a rating can be
            read; more than one needs a temperature above 0.
        options: the engine's own options, as of a generator.
        shards: jobs that one task's judgements are split into; the results do not depend on it.
    """

    name: Name
    engine: Literal["llamacpp", "openai", "vllm"]
    model: ModelName
    revision: Revision | None = None
    prompt: FilePath
    sampling: JudgeSampling = JudgeSampling()
    ratings: int = Field(default=1, ge=1, le=100)
    both_orders: bool = True
    constrained: bool = True
    attempts: int = Field(default=1, ge=1, le=10)
    options: Options = Field(default={})
    shards: int = Field(default=1, ge=1, le=1000)

    @model_validator(mode="after")
    def _draws_differ(self) -> "LlmJudge":
        for key in ("ratings", "attempts"):
            if getattr(self, key) > 1 and self.sampling.temperature == 0:
                raise ValueError(
                    f"{key}: {getattr(self, key)} greedy answers are all the same: set "
                    "sampling.temperature above 0"
                )
        return self


class ModelJudge(Strict):
    """Evidence for meaning that is no LLM, on the same scale from 0 to 5.

    Attributes:
        name: name in files and tables.
        engine: `nli`: five times the mean probability, over both directions, that one text entails
            the other; `cosine`: five times the cosine of the two vectors, at least 0;
            `edit_distance`: five times 1 − the normalized edit distance, a baseline without sense.
        model: for `nli` a cross-encoder's name or folder; for `cosine` a packaged model or a name
            that mteb or the hub knows.
        revision: revision of the model on the hub.
    """

    name: Name
    engine: Literal["nli", "cosine", "edit_distance"]
    model: ModelName | None = None
    revision: Revision | None = None

    @model_validator(mode="after")
    def _has_its_model(self) -> "ModelJudge":
        if (self.model is None) != (self.engine == "edit_distance"):
            need = "takes no" if self.model else "needs a"
            raise ValueError(f"engine {self.engine} {need} `model`")
        return self


def _judge_type(value: Any) -> str:
    engine = value.get("engine") if isinstance(value, dict) else getattr(value, "engine", "")
    return "<model>" if engine in ("nli", "cosine", "edit_distance") else "<llm>"


Judge = Annotated[
    Annotated[LlmJudge, Tag("<llm>")] | Annotated[ModelJudge, Tag("<model>")],
    Discriminator(_judge_type),
]
