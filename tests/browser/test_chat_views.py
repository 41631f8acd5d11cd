"""Our views in a chat, in a real browser: a program made of the official client and the official host's side
of MCP Apps (`AppBridge`) shows them in a sandboxed frame of another site, with the policy a host must set.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from browser.axe import find_barriers
from browser.chromium import Chromium, Page
from browser.screenshots import keep_screenshot
from server.conftest import Served, Serving, build_index
from server.conftest import serving as serving
from support.files import write_vault
from support.node import NotInstallable, copy_beside, install_packages, skip_without_packages
from support.reviewer import read, read_journal
from support.waiting import BOUND
from support.web_app import serve_app

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.timeout(400)]

ALL = '[tools]\nreview = "all"\npackages = false\nplugins = false\n'
HOST = Path(__file__).parent / "chat_host.mjs"
DECIDE = "obsidian_decide_proposal"

PAGE = (
    '<!doctype html><html lang="en"><title>-</title><link rel="icon" href="data:,">'
    "<style>iframe { width: 100%; border: 0 }</style>"
    '<body><script type="module" src="/host.js"></script>'
)
SPEAK = "parent.postMessage('owned','*')"
HOSTILE = f'<img src=x onerror="{SPEAK}"><script>{SPEAK}</script>'
FILES = {
    "Hello.md": "# Hello\n\nstars shine, see [[Other]] and [[Third]]\n",
    "Other.md": f"# Other\n\nback to [[Hello]]\n\n## {HOSTILE}\n\nstars {HOSTILE} shine\n",
    "Sub/Third.md": "about stars #tag\n",
    f"<img src=x onerror={SPEAK}>.md": "stars, see [[Hello]]\n",
}


@pytest.fixture(scope="session")
def host_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program as one script for the browser."""
    try:
        packages = install_packages("apps")
    except NotInstallable as reason:
        skip_without_packages(reason)
    copy_beside(packages, HOST)
    out = tmp_path_factory.mktemp("chat") / "host.js"
    bundler = packages / "node_modules" / ".bin" / "esbuild"
    command = [str(bundler), HOST.name, "--bundle", "--format=esm", f"--outfile={out}", "--log-level=error"]
    subprocess.run(command, cwd=packages, check=True, timeout=BOUND)
    return out.read_text("utf-8")


@asynccontextmanager
async def host_site(script: str, served: Served) -> AsyncIterator[str]:
    """The program's site: its page, the views as it hands them to the browser, and the way to our server."""
    views: list[dict[str, str]] = []

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    async def host(request: web.Request) -> web.Response:
        return web.Response(text=script, content_type="text/javascript")

    async def keep(request: web.Request) -> web.Response:
        views.append(json.loads(await request.text()))
        return web.Response(text=f"/view/{len(views) - 1}")

    async def view(request: web.Request) -> web.Response:
        kept = views[int(request.match_info["number"])]
        headers = {"Content-Security-Policy": kept["policy"]}
        return web.Response(text=kept["html"], content_type="text/html", headers=headers)

    async def forward(request: web.Request) -> web.StreamResponse:
        headers = {
            name: value
            for name, value in request.headers.items()
            if name.lower() in ("accept", "content-type", "last-event-id") or name.lower().startswith("mcp-")
        }
        async with served.http.request(
            request.method, f"{served.url}/mcp", data=await request.read(), headers=headers,
            timeout=aiohttp.ClientTimeout(total=None),
        ) as answer:  # fmt: skip
            passed = ("content-type", "mcp-session-id")
            given = {name: value for name, value in answer.headers.items() if name.lower() in passed}
            response = web.StreamResponse(status=answer.status, headers=given)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response

    app = web.Application()
    app.add_routes(
        [
            web.get("/", page), web.get("/host.js", host), web.post("/view", keep),
            web.get("/view/{number}", view), web.route("*", "/mcp", forward),
        ]
    )  # fmt: skip
    async with serve_app(app, handler_cancellation=True) as url:
        yield url


