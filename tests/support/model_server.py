"""A real HTTP server that speaks the interface of `POST /v1/embeddings`, and misbehaves on request.

Its model is honest in the way that matters to a test: texts with the same words have similar vectors, in any
script, and the words of a prompt weigh nothing."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from typing import Any

from aiohttp import web

from vaultbridge.index.fold import split_words

SECONDS = 60.0
"""The longest that a test waits for anything."""


class ModelServer:
    """`with ModelServer() as model:` serves at `model.url`. The attributes may be changed while it runs."""

    def __init__(self, *, dimensions: int = 64) -> None:
        self.dimensions = dimensions
        self.seed = b"one model"
        self.status = 200
        self.mode = "ok"
        self.refused_above = 0
        """Texts longer than this many characters are refused; 0: none."""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.peers: list[tuple[str, int]] = []
        """The client's end of the connection of each request."""
        self.most_texts = 0
        """A request with more texts is never answered; 0: any number is."""
        self.prompts: tuple[str, ...] = ()
        self.synonyms: dict[str, str] = {}
        self.hold = threading.Event()
        """Answers wait for it."""
        self.hold.set()
        self.arrived = threading.Condition()
        self._transports: set[asyncio.Transport] = set()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="model-server", daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        return [text for request in list(self.requests) for text in request["input"]]

    def wait_for(self, count: int) -> None:
        """Wait until so many requests have arrived."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= count, SECONDS), self.requests

    def wait_for_text(self, text: str) -> None:
        """Wait until a text that contains this one has arrived."""
        with self.arrived:
            found = self.arrived.wait_for(lambda: any(text in sent for sent in self.texts), SECONDS)
            assert found, self.texts

    def close_connections(self) -> None:
        async def close() -> None:
            for transport in self._transports:
                transport.close()
            self._transports.clear()
            # Closed in the next turn of the loop.
            await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(close(), self._loop).result(SECONDS)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        assert self._ready.wait(SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.hold.set()
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        app = web.Application()
        app.router.add_post("/v1/embeddings", self._answer)
        app.router.add_post("/elsewhere", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        with self.arrived:
            self.requests.append(body)
            self.headers.append(dict(request.headers))
            assert request.transport is not None
            self.peers.append(request.transport.get_extra_info("peername"))
            self._transports.add(request.transport)
            self.arrived.notify_all()
        await asyncio.to_thread(self.hold.wait)
        if self.most_texts and len(body["input"]) > self.most_texts:
            await self._stop.wait()
        if self.mode == "redirect":
            raise web.HTTPTemporaryRedirect(f"http://127.0.0.1:{self.port}/elsewhere")
        if self.mode == "garbage":
            return web.Response(body=b"<html>not an answer</html>", content_type="text/html")
        if self.mode == "drip":
            return await self._drip(request)
        if self.status != 200:
            # As some servers do, it repeats the key.
            return web.json_response(
                {"error": {"message": f"bad key {request.headers.get('Authorization')}"}}, status=self.status
            )
        if self.refused_above and any(len(text) > self.refused_above for text in body["input"]):
            return web.json_response({"error": {"message": "too long"}}, status=400)
        if any(not text.strip() for text in body["input"]):
            return web.json_response({"error": {"message": "empty input"}}, status=400)
        data = [
            {"object": "embedding", "index": at, "embedding": self.vector(text)}
            for at, text in enumerate(body["input"])
        ]
        if self.mode == "one too few":
            data = data[1:]
        if self.mode.startswith("numbered "):
            for item, number in zip(data, self.mode.split()[1:], strict=False):
                item["index"] = int(number)
        if self.mode == "unnumbered":
            data = [{"embedding": item["embedding"]} for item in data[::-1]]
        if self.mode == "uneven" and len(data) > 1:
            data[0]["embedding"] = [1.0]
        return web.json_response({"object": "list", "model": body["model"], "data": data[::-1]})

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        """Answers one byte at a time, without end."""
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while not self._stop.is_set():
                await response.write(b" ")
                await asyncio.sleep(0.02)
        except ConnectionError:
            pass
        return response

    def vector(self, text: str) -> list[float]:
        for prompt in self.prompts:
            text = text.removeprefix(prompt)
        for word, meaning in self.synonyms.items():
            text = text.replace(word, meaning)
        numbers = [0.0] * self.dimensions
        for word in split_words(text):
            bits = hashlib.shake_256(self.seed + word.encode()).digest(self.dimensions)
            for at, byte in enumerate(bits):
                numbers[at] += byte / 127.5 - 1
        return numbers if any(numbers) else [1.0] * self.dimensions
