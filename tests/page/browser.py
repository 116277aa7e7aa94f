"""Debian's Chromium, driven through chromedriver by Python's standard library alone."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request


class Browser:
    """One headless browser. `width` x `height` in CSS pixels; `dark` and `print` by emulation."""

    def __init__(self, width=1280, height=900):
        self.home = tempfile.mkdtemp(prefix="cigri-browser-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True,
                                       stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.home})
        for line in self.driver.stdout:
            if "successfully on port" in line:
                self.port = int(line.rsplit("port", 1)[1].strip(" .\n"))
                break
        options = {"binary": shutil.which("chromium"),
                   "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                            f"--user-data-dir={self.home}/profile", f"--window-size={width},{height}",
                            "--hide-scrollbars"]}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = "/session/" + made["sessionId"]
        self.size(width, height)

    def call(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data,
                                         {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"].split("\n")[0]) from None

    def cdp(self, command, **parameters):
        return self.call("POST", self.session + "/goog/cdp/execute",
                         {"cmd": command, "params": parameters})

    def size(self, width, height, mobile=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=mobile)

    def dark(self, on):
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def go(self, url):
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", self.session + "/execute/sync",
                         {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        self.call("POST", self.session + "/timeouts", {"script": 110000})
        return self.call("POST", self.session + "/execute/async",
                         {"script": script, "args": list(arguments)})

    def text(self):
        return self.run("return document.body.innerText")

    def await_(self, script, what, seconds=30):
        """Returns what `script` gives as soon as that is true; fails with `what` otherwise."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run("return (" + script + ")")
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError(f"{what}: not within {seconds} s; the page says:\n{self.text()[:3000]}")

    def await_text(self, text, seconds=30):
        self.await_(f"document.body.innerText.includes({json.dumps(text)})", f'"{text}"', seconds)

    def await_gone(self, text, seconds=30):
        self.await_(f"!document.body.innerText.includes({json.dumps(text)})", f'"{text}" gone', seconds)

    def click(self, label, within="body"):
        """Clicks the button or link with exactly this text."""
        self.await_("[...document.querySelectorAll(%s)].some((b) => b.innerText.trim() === %s && !b.disabled)"
                    % (json.dumps(f"{within} button, {within} a, {within} summary"), json.dumps(label)),
                    f'a button "{label}"')
        self.run("[...document.querySelectorAll(arguments[0])].find((b) => b.innerText.trim() === "
                 "arguments[1] && !b.disabled).click()",
                 f"{within} button, {within} a, {within} summary", label)

    def type(self, selector, text):
        """Sets a field as typing would, and returns when the page has drawn it: a button pressed before
        that would still act on what the field had."""
        self.run_async("""const field = document.querySelector(arguments[0]);
            const proto = Object.getPrototypeOf(field);
            Object.getOwnPropertyDescriptor(proto, 'value').set.call(field, arguments[1]);
            field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input',
                                          {bubbles: true}));
            const done = arguments[arguments.length - 1];
            requestAnimationFrame(() => setTimeout(done));""", selector, text)

    def press(self, *keys):
        actions = []
        for key in keys:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", self.session + "/actions",
                  {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def picture(self, path, whole=True):
        shot = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as out:
            out.write(base64.b64decode(shot["data"]))

    def complaints(self):
        """What the console got since the last call, errors and warnings."""
        lines = self.call("POST", self.session + "/se/log", {"type": "browser"})
        return [line["message"] for line in lines if line["level"] in ("SEVERE", "WARNING")]

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.home, ignore_errors=True)
