"""The user's configuration: its schema, and loading it with errors that a person can act on."""

from pteb_eval.config.load import load_config, parse_config
from pteb_eval.config.models import FrozenSet, Generator, Model
from pteb_eval.config.schema import Config, Statistics
from pteb_eval.config.tasks import FileTask, ImplicitTask, MtebTask

__all__ = [
    "Config",
    "FileTask",
    "FrozenSet",
    "Generator",
    "ImplicitTask",
    "Model",
    "MtebTask",
    "Statistics",
    "load_config",
    "parse_config",
]
