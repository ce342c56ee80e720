"""Stage `plot`: the figures of a run."""
