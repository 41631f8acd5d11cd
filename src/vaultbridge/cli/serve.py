"""`vaultbridge serve VAULT…`: server for Claude Code, MCP over HTTP, Bridge v1 and the page."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultbridge.cli.common import OK, emit, open_browser, own_command, run, say
from vaultbridge.cli.parser import OPTION_HELP, VAULT_HELP, Parser, parse_port
from vaultbridge.protocols.http.guard import explain_bad_host, explain_bad_origin
from vaultbridge.server.vault_choice import REASONS, choose_vaults, contains_notes, find_here

if TYPE_CHECKING:
    from vaultbridge.server.config.model import Config
    from vaultbridge.server.serve import Listening
    from vaultbridge.server.vault_choice import Source

EPILOG = """The configuration file has the same settings and more (docs/config.md); these options override it.
Without --port, it uses the port this vault used last, otherwise 3000, otherwise any free one."""

LONGEST_MINUTES: Final = 10_080
"""A week: a server that may be unused for longer is meant to stay."""


def main(argv: list[str]) -> int:
    parser = Parser("serve", "Serve vaults to assistants, on one port on this machine.", epilog=EPILOG)
    parser.add_argument("vaults", metavar="VAULT", nargs="*", help=f"{VAULT_HELP} (several are possible)")
    parser.add_argument(
        "-v", "--vault", dest="more_vaults", action="append", default=[], metavar="VAULT", help=OPTION_HELP
    )
    parser.add_argument("--port", type=parse_port, help="use exactly this port; 0: any free one")
    parser.add_argument("--host", type=_parse_host, help="the address to listen on (127.0.0.1)")
    parser.add_argument("--read-only", action="store_true", help="allow no changes")
    parser.add_argument("--allow", action="append", default=[], metavar="GLOB", help="show only these notes")
    parser.add_argument("--deny", action="append", default=[], metavar="GLOB", help="hide these notes")
    parser.add_argument("--profile", choices=("core", "full", "read-only"), help="which tools are offered")
    parser.add_argument(
        "--review",
        choices=("off", "destructive", "all"),
        help="which changes need your review",
    )
    parser.add_argument(
        "--cors", choices=("local", "any"), help="any: every page may use Bridge v1 without a token"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        type=_parse_host,
        default=[],
        metavar="NAME",
        help="another host name of this server",
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        type=_parse_origin,
        default=[],
        metavar="ORIGIN",
        help="a web page that may call it, such as https://notes.example",
    )
    parser.add_argument("--tls-certificate", metavar="FILE", help="serve https with this certificate")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key")
    parser.add_argument("--behind-proxy", action="store_true", help="a proxy in front handles TLS")
    parser.add_argument("--require-token", action="store_true", help="local programs need a token too")
    parser.add_argument("--open", action="store_true", help="open the page in your browser")
    parser.add_argument(
        "--link", action="store_true", help="print the page's link even if the output is not a terminal"
    )
    parser.add_argument("--no-ide", action="store_true", help="write no lock file for Claude Code")
    parser.add_argument(
        "--end-after",
        type=_parse_minutes,
        metavar="MINUTES",
        help="stop after this long without a page or an assistant",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="another configuration file")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    return run(parser, argv, _serve)


def _parse_host(text: str) -> str:
    return _check(text, explain_bad_host(text))


def _parse_origin(text: str) -> str:
    return _check(text, explain_bad_origin(text))


def _parse_minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes <= LONGEST_MINUTES:
        raise argparse.ArgumentTypeError(
            f"{text[:40]} is not possible; give at most {LONGEST_MINUTES} minutes"
        )
    return minutes


_parse_minutes.__name__ = "number"  # argparse says it: "invalid number value"


def _check(text: str, fault: str) -> str:
    if fault:
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not valid. {fault}")
    return text


def _serve(args: argparse.Namespace) -> int:
    from vaultbridge import event_loop
    from vaultbridge.server.config.environment import apply_environment
    from vaultbridge.server.config.model import choose_config
    from vaultbridge.server.last_use import LastUse
    from vaultbridge.server.logs import start_logging
    from vaultbridge.server.serve import ServeOptions, serve

    def overlay(config: Config) -> Config:
        return apply_arguments(apply_environment(config, os.environ), args)

    file = choose_config(os.environ, named=args.config)
    written = file.load()
    choice = choose_vaults(
        os.environ,
        find_here(),
        named=[*args.vaults, *args.more_vaults],
        configured=lambda: [vault.path for vault in written.vaults],
    )
    args.vaults = choice.vaults
    config = overlay(written)
    start_logging(config.log.level)
    options = ServeOptions(
        config=config,
        config_file=file.path,
        overlay=overlay,
        last_use=LastUse(args.end_after * 60) if args.end_after is not None else None,
    )

    def say_where(listening: Listening) -> None:
        if choice.source == "obsidian" and contains_notes(find_here()):
            sys.stderr.write(
                f"note: This folder contains notes too. To serve them instead: {own_command()} serve -v .\n"
            )
        announce(listening, choice.source, as_json=args.json, link=args.link or sys.stdout.isatty())
        if args.open:
            open_browser(listening.open_once)
        # What plugins print goes to the log: a program expects exactly one line here.
        sys.stdout = sys.stderr

    event_loop.run(serve(options, say_where))
    return OK


def apply_arguments(config: Config, args: argparse.Namespace) -> Config:
    """Override `config` by the command line."""
    from msgspec.structs import replace

    from vaultbridge.server.config.model import describe_vaults

    given = {"host": args.host, "port": args.port, "cors": args.cors}
    given |= {"tls_certificate": args.tls_certificate, "tls_key": args.tls_key}
    server = replace(config.server, **{key: value for key, value in given.items() if value is not None})
    server = replace(
        server,
        hosts=(*server.hosts, *args.allow_host),
        origins=(*server.origins, *args.allow_origin),
        behind_proxy=server.behind_proxy or args.behind_proxy,
    )
    scope = replace(
        config.scope,
        read_only=config.scope.read_only or args.read_only,
        allow=tuple(args.allow) or config.scope.allow,
        deny=(*config.scope.deny, *args.deny),
    )
    return replace(
        config,
        # A vault that the file describes keeps its settings.
        vaults=describe_vaults(config.vaults, args.vaults) or config.vaults,
        server=server,
        scope=scope,
        tools=replace(
            config.tools,
            profile=args.profile or config.tools.profile,
            review=args.review or config.tools.review,
        ),
        ide=replace(config.ide, enabled=config.ide.enabled and not args.no_ide),
        tokens=replace(config.tokens, required=config.tokens.required or args.require_token),
        log=replace(config.log, level=args.log_level or config.log.level),
    )


def announce(listening: Listening, source: Source, *, as_json: bool, link: bool) -> None:
    """Print the addresses: one line for a program, a few for a person. The link comes last, if wanted, and
    alone in its line: that is where a person looks, and terminals make it clickable there."""
    url = listening.url
    for notice in listening.notices:
        sys.stderr.write(f"note: {notice}\n")
    if as_json:
        emit(
            {
                "event": "listening",
                "url": url,
                "port": listening.port,
                "pid": os.getpid(),
                "vaults": [{"name": vault.name, "path": str(vault.folder)} for vault in listening.vaults],
                "vaultsFrom": source,
                "mcp": f"{url}/mcp",
                "sse": f"{url}/sse",
                "bridge": f"{url}/bridge/v1",
                "ide": listening.ide,
                "others": listening.others,
                "code": listening.code,
                "notices": listening.notices,
            }
        )
    else:
        folder = shlex.quote(str(listening.vaults[0].folder))
        names = ", ".join(vault.name for vault in listening.vaults)
        say(f"Serving {names} ({REASONS[source]}) at {url}\n")
        command = own_command()
        token = '"Authorization: Bearer TOKEN"' if listening.needs_token else ""
        add = f"claude mcp add --transport http obsidian {url}/mcp{f' --header {token}' if token else ''}"
        # Each command has a line of its own, so that a narrow terminal does not break it where it need not.
        ways = {
            "Claude Code, as an IDE (then type /ide)": f"cd {folder} && claude" if listening.ide else "",
            "Claude Code, with the vault's tools": add,
            "any MCP client, by address": f"{url}/mcp    (older ones: {url}/sse)",
            "any MCP client, over stdio": f"{command} stdio {folder}",
            "curl and scripts": f"curl {f'-H {token} ' if token else ''}{url}/bridge/v1/tools",
            "TOKEN stands for what this prints": f"{command} token make NAME" if token else "",
            "you, in a browser: this prints the link": "" if link else f"{command} page {folder}",
        }
        for label, way in ways.items():
            if way:
                say(f"  {label}:\n    {way}")
        for code in listening.code:
            say(f"  it runs code of: {code}")
        # The link works once, for the person who started this; it must not stay in a service's log for
        # somebody else to use.
        if link:
            say(f"\nCtrl+C stops it. Open this link in your browser; it works once:\n\n{listening.open_once}")
        else:
            say("\nCtrl+C stops it.")
    sys.stdout.flush()
