"""Tasks: loading one, and the seam between a task and its texts."""

from pteb_eval.tasks.structure import Instance, ModelInput, Slot, Structure

__all__ = ["Instance", "ModelInput", "Slot", "Structure"]
