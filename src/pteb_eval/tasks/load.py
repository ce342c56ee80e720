"""From a task's settings to the task, and from a task to its structure."""

from collections.abc import Callable, Mapping
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.hub import advice
from pteb_eval.tasks.flat import (
    Clusters,
    Flat,
    MultilabelTrained,
    Pairs,
    Summaries,
    Trained,
    ZeroShot,
    prompt_type,
)
from pteb_eval.tasks.kept import keep, load_kept
from pteb_eval.tasks.listed import Bitext, ClusterSets, ParallelBitext, languages_of
from pteb_eval.tasks.names import near
from pteb_eval.tasks.retrieval import Retrieval
from pteb_eval.tasks.sampling import pinned
from pteb_eval.tasks.structure import Structure, Task


def load_task(settings: Mapping[str, Any], *, fetching: bool = False) -> Task:
    """Load a task with its data, all samples drawn.

    Args:
        settings: JSON values, either of a task of mteb: `{"mteb": name, "revision": 40 hexadecimal
            digits or null, "subsets": list or null, "splits": list or null}`; or of the implicit
            suite: `{"implicit": name, ...}`, see `pteb_eval.implicit.build`; or of the user's own
            files: `{"type": "sts", "name": ..., "path": ..., ...}`, see `pteb_eval.tasks.files`.
        fetching: whether a copy of data from the hub is made, from which it is loaded from then on.

    Returns:
        An `AbsTask` that is loaded. Its attribute `notes` lists what a user should know of the
        data, one line each. Its samples are drawn, so it can be evaluated any number of times.

    Raises:
        UserError: unknown name, subset or split, data that cannot be had, a task that cannot be
            reworded, or any mistake in a user's file.
    """
    if "mteb" in settings:
        task = unloaded_task(settings)
        _load(task, fetching)
    elif "implicit" in settings:
        from pteb_eval.implicit.build import implicit_task

        task = implicit_task(settings, fetching=fetching)
    else:
        from pteb_eval.tasks.files import file_task

        task = file_task(settings)
    task = pinned(task)
    task.notes = list(getattr(task, "notes", []))
    return task


def structure_for(task: Task) -> Structure:
    """The structure of a task, by its class in mteb.

    Raises:
        UserError: for tasks that cannot be reworded sensibly, with the reason.
    """
    _refuse(task)
    for base, build in _builders():
        if isinstance(task, base):
            return build(task)
    raise UserError(
        f"{task.metadata.name}: tasks of type {task.metadata.type} have no rewording here: "
        "choose a text task of another type"
    )


def _builders() -> tuple[tuple[Any, Callable[[Task], Structure]], ...]:
    """Classes of mteb, a subclass before its parent, and how to make the structure."""
    from mteb import abstasks

    from pteb_eval.implicit.structures import WithOptions
    from pteb_eval.implicit.tasks import AbsTaskOptions, AbsTaskThresholdPairs
    from pteb_eval.tasks.texts import TEXT, AbsTaskTexts, Mirrored

    def input_column(structure: type[Flat]) -> Callable[[Task], Structure]:
        return lambda task: structure((task.input_column_name,), (None,))

    return (
        (AbsTaskTexts, lambda task: Mirrored((TEXT,), (None,))),
        (AbsTaskOptions, lambda task: WithOptions((TEXT,), (None,))),
        (AbsTaskThresholdPairs, lambda task: WithOptions(("sentence1",), (None,), "sentence2")),
        (abstasks.AbsTaskRetrieval, lambda task: Retrieval()),
        (abstasks.AbsTaskSTS, lambda task: Flat(tuple(task.column_names), _pair_prompts(task))),
        (
            abstasks.AbsTaskPairClassification,
            lambda task: Pairs(
                (task.input1_column_name, task.input2_column_name), _pair_prompts(task)
            ),
        ),
        (abstasks.AbsTaskMultilabelClassification, input_column(MultilabelTrained)),
        (abstasks.AbsTaskClassification, input_column(Trained)),
        (abstasks.AbsTaskClustering, input_column(Clusters)),
        (
            abstasks.AbsTaskClusteringLegacy,
            lambda task: ClusterSets((task.input_column_name,), (None,), task.label_column_name),
        ),
        (abstasks.AbsTaskZeroShotClassification, input_column(ZeroShot)),
        (abstasks.AbsTaskBitextMining, _bitext),
        (
            abstasks.AbsTaskSummarization,
            lambda task: Summaries(
                (task.human_summaries_column_name, task.machine_summaries_column_name), (None, None)
            ),
        ),
    )


