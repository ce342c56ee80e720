"""vLLM in this process: offline batches, as fast as the device allows."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.engines import Completion, PromptKind, Request, Sampling
from pteb_eval.paraphrase.engines.packaged import model_fingerprint

# Requests handed to vLLM before the first has finished: enough to fill any batch, few enough for
# a stop to cost little.
WINDOW = 2048


class VllmEngine:
    """Engine of one model on this machine's devices.

    Args:
        model: a folder, or a name on the model hub.
        sampling: sampling fields of every request.
        prompt_kind: `chat` sends one user turn through the model's chat template.
        revision: commit on the hub.
        dtype: bfloat16 or float32; gemma-3 in float16 answers with nothing.
        quantization: as vLLM names it; None is what the model's own settings say.
        devices: accelerators that this job has, over which the model is split; 0 for none.
        max_model_len: tokens that a prompt and its answer may have together.
        engine_args: further arguments of vLLM, such as `gpu_memory_utilization` or `max_num_seqs`.
            They are for speed and memory: they are not part of the identity.
        digest: what identifies a folder's content where it is known already.

    Attributes:
        llm: vLLM's own object while the engine is entered.
    """

    def __init__(
        self,
        model: str,
        sampling: Sampling,
        *,
        prompt_kind: PromptKind = "chat",
        revision: str | None = None,
        dtype: Literal["bfloat16", "float32"] = "bfloat16",
        quantization: str | None = None,
        devices: Annotated[int, Field(ge=0)] = 1,
        max_model_len: Annotated[int, Field(ge=1)] = 4096,
        engine_args: Mapping[str, Any] | None = None,
        digest: str | None = None,
    ) -> None:
        if dtype not in ("bfloat16", "float32"):
            raise UserError(f"options.dtype: {dtype}: choose bfloat16 or float32")
        self.model = model
        self.sampling = sampling
        self.prompt_kind = prompt_kind
        self.revision = revision
        self.dtype = dtype
        self.quantization = quantization
        self.devices = devices
        self.max_model_len = max_model_len
        self.engine_args = dict(engine_args or {})
        self._digest = digest
        self.llm: Any = None

    def identity(self) -> dict[str, Any]:
        """What changes an answer; a local folder counts by its content, not by its path."""
        if self._digest is None and Path(self.model).is_dir():
            self._digest = model_fingerprint(Path(self.model))
        return {
            "engine": "vllm",
            "model": self._digest or self.model,
            "revision": self.revision,
            "dtype": self.dtype,
            "quantization": self.quantization,
            "prompt_kind": self.prompt_kind,
            "sampling": self.sampling.as_json(),
        }

    def __enter__(self) -> Self:
        """Load the model after looking at what it needs.

        Raises:
            UserError: if vLLM is not installed, the devices are not those asked for, the dtype is
                not theirs, or the model cannot be loaded.
        """
        # Engines that share a compile cache on a shared file system corrupt it.
        scratch = Path(tempfile.gettempdir()) / f"vllm-{os.getuid()}"
        for name in ("VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE"):
            os.environ.setdefault(name, str(scratch))
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
        try:
            from vllm import LLM
        except ModuleNotFoundError as error:
            raise UserError(
                "engine vllm: vLLM is not installed: pip install 'pteb-eval[vllm]'"
            ) from error
        self._check_devices()
        arguments = {
            "tensor_parallel_size": max(self.devices, 1),
            "enable_prefix_caching": True,
            **self.engine_args,
            "model": self.model,
            "revision": self.revision,
            "tokenizer_revision": self.revision,
            "dtype": self.dtype,
            "quantization": self.quantization,
            "max_model_len": self.max_model_len,
        }
        try:
            self.llm = LLM(**arguments)
        except (TypeError, ValueError, RuntimeError, OSError) as error:
            line = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"{self.model}: vLLM cannot load it: {line}") from error
        self._check_bos()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop the engine's processes and free its memory."""
        if self.llm is not None:
            self.llm.llm_engine.engine_core.shutdown()
        self.llm = None

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Yield the completions as they finish; those that do not fit come first.

        Sorted so that equal prompts and equal beginnings meet in the prefix cache, the longest
        first, so that no long one is left over for the end.
        """
        prompts = [(request, self._tokens(request.prompt)) for request in requests]
        prompts.sort(key=lambda pair: (-len(pair[1]), pair[1]))
        longest = self.max_model_len - self.sampling.max_tokens
        waiting = []
        for request, tokens in prompts:
            if len(tokens) > longest:
                yield Completion(request.key, "", "prompt_too_long", len(tokens))
            else:
                waiting.append((request, tokens))
        yield from self._run(waiting)

    def _run(self, prompts: list[tuple[Request, list[int]]]) -> Iterator[Completion]:
        """Keep the engine's queue full and take out what is done."""
        from vllm.v1.engine.exceptions import EngineDeadError

        engine = self.llm.llm_engine
        keys: dict[str, str] = {}
        begun = 0
        try:
            while begun < len(prompts) or keys:
                while begun < len(prompts) and len(keys) < WINDOW:
                    request, tokens = prompts[begun]
                    (prompt,) = engine.renderer.render_cmpl([{"prompt_token_ids": tokens}])
                    engine.add_request(str(begun), prompt, self.parameters(request))
                    keys[str(begun)] = request.key
                    begun += 1
                for output in engine.step():
                    if output.finished:
                        yield _completion(keys.pop(output.request_id), output)
        except EngineDeadError as error:
            keys.clear()
            raise UserError(
                f"{self.model}: vLLM's engine broke down; its own message stands above. What "
                "finished is kept: mend options.engine_args and run again"
            ) from error
        finally:
            if keys:
                engine.abort_request(list(keys))

    def parameters(self, request: Request) -> Any:
        """Sampling of a request for vLLM; nothing is left to the model's own defaults."""
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        from vllm import SamplingParams

        sampling = self.sampling
        return SamplingParams(
            seed=request.seed,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p,
            repetition_penalty=sampling.repetition_penalty,
            presence_penalty=0.0,
            frequency_penalty=0.0,
            max_tokens=sampling.max_tokens,
            stop=list(sampling.stop),
            structured_outputs=StructuredOutputsParams(choice=list(request.choices))
            if request.choices
            else None,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _tokens(self, prompt: str) -> list[int]:
        """The prompt as the model sees it; tokens, not text, so that BOS is put there once."""
        tokenizer = self.llm.get_tokenizer()
        if self.prompt_kind == "completion":
            return list(tokenizer.encode(prompt))
        turn = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
        return list(tokenizer.encode(text, add_special_tokens=False))

    def _check_devices(self) -> None:
        import torch
        from vllm.platforms import current_platform

        visible = torch.accelerator.device_count()
        if visible != self.devices:
            raise UserError(
                f"options.devices: {self.devices}: this job sees {visible}: mend the setting, or "
                f"what the job is given ({current_platform.device_control_env_var})"
            )
        if getattr(torch, self.dtype) not in current_platform.supported_dtypes:
            raise UserError(
                f"options.dtype: {self.dtype}: not supported by {current_platform.device_name}: "
                "choose the other one"
            )

    def _check_bos(self) -> None:
        """Two beginnings, or none where the model was trained with one, spoil every answer."""
        tokenizer = self.llm.get_tokenizer()
        if self.prompt_kind == "chat" and tokenizer.chat_template is None:
            raise UserError(
                f"{self.model}: a base model without chat template: use a prompt of kind completion"
            )
        expected = 1 if tokenizer.bos_token_id in tokenizer.encode("") else 0
        found = self._tokens("text").count(tokenizer.bos_token_id)
        if found != expected:
            raise UserError(
                f"{self.model}: a prompt begins with {found} tokens {tokenizer.bos_token!r} where "
                f"{expected} belong: its tokenizer and chat template do not fit together"
            )


def _completion(key: str, output: Any) -> Completion:
    answer = output.outputs[0]
    n_prompt, n_tokens = len(output.prompt_token_ids), len(answer.token_ids)
    if answer.finish_reason not in ("stop", "length"):
        error = f"vLLM ended the request: {answer.finish_reason}"
        return Completion(key, "", "error", n_prompt, n_tokens, error)
    return Completion(key, answer.text, answer.finish_reason, n_prompt, n_tokens)
