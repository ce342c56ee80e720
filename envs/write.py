"""Write the conda environments, `envs/*.yaml`, of the steps.

What a step needs is what its modules import, with extras of pyproject.toml; versions are those of
the constraints. Run `python envs/write.py` after a change of either; a test fails until then.
"""

import ast
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
# Every step: the command line, tables as Markdown, and what builds this package.
ALWAYS = ("setuptools", "tabulate", "typer")
JUDGE = "pteb_eval.judge.stage"


@dataclass(frozen=True)
class Environment:
    """What the jobs of one kind need.

    Attributes:
        purpose: the first line of its file.
        modules: stages of these jobs.
        extras: extras of pyproject.toml that go with them.
        python: exact version, one that conda-forge has.
        constraints: file beside this one with the versions of packages.
    """

    purpose: str
    modules: tuple[str, ...]
    extras: tuple[str, ...] = ()
    python: str = "3.11.13"
    constraints: str = "constraints-cpu.txt"


GENERATE = ("pteb_eval.fetch_models", "pteb_eval.paraphrase.stage", "pteb_eval.paraphrase.parts")
ENVIRONMENTS = {
    "generate": Environment(
        "Reword and judge with llama.cpp or an endpoint.", (*GENERATE, JUDGE), ("llamacpp",)
    ),
    "vllm": Environment(
        "Reword and judge with vLLM, on GPUs.",
        (*GENERATE, JUDGE),
        ("vllm",),
        "3.13.7",
        "constraints-gpu.txt",
    ),
    "evaluate": Environment(
        "Fetch, embed and score; on a CPU or GPU.",
        (
            "pteb_eval.fetch", "pteb_eval.fetch_models", "pteb_eval.embed.stage",
            "pteb_eval.score.stage", "pteb_eval.score.judged", JUDGE, "pteb_eval.judge.gold",
            "pteb_eval.judge.instances", "pteb_eval.judge.validation",
        ),
        ("demo",),
    ),
    "report": Environment(
        "Statistics, figures and the report.",
        (
            "pteb_eval.statistics.stage", "pteb_eval.statistics.rank", "pteb_eval.plot.stage",
            "pteb_eval.report.stage", "pteb_eval.implicit.results",
        ),
    ),
}  # fmt: skip


def content(environment: Environment) -> str:
    """An environment's file."""
    pins = versions(environment.constraints)
    names = imported_distributions(environment.modules) | set(ALWAYS)
    for extra in environment.extras:
        names |= extra_distributions(extra)
    lines = [f"      - {name}=={pins[name]}" for name in sorted(names)]
    return "\n".join(
        [
            f"# {environment.purpose} How to use it stands in docs/environments.md.",
            "# Made by `python envs/write.py`.",
            "channels: [conda-forge, nodefaults]",
            "dependencies:",
            f"  - python={environment.python}",
            "  - pip=25.2",
            "  # Wheels, not conda's builds: these versions are the tested ones.",
            "  - pip:",
            *lines,
            "",
        ]
    )


def versions(constraints: str) -> dict[str, str]:
    """The pinned version of each package, by normalized name."""
    lines = (FOLDER / constraints).read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pins}


def requirements(extra: str = "") -> list[Requirement]:
    """Those of the package itself, or of one of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return [Requirement(line) for line in lines]


def extra_distributions(extra: str) -> set[str]:
    """Packages of an extra, and of the extras of this package that it names."""
    names = set()
    for requirement in requirements(extra):
        if requirement.name == "pteb-eval":
            names |= {name for inner in requirement.extras for name in extra_distributions(inner)}
        else:
            names.add(canonicalize_name(requirement.name))
    return names


def imported_distributions(modules: Sequence[str]) -> set[str]:
    """Packages that some modules import anywhere, directly or through the package's own modules."""
    waiting, found, names = list(modules), set[str](), set[str]()
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        for name in _imports(module):
            if name.partition(".")[0] == "pteb_eval":
                waiting.append(name)
            else:
                names.add(name.partition(".")[0])
    of = _distributions()
    distributions = {canonicalize_name(of[name][0]) for name in names if name in of}
    # Engines that are imported only where they are used come by their extras.
    return distributions & versions("constraints-cpu.txt").keys()


_distributions = cache(packages_distributions)


@cache
def _tree(module: str) -> ast.Module | None:
    path = ROOT.joinpath("src", *module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else None


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(_tree(module) or ast.Module([], [])):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


if __name__ == "__main__":
    for name, environment in ENVIRONMENTS.items():
        (FOLDER / f"{name}.yaml").write_text(content(environment), encoding="utf-8")
