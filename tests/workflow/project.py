"""A copy of the repository with a small configuration, in which the workflow runs for real.

Only the generator, the encoder and the download of one task are stand-ins, see `fakes`.
"""

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml
from fakes import zygote

from pteb_eval.store import provenance_of, read_table

ROOT = Path(__file__).resolve().parents[2]
FAKES = Path(__file__).with_name("fakes")
COPIED = ("Snakefile", "profiles", "workflow", "envs", "config", "resources", "src")

PAIRS = """\
sentence1,sentence2,score
A man plays the guitar on the old stage.,Somebody is making music on a stage.,4.5
The cat sleeps under the kitchen table.,Under the table in the kitchen lies a cat.,4.8
She sold her car to the neighbor last week.,The neighbor bought her car a week ago.,4.9
Heavy rain has flooded the lower streets.,The streets were dry all summer long.,0.7
They opened a small bakery near the station.,A bakery was opened close to the trains.,4
He never answers letters from the bank.,The bank never answers his letters.,2.2
The train leaves at nine in the morning.,My brother likes red wine with cheese.,0
This unspeakable thing stands here to fail.,This thing has no paraphrase at all.,3
"""
CONFIG = {
    "name": "small",
    "seed": 42,
    "runs": 2,
    "max_failure_rate": 0.1,
    "tasks": [
        {"type": "sts", "name": "pairs", "path": "pairs.csv", "description": "Eight pairs."},
        {"mteb": "BIOSSES"},
    ],
    "models": ["fake-a", {"name": "fake-b", "path": "models/fake-b"}],
    "generators": [
        {
            "name": "shuffler",
            "engine": "llamacpp",
            "model": "fake",
            "prompts": ["resources/prompts/paraphrase_completion.yaml"],
        }
    ],
    "statistics": {"resamples": 100, "permutations": 100},
}


JUDGED = {
    **CONFIG,
    "judges": [
        {
            "name": "reader",
            "engine": "llamacpp",
            "model": "fake",
            "prompt": "resources/prompts/judge_completion.yaml",
            "sampling": {"temperature": 0.5},
        }
    ],
    "validate_judge": ["pairs", "BIOSSES"],
    "min_judge_spearman": 0.1,  # the stand-in counts words, and agrees but a little
}


def hidden(path):
    """Of a killed process, which could not take it away."""
    return path.name.startswith(".")


@dataclass(frozen=True)
class Result:
    """How a program ended and what it printed, both streams together."""

    status: int
    output: str


class Project:
    """A folder like the repository's.

    Args:
        folder: where it is; `create` makes it.
        zygote: socket of the server that starts programs.
    """

    def __init__(self, folder, zygote):
        self.folder, self.zygote = Path(folder), zygote

    def create(self):
        self.folder.mkdir(parents=True)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir() and not source.is_symlink():
                ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(source, self.folder / name, ignore=ignore)
            else:
                shutil.copy2(source, self.folder / name, follow_symlinks=False)
        self.write("pairs.csv", PAIRS)
        self.write("models/fake-b/weights.bin", "A model is a folder.")
        self.configure(CONFIG)
        return self

    def copy_to(self, folder):
        """The same project elsewhere, times of files included."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder, self.zygote)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def configure(self, config):
        self.write("my.yaml", yaml.safe_dump(config, sort_keys=False))

    def snakemake(self, *arguments, configfile="my.yaml", **options):
        """Run the workflow; `options` are those of `run`."""
        return self.run("snakemake", "--configfile", configfile, *arguments, **options)

    def run(self, program, *arguments, on_start=lambda pid: None, **env):
        """Run a program of `fakes.zygote` in this folder; `on_start` is told its process id."""
        with tempfile.TemporaryFile() as output:
            status = zygote.call(
                self.zygote, program, arguments, self.folder, self.environment(**env),
                output.fileno(), output.fileno(), on_start,
            )  # fmt: skip
            output.seek(0)
            return Result(status, output.read().decode())

    def run_until(self, condition, number, *arguments, program="pteb-eval", send=os.kill, **env):
        """Run a stage; send it a signal as soon as the condition holds, if ever."""
        ended = []

        def watch(pid):
            def wait():
                while not condition() and not ended:
                    time.sleep(0.02)
                if not ended:
                    send(pid, number)

            threading.Thread(target=wait).start()

        result = self.run(program, *arguments, on_start=watch, **env)
        ended.append(True)
        return result

    def command(self, stage, cache="results/cache", output=None, **changes):
        """A stage of the finished run as a rule calls it, on `pairs`, with changed settings.

        Returns:
            The arguments, and the file that they make.
        """
        results, task = self.results, "pairs.parquet"
        place = {
            "paraphrase": "paraphrases/shuffler",
            "judge": "judgements/reader/shuffler",
            "embed": "embeddings/fake-a/shuffler",
            "score": "scores/fake-a/shuffler",
        }[stage]
        arguments = [stage, "--texts", str(results / "texts" / task)]
        if stage != "paraphrase":
            arguments += ["--paraphrases", str(results / "paraphrases" / "shuffler" / task)]
        output = output or results / place / task
        if stage == "score":
            for part in ("original", "shuffler"):
                arguments += ["--embeddings", str(results / "embeddings" / "fake-a" / part / task)]
            arguments += ["--scores", str(output)]
            arguments += ["--instances", f"{output}.instances", "--surface", f"{output}.surface"]
        else:
            arguments += ["--cache", str(cache), "--output", str(output)]
        settings = self.settings_of(f"{place}/pairs") | changes
        return [*arguments, "--settings", json.dumps(settings)], output

    def environment(self, **more):
        """Of the programs: the stand-in `pteb-eval` comes first on PATH."""
        programs = self.folder / ".programs"
        programs.mkdir(exist_ok=True)
        script = programs / "pteb-eval"
        command = f"-I -S '{zygote.__file__}' '{self.zygote}' pteb-eval"
        script.write_text(f"#!/bin/sh\nexec '{sys.executable}' {command} \"$@\"\n")
        script.chmod(0o755)
        return {
            **os.environ,
            "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
            "PYTHONPATH": str(self.folder / "src"),
            "FAKE_LOG": str(self.folder / "work.log"),
            **more,
        }

    def settings_of(self, name):
        """The settings that a file of the finished run was made with."""
        return dict(provenance_of(read_table(self.results / f"{name}.parquet").schema)["settings"])

    @property
    def results(self):
        return self.folder / "results" / "small"

    def contents(self, name="small"):
        """What a run gives, by file: all but times, logs, and pages that show their own paths."""
        folder = self.folder / "results" / name
        found = {}
        for path in folder.rglob("*"):
            place = path.relative_to(folder)
            if not path.is_file() or place.parts[0] in ("logs", "report.html") or hidden(path):
                continue
            if path.suffix == ".parquet":
                found[str(place)] = str(read_table(path).to_pylist())
            elif place.parts[0] == "mteb":
                found[str(place)] = str(json.loads(path.read_text())["scores"])
            else:
                found[str(place)] = path.read_bytes()
        return found

    def kept(self, kind):
        """Keys of what the caches hold of one kind: `paraphrases`, `judgements` or `vectors`."""
        keys = []
        for path in (self.folder / "results" / "cache" / kind).rglob("shard-*.parquet"):
            keys += read_table(path)["key"].to_pylist()
        return keys

    def work(self):
        """How often each answer and each vector was made, by (kind, what)."""
        path = self.folder / "work.log"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return Counter(tuple(json.loads(line)) for line in lines)
