"""What the rule of the implicit suite asks for: files, and the settings that change its output.

Imported while Snakemake parses, so nothing heavy is imported here and nothing is written.
"""

from itertools import product
from typing import Any

from pteb_eval.config import FileTask, ImplicitTask, MtebTask
from pteb_eval.config.base import ORIGINAL
from pteb_eval.ids import canonical_json
from pteb_eval.implicit import catalogue
from pteb_eval.layout import (
    CAPTION_FORMATS,
    SUITE_DELTA_TABLES,
    SUITE_FIGURES,
    SUITE_TABLES,
    TABLE_FORMATS,
    figure_files,
)
from pteb_eval.workflow_judges import PUBLISHED, JudgeWorkflow


class SuiteWorkflow(JudgeWorkflow):
    """The part of `Workflow` that is about tasks of the implicit suite."""

    def suite_settings(self) -> str:
        """Settings of `report --suite`."""
        settings: dict[str, Any] = {
            "models": {slug: model.name for slug, model in self.models.items()},
            "tasks": {name: task.implicit for name, task in self._suite().items()},
            "reworded": bool(self.generators),
        }
        return canonical_json(settings)

    def suite_files(self) -> list[str]:
        """Results on the implicit suite, if the run has tasks of it."""
        sets = dict.fromkeys(
            catalogue.entry(task.implicit).dataset.name for task in self._suite().values()
        )
        if not sets:
            return []
        layout = self.layout
        results = [layout.suite(*key) for key in product(self.models, sets, ("csv", "json"))]
        summaries = [layout.suite_summary(model) for model in self.models]
        names = self._suite_tables()
        tables = [layout.table(*key) for key in product(names, TABLE_FORMATS)]
        captions = [layout.captions(ext, "implicit") for ext in CAPTION_FORMATS]
        files = [str(path) for path in (*results, *summaries, *tables, *captions)]
        return files + figure_files(layout, SUITE_FIGURES)

    def suite_tables(self) -> list[str]:
        """The suite's tables, which the report shows, if the run has tasks of it."""
        names = self._suite_tables() if self._suite() else ()
        return [str(self.layout.table(name)) for name in names]

    def _suite_tables(self) -> tuple[str, ...]:
        return (*SUITE_TABLES, *(SUITE_DELTA_TABLES if self.generators else ()))

    def suite_sources(self) -> list[str]:
        """What the results on the implicit suite are made of."""
        texts = [self.layout.texts(task) for task in self._suite()]
        scores = [
            self.layout.scores(model, ORIGINAL, task)
            for model, task in product(self.models, self._suite())
        ]
        drops = [self.layout.table("summary")] if self.generators else []
        sources = [str(path) for path in (*texts, *scores, *drops)]
        return [*sources, PUBLISHED] if sources else []

    def _suite(self) -> dict[str, ImplicitTask]:
        """The tasks of the implicit suite."""
        return {n: task for n, task in self.tasks.items() if isinstance(task, ImplicitTask)}


def where_from(task: MtebTask | FileTask | ImplicitTask) -> str:
    """How to get a data set of the suite, for the end of a message."""
    if not isinstance(task, ImplicitTask):
        return ""
    about = catalogue.entry(task.implicit).dataset
    how = f"it is handed out on request ({about.request})" if about.request else "leave out `path`"
    return f": {how}; it holds {about.wanted or ', '.join(about.files)}"
