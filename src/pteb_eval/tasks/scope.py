"""Which texts of a task are reworded."""

from collections.abc import Callable, Sequence

from pteb_eval.errors import UserError
from pteb_eval.tasks.load import structure_for
from pteb_eval.tasks.names import near
from pteb_eval.tasks.retrieval import DOCUMENT, Retrieval
from pteb_eval.tasks.structure import Slot, Task

PRESETS = ("pteb", "all", "eval_only")


def roles_in_scope(task: Task, scope: str | Sequence[str]) -> frozenset[str]:
    """The roles whose texts are reworded.

    Args:
        task: the task.
        scope: `pteb`, the published protocol's: all texts, but of retrieval the queries only (of
            reranking the documents, too); `all`; `eval_only`, the roles of `pteb` without the texts
            of a train split; or a list of roles.

    Raises:
        UserError: an unknown preset, or a role that the task does not have.
    """
    structure = structure_for(task)
    roles = structure.roles
    if isinstance(scope, str):
        if scope not in PRESETS:
            raise UserError(
                f"scope {scope!r} is unknown{near(scope, PRESETS)}: use one of "
                f"{', '.join(PRESETS)}, or a list of roles"
            )
        reranking = task.metadata.type in ("Reranking", "InstructionReranking")
        only_queries = isinstance(structure, Retrieval) and not reranking and scope != "all"
        return frozenset(roles) - ({DOCUMENT} if only_queries else set())
    if not scope:
        raise UserError(f"scope is an empty list: name a role of {task.metadata.name}")
    for role in scope:
        if role not in roles:
            raise UserError(
                f"scope: {task.metadata.name} has no role {role!r}: it has {', '.join(roles)}"
            )
    return frozenset(scope)


def scope_filter(task: Task, scope: str | Sequence[str]) -> Callable[[Slot], bool]:
    """Whether a slot of the task is reworded, for asking about many slots."""
    roles = roles_in_scope(task, scope)
    if scope != "eval_only":
        return lambda slot: slot.role in roles
    splits = frozenset(task.eval_splits)
    return lambda slot: slot.role in roles and slot.split in splits


def in_scope(slot: Slot, task: Task, scope: str | Sequence[str]) -> bool:
    """Whether one slot is reworded; see `roles_in_scope` for the scopes."""
    return scope_filter(task, scope)(slot)
