"""The one configuration file: what it may say, where it lies, and what overrides it.

`load` gives a checked `Config`; a missing file is an empty one. The environment stands above the file and the
command line above both (`overridden`). Finding the line of a fault is `config_check`'s duty; nothing below
`server/` reads any of this. docs/config.md describes every key, which a test insists on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import CALL_SECONDS, NOTE_READ_BYTES

CONFIG_VARIABLE: Final = "VAULTBRIDGE_CONFIG"
VAULT_VARIABLE: Final = "VAULTBRIDGE_VAULT"
FILE_NAME: Final = "config.toml"

CONFIG_BYTES: Final = 1024 * 1024
"""The largest configuration that is read: it is written by hand."""

LogLevel = Literal["debug", "info", "warning", "error"]
Port = Annotated[int, Meta(ge=0, le=65535)]
Text = Annotated[str, Meta(min_length=1)]


class _Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ServerConfig(_Table, frozen=True, kw_only=True):
    """`port` None: 3000, else a free one that is remembered."""

    host: Text = "127.0.0.1"
    port: Port | None = None
    cors: Literal["local", "any"] = "local"
    hosts: tuple[Text, ...] = ()
    origins: tuple[Text, ...] = ()
    tls_certificate: str = ""
    tls_key: str = ""
    behind_proxy: bool = False


class VaultConfig(_Table, frozen=True, kw_only=True):
    """`path` is a folder or the name of a vault that Obsidian knows. The scope narrows `[scope]`."""

    path: Text
    read_only: bool = False
    allow: tuple[Text, ...] = ()
    deny: tuple[Text, ...] = ()
    outside_links: bool = False


class ScopeConfig(_Table, frozen=True, kw_only=True):
    read_only: bool = False
    allow: tuple[Text, ...] = ()
    deny: tuple[Text, ...] = ()


class ToolsConfig(_Table, frozen=True, kw_only=True):
    """`enable`, when it names anything, leaves only those tools and groups; `disable` takes away."""

    profile: Literal["core", "full", "read-only"] = "full"
    enable: tuple[Text, ...] = ()
    disable: tuple[Text, ...] = ()
    errors: Literal["auto", "protocol", "result"] = "auto"
    plugins: bool = True
    packages: bool = True


class IdeConfig(_Table, frozen=True, kw_only=True):
    enabled: bool = True
    name: Text = "Obsidian"
    relative_paths: bool = False
    quote_mentions: bool = True


class PrivacyConfig(_Table, frozen=True, kw_only=True):
    share_selection: bool = True


class LimitsConfig(_Table, frozen=True, kw_only=True):
    call_seconds: Annotated[float, Meta(ge=1, le=600)] = CALL_SECONDS
    note_bytes: Annotated[int, Meta(ge=1024, le=NOTE_READ_BYTES)] = NOTE_READ_BYTES


class TokensConfig(_Table, frozen=True, kw_only=True):
    required: bool = False


class LogConfig(_Table, frozen=True, kw_only=True):
    level: LogLevel = "info"


class Config(_Table, frozen=True, kw_only=True):
    vaults: tuple[VaultConfig, ...] = ()
    server: ServerConfig = ServerConfig()
    scope: ScopeConfig = ScopeConfig()
    tools: ToolsConfig = ToolsConfig()
    ide: IdeConfig = IdeConfig()
    privacy: PrivacyConfig = PrivacyConfig()
    limits: LimitsConfig = LimitsConfig()
    tokens: TokensConfig = TokensConfig()
    log: LogConfig = LogConfig()


EMPTY: Final = Config()

LIVE: Final = frozenset(
    {
        "scope.read_only", "scope.allow", "scope.deny", "vaults.read_only", "vaults.allow", "vaults.deny",
        "tools.enable", "tools.disable", "tools.plugins", "tokens.required", "log.level",
        "privacy.share_selection",
    }
)  # fmt: skip
"""What takes effect in a running server when the file changes; the rest waits for the next start."""


def config_file(environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> Path:
    """Where the configuration lies, if it exists: `VAULTBRIDGE_CONFIG`, else the system's place."""
    if chosen := environ.get(CONFIG_VARIABLE):
        return Path(chosen).expanduser().absolute()
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if platform == "win32":
        base = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        given = environ.get("XDG_CONFIG_HOME", "")
        # The specification: a relative path here is invalid and to be ignored.
        base = Path(given) if Path(given).is_absolute() else home / ".config"
    return base / "vaultbridge" / FILE_NAME


def load(file: Path) -> Config:
    """The file's configuration; the empty one when there is no file. Raises InvalidArgument naming the key
    and the line."""
    try:
        with file.open("rb") as opened:
            data = opened.read(CONFIG_BYTES + 1)
    except FileNotFoundError:
        return EMPTY
    except OSError as error:
        raise InvalidArgument(f"{file.name} cannot be read: {error.strerror}.", argument="config") from None
    if len(data) > CONFIG_BYTES:
        raise InvalidArgument(f"{file.name} has more than {CONFIG_BYTES} bytes.", argument="config")
    from vaultbridge.server.config.check import checked

    return checked(data, file.name)


def from_environment(config: Config, environ: Mapping[str, str]) -> Config:
    """`config` with what the environment says put above it. Raises InvalidArgument naming the variable."""
    from msgspec.structs import replace

    server, scope, log, vaults = config.server, config.scope, config.log, config.vaults
    if given := environ.get(VAULT_VARIABLE):
        vaults = chosen(vaults, [one for one in given.split(os.pathsep) if one])
    if given := environ.get("VAULTBRIDGE_HOST"):
        from vaultbridge.protocols.http.guard import explain_bad_host

        if explain_bad_host(given):
            raise _wrong("VAULTBRIDGE_HOST", given, "an address, such as 0.0.0.0, without a port")
        server = replace(server, host=given)
    if given := environ.get("VAULTBRIDGE_PORT"):
        if not (given.isascii() and given.isdigit() and int(given) <= 65535):
            raise _wrong("VAULTBRIDGE_PORT", given, "a port from 0 to 65535")
        server = replace(server, port=int(given))
    if given := environ.get("VAULTBRIDGE_READ_ONLY"):
        if given not in ("0", "1", "true", "false"):
            raise _wrong("VAULTBRIDGE_READ_ONLY", given, "1 or 0")
        scope = replace(scope, read_only=given in ("1", "true"))
    if given := environ.get("VAULTBRIDGE_LOG_LEVEL"):
        if given not in ("debug", "info", "warning", "error"):
            raise _wrong("VAULTBRIDGE_LOG_LEVEL", given, "debug, info, warning or error")
        log = replace(log, level=given)
    return replace(config, server=server, scope=scope, log=log, vaults=vaults)


def chosen(described: Iterable[VaultConfig], paths: Iterable[str]) -> tuple[VaultConfig, ...]:
    """The vaults of these paths, each with what is said where it is described."""
    from msgspec.structs import replace

    by_place = {place_of(vault.path): vault for vault in described}
    found = ((path, by_place.get(place_of(path))) for path in paths)
    return tuple(VaultConfig(path=path) if one is None else replace(one, path=path) for path, one in found)


def place_of(path: str) -> str:
    """The same text for all ways to write a folder. A name that only Obsidian knows stays one among names."""
    return os.path.realpath(os.path.expanduser(path))  # noqa: PTH111 - pathlib does not resolve as much


def _wrong(variable: str, given: str, wanted: str) -> InvalidArgument:
    return InvalidArgument(
        f"{variable} is {given[:60]!r}.", argument=variable, hint=f"It should be {wanted}."
    )
