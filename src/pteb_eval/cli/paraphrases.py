"""`pteb-eval paraphrases`: freeze paraphrases, share them, check them."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pteb_eval.config.base import LONGEST_NAME, NAME_PATTERN
from pteb_eval.config.read import shown
from pteb_eval.errors import UserError

app = typer.Typer(
    help="Freeze paraphrases as files that others can use without an LLM.", no_args_is_help=True
)
Source = Annotated[Path, typer.Argument(help="Folder of a frozen set, or one of its files.")]


@app.command(name="export")
def export_(
    config: Annotated[Path, typer.Argument(help="Configuration whose paraphrases are made.")],
    output: Annotated[Path, typer.Option(help="Folder to write: <generator>/<task>.parquet.")],
) -> None:
    """Write every generator's paraphrases as a frozen set, with digests."""
    from pteb_eval.config import load_config
    from pteb_eval.paraphrase.parts import export
    from pteb_eval.workflow import Workflow

    flow = Workflow(load_config(config))
    for generator in flow.generators:
        for task in flow.tasks:
            target = output / generator / f"{task}.parquet"
            if target.exists():
                raise UserError(f"{target} is there already: nothing is replaced; remove it first")
            content = export(flow.layout.paraphrases(generator, task), target)
            typer.echo(f"{content}  {target}")


@app.command()
def verify(source: Source) -> None:
    """Check that not one value of a frozen set changed since it was exported."""
    from pteb_eval.paraphrase.parts import verified
    from pteb_eval.store import provenance_of

    for path in _files(source):
        table = verified(path)
        typer.echo(f"{provenance_of(table.schema)['content_digest']}  {path}  ok")


@app.command(name="import")
def import_(
    source: Source,
    output: Annotated[Path, typer.Option(help="Folder to import into.")] = Path("frozen"),
) -> None:
    """Check a frozen set and copy it to `<output>/<generator>/<task>.parquet`."""
    from pteb_eval.paraphrase.parts import verified
    from pteb_eval.store import atomic_path, provenance_of

    folders = set()
    for path in _files(source):
        settings = provenance_of(verified(path).schema).get("settings")
        generator, task = _name(path, settings, "generator"), _name(path, settings, "task")
        target = output / generator / f"{task}.parquet"
        if target.exists():
            raise UserError(f"{target} is there already: nothing is replaced; remove it first")
        with atomic_path(target) as temporary:
            shutil.copyfile(path, temporary)
        folders.add(target.parent)
        typer.echo(f"{path} -> {target}")
    for folder in sorted(folders):
        typer.echo(f"In the config: generators: [{{name: {folder.name}, frozen: {folder}}}]")


def _name(path: Path, settings: object, key: str) -> str:
    """A name from the file's metadata, never one that leaves the folder."""
    name = str(settings.get(key)) if isinstance(settings, dict) else ""
    if not re.fullmatch(NAME_PATTERN, name) or len(name) > LONGEST_NAME:
        raise UserError(
            f"{path}: {key} {shown(name)!r} in its metadata is no name; do not trust this file"
        )
    return name


def _files(source: Path) -> Iterator[Path]:
    found = sorted(source.rglob("*.parquet")) if source.is_dir() else [source]
    found = [path for path in found if path.is_file() or path == source]
    if not found:
        raise UserError(f"{source}: no .parquet file in it")
    return iter(found)
