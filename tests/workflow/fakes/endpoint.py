"""An OpenAI-compatible endpoint that answers as the stand-in generator does, and can be broken."""

import json
import random
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint(ThreadingHTTPServer):
    """A server on loopback.

    Attributes:
        state: `well`; `broken` (answers HTTP 500), `gone` (hangs up at once), `stuck` (is silent).
        sick_after: the number of answers after which `sickness` becomes its state.
        seconds: how long that lasts; None: until somebody says `well`.
        answered: how often each (prompt, seed) was answered.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, sickness="gone", sick_after=None, seconds=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state, self.sickness = "well", sickness
        self.sick_after, self.seconds = sick_after, seconds
        self.answered, self.lock = Counter(), threading.Lock()

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """Clients that hang up are no news."""

    def count(self, question):
        with self.lock:
            self.answered[question] += 1
            if self.answered.total() == self.sick_after:
                self.state = self.sickness
                if self.seconds is not None:
                    threading.Timer(self.seconds, setattr, (self, "state", "well")).start()

    @property
    def options(self):
        return {"base_url": f"http://127.0.0.1:{self.server_address[1]}/v1"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Quiet."""

    def do_GET(self):
        self._send(200, {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(0.01)
        state = self.server.state
        if state == "well":
            words = body["prompt"].splitlines()[-2].removeprefix("Sentence: ").split()
            random.Random(body["seed"]).shuffle(words)
            text = "" if "unspeakable" in words else " ".join(words)
            usage = {"prompt_tokens": 9, "completion_tokens": len(words)}
            self._send(200, {"choices": [{"finish_reason": "stop", "text": text}], "usage": usage})
            self.server.count((body["prompt"], body["seed"]))
        elif state == "broken":
            self._send(500, {"error": "out of order"})
        else:
            time.sleep(60 if state == "stuck" else 0)
            self.close_connection = True

    def _send(self, status, content):
        payload = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)
