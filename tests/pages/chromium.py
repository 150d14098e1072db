"""A real browser, by its debugging protocol: pages are opened, typed into, pressed and pictured."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from websockets.sync.client import ClientConnection, connect

from tests.world import eventually

# Where a page keeps the visitor's key.
KEY = "sessionStorage.getItem('muster-api-key')"
PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")


_KEYS = {"Tab": 9, "Enter": 13}
_FOCUS = """(() => {
  const one = document.activeElement;
  return ((one.labels && one.labels[0]) || one).textContent.trim().split("\\n")[0];
})()"""


def _button(words: str) -> str:
    """JavaScript for the button that says this."""
    return (
        "[...document.querySelectorAll('button')]"
        f".find((one) => one.checkVisibility() && one.textContent.includes({json.dumps(words)}))"
    )


class Gone(Exception):
    """What was spoken to is not there any more."""


class Tab:
    """One tab, without anything from another run."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self._frame: str | None = None
        self.ask("Page.enable")
        self.ask("Runtime.enable")

    def ask(self, method: str, **given: Any) -> Any:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": given}))
        while True:
            told = json.loads(self._socket.recv(timeout=60))
            if told.get("id") == number:
                if "context" in told.get("error", {}).get("message", ""):
                    raise Gone(told["error"]["message"])
                assert "error" not in told, told
                return told["result"]

    def size(self, width: int, height: int, mobile: bool = False) -> None:
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.ask("Emulation.setDeviceMetricsOverride", **shape)

    def open(self, url: str) -> None:
        self._frame = None
        self.ask("Page.navigate", url=url)

    def enter(self) -> None:
        """From now on into the page's only frame, whatever site that is of."""
        tree = eventually(lambda: self.ask("Page.getFrameTree")["frameTree"].get("childFrames"))
        self._frame = tree[0]["frame"]["id"]

    def leave(self) -> None:
        """Back to the page around it."""
        self._frame = None

    def run(self, code: str) -> Any:
        """What the page's own JavaScript says to this; after `enter`, its frame's document."""
        given = {"expression": code, "returnByValue": True, "awaitPromise": True}
        if self._frame is not None:
            world = self.ask("Page.createIsolatedWorld", frameId=self._frame)
            given["contextId"] = world["executionContextId"]
        told = self.ask("Runtime.evaluate", **given)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def text(self) -> str:
        return str(self.run("document.body ? document.body.innerText : ''"))

    def wait(self, words: str, seconds: float = 40) -> str:
        """The page's text, once it holds these words."""
        try:
            eventually(lambda: words in self._text_so_far(), seconds, repr(words))
        except AssertionError as error:
            raise AssertionError(f"{error} in {self.text()}") from None
        return self.text()

    def _text_so_far(self) -> str:
        try:
            return self.text()
        except Gone:
            # The page, or its frame, is just giving way to the next one.
            return ""

    def type(self, name: str, text: str) -> None:
        self.run(
            f"(() => {{ const field = document.querySelector('[name={name}]');"
            f" field.value = {json.dumps(text)};"
            " field.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )

    def press(self, words: str) -> None:
        """Press the button that says this."""
        self.run(f"{_button(words)}.click()")

    def press_twice(self, words: str) -> None:
        """Press the button that says this twice, as fast as a mouse can."""
        self.run(f"{_button(words)}.scrollIntoView({{block: 'center'}})")
        place = self.run(
            f"(() => {{ const at = {_button(words)}.getBoundingClientRect();"
            " return {x: at.x + at.width / 2, y: at.y + at.height / 2}; })()"
        )
        for count in (1, 2):
            for kind in ("mousePressed", "mouseReleased"):
                told = {"type": kind, "button": "left", "clickCount": count}
                self.ask("Input.dispatchMouseEvent", **place, **told)

    def key(self, name: str) -> None:
        """Press a key of the keyboard: Tab, Enter."""
        told: dict[str, Any] = {"key": name, "code": name, "windowsVirtualKeyCode": _KEYS[name]}
        if name == "Enter":
            told["text"] = "\r"
        self.ask("Input.dispatchKeyEvent", type="keyDown", **told)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **told)

    def write(self, text: str) -> None:
        """Type into what has the focus."""
        self.ask("Input.insertText", text=text)

    def focus(self) -> str:
        """What has the focus, by what it is called for people."""
        return str(self.run(_FOCUS))

    def dark(self, is_dark: bool) -> None:
        shown = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[shown])

    def picture(self, path: Path) -> None:
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """A browser of its own with one tab; its profile is in the folder."""
    assert PROGRAM is not None, "install chromium first"
    command = [
        PROGRAM,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        # Frames stay in their page's process, where the tab's own socket reaches them.
        "--disable-features=IsolateSandboxedIframes",
    ]
    command += ["--remote-debugging-port=0", f"--user-data-dir={folder / 'profile'}", "about:blank"]
    log = folder / "chromium.log"
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
    try:
        found = eventually(
            lambda: re.search(r"ws://(127\.0\.0\.1:\d+)/", log.read_text(errors="replace")), 60
        )
        tabs = requests.get(f"http://{found[1]}/json", timeout=20).json()
        page = next(one for one in tabs if one["type"] == "page")
        with connect(page["webSocketDebuggerUrl"], max_size=None) as socket:
            yield Tab(socket)
    finally:
        process.terminate()
        process.wait(30)
