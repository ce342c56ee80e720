"""No code that comes with data or a model is run: no pickle, no scripts, no modules of a model.

What others do, as tested here: transformers and sentence-transformers read `pytorch_model.bin` with
`torch.load(weights_only=True)`, pyarrow leaves extension types that it does not know as plain
columns, and `datasets` runs no scripts any more.
"""

import ast
import base64
import json
import os
import pickle
import shutil
from pathlib import Path

import mteb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiny_model import save_tiny_model

from pteb_eval import fetch_models
from pteb_eval.embed.encoders import load_encoder
from pteb_eval.errors import UserError
from pteb_eval.store import provenance_of
from pteb_eval.tasks.files.tables import read_table

PACKAGE = Path(__file__).parents[2] / "src" / "pteb_eval"
UNSAFE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
UNSAFE_CALLS = {
    "eval", "exec", "compile", "__import__", "torch.load", "np.load", "numpy.load",
    "pd.read_pickle",
    "pandas.read_pickle", "yaml.full_load", "yaml.unsafe_load", "os.system", "os.popen",
}  # fmt: skip
SETTINGS = {"revision": None, "dtype": None, "max_length": None, "trust_remote_code": False}


def faults(tree):
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from (name for name in names if name.split(".")[0] in UNSAFE)
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in UNSAFE_CALLS or (
            called == "yaml.load" and ast.unparse(node.args[1]) != "_Loader"
        ):
            yield ast.unparse(node)
        for keyword in node.keywords:
            value = ast.unparse(keyword.value)
            if (keyword.arg, value) in {
                ("allow_pickle", "True"), ("trust_remote_code", "True"), ("shell", "True"),
                ("weights_only", "False"),
            }:  # fmt: skip
                yield ast.unparse(node)


def test_the_package_unpickles_and_evaluates_nothing():
    found = {
        str(path.relative_to(PACKAGE)): list(faults(ast.parse(path.read_text())))
        for path in PACKAGE.rglob("*.py")
    }
    assert len(found) > 100
    assert {path: what for path, what in found.items() if what} == {}
    caught = "import pickle\ntorch.load(x)\nyaml.load(x, yaml.Loader)\nf(trust_remote_code=True)"
    assert len(list(faults(ast.parse(caught)))) == 4


class Trap:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


@pytest.fixture
def trap(tmp_path):
    path = tmp_path / "sprung"
    yield path
    assert not path.exists()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def folder(tiny, tmp_path):
    return Path(shutil.copytree(tiny, tmp_path / "model"))


def load(folder, **more):
    return load_encoder({"name": "own", "path": str(folder), **SETTINGS, **more}, "cpu")


def test_weights_in_a_pickle_are_read_as_weights_alone(folder, trap):
    import torch
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    assert load(folder).encode(["a b"], mteb.get_task("STSBenchmark").metadata, None, 1).shape == (
        1,
        24,
    )
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(trap)))
    with pytest.raises(UserError, match=r"own.*cannot be loaded"):
        load(folder)


def test_weights_of_a_module_in_a_pickle_are_read_as_weights_alone(folder, trap):
    modules = json.loads((folder / "modules.json").read_text())
    dense = {"idx": 3, "name": "3", "path": "3_Dense"}
    modules.append({**dense, "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "3_Dense").mkdir()
    sizes = {"in_features": 24, "out_features": 2, "bias": False}
    kind = {"activation_function": "torch.nn.modules.linear.Identity"}
    (folder / "3_Dense" / "config.json").write_text(json.dumps({**sizes, **kind}))
    (folder / "3_Dense" / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(trap)))
    with pytest.raises(UserError, match=r"own.*cannot be loaded"):
        load(folder)


def springs(trap, more=""):
    return f"import os\nos.mkdir({str(trap)!r})\n{more}"


def with_code(folder, trap, more=""):
    """The model with an architecture of its own, in a file beside it."""
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "own"}))
    (folder / "own.py").write_text(springs(trap, more))
    return folder


def test_code_beside_a_model_is_not_run(folder, trap):
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["type"] = "own.Module"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "own.py").write_text(springs(trap, "class Module: pass"))
    with pytest.raises(UserError, match=r"trust_remote_code|cannot be loaded"):
        load(folder)


def test_an_architecture_of_its_own_is_not_run(folder, trap):
    with pytest.raises(UserError, match=r"trust_remote_code|cannot be loaded"):
        load(with_code(folder, trap))


def test_no_module_of_a_model_lies_outside_its_folder(folder, trap, tmp_path):
    shutil.copytree(folder / "1_Pooling", tmp_path / "pooling")
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = "../pooling"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UserError, match="cannot be loaded"):
        load(folder)


def trusting_loader(folder):
    """As over a hundred of mteb's entries are: they trust the model's code by themselves."""
    from transformers import AutoModel

    return lambda *_, **__: AutoModel.from_pretrained(str(folder), trust_remote_code=True)


def test_a_loader_that_trusts_by_itself_is_not_followed(folder, trap, monkeypatch):
    monkeypatch.setattr(mteb, "get_model", trusting_loader(with_code(folder, trap)))
    with pytest.raises(UserError) as caught:
        load_encoder({"name": "org/own", "path": None, **SETTINGS}, "cpu")
    assert str(caught.value) == (
        "model 'org/own' runs code that comes with it: look at that code, then set "
        "trust_remote_code: true in its entry of `models`"
    )


def test_trusted_code_is_run_and_shown(folder, tmp_path, monkeypatch, capsys):
    from huggingface_hub import constants

    monkeypatch.setattr(
        "transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules")
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    code = (
        "from transformers import BertConfig, BertModel\n"
        "class OwnConfig(BertConfig):\n    model_type = 'own'\n"
        "class OwnModel(BertModel):\n    config_class = OwnConfig\n"
    )
    sprung = tmp_path / "sprung"
    model = {"name": "own", "path": str(with_code(folder, sprung, code)), **SETTINGS}
    fetch_models.fetch_model({**model, "trust_remote_code": True}, tmp_path / "own.json")
    assert sprung.is_dir()
    assert json.loads((tmp_path / "own.json").read_text())["trust_remote_code"] is True
    assert "runs code that comes with it (trust_remote_code: true)" in capsys.readouterr().err


def test_an_extension_type_is_not_unpickled(tmp_path, trap):
    """`arrow.py_extension_type` held a pickle that older pyarrow loaded (CVE-2023-47248)."""
    path = tmp_path / "t.parquet"
    hostile = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Trap(trap)),
    }
    schema = pa.schema([pa.field("text", pa.string(), metadata=hostile)])
    pq.write_table(pa.table({"text": ["a"]}, schema=schema), path)
    assert read_table(path).texts("text") == ["a"]
    assert provenance_of(pq.read_schema(path)) == {}
    pandas = {"columns": [], "index_columns": [base64.b64encode(pickle.dumps(Trap(trap))).decode()]}
    table = pa.table({"text": ["a"]}).replace_schema_metadata({"pandas": json.dumps(pandas)})
    pq.write_table(table, path)
    assert read_table(path).texts("text") == ["a"]


def test_data_sets_run_no_scripts(tmp_path, trap):
    import datasets

    folder = tmp_path / "scripted"
    folder.mkdir()
    (folder / "scripted.py").write_text(springs(trap))
    with pytest.raises((RuntimeError, datasets.exceptions.DatasetsError, OSError)):
        datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