class Chat:
    """The program in the browser, and the views in it."""

    def __init__(self, served: Served, page: Page) -> None:
        self.served = served
        self.page = page
        self.offers: dict[str, list[str]] = {}
        self.can: dict[str, Any] = {}

    async def run(self, method: str, *values: Any) -> Any:
        return await self.page.run(f"chat.{method}({', '.join(map(json.dumps, values))})")

    async def show(self, tool: str, theme: str = "light", **values: Any) -> tuple[Page, dict[str, Any]]:
        """The view of a tool's result, and what the model sees of it."""
        shown = await self.run("show", f"obsidian_{tool}", values, theme)
        assert shown["app"]["name"].startswith("vaultbridge-")
        self.can = shown["can"]
        frame = await self.page.attach(await self.find_frame(shown["address"]))
        for domain in ("Runtime", "Log"):
            await frame.ask(f"{domain}.enable")
        return frame, shown["seen"]

    async def find_frame(self, address: str) -> str:
        async with asyncio.timeout(BOUND):
            while True:
                targets = (await self.page.ask("Target.getTargets"))["targetInfos"]
                for target in targets:
                    if target["type"] == "iframe" and target["url"] == address:
                        return str(target["targetId"])

    async def propose(self, content: str, theme: str = "light") -> tuple[Page, str]:
        """A change that waits: its view, and its id."""
        frame, seen = await self.show("edit_note", theme, name="Hello", op="append", content=content)
        data = json.loads(seen["content"][0]["text"])["data"]
        assert data["status"] == "pending"
        # What the model sees has nothing with which it could decide.
        assert set(seen["structuredContent"]["data"]) <= {"status", "id", "files", "message"}
        await self.wait_for_look(frame)
        return frame, data["id"]

    async def wait_for_look(self, frame: Page) -> None:
        """A view asks once what has become of the change: from then on it shows the answer."""
        await frame.until("document.querySelector('button.accept')")
        await self.page.until("chat.looking === 0 && chat.heard.calls.length")
        await frame.until("!document.querySelector('button.accept').disabled")

    async def read_heard(self, what: str) -> Any:
        return await self.page.run(f"chat.heard.{what}")


Chats = Callable[[], AbstractAsyncContextManager[Chat]]


@pytest.fixture
def chats(serving: Serving, chromium: Chromium, host_script: str, tmp_path: Path) -> Chats:
    @asynccontextmanager
    async def start() -> AsyncIterator[Chat]:
        write_vault(tmp_path / "Notes", FILES)
        build_index(tmp_path / "Notes")
        async with (
            serving(ALL) as served,
            host_site(host_script, served) as url,
            chromium.page(url) as page,
        ):
            await page.size(900, 2400)
            await page.until("document.title === 'ready'")
            chat = Chat(served, page)
            chat.offers = await chat.run("connect")
            yield chat
            # Nothing that a policy forbids was tried, and nothing failed unnoticed.
            assert page.complaints() == []
            assert await chat.read_heard("messages") == []
            asked = [address.split("/")[2] for address in page.list_requests() if "//" in address]
            assert {host.partition(":")[0] for host in asked} <= {"127.0.0.1", "localhost"}

    return start


async def test_what_a_search_found_is_shown_and_can_be_read(chats: Chats) -> None:
    async with chats() as chat:
        assert "obsidian_search" in chat.offers["model"]
        assert [uri for uri in chat.offers["resources"] if uri.startswith("ui://")] == [
            "ui://vaultbridge/results", "ui://vaultbridge/graph", "ui://vaultbridge/review",
        ]  # fmt: skip
        frame, seen = await chat.show("search", query="stars shine")
        assert "Hello.md" in seen["content"][0]["text"]
        assert "“stars shine”" in await frame.text("h1")
        assert "stars" in await frame.run(
            "[...document.querySelectorAll('mark')].map((mark) => mark.innerText)"
        )
        first = "li:first-child .note-head button.link"
        name = await frame.text(first)
        await frame.click(first)
        assert "stars" in await frame.text("li:first-child pre")
        await frame.click("li:first-child .small")
        await chat.page.until("chat.heard.links.length")
        (link,) = await chat.read_heard("links")
        assert link.startswith("obsidian://open?vault=Notes&file=")
        assert link == f"obsidian://open?vault=Notes&file={name}.md"
        # The frame is as high as what it shows.
        height = await frame.run("document.body.getBoundingClientRect().height")
        await chat.page.until(f"document.querySelector('iframe').clientHeight >= {int(height)}")
        assert await chat.run("teardown") == {}


async def test_the_notes_around_a_note_are_drawn_and_listed(chats: Chats) -> None:
    async with chats() as chat:
        frame, _ = await chat.show("links", name="Hello", kind="neighbourhood")
        assert await frame.text("h1") == "Hello"
        assert await frame.text("main > .quiet") == "3 notes around it"
        # Something is drawn: not every pixel is the same. A copy is read, because the browser complains of a
        # canvas that is drawn and read in turns.
        await frame.until(
            "(() => { const it = document.querySelector('canvas'); const { width, height } = it;"
            " const copy = Object.assign(document.createElement('canvas'), { width, height });"
            " const drawn = copy.getContext('2d', { willReadFrequently: true }); drawn.drawImage(it, 0, 0);"
            " return new Set(drawn.getImageData(0, 0, width, height).data).size > 8; })()"
        )
        await frame.click("[aria-label='Around it: Other']")
        await frame.until("document.querySelector('h1').innerText === 'Other'")
        assert await frame.text("main > .quiet") == "1 note around it"
        frame, _ = await chat.show("related", name="Sub/Third")
        assert "could be linked with it" in await frame.text("main > .quiet")
        assert "Not linked yet" in await frame.text("ul")


