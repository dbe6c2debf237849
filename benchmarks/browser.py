"""Drives a headless Chromium by its DevTools protocol: opens pages, runs JavaScript, presses keys,
takes pictures."""

import asyncio
import base64
import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(
        None,
        map(
            shutil.which,
            (
                "chromium",
                "chromium-browser",
                "google-chrome",
                "chromium-headless-shell",
            ),
        ),
    ),
    None,
)
_OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync"
    " --remote-debugging-port=0"
).split()
_KEYS = {
    "Enter": 13,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowDown": 40,
    "End": 35,
    "Home": 36,
    "Tab": 9,
}


class Browser:
    """One tab of a running Chromium."""

    def __init__(self, socket: Any) -> None:
        self.socket, self.number, self.events = socket, 0, list[dict[str, Any]]()

    async def call(self, method: str, **parameters: Any) -> Any:
        """The result of a method of the protocol; what the browser tells meanwhile is kept in
        `events`."""
        self.number += 1
        await self.socket.send_json(
            {"id": self.number, "method": method, "params": parameters}
        )
        while (told := await self.socket.receive_json(timeout=60)).get(
            "id"
        ) != self.number:
            self.events.append(told)
        return told["result"]

    async def js(self, expression: str) -> Any:
        """The value of an expression; of a promise, what it comes to."""
        told = await self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        if "exceptionDetails" in told:
            raise AssertionError(f"{expression[:200]}: {told['exceptionDetails']}")
        return told["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until an expression is true. Raises AssertionError after a while."""
        for _ in range(600):
            if await self.js(expression):
                return
            await asyncio.sleep(0.02)
        raise AssertionError(
            f"{expression} did not come true: {await self.js('document.body.innerText')}"
        )

    async def key(self, key: str) -> None:
        """Press a key."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                text=text if kind == "keyDown" else "",
                windowsVirtualKeyCode=_KEYS.get(key, ord(key[0])),
            )

    async def size(self, width: int, height: int = 800, dark: bool = False) -> None:
        """Set the size of the window and the colour scheme that its user prefers."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        ]
        await self.call("Emulation.setEmulatedMedia", features=scheme)

    async def picture(self, path: Path, whole: bool = False) -> None:
        """Write a picture of the window, or of the whole page."""
        told = await self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))


@contextlib.asynccontextmanager
async def browsing(url: str = "about:blank") -> AsyncIterator[Browser]:
    """A browser of its own on a page; it ends with the context."""
    import aiohttp

    # Its helpers may write there for a moment after the browser has ended.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            str(CHROMIUM),
            *_OPTIONS,
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            port_file = Path(profile) / "DevToolsActivePort"
            for _ in range(1500):
                if port_file.exists() and len(port_file.read_text().splitlines()) == 2:
                    break
                await asyncio.sleep(0.02)
            port = port_file.read_text().split()[0]
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                    tab = next(
                        each
                        for each in await answer.json(content_type=None)
                        if each["type"] == "page"
                    )
                async with session.ws_connect(
                    tab["webSocketDebuggerUrl"], max_msg_size=0
                ) as socket:
                    browser = Browser(socket)
                    for domain in ("Page", "Runtime", "Log"):
                        await browser.call(f"{domain}.enable")
                    await browser.call("Page.navigate", url=url)
                    yield browser
        finally:
            process.terminate()
            process.wait(30)
