"""As much of the Kubernetes API as Snakemake's plugin uses; its pods are processes of this machine.

A pod starts in an empty folder, has nothing but its own variables and the secrets, and its volumes
are links to folders that all pods share.
"""

import base64
import json
import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml


class Api:
    """A server on loopback; a context.

    Args:
        folder: where pods and volumes lie.
        image: variables that the image has.
    """

    def __init__(self, folder, image):
        self.folder, self.image = Path(folder), image
        self.secrets, self.jobs, self.processes = {}, {}, {}
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length) or "{}")
                status, content = api.handle(self.command, self.path.partition("?")[0], body)
                content = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        for process in self.processes.values():
            process.kill()
            process.wait()

    @property
    def kubeconfig(self):
        """A file for KUBECONFIG."""
        path = self.folder / "kubeconfig"
        cluster = {"server": f"http://127.0.0.1:{self.server.server_port}"}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "users": [{"name": "test", "user": {}}],
        }
        path.write_text(yaml.safe_dump(content))
        return path

    def handle(self, method, path, body):
        """Status and content of an answer."""
        kind, name = re.search(r"/namespaces/[^/]+/(\w+)(?:/([^/]+))?", path).groups()
        if kind == "pods":
            return 200, {"kind": "PodList", "apiVersion": "v1", "items": []}
        if kind == "secrets" and method == "POST":
            data = body.get("data", {})
            self.secrets |= {key: base64.b64decode(text).decode() for key, text in data.items()}
        if kind == "jobs" and method == "POST":
            self.start(body["metadata"]["name"], body["spec"]["template"]["spec"])
        if kind == "jobs" and method == "GET":
            status = self.processes[name].poll()
            counts = {} if status is None else {"failed" if status else "succeeded": 1}
            return 200, {"metadata": {"name": name}, "status": counts}
        return 200, body

    def start(self, name, pod):
        """Run a pod's only container."""
        [container] = pod["containers"]
        self.jobs[name] = pod
        workdir = self.folder / "pods" / name
        workdir.mkdir(parents=True)
        for mount in container["volumeMounts"]:
            if mount["name"] != "workdir" and mount["mountPath"].startswith("/workdir/"):
                volume = self.folder / "volumes" / mount["name"]
                volume.mkdir(parents=True, exist_ok=True)
                place = workdir / mount["mountPath"].removeprefix("/workdir/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(volume)
        variables = {
            entry["name"]: self.secrets[entry["valueFrom"]["secretKeyRef"]["key"]]
            for entry in container["env"]
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [*container["command"], *container["args"]], cwd=workdir, stdout=log, stderr=log,
                env={"PATH": os.environ["PATH"], **self.image, **variables},
            )  # fmt: skip
