"""`vaultbridge bridge`: MCP server on stdio for any Bridge v1 server, on this machine or another.

A client waits for this process, so the arguments are parsed by hand: importing argparse takes as long as the
whole session. The server is not called before `initialize` is answered.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import NamedTuple

from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import CALL_SECONDS

USAGE = """usage: vaultbridge bridge [options]

Speaks MCP over stdin and stdout, and Bridge v1 to a server.

options:
  --url URL          the server (default: http://127.0.0.1:3000, or what
                     OBSIDIAN_MCP_HOST and OBSIDIAN_MCP_PORT say)
  --timeout SECONDS  how long a call may take (default: 30)
  --plain-http       send the API key unencrypted to another machine
  --verbose          log what happens to stderr

OBSIDIAN_MCP_API_KEY is sent as a bearer token. It is not an argument, because
other users can see arguments.
"""


DEFAULT_PORT = "3000"


class Options(NamedTuple):
    url: str
    timeout: float = CALL_SECONDS
    plain_http: bool = False
    verbose: bool = False


def main(argv: list[str]) -> int:
    if "-h" in argv or "--help" in argv:
        sys.stdout.write(USAGE)
        return 0
    from vaultbridge.cli.stdio import explain_to_person

    try:
        explain_to_person("bridge", "Put it into an assistant's list of MCP servers (docs/http.md).")
        return _serve(read_options(argv, os.environ), os.environ.get("OBSIDIAN_MCP_API_KEY", ""))
    except InvalidArgument as error:
        from vaultbridge.cli.terminal import to_one_line

        usage = "usage: vaultbridge bridge [options]; `vaultbridge bridge --help` explains them"
        sys.stderr.write(f"vaultbridge bridge: {to_one_line(str(error))}\n{usage}\n")
        return 2


def read_options(argv: list[str], environ: Mapping[str, str]) -> Options:
    """Parse the options. Raises InvalidArgument."""
    options = Options("")
    rest = list(argv)
    while rest:
        name, has_value, value = rest.pop(0).partition("=")
        if name == "--plain-http" and not has_value:
            options = options._replace(plain_http=True)
            continue
        if name == "--verbose" and not has_value:
            options = options._replace(verbose=True)
            continue
        if name not in ("--url", "--timeout"):
            raise _explain_unknown(name)
        if not has_value and rest:
            value = rest.pop(0)
        if not value:
            raise InvalidArgument(f"{name} needs a value.")
        options = (
            options._replace(url=value)
            if name == "--url"
            else options._replace(timeout=_parse_seconds(value))
        )
    return options if options.url else options._replace(url=_find_url(environ))


def _explain_unknown(name: str) -> InvalidArgument:
    from vaultbridge.cli.parser import suggest_option

    suggestion = suggest_option(name, ("--url", "--timeout", "--plain-http", "--verbose"))
    return InvalidArgument(f"There is no option {name[:60]!r}. {suggestion}".rstrip())


def _find_url(environ: Mapping[str, str]) -> str:
    """Find the address in the environment. Some set-ups give a whole URL as the host, or a host with a port;
    that port overrides the other variable."""
    scheme, _, rest = (environ.get("OBSIDIAN_MCP_HOST") or "127.0.0.1").rpartition("://")
    host, slash, path = rest.rstrip("/").partition("/")
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    port = environ.get("OBSIDIAN_MCP_PORT") or ("" if scheme else DEFAULT_PORT)
    if port and not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        raise InvalidArgument(
            f"OBSIDIAN_MCP_PORT is {port[:60]!r}.", hint="It should be a port number, such as 3000."
        )
    if port and ":" not in host.rpartition("]")[2]:
        host = f"{host}:{port}"
    return f"{scheme or 'http'}://{host}{slash}{path}"


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 3600:
        raise InvalidArgument(f"--timeout is {text[:60]!r}.", hint="It should be 1 to 3600 seconds.")
    return seconds


def _serve(options: Options, key: str) -> int:
    from vaultbridge.protocols.bridge_v1.client import BridgeClient
    from vaultbridge.protocols.bridge_v1.stdio_bridge import BridgeProvider, UnlistedTools
    from vaultbridge.protocols.mcp.dialect import mcp_dialect
    from vaultbridge.protocols.mcp.provider import Offer, Provider
    from vaultbridge.protocols.mcp.server import McpServer
    from vaultbridge.protocols.mcp.stdio import serve_stdio

    client = BridgeClient(options.url, key=key, call_seconds=options.timeout, plain_http=options.plain_http)
    if options.verbose:
        from vaultbridge.server.logs import start_logging

        start_logging("debug")

    async def make() -> Provider:
        provider = BridgeProvider(client)
        provider.start()
        return provider

    offer = Offer(
        name="obsidian-bridge",
        instructions=f"The tools of the Obsidian bridge at {client.address}.",
        unlisted_tools=UnlistedTools(),
    )
    server = McpServer(offer, make)
    # A little longer than the request's own limit, whose error says more.
    return serve_stdio(
        mcp_dialect(server, honours_exit=True), at_end=server.close, call_seconds=options.timeout + 2.0
    )