def _pair_prompts(task: Task) -> tuple[str | None, str | None]:
    return prompt_type(task.input1_prompt_type), prompt_type(task.input2_prompt_type)


def _bitext(task: Task) -> Structure:
    if task.parallel_subsets:
        roles = languages_of(task.hf_subsets)
        return ParallelBitext(roles, (None,) * len(roles))
    return Bitext(tuple(task._DEFAULT_PAIR[0]), (None, None))


def _refuse(task: Task) -> None:
    name, modalities = task.metadata.name, set(task.metadata.modalities)
    if task.is_aggregate:
        parts = ", ".join(part.metadata.name for part in task.metadata.tasks[:3])
        raise UserError(f"{name} is a mean over other tasks: name those instead ({parts}, ...)")
    if modalities != {"text"}:
        other = " and ".join(sorted(modalities - {"text"}))
        raise UserError(f"{name} needs {other}: only text can be reworded, choose a text task")
    owner = next(cls for cls in type(task).__mro__ if "_evaluate_subset" in vars(cls))
    if not owner.__module__.startswith(("mteb.abstasks.", "pteb_eval.")):
        raise UserError(
            f"{name} scores in a way of its own ({owner.__module__}), which single texts cannot be "
            "exchanged in: choose another task"
        )


def task_metadata(name: str) -> Any:
    """What mteb knows of one of its tasks (`TaskMetadata`), without its data.

    Raises:
        UserError: unknown name, with near matches.
    """
    return _mteb_class(name).metadata


def _mteb_class(name: str) -> Any:
    from mteb.get_tasks import _TASKS_REGISTRY

    if name not in _TASKS_REGISTRY:
        raise UserError(f"unknown mteb task {name!r}{near(name, _TASKS_REGISTRY)}")
    return _TASKS_REGISTRY[name]


def unloaded_task(settings: Mapping[str, Any]) -> Task:
    """One of mteb's tasks without its data.

    Raises:
        UserError: unknown name, subset or split, or a task that cannot be reworded.
    """
    import mteb

    name, subsets, splits = settings["mteb"], settings.get("subsets"), settings.get("splits")
    metadata = task_metadata(name)
    for wanted, there, word in (
        (subsets, metadata.hf_subsets, "subset"),
        (splits, metadata.eval_splits, "split"),
    ):
        for value in wanted or ():
            if value not in there:
                raise UserError(
                    f"{name}: no {word} {value!r}; it has {', '.join(sorted(there)[:40])}"
                )
    task = mteb.get_task(name, hf_subsets=subsets, eval_splits=splits)
    if revision := settings.get("revision"):
        dataset = {**task.metadata.dataset, "revision": revision}
        task.metadata = task.metadata.model_copy(update={"dataset": dataset})
    structure_for(task)  # refuses before anything is fetched
    return task


def _load(task: Task, fetching: bool) -> None:
    """Load the data: from our copy, else from the hub."""
    if load_kept(task):
        return
    before = dict(vars(task))
    _fetch(task)
    if fetching:
        keep(task, before)


def _fetch(task: Task) -> None:
    from datasets.exceptions import DatasetsError
    from huggingface_hub.errors import HfHubHTTPError

    where = task.metadata.dataset
    try:
        task.load_data()
        if hasattr(task, "convert_v1_dataset_format_to_v2"):
            task.convert_v1_dataset_format_to_v2(num_proc=None)
        if task.metadata.main_score == "p-MRR":
            _fetch_judgement_changes(where["path"], where["revision"])
    except (OSError, DatasetsError, HfHubHTTPError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise UserError(
            f"task {task.metadata.name}: no data ({reason[:200]}): "
            + advice(f"data set {where['path']} at revision {where['revision']}")
        ) from error


def _fetch_judgement_changes(path: str, revision: str) -> None:
    """FollowIR's tasks load one more table while they score, where there may be no network."""
    from datasets import get_dataset_config_names, load_dataset

    for config in get_dataset_config_names(path, revision):
        if config.startswith("qrel_diff"):
            load_dataset(path, config, split="qrel_diff", revision=revision)
