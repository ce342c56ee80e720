"""The stage verbs: thin doors from options to the stages' functions."""

import json
import logging
import re
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from pteb_eval.errors import UserError
from pteb_eval.hub import go_offline
from pteb_eval.progress import log_to

Settings = Annotated[str, typer.Option(help="Settings that change the output, as JSON.")]
Code = Annotated[str, typer.Option(help="Fingerprint of the stage's code, for the provenance.")]
Texts = Annotated[Path, typer.Option(help="Texts file of the task.")]
Cache = Annotated[Path, typer.Option(help="Folder of the content-addressed caches.")]
Output = Annotated[Path, typer.Option(help="File to write.")]
Root = Annotated[Path, typer.Option(help="Folder of the run, results/<name>.")]
Log = Annotated[Path | None, typer.Option(help="Also write progress to this file.")]


def fetch(
    output: Output,
    settings: Annotated[str, typer.Option(help="Settings of a task, as JSON.")] = "",
    model: Annotated[str, typer.Option(help="Settings of an embedding model, as JSON.")] = "",
    generator: Annotated[str, typer.Option(help="Settings of a generator, as JSON.")] = "",
    code: Code = "",
    log: Log = None,
) -> None:
    """Load a task and list its texts; or load a model. The only stage that asks the hub."""
    given = [text for text in (settings, model, generator) if text]
    if len(given) != 1:
        raise UserError("fetch: give one of --settings, --model and --generator")
    loaded = _begin(given[0], log, may_ask_hub=True)
    from pteb_eval import fetch as stage
    from pteb_eval import fetch_models

    if model:
        fetch_models.fetch_model(loaded, output)
    elif generator:
        fetch_models.fetch_generator(loaded, output)
    else:
        stage.run(loaded, code, output)


def paraphrase(
    settings: Settings,
    texts: Texts,
    output: Output,
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Take the paraphrases from these shards, or this frozen set."),
    ] = None,
    cache: Cache = Path("results/cache"),
    engine_options: Annotated[str, typer.Option(help="Options of the engine, as JSON.")] = "{}",
    shard: Annotated[str, typer.Option(help="Only this shard, such as 2-of-8.")] = "",
    log: Log = None,
) -> None:
    """Reword the texts in scope with an LLM."""
    loaded = _begin(settings, log)
    from pteb_eval.paraphrase import parts, stage

    if sources:
        parts.assemble(loaded, texts, sources, output)
    else:
        options = _json(engine_options, "--engine-options")
        stage.run(loaded, texts, cache, output, options, _shard(shard))


def judge(
    settings: Settings,
    output: Output,
    files: Annotated[
        list[Path] | None, typer.Argument(help="Shards to put together, or rated gold pairs.")
    ] = None,
    texts: Annotated[Path | None, typer.Option(help="Texts file of the task.")] = None,
    paraphrases: Annotated[Path | None, typer.Option(help="Rate these paraphrases.")] = None,
    judgements: Annotated[
        Path | None, typer.Option(help="Sum these ratings of the paraphrases up by instance.")
    ] = None,
    gold: Annotated[Path | None, typer.Option(help="Rate these pairs with known gold.")] = None,
    published: Annotated[
        Path | None, typer.Option(help="Published figures, for the table of rated gold pairs.")
    ] = None,
    cache: Cache = Path("results/cache"),
    engine_options: Annotated[str, typer.Option(help="Options of the engine, as JSON.")] = "{}",
    shard: Annotated[str, typer.Option(help="Only this shard, such as 2-of-8.")] = "",
    code: Code = "",
    log: Log = None,
) -> None:
    """Rate whether paraphrases keep the meaning; and check who rates against people."""
    loaded = _begin(settings, log)
    options = _json(engine_options, "--engine-options")
    from pteb_eval.judge import stage

    if published and files:
        from pteb_eval.judge import validation

        validation.run(loaded, files, published, output)
    elif judgements and texts and paraphrases:
        from pteb_eval.judge import instances

        instances.run(loaded, code, texts, paraphrases, judgements, output)
    elif paraphrases and files:
        stage.assemble(loaded, paraphrases, files, output)
    elif paraphrases and texts:
        stage.run(loaded, texts, paraphrases, cache, output, options, _shard(shard))
    elif gold:
        stage.rate_gold(loaded, gold, cache, output, options)
    else:
        from pteb_eval.judge import gold as pairs

        pairs.run(loaded, code, output)


