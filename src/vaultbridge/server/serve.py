"""Runs `vaultbridge serve`: every protocol on one port, from start to end.

    options = ServeOptions(config=config, …)
    await serve(options, announce=print_urls)

This module builds the parts and runs them until a signal arrives. `live` applies changes of the
configuration, and `access` decides who is admitted. The order at the end matters: lock files first, so that
nobody new connects, then the connections, then the vaults.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import shlex
import signal
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.activity.clients import Activity
from vaultbridge.activity.counters import Counters
from vaultbridge.activity.pauses import Pauses
from vaultbridge.assistants.entry import find_own_command
from vaultbridge.engine import DirectEngine
from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import SWITCH_SECONDS
from vaultbridge.plugins.listing import CodeSource
from vaultbridge.protocols.bridge_v1.routes import add_bridge_routes
from vaultbridge.protocols.connection import cancel_and_wait
from vaultbridge.protocols.http import LOOPBACK
from vaultbridge.protocols.http.guard import HostGuard
from vaultbridge.protocols.http.listen import reserve_connections, serve_app
from vaultbridge.protocols.mcp.http.endpoint import EndExchanges, add_mcp_routes
from vaultbridge.protocols.mcp.stdio import list_ending_signals
from vaultbridge.server.access import (
    OWNER,
    Access,
    add_no_oauth_route,
    allows_local_programs,
    is_for_this_machine,
)
from vaultbridge.server.config.model import Config, ServerConfig
from vaultbridge.server.ide import HubAccess, IdeService
from vaultbridge.server.last_use import LastUse
from vaultbridge.server.live import LiveConfig, watch
from vaultbridge.server.other_bridges import OtherBridge, find_other_bridges, replace_temporary
from vaultbridge.server.page_settings import ServedFacts, add_settings_routes
from vaultbridge.server.presence import LOOPBACK_FOR_WILDCARD, Presence
from vaultbridge.server.servers import McpServers, ServedVault, find_served_vaults
from vaultbridge.system import expand_home
from vaultbridge.tokens import TokenStore
from vaultbridge.tools.standard import standard_catalog
from vaultbridge.web.api.activity import add_activity_routes
from vaultbridge.web.api.assistants import AssistantsView, add_assistant_routes
from vaultbridge.web.api.clients import ReportedClients, add_client_routes
from vaultbridge.web.api.graph import add_graph_routes
from vaultbridge.web.api.routes import PageApi
from vaultbridge.web.api.trace import add_trace_routes
from vaultbridge.web.api.vault import add_vault_routes
from vaultbridge.web.browsers import SignedInBrowsers, add_browser_routes
from vaultbridge.web.media import MediaLinks
from vaultbridge.web.page import LinkCodes, add_page_routes, make_code_link, make_page_link

_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"


class Tls(Struct, frozen=True):
    """`fingerprint` is the certificate's SHA-256 in hexadecimal. The user's own commands recognize this
    server by it, whoever signed the certificate and for whatever name."""

    context: ssl.SSLContext
    fingerprint: str


def load_tls(server: ServerConfig) -> Tls | None:
    """Load the certificate; None without one. Raises InvalidArgument when it or its key cannot be used."""
    if not server.tls_certificate:
        return None
    file = expand_home(server.tls_certificate)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(file, expand_home(server.tls_key))
        text = file.read_text("ascii", "replace")
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or "unreadable"
        raise InvalidArgument(
            f"The TLS certificate or key cannot be used: {why}.", argument="usage"
        ) from None
    # The first certificate is the server's own; those that signed it follow.
    own = _BEGIN + text.partition(_BEGIN)[2].partition(_END)[0] + _END
    return Tls(context, hashlib.sha256(ssl.PEM_cert_to_DER_cert(own)).hexdigest())


IDLE_SECONDS: Final = 30.0
"""How long a connection may take to send a whole request, or stay idle: a caller that drips its headers is
disconnected, one that polls is not."""

NOT_FOR_CLAUDE_CODE: Final = (
    "Claude Code's /ide connects to 127.0.0.1 without TLS, where this server does not listen: "
    "no lock file is written for it."
)

SHUTDOWN_SECONDS: Final = 5.0
"""How long running requests, and answers that nobody reads, may take when the server stops."""

log = logging.getLogger("vaultbridge.serve")


class ServeOptions(Struct, frozen=True, kw_only=True):
    """`config_file` may not exist. `overlay` overrides the file by the environment and the command line;
    `config` is the result at the start. With `last_use`, the server ends when nobody uses it."""

    config: Config
    config_file: Path
    overlay: Callable[[Config], Config]
    last_use: LastUse | None = None


class Listening(Struct, frozen=True):
    """Where a server listens, for people and programs on this machine. `page` is the link to the page,
    including the token: for the user's terminal, never for a log. `open_once` is a link that works once.
    `others` are bridges that serve the same vaults; `notices` are what the user should know. `needs_token`
    says whether programs on this machine need one too. `code` is code of others that runs in the server."""

    url: str
    port: int
    vaults: tuple[ServedVault, ...]
    ide: bool
    page: str
    open_once: str
    others: tuple[OtherBridge, ...] = ()
    notices: tuple[str, ...] = ()
    needs_token: bool = False
    code: tuple[CodeSource, ...] = ()


@contextlib.asynccontextmanager
async def run_server(
    options: ServeOptions, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[Listening]:
    """Run a server until the block ends. Raises VaultNotFound, InvalidArgument, EngineFailure."""
    config = options.config
    tokens = TokenStore(options.config_file.parent)
    check_exposure(config, tokens)
    vaults = find_served_vaults(config.vaults, environ)
    tls = load_tls(config.server)
    async with contextlib.AsyncExitStack() as stack:
        catalog = standard_catalog()
        hub_access = HubAccess()
        servers = McpServers(
            vaults,
            catalog,
            config,
            extend_context=lambda context: replace(context, editor=hub_access),
            environ=environ,
        )
        hub_access.engines = servers.engines
        stack.push_async_callback(servers.close)
        await servers.full.provider()
        engines = [await asyncio.to_thread(servers.engines.__getitem__, vault.name) for vault in vaults]
        folders = [vault.folder for vault in vaults]
        others = await find_other_bridges(engines)
        if options.last_use is None:
            others = await replace_temporary(others)
        presence = _claim_presence(options, engines[0].cache, folders, others, tls, environ)
        stack.callback(presence.socket.close)
        guard = _make_guard(config)
        pauses = Pauses([engine.state for engine in engines])
        activity = Activity(gate=pauses, counters=Counters())
        ide = _make_ide(config, servers, engines, presence.token, guard, activity)
        for folder, hub in ide.hubs:
            hub_access.add_hub(folder, hub)
        access = Access(
            servers,
            tokens,
            own_token=presence.token,
            open_locally=allows_local_programs(config),
            open_to_pages=config.server.cors == "any",
        )
        live = LiveConfig(options, catalog, servers, access, [hub for _, hub in ide.hubs], folders)
        await live.start()
        renew = shlex.join([*find_own_command(), "page", str(vaults[0].folder)])
        codes = LinkCodes(presence.token, renew=renew)
        browsers = SignedInBrowsers(engines[0].cache, presence.token)
        assistants = AssistantsView(
            activity,
            pauses,
            servers.engines,
            tokens=access.describe_principals,
            revoke=tokens.revoke,
            editors=ide.list_editors,
            owner=OWNER,
        )
        ide.show_activity(assistants)
        announced = config.ide.enabled and presence.fits_claude_code
        facts = ServedFacts(
            config=lambda: live.config,
            config_file=options.config_file,
            vaults=vaults,
            tokens=tokens,
            activity=activity,
            url=presence.link,
            port=presence.port,
            tls=tls is not None,
            announced=announced,
            shares_selection=lambda: ide.hubs[0][1].state.shares_selection,
            count_tools=lambda: len(catalog.names()),
            has_companion=ide.has_companion,
            environ=environ,
        )
        app, end_exchanges = _make_app(
            config, guard, servers, access, ide, codes, browsers, assistants, facts
        )
        if options.last_use is not None:
            app.middlewares.append(options.last_use.count)
            options.last_use.watch(activity)
        await stack.enter_async_context(
            serve_app(
                app,
                presence.socket,
                tls=tls.context if tls else None,
                idle_seconds=IDLE_SECONDS,
                shutdown_seconds=SHUTDOWN_SECONDS,
                connections=reserve_connections(),
                address_hint="MCP is at /mcp (for older clients at /sse), Bridge v1 at /bridge/v1.",
            )
        )
        ide.start()
        stack.push_async_callback(ide.stop)
        stack.callback(presence.withdraw)
        for engine in engines[1:]:
            presence.add_vault(engine.cache, engine.root.folder)
        if announced:
            presence.announce(folders)
            stack.push_async_callback(cancel_and_wait, asyncio.create_task(presence.follow()))
        watching = asyncio.create_task(_follow_config(options.config_file, live, access, end_exchanges))
        stack.push_async_callback(cancel_and_wait, watching)
        notices = [str(other) for other in others]
        if config.ide.enabled and not announced:
            notices.append(NOT_FOR_CLAUDE_CODE)
        yield Listening(
            presence.link,
            presence.port,
            vaults,
            announced,
            make_page_link(presence.link, presence.token),
            make_code_link(presence.link, codes.make()),
            others,
            tuple(notices),
            needs_token=not allows_local_programs(config),
            code=live.list_code(),
        )


def _claim_presence(
    options: ServeOptions,
    cache: Path,
    folders: Sequence[Path],
    others: Sequence[OtherBridge],
    tls: Tls | None,
    environ: Mapping[str, str],
) -> Presence:
    config = options.config
    return Presence.claim(
        cache,
        folders,
        environ=environ,
        home=Path(environ.get("HOME") or Path.home()),
        others={other.pid for other in others},
        host=config.server.host,
        port=config.server.port,
        ide_name=config.ide.name,
        certificate=tls.fingerprint if tls is not None else "",
        name=next(iter(config.server.hosts), "") if tls is not None else "",
        temporary=options.last_use is not None,
        announced=config.ide.enabled,
    )


def _make_ide(
    config: Config,
    servers: McpServers,
    engines: Sequence[DirectEngine],
    token: str,
    guard: HostGuard,
    activity: Activity,
) -> IdeService:
    return IdeService(
        engines,
        servers.full,
        token,
        config.ide,
        guard=guard,
        share_selection=config.privacy.share_selection,
        call_seconds=config.limits.call_seconds,
        activity=activity,
        find_rules=servers.find_rules,
        reopen=servers.reopen,
    )


async def _follow_config(
    config_file: Path, live: LiveConfig, access: Access, end_exchanges: EndExchanges
) -> None:
    """Apply changes of the configuration, of plugin files and of tokens, until cancelled."""

    async def refresh() -> None:
        # First, so that nobody still uses a server that is closed next because its token is revoked.
        await end_exchanges((await asyncio.to_thread(access.list_principals)).__contains__)
        await live.refresh()

    await watch(config_file, config_file.parent / "tools", refresh)


async def serve(
    options: ServeOptions,
    announce: Callable[[Listening], None],
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP, or until nobody uses the server if `options` say so. A second
    signal ends the process at once."""
    sys.setswitchinterval(SWITCH_SECONDS)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = list_ending_signals()

    def end() -> None:
        stop.set()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        try:
            loop.add_signal_handler(number, end)
        except NotImplementedError:
            # On Windows the loop cannot do it, but the interpreter can.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    async with run_server(options, environ) as listening_at:
        announce(listening_at)
        if options.last_use is not None and not await _outlasts(stop, options.last_use):
            log.info("Nobody has used this server for a while")
        else:
            await stop.wait()
        log.info("Stopping")


