"""A fingerprint changes with what a stage does, and with nothing else."""

import ast
import shutil
from pathlib import Path

import pytest

import pteb_eval
from pteb_eval import fingerprint as module
from pteb_eval.fingerprint import NEUTRAL, fingerprint
from pteb_eval.workflow import STAGE_MODULES

PACKAGE = Path(pteb_eval.__file__).parent

CODE = '''\
"""What it is."""

from pteb_eval.helper import twice


def answer(x: int) -> int:
    """Say so."""
    return twice(x)  # doubled
'''


@pytest.fixture
def package(tmp_path):
    """A package of five modules: stage imports helper, which imports deep inside a function."""
    files = {
        "stage.py": CODE,
        "helper.py": "def twice(x):\n    from pteb_eval.deep import inner\n    return inner.two\n",
        "deep/__init__.py": "",
        "deep/inner.py": "two = 2\n",
        "deep/words.txt": "one two",
        "other.py": "one = 1\n",
        "progress.py": "quiet = False\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def of(package):
    module._module.cache_clear()
    fingerprint.cache_clear()
    return fingerprint("pteb_eval.stage", package)


@pytest.mark.parametrize(
    "new",
    [
        "# A comment.\n" + CODE,
        CODE.replace("# doubled", "# two times"),
        CODE.replace("What it is.", "What it was."),
        CODE.replace('    """Say so."""\n', ""),
        CODE.replace("\n\n\n", "\n\n\n\n\n"),
        CODE.replace("twice(x)", "twice(\n        x,\n    )"),
    ],
)
def test_comments_docstrings_and_layout_do_not_count(package, new):
    before = of(package)
    (package / "stage.py").write_text(new)
    assert of(package) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stage.py", CODE.replace("twice(x)", "twice(x) + 1")),
        ("stage.py", CODE.replace("x: int", "y: int").replace("(x)", "(y)")),
        ("helper.py", "def twice(x):\n    return 2\n"),
        ("deep/inner.py", "two = 2.0\n"),
        ("deep/words.txt", "one two three"),
    ],
)
def test_code_and_data_that_the_stage_reaches_count(package, name, text):
    before = of(package)
    (package / name).write_text(text)
    assert of(package) != before


@pytest.mark.parametrize(
    ("name", "text"), [("other.py", "one = 2\n"), ("progress.py", "quiet = True\n")]
)
def test_what_the_stage_does_not_reach_does_not_count(package, name, text):
    (package / "stage.py").write_text(CODE + "\nimport pteb_eval.progress\n")
    before = of(package)
    (package / name).write_text(text)
    assert of(package) == before


def test_two_modules_that_import_each_other(package):
    (package / "deep" / "inner.py").write_text("import pteb_eval.stage\n\ntwo = 2\n")
    assert len(of(package)) == 16


def test_the_real_stages_differ_and_none_depends_on_where_the_package_lies(tmp_path):
    copy = shutil.copytree(PACKAGE, tmp_path / "elsewhere")
    stages = STAGE_MODULES.values()
    assert len({fingerprint(stage) for stage in stages}) == len(stages)
    assert [fingerprint(stage, copy) for stage in stages] == [fingerprint(s) for s in stages]


def test_imports_are_written_so_that_they_are_followed():
    """Relative and star imports would be missed, and so would a neutral module that is gone."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path}: relative import"
                assert node.names[0].name != "*", f"{path}: star import"
    for name in NEUTRAL:
        assert module._exists(name, PACKAGE)
