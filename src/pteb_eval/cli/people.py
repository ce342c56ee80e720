"""The verbs for people: run, plan, summary, list, show."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from pteb_eval.errors import UserError

DEMO = Path("config/demo.yaml")
Config = Annotated[Path, typer.Argument(help="Configuration file.", show_default=True)]


def run(
    config: Config = DEMO,
    cores: Annotated[int, typer.Option(help="Cores to use; 0: all.", min=0)] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only show the jobs.")] = False,
    arguments: Annotated[
        list[str] | None, typer.Argument(help="More arguments for Snakemake, after `--`.")
    ] = None,
) -> None:
    """Run a configuration: the same as `snakemake --cores N --configfile CONFIG`."""
    from pteb_eval.auto_runs import add_runs
    from pteb_eval.config import load_config
    from pteb_eval.layout import Layout

    loaded = load_config(config)
    if not Path("Snakefile").is_file():
        raise UserError(
            "no Snakefile here: run this in the folder of the pteb-eval repository, or call "
            "snakemake with --snakefile"
        )
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores or os.cpu_count() or 1)]
    command += ["--configfile", str(config), *(["-n"] if dry_run else []), *(arguments or [])]
    status = _wait_for(command)
    while status == 0 and not dry_run and loaded.runs == "auto":
        layout = Layout(Path("results") / loaded.name)
        before, after = add_runs(layout, loaded.max_runs, loaded.statistics.confidence)
        if after == before:
            typer.echo(f"runs: auto stays at {before}")
            break
        typer.echo(f"runs: auto goes from {before} to {after}")
        status = _wait_for(command)
    if status == 0 and not dry_run and loaded.generators:
        typer.echo(f"Report: {Path('results') / loaded.name / 'report.html'}")
    raise typer.Exit(status)


def _wait_for(command: list[str]) -> int:
    """Run Snakemake, which must end by itself when told to, or its folder stays locked."""
    with subprocess.Popen(command) as snakemake:
        signal.signal(signal.SIGINT, lambda number, frame: None)  # a terminal tells both
        signal.signal(signal.SIGTERM, lambda number, frame: snakemake.terminate())
        return snakemake.wait()


def plan(
    config: Config = DEMO,
    option: Annotated[
        Path | None, typer.Option("--config", help="The same, as an option.", show_default=False)
    ] = None,
) -> None:
    """Show texts, generations, tokens and vectors of a run, what is left to do, and how long.

    Needs no GPU and no network: what is not fetched yet is estimated from mteb's statistics.
    """
    _quiet()
    from pteb_eval.config import load_config
    from pteb_eval.plan import HEAD, shown
    from pteb_eval.plan import plan as make_plan
    from pteb_eval.workflow import Workflow

    rows, notes = shown(list(make_plan(Workflow(load_config(option or config)))))
    typer.echo(_table(rows, HEAD))
    for note in notes:
        typer.echo(note)


def summary(config: Config = DEMO) -> None:
    """Print a run's main results: scores, Δ with its interval and verdict; plain when piped."""
    from pteb_eval.config import load_config
    from pteb_eval.console import show as print_results

    print_results(load_config(config), config, sys.stdout)


def list_(
    what: Annotated[str, typer.Argument(help="tasks, models or generators.")],
    containing: Annotated[str, typer.Argument(help="Only names with this in them.")] = "",
) -> None:
    """List the tasks, models or generators that a configuration can name."""
    _quiet()
    listing = {"tasks": _list_tasks, "models": _list_models, "generators": _list_generators}
    if what not in listing:
        raise UserError(f"list {what}: unknown; choose one of {', '.join(listing)}")
    rows, head = listing[what]()
    found = [row for row in rows if containing.lower() in row[0].lower()]
    if not found:
        raise UserError(f"list {what}: no name contains {containing!r}")
    typer.echo(_table(found, head))


def show(
    task: Annotated[str, typer.Argument(help="An mteb task, or a task of the configuration.")],
    config: Annotated[Path, typer.Option(help="Configuration file.")] = DEMO,
) -> None:
    """Show what is known of a task: type, metric, revision, languages, and which texts it has."""
    _quiet()
    from pteb_eval.config import load_config
    from pteb_eval.fetch import texts_table
    from pteb_eval.tasks.load import task_metadata
    from pteb_eval.workflow_judges import task_settings

    entries = {entry.name: entry for entry in load_config(config).tasks} if config.exists() else {}
    if task not in entries:
        metadata = task_metadata(task)
        typer.echo(_table(_facts(metadata), []))
        return
    entry = task_settings(entries[task])
    table, about = texts_table({"task": entry, "scope": "all", "max_instances": None})
    roles = Counter(slot["role"] for slots in table["slots"].to_pylist() for slot in slots)
    facts = [
        ["task", about["task"]],
        ["type", about["task_type"]],
        ["main metric", about["main_metric"]],
        ["revision", about["task_revision"]],
        ["description", about["description"]],
        ["distinct texts", table.num_rows],
        *[[f"texts as {role}", count] for role, count in roles.items()],
        *[["note", note] for note in about["notes"]],
    ]
    typer.echo(_table(facts, []))


def _facts(metadata: Any) -> list[list[Any]]:
    languages = sorted(
        {code for codes in metadata.hf_subsets_to_langscripts.values() for code in codes}
    )
    return [
        ["task", metadata.name],
        ["type", metadata.type],
        ["main metric", metadata.main_score],
        ["revision", metadata.dataset["revision"]],
        ["splits", ", ".join(metadata.eval_splits)],
        ["languages", ", ".join(languages)],
        ["license", metadata.license or "not stated"],
        ["description", " ".join(metadata.description.split())],
    ]


def _list_tasks() -> tuple[list[list[Any]], list[str]]:
    import mteb

    from pteb_eval.implicit.catalogue import entries

    suite = [
        [name, f"implicit suite, {one.dataset.level}", "accuracy", 1]
        for name, one in entries().items()
    ]
    rows = [
        [task.metadata.name, task.metadata.type, task.metadata.main_score, len(task.languages)]
        for task in mteb.get_tasks(modalities=["text"], exclusive_modality_filter=True)
    ]
    return suite + sorted(rows), ["task", "type", "main metric", "languages"]


def _list_models() -> tuple[list[list[Any]], list[str]]:
    import mteb

    from pteb_eval.embed.packaged import DESCRIPTIONS, packaged_revision

    rows = [
        [name, packaged_revision(name) or "not installed", text]
        for name, text in DESCRIPTIONS.items()
    ]
    rows += [
        [meta.name, meta.revision or "", "from the hub, by mteb"]
        for meta in mteb.get_model_metas(modalities=["text"])
        if meta.name
    ]
    return rows, ["model", "revision", "what it is"]


def _list_generators() -> tuple[list[list[Any]], list[str]]:
    from pteb_eval.config import load_config

    rows = [
        [entry.name, *_origin(entry), str(path)]
        for path in sorted(Path("config").glob("*.yaml"))
        for entry in load_config(path).generators
    ]
    return rows, ["generator", "engine", "model", "stands in"]


def _origin(entry: Any) -> tuple[str, str]:
    if hasattr(entry, "frozen"):
        return "frozen set", str(entry.frozen)
    return entry.engine, entry.model


def _table(rows: list[list[Any]], head: list[str]) -> str:
    from tabulate import tabulate

    return tabulate(rows, head, tablefmt="simple" if head else "plain", disable_numparse=True)


def _quiet() -> None:
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
