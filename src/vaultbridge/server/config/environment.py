"""What the environment says instead of the configuration file."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from vaultbridge.errors import InvalidArgument
from vaultbridge.protocols.http.guard import explain_bad_host
from vaultbridge.server.config.model import Config


def apply_environment(config: Config, environ: Mapping[str, str]) -> Config:
    """Override `config` by the environment, except for its vaults, which `server.vault_choice` chooses.
    Raises InvalidArgument, which names the variable."""
    server, scope, log = config.server, config.scope, config.log
    if value := environ.get("VAULTBRIDGE_HOST"):
        if explain_bad_host(value):
            raise _make_error("VAULTBRIDGE_HOST", value, "an address, such as 0.0.0.0, without a port")
        server = replace(server, host=value)
    if value := environ.get("VAULTBRIDGE_PORT"):
        if not (value.isascii() and value.isdigit() and len(value) <= 5 and int(value) <= 65535):
            raise _make_error("VAULTBRIDGE_PORT", value, "a port from 0 to 65535")
        server = replace(server, port=int(value))
    if value := environ.get("VAULTBRIDGE_READ_ONLY"):
        if value not in ("0", "1", "true", "false"):
            raise _make_error("VAULTBRIDGE_READ_ONLY", value, "1 or 0")
        scope = replace(scope, read_only=value in ("1", "true"))
    if value := environ.get("VAULTBRIDGE_LOG_LEVEL"):
        if value not in ("debug", "info", "warning", "error"):
            raise _make_error("VAULTBRIDGE_LOG_LEVEL", value, "debug, info, warning or error")
        log = replace(log, level=value)
    return replace(config, server=server, scope=scope, log=log)


def _make_error(variable: str, value: str, expected: str) -> InvalidArgument:
    return InvalidArgument(
        f"{variable} is {value[:60]!r}.", argument=variable, hint=f"It should be {expected}."
    )
