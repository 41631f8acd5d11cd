"""The page's settings: vaults and scopes, tokens, connected assistants, the companion, `doctor`.

The routes are below `/page/api` and only for the owner. Settings from the configuration file are shown with
how to change them, but not changed here: the file is the owner's, with its own comments and order. Tokens can
be made and revoked. `doctor` and `companion status` are run as commands in a separate process, so that page
and command line always show the same.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from vaultbridge import __version__
from vaultbridge.assistants.catalog import ASSISTANTS, find_config_file, is_installed
from vaultbridge.assistants.config_file import list_servers, read_text
from vaultbridge.assistants.entry import parse_entry, starts_vaultbridge
from vaultbridge.assistants.shared import find_shared_vault, read_shared_entry
from vaultbridge.errors import JSON_ERRORS, EngineFailure, InvalidArgument, TimedOut, VaultbridgeError
from vaultbridge.limits import MIB
from vaultbridge.review.policy import parse_review
from vaultbridge.server.unused_scopes import delete_unused_scopes
from vaultbridge.system import expand_home, read_file_uri
from vaultbridge.tokens import describe_token, parse_lifetime
from vaultbridge.web.api.routes import PageApi, PageCall

if TYPE_CHECKING:
    from vaultbridge.activity.clients import Activity
    from vaultbridge.assistants.catalog import Assistant
    from vaultbridge.engine import Engine
    from vaultbridge.server.config.model import Config
    from vaultbridge.server.servers import ServedVault
    from vaultbridge.tokens import TokenStore

COMMAND_SECONDS: Final = 120.0
"""How long a command may take: `doctor` starts every configured server, one after the other."""

COMMAND_BYTES: Final = MIB
"""The longest output of a command that is read."""

PATTERNS: Final = 100
"""The most patterns, and the most vaults, of one token; the store has its own limit for all tokens."""


class MakeToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    name: str
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    vaults: tuple[str, ...] = ()
    review: str = "off"
    expires: str = ""


class ServedFacts(Struct, frozen=True, kw_only=True):
    """What a running server knows about itself. `config` returns the configuration in force."""

    config: Callable[[], Config]
    config_file: Path
    vaults: Sequence[ServedVault]
    tokens: TokenStore
    activity: Activity
    url: str
    port: int
    tls: bool
    announced: bool
    shares_selection: Callable[[], bool]
    count_tools: Callable[[], int]
    has_companion: Callable[[str], bool]
    environ: Mapping[str, str]


class SettingsRoutes:
    def __init__(self, facts: ServedFacts) -> None:
        self._facts = facts
        self._since = time.time()
        self._commands = asyncio.Lock()
        """One command at a time, however many pages are open."""

    async def show(self, call: PageCall) -> dict[str, Any]:
        facts = self._facts
        config = facts.config()
        vaults = await asyncio.gather(*(self._show_vault(call, vault, config) for vault in facts.vaults))
        return {
            "version": __version__,
            "server": {
                "url": facts.url,
                "host": config.server.host,
                "port": facts.port,
                "pid": os.getpid(),
                "since": self._since,
                "tls": facts.tls,
                "tokensRequired": config.tokens.required,
            },
            "configFile": str(facts.config_file),
            "configExists": facts.config_file.is_file(),
            "vaults": vaults,
            "scope": _render_scope(config.scope),
            "tools": {
                "profile": config.tools.profile,
                "count": facts.count_tools(),
                "review": config.tools.review,
            },
            "ide": {"enabled": config.ide.enabled, "announced": facts.announced, "name": config.ide.name},
            "shareSelection": facts.shares_selection(),
            "advice": self._advise(),
        }

    def _advise(self) -> dict[str, str]:
        file = self._facts.config_file
        write = f"Write it into {file}" if not file.is_file() else f"Edit {file}"
        return {
            "vaults": f"{write}, one [[vaults]] for each, and restart `vaultbridge serve`.",
            "scope": f"{write}: [scope] is for all vaults, [[vaults]] for one. It takes effect at once.",
            "tools": f"{write}: [tools] enable and disable take effect at once, the profile with a restart.",
            "tokensRequired": f"{write}: [tokens] required = true takes effect at once.",
            "ide": f"{write}: [ide] takes effect with a restart.",
        }

    async def _show_vault(self, call: PageCall, vault: ServedVault, config: Config) -> dict[str, Any]:
        described = next((known for known in config.vaults if known.path == vault.config.path), vault.config)

        def read() -> dict[str, Any]:
            engine: Engine = call.grant.engines[vault.name]
            status = engine.queries.status
            return {
                "name": vault.name,
                "folder": str(vault.folder),
                **_render_scope(described),
                "outsideLinks": described.outside_links,
                "review": described.review,
                "counts": engine.queries.counts(),
                "index": {"complete": status.complete, "done": status.done, "total": status.total},
                "advice": engine.folder_problem,
            }

        try:
            return await asyncio.to_thread(read)
        except VaultbridgeError as error:
            return {"name": vault.name, "folder": str(vault.folder), "advice": str(error)}

    # Tokens.

    async def list_tokens(self, call: PageCall) -> dict[str, Any]:
        tokens = await asyncio.to_thread(self._facts.tokens.list_tokens)
        in_use = [client.principal for client in self._facts.activity.clients.values() if client.is_connected]
        return {
            "tokens": [
                {
                    **describe_token(token),
                    "expired": self._facts.tokens.is_expired(token),
                    "inUse": in_use.count(token.principal),
                }
                for token in tokens
            ]
        }

    async def make_token(self, call: PageCall) -> dict[str, Any]:
        wanted = await call.body(MakeToken)
        for name, entries in (("allow", wanted.allow), ("deny", wanted.deny), ("vaults", wanted.vaults)):
            if len(entries) > PATTERNS:
                raise InvalidArgument(f"{name} has more than {PATTERNS} entries.", argument=name)
        served = {vault.name for vault in self._facts.vaults}
        if unknown := next((name for name in wanted.vaults if name not in served), ""):
            raise InvalidArgument(
                f"No vault named {unknown[:60]!r} is served.",
                argument="vaults",
                hint=f"Choose one of: {', '.join(sorted(served))}.",
            )
        review = parse_review(wanted.review)
        token, secret = await asyncio.to_thread(
            lambda: self._facts.tokens.make(
                wanted.name,
                read_only=wanted.read_only,
                allow=wanted.allow,
                deny=wanted.deny,
                vaults=wanted.vaults,
                seconds=parse_lifetime(wanted.expires, argument="expires"),
                review=review,
            )
        )
        return {"token": {**describe_token(token), "expired": False, "inUse": 0}, "secret": secret}

    async def revoke_token(self, call: PageCall) -> dict[str, Any]:
        token = await asyncio.to_thread(self._facts.tokens.revoke, call.part("id"))
        remaining = self._facts.tokens.list_tokens()
        await asyncio.to_thread(delete_unused_scopes, self._facts.config(), remaining, self._facts.environ)
        return {"revoked": describe_token(token)}

    # What the command line knows.

    async def list_connections(self, call: PageCall) -> dict[str, Any]:
        # Found by its real path when the server started.
        vaults = {str(vault.folder): vault.name for vault in self._facts.vaults}
        here = self._facts.vaults[0].folder
        environ = self._facts.environ
        rows = await asyncio.to_thread(
            lambda: [
                _describe_connection(assistant, environ, here, vaults, self._facts.tokens)
                for assistant in ASSISTANTS
            ]
        )
        return {"assistants": rows}

    async def run_doctor(self, call: PageCall) -> dict[str, Any]:
        vault = self._find(call.vault)
        checks = await self._run(
            "doctor", str(vault.folder), "--port", str(self._facts.port), cwd=vault.folder
        )
        return {
            "checks": checks,
            "bad": sum(check.get("status") == "bad" for check in checks),
            "warnings": sum(check.get("status") == "warning" for check in checks),
        }

    async def show_companion(self, call: PageCall) -> dict[str, Any]:
        vault = self._find(call.vault)
        try:
            folder = str(vault.folder)
            (state,) = await self._run("companion", "status", folder, "--without-bridge", cwd=vault.folder)
        except ValueError:
            raise EngineFailure("The companion's state is unknown.") from None
        if "error" in state:
            advice = " ".join(filter(None, (state["error"], state.get("hint"))))
            return {"installed": False, "advice": advice, "command": ""}
        state["connected"] = self._facts.has_companion(vault.name)
        install = f"vaultbridge companion install {_quote(str(vault.folder))} --enable"
        advice = command = ""
        if not state["installed"]:
            advice, command = "To review changes in Obsidian, run:", install
        elif not state["current"]:
            advice, command = "An older one is installed. To update it, run:", install
        elif not state["enabled"]:
            advice = "Enable it in Obsidian: Settings, Community plugins."
        elif not state["connected"]:
            advice = "It connects by itself when Obsidian has this vault open."
        return {**state, "advice": advice, "command": command}

    def _find(self, name: str) -> ServedVault:
        return next(vault for vault in self._facts.vaults if vault.name == name)

    async def _run(self, *words: str, cwd: Path) -> list[dict[str, Any]]:
        """Run a command of ours and return the JSON objects that it prints."""
        async with self._commands:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "vaultbridge", *words, "--json"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=cwd,
                env={**os.environ, **self._facts.environ},
            )
            assert process.stdout is not None
            try:
                async with asyncio.timeout(COMMAND_SECONDS):
                    output = await process.stdout.read(COMMAND_BYTES)
                    while more := await process.stdout.read(COMMAND_BYTES):
                        output = (output + more)[:COMMAND_BYTES]
                    await process.wait()
            except TimeoutError:
                raise TimedOut(f"`vaultbridge {words[0]}` took longer than {COMMAND_SECONDS:g} s.") from None
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return list(_parse_lines(output))


def _parse_lines(output: bytes) -> Iterable[dict[str, Any]]:
    for line in output.splitlines():
        try:
            yield msgspec.json.decode(line, type=dict[str, Any])
        except JSON_ERRORS:
            continue


def _render_scope(scope: Any) -> dict[str, Any]:
    return {"readOnly": scope.read_only, "allow": scope.allow, "deny": scope.deny}


def _describe_connection(
    assistant: Assistant,
    environ: Mapping[str, str],
    here: Path,
    vaults: Mapping[str, str],
    tokens: TokenStore,
) -> dict[str, Any]:
    """Whether an assistant starts us, for which of the served vaults, and how to change that."""
    file = find_config_file(assistant, environ, here=here)
    state, detail = "not connected" if is_installed(assistant, file) else "not installed", ""
    servers: list[dict[str, str]] = []
    try:
        if (text := read_text(file)) is not None:
            for name, entry in list_servers(text, assistant).items():
                if (shared := read_shared_entry(entry)) is not None:
                    place = find_shared_vault(entry, tokens)
                    vault = vaults.get(str(place), "")
                    servers.append({"name": name, "vault": vault, "command": f"{shared.url} (shared)"})
                elif starts_vaultbridge(entry):
                    words = parse_entry(entry)
                    folders = (os.path.realpath(expand_home(read_file_uri(word))) for word in words[1:])
                    vault = next((vaults[folder] for folder in folders if folder in vaults), "")
                    servers.append({"name": name, "vault": vault, "command": " ".join(map(_quote, words))})
    except VaultbridgeError as error:
        state, detail = "unreadable", str(error)
    if servers:
        state = "connected"
    return {
        "name": assistant.name,
        "title": assistant.title,
        "state": state,
        "detail": detail,
        "file": str(file),
        "servers": servers,
        "command": f"vaultbridge connect {assistant.name} {_quote(str(here))}",
        "then": assistant.then,
    }


def _quote(text: str) -> str:
    import shlex

    return shlex.quote(text)


def add_settings_routes(api: PageApi, facts: ServedFacts) -> None:
    routes = SettingsRoutes(facts)
    api.get("/settings", routes.show, owner=True)
    api.get("/tokens", routes.list_tokens, owner=True)
    api.post("/tokens", routes.make_token, owner=True)
    api.delete("/tokens/{id}", routes.revoke_token, owner=True)
    api.get("/connections", routes.list_connections, owner=True)
    api.get("/doctor", routes.run_doctor, owner=True)
    api.get("/companion", routes.show_companion, owner=True)
