"""How much of a text-embedding model's score survives a rewording.

`pteb_score` is the published recipe on vectors that you have; everything else runs as a workflow,
see the README.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["PtebScore", "__version__", "pteb_score"]

if TYPE_CHECKING:
    from pteb_eval.statistics.score import PtebScore, pteb_score


def __getattr__(name: str) -> Any:
    """Import scipy and sklearn only when a score is asked for: the workflow's rules parse fast."""
    if name in {"PtebScore", "pteb_score"}:
        from pteb_eval.statistics import score

        return getattr(score, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
