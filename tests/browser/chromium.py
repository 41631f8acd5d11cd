"""A real Chromium without a window, driven over its DevTools protocol: no driver program, no package.

    with Chromium.started(folder) as chromium:
        async with chromium.page("http://127.0.0.1:3000/") as page:
            await page.click("#search button")
            await page.until("document.title === 'Found'")

Clicks and keys go through the browser's own input, so what covers a button or is disabled stays in the way.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
import websockets

from support.dial import dial
from support.waiting import BOUND

NAMES = (
    # The command of that name is a script that ends before the browser, which still writes its profile.
    "/usr/lib/chromium/chromium-headless-shell",
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "chrome",
)

FOREIGN_HOST = "evil.test"
"""A name that the browser resolves to this machine, so that a page there has another origin."""

KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}
CONTROL = 2
"""The bit of the Control key among the modifiers."""
SHIFT = 8


UNTIL = """new Promise((done) => {
  let left = 100;
  const look = () => {
    let value;
    try { value = (%s); } catch { /* not there yet */ }
    if (value || !left--) done(value instanceof Node || value);
    else setTimeout(look, 10);
  };
  look();
})"""
"""Looks a hundred times before it comes back, so that a tab that goes elsewhere is not waited for."""

AIM = """(async () => {
  // Where it is when it has held still from one frame to the next: a page that is being laid out moves.
  // A press that would hit something else, because it has moved again since, is kept from the page.
  for (let last = ''; ; await new Promise(requestAnimationFrame)) {
    const node = document.querySelector(%s);
    if (!node || node.disabled) return null;
    node.scrollIntoView({ block: 'center', behavior: 'instant' });
    const box = node.getBoundingClientRect();
    const [x, y] = [box.x + Math.min(box.width / 2, 40), box.y + box.height / 2];
    const at = document.elementFromPoint(x, y);
    const now = `${x} ${y} ${node.contains(at)}`;
    if (last !== now) { last = now; continue; }
    if (!node.contains(at)) return { over: at?.outerHTML.slice(0, 200) ?? '' };
    window.aim?.abort();
    const aim = Object.assign(new AbortController(), { hit: false, missed: false });
    window.aim = aim;
    const listen = (event) => {
      // What is gone after the button went down was taken away by the press itself; before, by the page.
      const isFirst = event.type === 'pointerdown';
      aim.missed ||= (isFirst || node.isConnected) && !event.composedPath().includes(node);
      aim.hit ||= event.type === 'mouseup' && !aim.missed;
      if (aim.missed) event.preventDefault(), event.stopImmediatePropagation();
      else if (event.type === 'click') aim.abort(); // a label clicks its control next
    };
    for (const kind of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'])
      addEventListener(kind, listen, { capture: true, signal: aim.signal });
    return { x, y };
  }
})()"""
"""Null when there is nothing to click at the moment, `over` is what covers it."""

HIT = "(() => { window.aim?.abort(); return window.aim ? window.aim.hit : true; })()"
"""A page that has gone elsewhere since has been hit."""


HINTS = ("rendering", "violation", "intervention", "recommendation", "other")
"""Sources in the browser's log that give advice on speed. Whether they do depends on how busy the machine is:
a canvas was read often, an image came late, a file loaded in advance was not used soon."""


class NoBrowser(Exception):
    pass


def find_browser() -> str:
    for name in NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    raise NoBrowser(f"no browser is installed (looked for {', '.join(NAMES)})")


def give_up(reason: NoBrowser) -> NoReturn:
    """Skip a test that needs a browser, or fail where there has to be one."""
    if os.environ.get("VAULTBRIDGE_NEEDS_BROWSER"):
        pytest.fail(str(reason))
    pytest.skip(str(reason))


class Chromium:
    def __init__(self, port: int) -> None:
        self.port = port

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Iterator[Chromium]:
        """`folder` becomes its home and profile, and holds all it writes."""
        command = [find_browser(), "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={folder}"]
        command += ["--no-first-run", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
        command += ["--disable-component-update", "--disable-dev-shm-usage", "--disable-extensions"]
        # Else the headless shell keeps frames of other sites in the page's process, and DevTools lists none.
        command.append("--site-per-process")
        command.append(f"--host-resolver-rules=MAP {FOREIGN_HOST} 127.0.0.1")
        if os.getuid() == 0:
            command.append("--no-sandbox")  # Chromium refuses to run as root with one
        process = subprocess.Popen(
            [*command, "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HOME": str(folder)},
            start_new_session=True,
        )
        try:
            yield cls(_read_port(process))
        finally:
            # The command may be a script that waits for the browser and ends without it.
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(BOUND)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    @asynccontextmanager
    async def page(self, url: str = "about:blank") -> AsyncIterator[Page]:
        """A tab in a context of its own: no storage of another test."""
        socket_url = await asyncio.to_thread(self._socket_url)
        async with dial(socket_url, max_size=None, compression=None) as socket:
            browser = DevTools(socket)
            context = (await browser.ask("Target.createBrowserContext"))["browserContextId"]
            target = await browser.ask("Target.createTarget", url="about:blank", browserContextId=context)
            attached = await browser.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
            page = Page(browser, attached["sessionId"])
            for domain in ("Page", "Runtime", "Log", "Network"):
                await page.ask(f"{domain}.enable")
            try:
                await page.size(1280, 900)
                await page.go(url)
                yield page
            finally:
                await browser.ask("Target.disposeBrowserContext", browserContextId=context)
                await browser.close()

    def _socket_url(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/version", timeout=BOUND) as answer:
            return str(json.load(answer)["webSocketDebuggerUrl"])


def _read_port(process: subprocess.Popen[str]) -> int:
    """Chromium prints its port on stderr, among much else that has to be read and dropped."""
    assert process.stderr is not None
    stderr = process.stderr
    found: queue.Queue[int | str] = queue.Queue()

    def read() -> None:
        output = ""
        with stderr:
            for line in stderr:
                output = (output + line)[-500:]
                if "DevTools listening on" in line:
                    found.put(int(line.rpartition(":")[2].partition("/")[0]))
        found.put(output)

    threading.Thread(target=read, daemon=True).start()
    port = found.get(timeout=BOUND)
    if isinstance(port, str):
        raise NoBrowser(f"the browser did not start: {port}")
    return port


class DevToolsError(Exception):
    """The browser could not do it, for example because the tab went elsewhere meanwhile."""


class DevTools:
    """The one socket, with the messages of every session on it."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._awaited: dict[str, list[asyncio.Future[dict[str, Any]]]] = {}
        self.events: list[dict[str, Any]] = []
        self._reader = asyncio.create_task(self._read())

    async def ask(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        id_ = next(self._ids)
        message: dict[str, Any] = {"id": id_, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._asked[id_] = asyncio.get_running_loop().create_future()
        await self._socket.send(json.dumps(message))
        answer = await asyncio.wait_for(self._asked[id_], BOUND)
        if "error" in answer:
            raise DevToolsError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    async def _read(self) -> None:
        async for data in self._socket:
            message = json.loads(data)
            if message.get("id") in self._asked:
                asked = self._asked.pop(message["id"])
                if not asked.done():
                    asked.set_result(message)
            else:
                self.events.append(message)
                for waiting in self._awaited.pop(message["method"], ()):
                    if not waiting.done():
                        waiting.set_result(message)

    def expect_event(self, method: str) -> asyncio.Future[dict[str, Any]]:
        """The next event of that name from now on."""
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._awaited.setdefault(method, []).append(future)
        return future

    async def close(self) -> None:
        await self._socket.close()
        await asyncio.wait_for(self._reader, BOUND)


class Page:
    def __init__(self, browser: DevTools, session: str) -> None:
        self._browser = browser
        self._session = session

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return await self._browser.ask(method, self._session, **params)

    async def attach(self, target: str) -> Page:
        """Another tab, which this one opened."""
        attached = await self._browser.ask("Target.attachToTarget", targetId=target, flatten=True)
        return Page(self._browser, attached["sessionId"])

    async def go(self, url: str) -> None:
        """Open an address and wait until it is loaded. Another fragment of the same page loads nothing."""
        loaded = self._browser.expect_event("Page.loadEventFired")
        if "loaderId" in await self.ask("Page.navigate", url=url):
            await asyncio.wait_for(loaded, BOUND)

    async def reload(self) -> None:
        """As a person who says that they want it when the page asks."""
        loaded = self._browser.expect_event("Page.loadEventFired")
        asked = self._browser.expect_event("Page.javascriptDialogOpening")
        await self.ask("Page.reload")
        await asyncio.wait((loaded, asked), timeout=BOUND, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            await self.ask("Page.handleJavaScriptDialog", accept=True)
        asked.cancel()
        await asyncio.wait_for(loaded, BOUND)

    async def run(self, expression: str) -> Any:
        """The value of an expression, or of the promise that it is."""
        answer = await self.ask(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, condition: str) -> Any:
        """Wait until an expression is true; gives its value. It is looked at in the browser, near at hand."""
        try:
            async with asyncio.timeout(BOUND):
                while True:
                    value = await self._look(UNTIL % condition)
                    if value:
                        return value
        except TimeoutError:
            text = await self.run("document.body.innerText")
            raise AssertionError(f"never came true: {condition}\n{text}\n{self.complaints()}") from None

    async def _look(self, expression: str) -> Any:
        """None while the tab is on its way from one page to another."""
        try:
            return await self.run(expression)
        except DevToolsError:
            return None

    async def text(self, selector: str) -> str:
        return str(await self.until(f"document.querySelector({json.dumps(selector)})?.innerText"))

    async def click(self, selector: str) -> None:
        """With the mouse, in the middle of the element, which must not stay covered."""
        aim = AIM % json.dumps(selector)
        chosen = f"document.querySelector({json.dumps(selector)})"
        seen: Any = None
        try:
            async with asyncio.timeout(BOUND):
                while True:
                    seen = await self._look(aim)
                    if seen is None:
                        await self._look(UNTIL % f"{chosen} && !{chosen}.disabled")
                    elif "x" in seen and await self._hit(seen["x"], seen["y"]):
                        return
        except TimeoutError:
            text = await self.run("document.body.innerText")
            why = f"is covered by {seen['over']}" if seen and "over" in seen else "never could be clicked"
            raise AssertionError(f"{selector} {why}\n{text}\n{self.complaints()}") from None

    async def _hit(self, x: float, y: float) -> bool:
        """Presses there; whether the element was still there."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        return await self._look(HIT) is not False

    async def type(self, text: str) -> None:
        await self.ask("Input.insertText", text=text)

    async def key(self, key: str, *, control: bool = False, shift: bool = False) -> None:
        code = KEYS.get(key) or ord(key.upper())
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 and not control else "")
        modifiers = control * CONTROL + shift * SHIFT
        press = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        await self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **press)
        await self.ask("Input.dispatchKeyEvent", type="keyUp", **press)

    async def back(self) -> None:
        history = await self.ask("Page.getNavigationHistory")
        before = history["entries"][history["currentIndex"] - 1]
        await self.ask("Page.navigateToHistoryEntry", entryId=before["id"])

    async def press(self, letter: str) -> None:
        """One character, as a key of its own: `j`, `?`."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": letter} if kind == "keyDown" else {}
            await self.ask("Input.dispatchKeyEvent", type=kind, key=letter, **text)

    async def size(self, width: int, height: int) -> None:
        await self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def colours(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        await self.ask("Emulation.setEmulatedMedia", features=[feature])

    async def picture(self) -> bytes:
        shot = await self.ask("Page.captureScreenshot", format="png")
        return base64.b64decode(shot["data"])

    @asynccontextmanager
    async def holding(
        self, pattern: str, *, answered: bool = False
    ) -> AsyncIterator[asyncio.Future[dict[str, Any]]]:
        """Until the end, requests to such addresses (`*/trace?*`) are kept from the server or, once it has
        `answered`, their answers from the page. Gives the first that is held."""
        held = self._browser.expect_event("Fetch.requestPaused")
        stage = "Response" if answered else "Request"
        await self.ask("Fetch.enable", patterns=[{"urlPattern": pattern, "requestStage": stage}])
        # The tab learns of it a moment after the browser has answered.
        await self.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        try:
            yield held
        finally:
            await self.ask("Fetch.disable")

    def complaints(self) -> list[str]:
        """Uncaught exceptions, errors that the browser logged (refused loads, broken rules), and its warnings
        that are no mere hints."""
        found = []
        for event in self._browser.events:
            if event["method"] == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                found.append(str(details.get("exception", {}).get("description", details["text"])))
            elif event["method"] == "Log.entryAdded":
                entry = event["params"]["entry"]
                if entry["level"] == "error" or entry["source"] not in HINTS:
                    found.append(str(entry["text"]))
        return found

    def forget(self) -> None:
        self._browser.events.clear()

    def list_requests(self) -> list[str]:
        """Every address that the tab asked for, WebSockets included."""
        found = []
        for event in self._browser.events:
            if event["method"] == "Network.requestWillBeSent":
                found.append(str(event["params"]["request"]["url"]))
            elif event["method"] == "Network.webSocketCreated":
                found.append(str(event["params"]["url"]))
        return found
