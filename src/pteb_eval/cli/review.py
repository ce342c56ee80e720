"""`pteb-eval review`: have people check whether the meaning was kept."""

from pathlib import Path
from typing import Annotated

import typer

from pteb_eval.cli.people import DEMO, Config

app = typer.Typer(
    help="Have people rate a sample of paraphrases, and see what they say.", no_args_is_help=True
)


@app.command(name="export")
def export_(
    config: Config = DEMO,
    pairs: Annotated[int, typer.Option(help="Pairs to rate, over all tasks.", min=1)] = 100,
    checks: Annotated[int, typer.Option(help="Attention checks among them.", min=0)] = 12,
    checks_from: Annotated[
        str,
        typer.Option(
            help="Rated pairs for the checks: a file with sentence1, sentence2 and score from 0 to "
            "5, or an STS task of the configuration."
        ),
    ] = "resources/demo/sts.csv",
    threshold: Annotated[
        float, typer.Option(help="Mean rating from which on the meaning is kept.", min=0, max=5)
    ] = 4,
    seed: Annotated[
        int | None, typer.Option(help="Another sample than that of the config's seed.", min=0)
    ] = None,
) -> None:
    """Draw a sample of a finished run and write the page on which people rate it."""
    from pteb_eval.config import load_config
    from pteb_eval.review.export import export
    from pteb_eval.workflow import Workflow

    flow = Workflow(load_config(config))
    page, key, n_items = export(
        flow, n_pairs=pairs, n_checks=checks, checks_from=checks_from, threshold=threshold,
        seed=flow.config.seed if seed is None else seed,
    )  # fmt: skip
    typer.echo(f"{page}: {n_items} items; hand it to the raters")
    typer.echo(f"{key}: what the items are; keep it from the raters")


@app.command(name="import")
def import_(
    files: Annotated[list[Path], typer.Argument(help="Files that the raters saved.")],
    config: Annotated[Path, typer.Option(help="Configuration of the run.")] = DEMO,
) -> None:
    """Join ratings with the run: agreement, attention, share of kept meaning."""
    from pteb_eval.config import load_config
    from pteb_eval.review.collect import collect
    from pteb_eval.statistics.stage import AS_PERCENT
    from pteb_eval.tables import rounded
    from pteb_eval.workflow import Workflow

    flow = Workflow(load_config(config))
    for rows in reversed(collect(flow, files)):
        told = rows.drop(columns=["n_raters", "n_ratings"], errors="ignore")
        told = told.dropna(axis=1, how="all")
        typer.echo(rounded(told, AS_PERCENT).to_markdown(index=False) + "\n")
    table = flow.layout.table("review")
    typer.echo(f"{table}: written; run the configuration again to see it in the report")
