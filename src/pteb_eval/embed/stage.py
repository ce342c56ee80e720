"""Stage `embed`: the vectors that scoring will ask for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.embed.encoders import Encoder, load_encoder
from pteb_eval.embed.vectors import VectorCache
from pteb_eval.errors import UserError
from pteb_eval.ids import text_id
from pteb_eval.progress import Progress
from pteb_eval.provenance import stamp
from pteb_eval.store import write_table
from pteb_eval.variants import Variants, load_variants
from pteb_eval.versions import EMBED_STEP

ROWS = 8192  # of a row group, which is what readers hold at once


def run(
    settings: dict[str, Any],
    texts: Path,
    paraphrases: Path | None,
    cache: Path,
    output: Path,
    device: str | None = None,
) -> None:
    """Write the vectors of a task's own texts, or of its paraphrases.

    Args:
        settings: `model`, `task`, `batch_size`.
        texts: the task's texts file.
        paraphrases: paraphrases of these texts; None: embed the texts as they are.
        cache: the cache folder.
        output: the Parquet file to write: text_id, prompt_id, vector (fixed-size list of float32),
            n_tokens, truncated; the literal prompts stand in the metadata.
        device: where to run the model.

    Raises:
        UserError: if the model cannot be loaded or gives a vector that is not finite.
    """
    variants = load_variants(settings["task"], texts, paraphrases)
    by_type = _wanted(variants) if paraphrases else _distinct(variants, iter([variants.task]))
    encoder = load_encoder(settings["model"], device)
    metadata = variants.task.metadata
    label = f"embed {settings['model']['name']}, {metadata.name}, " + (
        "paraphrases" if paraphrases else "original"
    )
    prompts = {kind: encoder.prompt(metadata, kind) for kind in by_type}
    parts = [
        _part(
            encoder,
            VectorCache(cache, encoder.identity, prompt),
            wanted,
            metadata,
            kind,
            settings,
            label,
        )
        for prompt, kind, wanted in _by_prompt(prompts, by_type)
    ]
    # A part without texts (all paraphrases copy, say) has no dimensions to agree with the others.
    filled = [part for part in parts if part.num_rows] or parts[:1]
    write_table(
        output,
        pa.concat_tables(filled),
        stamp(
            "embed",
            settings,
            EMBED_STEP,
            encoder=encoder.identity,
            similarity=encoder.similarity,
            prompts={kind or "": prompt for kind, prompt in prompts.items()},
        ),
        row_group_size=ROWS,
    )


def _wanted(variants: Variants) -> dict[str | None, list[str]]:
    """What the runs ask for beyond the task's own texts, which have a file of their own."""
    own = _distinct(variants, iter([variants.task]))
    known = {kind: set(texts) for kind, texts in own.items()}
    return {
        kind: [text for text in texts if text not in known.get(kind, ())]
        for kind, texts in _distinct(variants, variants.all_runs()).items()
    }


def _distinct(variants: Variants, tasks: Iterator[Any]) -> dict[str | None, list[str]]:
    """The distinct texts that the evaluator will ask for, by prompt type."""
    texts: dict[str | None, dict[str, None]] = {}
    for task in tasks:
        for item in variants.structure.inputs(task):
            texts.setdefault(item.prompt_type, {})[item.text] = None
    return {kind: list(found) for kind, found in texts.items()}


def _by_prompt(
    prompts: dict[str | None, str], texts: dict[str | None, list[str]]
) -> Iterator[tuple[str, str | None, list[str]]]:
    """Prompt types that share a literal prompt share their vectors."""
    for prompt in dict.fromkeys(prompts.values()):
        kinds = [kind for kind in texts if prompts[kind] == prompt]
        yield prompt, kinds[0], list(dict.fromkeys(text for kind in kinds for text in texts[kind]))


def _part(
    encoder: Encoder,
    cache: VectorCache,
    texts: list[str],
    metadata: Any,
    kind: str | None,
    settings: dict[str, Any],
    label: str,
) -> pa.Table:
    """Vectors of the texts under one prompt, embedding what the cache does not have."""
    prompt = cache.identity["prompt"]
    progress = Progress(label, len(texts))
    progress.begin(len(texts) - len(cache.missing(texts)))
    for count in cache.fill(
        texts,
        lambda chunk: encoder.encode(chunk, metadata, kind, settings["batch_size"]),
        lambda chunk: encoder.count_tokens(chunk, prompt),
    ):
        progress.advance(count)
    progress.close()
    try:
        rows = cache.gather(texts)
    except ValueError as error:
        model = settings["model"]["name"]
        raise UserError(f"model {model!r} gave {error}: try another dtype") from error
    return rows.add_column(1, "prompt_id", pa.array([text_id(prompt)] * len(rows), pa.string()))