def embed(
    settings: Settings,
    texts: Texts,
    cache: Cache,
    output: Output,
    paraphrases: Annotated[
        Path | None, typer.Option(help="Embed these paraphrases, not the texts themselves.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Device of the model.")] = None,
    log: Log = None,
) -> None:
    """Embed a task's own texts, or its paraphrases."""
    loaded = _begin(settings, log)
    from pteb_eval.embed import stage

    stage.run(loaded, texts, paraphrases, cache, output, device)


def score(
    settings: Annotated[str, typer.Option(help="Settings that change the output, as JSON.")] = "{}",
    texts: Annotated[Path | None, typer.Option(help="Texts file of the task.")] = None,
    embeddings: Annotated[
        list[Path] | None, typer.Option(help="Vectors of the texts, then of the paraphrases.")
    ] = None,
    scores: Annotated[Path | None, typer.Option(help="Scores file to write.")] = None,
    instances: Annotated[Path | None, typer.Option(help="Instances file to write.")] = None,
    paraphrases: Annotated[Path | None, typer.Option(help="Score these runs.")] = None,
    surface: Annotated[
        Path | None, typer.Option(help="With paraphrases: file of the vectors' shifts to write.")
    ] = None,
    judged: Annotated[
        Path | None, typer.Option(help="Score only instances that these ratings leave.")
    ] = None,
    validation: Annotated[
        Path | None, typer.Option(help="With --judged: the table judge_validation.csv.")
    ] = None,
    export: Annotated[Path | None, typer.Option(help="Only export this scores file.")] = None,
    mteb: Annotated[Path | None, typer.Option(help="TaskResult file to export to.")] = None,
    code: Code = "",
    log: Log = None,
) -> None:
    """Score the original or a generator's runs with mteb's evaluators."""
    loaded = _begin(settings, log)
    from pteb_eval.score import stage

    if export and mteb:
        stage.export_mteb(export, mteb)
        return
    if not (texts and embeddings and scores and instances):
        raise UserError("score: --texts, --embeddings, --scores and --instances are needed")
    outputs = {"scores": scores, "instances": instances}
    if paraphrases is None:
        stage.run_original(loaded, code, texts, embeddings[0], outputs)
    elif judged and validation:
        from pteb_eval.score import judged as by_judge

        ratings = {"instances": judged, "validation": validation}
        by_judge.run(loaded, code, texts, paraphrases, embeddings, ratings, outputs)
    elif surface is None:
        raise UserError("score: --surface is needed with --paraphrases")
    else:
        outputs["surface"] = surface
        stage.run_paraphrases(loaded, code, texts, paraphrases, embeddings, outputs)


def test(settings: Settings, root: Root, log: Log = None) -> None:
    """Compute Δ, intervals and tests from the scores of all cells."""
    loaded = _begin(settings, log)
    from pteb_eval.statistics import stage

    stage.run(loaded, root)


def rank(settings: Settings, root: Root, log: Log = None) -> None:
    """Order the models before and after rewording, and compare them in pairs."""
    loaded = _begin(settings, log)
    from pteb_eval.statistics import rank as stage

    stage.run(loaded, root)


def plot(settings: Settings, root: Root, log: Log = None) -> None:
    """Draw the figures from the tables."""
    loaded = _begin(settings, log)
    from pteb_eval.plot import stage

    stage.run(loaded, root)


def report(
    settings: Settings,
    root: Root,
    suite: Annotated[
        bool, typer.Option("--suite", help="Write the results on the implicit suite instead.")
    ] = False,
    log: Log = None,
) -> None:
    """Write the page that shows everything."""
    loaded = _begin(settings, log)
    if suite:
        from pteb_eval.implicit import results

        results.run(loaded, root)
        return
    from pteb_eval.report import stage

    stage.run(loaded, root)


STAGES = (fetch, paraphrase, judge, embed, score, test, rank, plot, report)


def _begin(settings: str, log: Path | None, may_ask_hub: bool = False) -> dict[str, Any]:
    """Open the log, quiet the libraries, keep them from the hub and read the settings."""
    if not may_ask_hub:
        go_offline()
    warnings.filterwarnings("ignore", category=FutureWarning)
    logging.disable(logging.WARNING)
    log_to(log)
    return _json(settings, "--settings")


def _shard(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    match = re.fullmatch(r"(\d+)-of-(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(f"--shard {text!r}: write it as 2-of-8, from 1-of-8 to 8-of-8")
    return int(match[1]), int(match[2])


def _json(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{option}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise UserError(f"{option}: must be a JSON object")
    return value