async def test_a_view_says_what_it_can_and_follows_the_call(chats: Chats) -> None:
    async with chats() as chat:
        frame, _ = await chat.show("search", query="stars shine")
        assert chat.can == {"availableDisplayModes": ["inline", "fullscreen"]}
        await frame.until("document.querySelector('h1').innerText.includes('stars shine')")
        await chat.run("partial", {"query": "sta"})
        # Answered in order: what was sent before has been seen.
        await chat.run("ask", {"id": "p", "method": "ping"})
        assert "stars shine" in await frame.text("h1")
        await chat.run("answer", "The vault is gone.")
        assert await frame.text("[role=alert]") == "The vault is gone."
        await chat.run("cancel", "asked for something else")
        cancelled = "The call was cancelled: asked for something else."
        await frame.until(f"document.querySelector('#view').innerText === {json.dumps(cancelled)}")


async def test_a_view_speaks_with_its_host_alone_and_answers_what_it_is_asked(chats: Chats) -> None:
    async with chats() as chat:
        frame, _ = await chat.show("search", query="stars shine")
        assert await chat.run("ask", {"id": "a", "method": "ping"}) == {
            "jsonrpc": "2.0", "id": "a", "result": {},
        }  # fmt: skip
        refused = await chat.run("ask", {"id": "b", "method": "tools/list"})
        assert refused["error"]["code"] == -32601
        # A message from a window that is not its host, here its own, is not heard.
        method = "ui/notifications/tool-cancelled"
        forged = {"jsonrpc": "2.0", "method": method, "params": {"reason": "forged"}}
        await frame.run(
            "new Promise((done) => { addEventListener('message', () => setTimeout(done), { once: true });"
            f" window.postMessage({json.dumps(forged)}, '*'); }})"
        )
        assert "stars shine" in await frame.text("h1")


async def test_a_person_accepts_one_rejects_one_and_edits_one(chats: Chats) -> None:
    async with chats() as chat:
        vault = chat.served.vault
        before = read(vault)
        assert DECIDE in chat.offers["app"]
        assert DECIDE not in chat.offers["model"]

        frame, accepted = await chat.propose("accepted")
        assert "Proposed: append Hello.md" in await frame.text("h1")
        assert await frame.text("ins") == "accepted"
        assert read(vault) == before
        await frame.click("button.accept")
        assert "Accepted: written as change" in await frame.text(".decided")
        assert read(vault) == before + "accepted\n"

        frame, rejected = await chat.propose("rejected")
        await frame.click(".actions .link")
        await frame.click(".actions input")
        await frame.type("Not here.")
        await frame.click("button.reject")
        assert "Rejected" in await frame.text(".decided")
        assert read(vault) == before + "accepted\n"

        frame, edited = await chat.propose("theirs")
        await frame.click(".file header .small")
        await frame.click("textarea")
        await frame.key("End", control=True)
        await frame.type("mine\n")
        await frame.until("document.querySelector('button.accept').innerText === 'Accept my version'")
        await frame.click("button.accept")
        assert "with your changes" in await frame.text(".decided")
        assert read(vault) == before + "accepted\ntheirs\nmine\n"

        # Journal, history and the model's context agree.
        assert [actor for _, actor, _ in read_journal(vault)] == ["chat-host", "chat-host"]
        for id_, reason in (
            (accepted, "accepted by a person (chat)"),
            (rejected, "rejected by a person (chat): Not here."),
            (edited, "accepted with changes by a person (chat)"),
        ):
            found = await chat.run("call", "obsidian_history", {"id": id_})
            assert reason in found["content"][0]["text"]
        context = [message["content"][0]["text"] for message in await chat.read_heard("context")]
        assert [rejected in context[1], edited in context[2]] == [True, True]

        # Undo, where it was decided.
        await frame.click("main > button")
        await frame.until("document.querySelector('.decided').innerText.startsWith('Undone')")
        assert read(vault) == before + "accepted\n"


async def test_a_model_cannot_decide_and_no_script_can_press_the_button(chats: Chats) -> None:
    async with chats() as chat:
        vault = chat.served.vault
        before = read(vault)
        frame, id_ = await chat.propose("more")
        for code in ({}, {"code": ""}, {"code": "guess"}):
            answer = await chat.run("call", DECIDE, {"id": id_, "action": "accept", **code})
            assert answer["isError"]
            assert "Nothing was decided." in answer["content"][0]["text"]
        await frame.until("!document.querySelector('button.accept').disabled")
        await frame.run("document.querySelector('button.accept').click()")
        await frame.run("document.querySelector('button.reject').click()")
        await frame.click(".actions .link")
        await frame.until("document.querySelector('.actions input')")
        assert await chat.read_heard("calls") == [DECIDE]  # The look at the beginning.
        assert (read(vault), read_journal(vault)) == (before, [])