async def _outlasts(stop: asyncio.Event, last_use: LastUse) -> bool:
    """Wait until the server is stopped, or is not used any more; returns whether it was stopped."""
    unused = asyncio.create_task(last_use.wait_unused())
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait((unused, stopped), return_when=asyncio.FIRST_COMPLETED)
    for task in (unused, stopped):
        await cancel_and_wait(task)
    return stop.is_set()


def check_exposure(config: Config, tokens: TokenStore) -> None:
    """Require a token and encryption for other machines. Raises InvalidArgument."""
    server = config.server
    if bool(server.tls_certificate) != bool(server.tls_key):
        raise InvalidArgument("A TLS certificate and its key belong together.", argument="usage")
    if is_for_this_machine(config):
        return
    if server.host not in LOOPBACK and not (server.tls_certificate or server.behind_proxy):
        raise InvalidArgument(
            f"{server.host} is open to other machines, but has no TLS.",
            argument="usage",
            hint="Give --tls-certificate and --tls-key, or --behind-proxy if a proxy handles encryption.",
        )
    if not tokens.list_tokens():
        raise InvalidArgument(
            "Other machines need a token, but there is none.",
            argument="usage",
            hint="`vaultbridge token make NAME` creates one.",
        )


def _make_guard(config: Config) -> HostGuard:
    server = config.server
    return HostGuard(
        hosts=({server.host} - LOOPBACK_FOR_WILDCARD.keys()) | set(server.hosts),
        origins=server.origins,
        any_origin=server.cors == "any",
    )


