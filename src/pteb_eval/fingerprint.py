"""Fingerprints of the code that decides a stage's output, for Snakemake's params.

A fingerprint covers the package's modules that a stage imports, directly or not, without comments,
docstrings and layout, and the templates and styles beside them. So editing statistics never
re-embeds, and editing a comment reruns nothing. The stages that use a GPU have an explicit step
version instead.
"""

import ast
from functools import cache
from pathlib import Path

from pteb_eval.ids import digest

PACKAGE = Path(__file__).parent
# What reports, reads and places files, but does not decide what stands in them.
NEUTRAL = {"pteb_eval.progress", "pteb_eval.provenance", "pteb_eval.errors", "pteb_eval.layout"}


@cache
def fingerprint(module: str, package: Path = PACKAGE) -> str:
    """Fingerprint of a module of the package and all that it imports from the package.

    Args:
        module: dotted name, such as `pteb_eval.score.stage`.
        package: the package's folder.

    Returns:
        16 hexadecimal digits.
    """
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in NEUTRAL:
            found[name], imported = _module(name, package)
            waiting += imported
    return digest(found)[:16]


@cache
def _module(module: str, package: Path) -> tuple[str, list[str]]:
    """Digest of a module's code and of the templates and styles beside it, and what it imports."""
    file = _file(module, package)
    tree = _without_docstrings(file.read_text(encoding="utf-8"))
    data = {
        path.name: path.read_text(encoding="utf-8")
        for path in file.parent.iterdir()
        if path.is_file() and path.suffix not in {".py", ".typed"} and path.name[0] != "."
    }
    return digest([ast.dump(tree), data]), _imports(tree, package)


def _file(module: str, package: Path) -> Path:
    path = package.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _without_docstrings(source: str) -> ast.Module:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_docstring(part)]  # type: ignore[attr-defined]
    return tree


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _imports(tree: ast.Module, package: Path) -> list[str]:
    """Modules of the package that a module imports anywhere, also inside functions."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.startswith("pteb_eval.") and _exists(name, package)]


def _exists(module: str, package: Path) -> bool:
    path = package.joinpath(*module.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()