async def test_a_note_that_changed_meanwhile_is_shown_again(chats: Chats) -> None:
    async with chats() as chat:
        vault = chat.served.vault
        arguments = {"name": "Hello", "op": "replace_text", "old": "stars shine", "new": "STARS SHINE"}
        frame, _ = await chat.show("edit_note", **arguments)
        await chat.wait_for_look(frame)
        changed = FILES["Hello.md"].replace("stars shine", "comets fly")
        (vault / "Hello.md").write_text(changed, "utf-8")
        await frame.click("button.accept")
        assert "Nothing was written." in await frame.text("main > .error-text:last-of-type")
        await frame.until("document.querySelector('button.accept').disabled")
        assert read(vault) == changed
        await frame.click("button.reject")
        assert "Rejected" in await frame.text(".decided")


async def test_what_was_decided_on_the_page_cannot_be_decided_here(chats: Chats) -> None:
    from support.reviewer import person

    async with chats() as chat, person(chat.served.vault) as page:
        frame, id_ = await chat.propose("more")
        await page.request("decide", id=id_, action="reject", reason="No.")
        await frame.click("button.accept")
        assert "is no longer waiting: rejected by a person (page): No." in await frame.text(".error-text")
        assert read_journal(chat.served.vault) == []


@pytest.mark.parametrize("tool", ["search", "context", "links", "related", "edit_note"])
async def test_nothing_in_a_note_executes(chats: Chats, tool: str) -> None:
    values: dict[str, Any] = {
        "search": {"query": f"stars OR {HOSTILE!r}"},
        "context": {"question": "stars shine"},
        "links": {"name": "Hello", "kind": "neighbourhood"},
        "related": {"name": "Sub/Third"},
        "edit_note": {"name": "Other", "op": "append", "content": HOSTILE},
    }[tool]
    async with chats() as chat:
        frame, _ = await chat.show(tool, **values)
        await frame.until("document.querySelector('h1')")
        for button in ("details:not([open]) summary", "li:last-child .note-head .link"):
            if await frame.run(f"Boolean(document.querySelector({json.dumps(button)}))"):
                await frame.click(button)
        assert "onerror" in await frame.text("#view")
        made = "document.querySelectorAll('#view :is(img, script, svg, iframe, a)').length"
        assert await frame.run(made) == 0
        # `chats` fails when any of it has spoken to the host.


async def test_a_program_that_offers_views_nothing_still_shows_their_content(chats: Chats) -> None:
    """No calls of tools, no links, nothing for the model: then there are no buttons that could not work."""
    async with chats() as chat:
        for tool, values, words in (
            ("search", {"query": "stars"}, "Third"),
            ("links", {"name": "Hello", "kind": "neighbourhood"}, "Other"),
            ("edit_note", {"name": "Hello", "op": "append", "content": "comets"}, "comets"),
        ):
            shown = await chat.run("show", f"obsidian_{tool}", values, "dark", {})
            frame = await chat.page.attach(await chat.find_frame(shown["address"]))
            await frame.until(f"document.getElementById('view').innerText.includes({words!r})")
            pressed = "[...document.querySelectorAll('button')].map((button) => button.innerText)"
            assert await frame.run(pressed) == [], tool
            assert await frame.run("document.documentElement.dataset.theme") == "dark"
        assert await chat.read_heard("calls") == []
        assert "Decide on" in await frame.text("#view")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 900])
async def test_everybody_can_use_the_views(chats: Chats, theme: str, width: int) -> None:
    async with chats() as chat:
        await chat.page.size(width, 2400)
        other = {"light": "dark", "dark": "light"}[theme]
        for tool, values in (
            ("search", {"query": "stars"}),
            ("links", {"name": "Hello"}),
            ("edit_note", {"name": "Hello", "op": "replace_text", "old": "stars", "new": "comets"}),
        ):
            frame, _ = await chat.show(tool, other, **values)
            await frame.until("document.querySelector('main')")
            await chat.page.run(f"chat.setTheme({theme!r})")
            await frame.until(f"document.documentElement.dataset.theme === {theme!r}")
            await frame.until("!document.getAnimations().length")
            if tool == "edit_note":
                await frame.until("!document.querySelector('button.accept').disabled")
            assert await find_barriers(frame, skip=["region"]) == []
            assert await frame.run("document.documentElement.scrollWidth <= innerWidth")
        await keep_screenshot(chat.page, f"chat-{width}-{theme}")
