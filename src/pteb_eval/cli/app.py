"""The application: stages are called by the workflow's rules, the other verbs by people."""

import typer

from pteb_eval import __version__
from pteb_eval.cli import implicit, paraphrases, people, review, stages

app = typer.Typer(
    help="How much of a text-embedding model's score survives a rewording?\n\n"
    "Run the demo with `pteb-eval run`, your own with `pteb-eval run my.yaml`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pteb-eval {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and leave."
    ),
) -> None: ...


for command in (
    people.run,
    people.summary,
    implicit.implicit,
    people.plan,
    people.list_,
    people.show,
):
    app.command(name=command.__name__.rstrip("_"), rich_help_panel="For people")(command)
app.add_typer(paraphrases.app, name="paraphrases", rich_help_panel="For people")
app.add_typer(review.app, name="review", rich_help_panel="For people")
for stage in stages.STAGES:
    app.command(name=stage.__name__, rich_help_panel="Stages, as the workflow calls them")(stage)
