"""`pteb-eval implicit`: the implicit suite, by the command that its benchmark's users know."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pteb_eval.errors import UserError

RUN = "implicit-suite"  # name of the run below results/


def implicit(
    model: Annotated[list[str], typer.Option(help="Model; again for another one.")],
    output: Annotated[Path, typer.Option(help="Folder to write <model>/<dataset>_results.csv to.")],
    datasets: Annotated[
        list[str] | None, typer.Option(help="Data sets. [default: pub pstance sbic]")
    ] = None,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="...", help="More data sets.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with local copies: <data>/<dataset>.")
    ] = None,
    train_on: Annotated[
        str, typer.Option(help="`dev` where a local copy of sbic has no train part.")
    ] = "train",
    cpu: Annotated[bool, typer.Option("--cpu", help="Embed on the processor.")] = False,
    skip_existing: Annotated[
        bool, typer.Option("--skip-existing", help="Leave out what has results in the folder.")
    ] = False,
    cores: Annotated[int, typer.Option(help="Cores to use; 0: all.", min=0)] = 0,
) -> None:
    """Evaluate models on implicit meaning: pragmatics, stance, social meaning.

    The same workflow and caches as `pteb-eval run`; nothing is reworded.
    """
    from pteb_eval.config import parse_config
    from pteb_eval.implicit.catalogue import DEFAULT_DATASETS, dataset
    from pteb_eval.implicit.results import summary_of, write_summary

    names = list(dict.fromkeys([*(datasets or ()), *(more or ())])) or list(DEFAULT_DATASETS)
    for name in names:
        dataset(name)
    if not Path("Snakefile").is_file():
        raise UserError("no Snakefile here: run this in the folder of the pteb-eval repository")
    slugs = {name: name.replace("/", "__") for name in dict.fromkeys(model)}
    left = {
        name: [one for one in names if not (skip_existing and _is_done(output / slug, one))]
        for name, slug in slugs.items()
    }
    models = [name for name, sets in left.items() if sets]
    if models:
        sets = [one for one in names if any(one in own for own in left.values())]
        content = _configuration(models, sets, data, train_on, cpu)
        parse_config(content, "pteb-eval implicit")
        _run_workflow(content, cores)
    for name, slug in slugs.items():
        for one in names:
            if one in left[name]:
                _copy(Path("results") / RUN / "implicit" / slug, output / slug, one)
            else:
                typer.echo(f"{name}, {one}: has results in {output / slug}, skipped")
        summary = output / slug / "summary.json"
        write_summary(summary_of(output / slug), summary)
        typer.echo(f"{name}: {summary}")


def _configuration(
    models: list[str], names: list[str], data: Path | None, train_on: str, cpu: bool
) -> dict[str, Any]:
    """A configuration of the workflow with nothing but these."""
    tasks: list[dict[str, Any]] = []
    for name in names:
        task: dict[str, Any] = {"implicit": name}
        if data is not None and (data / name).exists():
            task["path"] = str(data / name)
        if name == "sbic":
            task["train_on"] = train_on
        tasks.append(task)
    return {
        "name": RUN,
        "tasks": tasks,
        "models": models,
        "embedding": {"device": "cpu" if cpu else None},
    }


def _run_workflow(content: dict[str, Any], cores: int) -> None:
    from pteb_eval.store import write_text

    config = Path("results") / RUN / "config.json"
    write_text(config, json.dumps(content, indent=2) + "\n")
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores or os.cpu_count() or 1)]
    status = subprocess.run([*command, "--configfile", str(config)], check=False).returncode
    if status:
        raise typer.Exit(status)


def _is_done(folder: Path, name: str) -> bool:
    return all((folder / f"{name}_results.{ending}").is_file() for ending in ("csv", "json"))


def _copy(source: Path, target: Path, name: str) -> None:
    from pteb_eval.store import write_text

    for file in (f"{name}_results.{ending}" for ending in ("csv", "json")):
        write_text(target / file, (source / file).read_text(encoding="utf-8"))