def _make_app(
    config: Config,
    guard: HostGuard,
    servers: McpServers,
    access: Access,
    ide: IdeService,
    codes: LinkCodes,
    browsers: SignedInBrowsers,
    assistants: AssistantsView,
    facts: ServedFacts,
) -> tuple[web.Application, EndExchanges]:
    app = web.Application(middlewares=[access.refuse_forwarded] if is_for_this_machine(config) else ())
    add_bridge_routes(
        app,
        guard=guard,
        authorize=access.authorize_bridge,
        call_seconds=config.limits.call_seconds,
        activity=assistants.activity,
    )
    end_exchanges = add_mcp_routes(
        app,
        servers.full,
        guard=guard,
        authorize=access.authorize_mcp,
        call_seconds=config.limits.call_seconds,
        activity=assistants.activity,
    )
    ide.add_routes(app, add_page_routes(app, guard=guard))
    api = PageApi(app, guard=guard, authorize=access.authorize_page)
    media = MediaLinks(is_valid=lambda principal: principal in access.list_principals())
    add_vault_routes(api, media, codes)
    media.add_routes(app, guard=guard)
    codes.add_routes(app, guard=guard)
    browsers.add_routes(app, guard=guard)
    add_browser_routes(api, browsers, command=codes.renew)
    add_assistant_routes(api, assistants)
    add_activity_routes(api, assistants)
    add_trace_routes(api, assistants)
    add_graph_routes(api)
    add_settings_routes(api, facts)
    reported = ReportedClients(assistants.activity)
    add_client_routes(api, reported)
    app.on_shutdown.append(reported.close)
    add_no_oauth_route(app)
    return app, end_exchanges
