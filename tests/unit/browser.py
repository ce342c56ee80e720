"""A headless Chromium, driven by its DevTools protocol over a pipe: no driver, no port."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-pipe"]  # fmt: skip
# Chromium reads from 3 and writes to 4; copied above them first, as they may be the pipes' own.
LAUNCH = """
import fcntl, os, sys
for number, pipe in zip((3, 4), [fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]]):
    os.dup2(pipe, number)
os.execv(sys.argv[3], sys.argv[3:])
"""
KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Backspace": 8,
        "Tab": 9, "Enter": 13, "Escape": 27}  # fmt: skip
TYPED = {"Enter": "\r"}


class Browser:
    """One page of a browser of its own.

    Attributes:
        requests: addresses that pages asked for, but their own files and data.
        console: messages and errors of pages.
        dialogs: kinds of dialogs that opened; each is accepted.
    """

    def __init__(self, folder):
        self.requests, self.console, self.dialogs = [], [], []
        self._events, self._unread, self._number = [], b"", 0
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()

        pipes = (read_there, write_there)
        command = [sys.executable, "-c", LAUNCH, *map(str, pipes), CHROMIUM, *FLAGS]
        command += [f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(
            command, pass_fds=pipes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read_there), os.close(write_there)
        self._read, self._write = read_here, write_here
        self.session = None
        target = next(
            one["targetId"]
            for one in self.send("Target.getTargets")["targetInfos"]
            if one["type"] == "page"
        )
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        os.close(self._read), os.close(self._write)

    def send(self, method, **params):
        """Call a method; events that come first are noted."""
        number = self._post(method, params)
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._note(answer)

    def wait_for(self, event):
        """Wait for an event, which may have come already since the last one of its kind."""
        while event not in self._events:
            self._note(self._message())
        self._events.remove(event)

    def open(self, path):
        self._events.clear()
        self.send("Page.navigate", url=path.as_uri())
        self.wait_for("Page.loadEventFired")

    def run(self, script):
        """The value of a JavaScript expression; promises are waited for."""
        result = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def press(self, *keys):
        for key in keys:
            known = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
            typed = TYPED.get(key, "" if key in KEYS else key)
            text = {"text": typed} if typed else {}
            self.send("Input.dispatchKeyEvent", type="keyDown", **known, **text)
            self.send("Input.dispatchKeyEvent", type="keyUp", **known)

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def look(self, width=1000, height=900, scheme="light"):
        """Set the window's size in CSS pixels and the preferred color scheme."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.send("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, path, beyond=True):
        """Save a picture of the window, or of what is `beyond` it, too."""
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=beyond)
        path.write_bytes(base64.b64decode(shot["data"]))

    def downloads_to(self, folder):
        session, self.session = self.session, None
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder),
                  eventsEnabled=True)  # fmt: skip
        self.session = session

    def saved(self, path, seconds=20):
        """Wait for a file that the page saves."""
        end = time.monotonic() + seconds
        while not path.exists():
            assert time.monotonic() < end, f"{path} was not saved"
            self.run("0")  # takes events in
            time.sleep(0.05)
        return path

    def _post(self, method, params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        return self._number

    def _message(self, seconds=30):
        end = time.monotonic() + seconds
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read], [], [], max(0, end - time.monotonic()))
            part = os.read(self._read, 65536) if ready else b""
            assert part, "the browser is silent or gone"
            self._unread += part
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def _note(self, message):
        method, params = message.get("method"), message.get("params", {})
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "blob:", "data:")):
                self.requests.append(url)
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["type"])
            self._post("Page.handleJavaScriptDialog", {"accept": True})
        elif method == "Runtime.exceptionThrown":
            self.console.append(params["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled":
            self.console.append(params["args"])
        elif method == "Log.entryAdded":
            self.console.append(params["entry"])
