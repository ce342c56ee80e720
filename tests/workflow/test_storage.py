"""Results in an object store: a real S3 protocol on loopback, and the results of a local run."""

import importlib.util
import logging
import re
import shutil
import subprocess
import sys

import kubernetes_api
import pytest
import yaml
from project import CONFIG

from pteb_eval.store import read_table

BUCKET = "results-of-all"
SOURCES = ("profiles", "workflow", "envs", "config", "resources", "src")
NEEDED = [
    name
    for name in ("moto", "flask_cors", "snakemake_storage_plugin_s3")
    if importlib.util.find_spec(name) is None
]
pytestmark = [
    pytest.mark.skipif(bool(NEEDED), reason=f"no {', '.join(NEEDED)} here: extras `s3` and `dev`"),
    pytest.mark.storage,
    pytest.mark.timeout(1200),
]


@pytest.fixture
def store():
    """An S3 service on loopback, and its bucket as boto3 sees it."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel("ERROR")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        keys = {"aws_access_key_id": "someone", "aws_secret_access_key": "secret"}
        bucket = boto3.resource(
            "s3", endpoint_url=endpoint, region_name="us-east-1", **keys
        ).create_bucket(Bucket=BUCKET)
        yield endpoint, bucket
    finally:
        server.stop()


def storage(endpoint):
    """Options and variables of Snakemake."""
    options = [
        "--default-storage-provider", "s3", "--default-storage-prefix", f"s3://{BUCKET}/ours",
    ]  # fmt: skip
    return options, {
        "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": endpoint,
        "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "someone",
        "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "secret",
    }


def test_a_run_into_a_bucket_gives_the_results_of_a_local_run(store, project, finished):
    endpoint, bucket = store
    shutil.rmtree(project.folder / "results")
    (project.folder / "work.log").unlink()
    options, variables = storage(endpoint)
    result = project.snakemake("--cores", "2", *options, **variables)
    assert result.status == 0, result.output

    made = {item.key.removeprefix("ours/results/small/"): item for item in bucket.objects.all()}
    local = {
        path.relative_to(finished.results).as_posix()
        for path in finished.results.rglob("*")
        if path.is_file()
    }
    assert made.keys() == local
    for name in sorted(name for name in local if name.startswith("tables/")):
        assert made[name].get()["Body"].read() == (finished.results / name).read_bytes(), name
    assert project.work() == finished.work()
    # Data and models of one's own stay where they are, and so does the cache.
    assert [path.name for path in (project.folder / "results").iterdir()] == ["cache"]

    result = project.snakemake("--cores", "1", "--dry-run", *options, **variables)
    assert result.status == 0, result.output
    assert "Nothing to be done" in result.output


@pytest.mark.skipif(
    importlib.util.find_spec("snakemake_executor_plugin_kubernetes") is None,
    reason="no snakemake_executor_plugin_kubernetes here: extra `kubernetes`",
)
def test_pods_without_a_common_file_system_give_these_results_too(store, project, finished):
    """Each pod starts in an empty folder; what it needs comes from the bucket."""
    endpoint, bucket = store
    shutil.rmtree(project.folder / "results")
    path = project.folder / "workflow" / "profiles" / "kubernetes" / "config.yaml"
    profile = yaml.safe_load(path.read_text())
    profile["default-storage-prefix"] = f"s3://{BUCKET}/ours"
    path.write_text(yaml.safe_dump(profile | {"seconds-between-status-checks": 1}))
    project.configure({**CONFIG, "tasks": [{"mteb": "BIOSSES"}], "models": ["fake-a"]})
    # Sources are what git knows.
    for command in (["init", "--quiet"], ["add", "my.yaml", "Snakefile", *SOURCES]):
        subprocess.run(["git", *command], cwd=project.folder, check=True)
    image = project.environment()
    programs = project.folder / ".programs"
    for name, script in {"pip": "exit 0", "python": f"exec '{sys.executable}' \"$@\""}.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    image = {name: image[name] for name in ("PATH", "PYTHONPATH", "FAKE_LOG")}
    with kubernetes_api.Api(project.folder.parent, image) as api:
        # A process of its own: the plugin looks at KUBECONFIG when it is imported.
        variables = {**storage(endpoint)[1], "KUBECONFIG": str(api.kubeconfig)}
        result = subprocess.run(
            [sys.executable, "-m", "snakemake", "--configfile", "my.yaml",
             "--workflow-profile", "workflow/profiles/kubernetes", "--until", "score_paraphrases"],
            cwd=project.folder, env=project.environment(**variables), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    logs = [path.read_text()[-2000:] for path in project.folder.parent.glob("*.log")]
    assert result.returncode == 0, (result.stdout[-5000:], logs)

    name = "scores/fake-a/shuffler/BIOSSES.parquet"
    bucket.download_file(f"ours/results/small/{name}", str(project.folder / "scores.parquet"))
    assert read_table(project.folder / "scores.parquet") == read_table(finished.results / name)
    cache = project.folder.parent / "volumes" / "pteb-cache"
    assert {path.name for path in cache.iterdir()} >= {"paraphrases", "vectors"}

    pods = {
        re.search(r"--allowed-rules (\w+)", pod["containers"][0]["args"][1])[1]: pod
        for pod in api.jobs.values()
    }
    assert pods.keys() == {
        "paraphrase", "embed_original", "embed_paraphrases", "score_paraphrases",
    }  # fmt: skip
    for rule, pod in pods.items():
        [container] = pod["containers"]
        assert container["image"] == profile["container-image"]
        limits = container["resources"]["limits"]
        assert limits.get("nvidia.com/gpu") == (None if rule.startswith("score") else "1")
    assert pods["paraphrase"]["containers"][0]["resources"]["limits"]["memory"] == "64000M"
