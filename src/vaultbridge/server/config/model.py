"""The configuration file: its keys, where it is, and what overrides it.

`choose_config` finds the file, and `load` returns a checked `Config`. A missing file is an empty one, unless
the user has named it. The environment overrides the file, and the command line overrides both. `config.check`
finds the line of a fault; nothing below `server/` reads the configuration. docs/config.md describes every
key, and a test makes sure of that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import CALL_SECONDS, NOTE_READ_BYTES
from vaultbridge.review.policy import WAIT_SECONDS, Review
from vaultbridge.system import expand_home, find_home, find_xdg_folder

CONFIG_VARIABLE: Final = "VAULTBRIDGE_CONFIG"
CONFIG_OPTION: Final = "--config"
FILE_NAME: Final = "config.toml"

CONFIG_BYTES: Final = 1024 * 1024
"""The largest configuration that we read: it is written by hand."""

LogLevel = Literal["debug", "info", "warning", "error"]
Port = Annotated[int, Meta(ge=0, le=65535)]
Text = Annotated[str, Meta(min_length=1)]


class _Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ServerConfig(_Table, frozen=True, kw_only=True):
    """With `port` None: 3000 if it is free, otherwise another one, which is remembered."""

    host: Text = "127.0.0.1"
    port: Port | None = None
    cors: Literal["local", "any"] = "local"
    hosts: tuple[Text, ...] = ()
    origins: tuple[Text, ...] = ()
    tls_certificate: str = ""
    tls_key: str = ""
    behind_proxy: bool = False


class VaultConfig(_Table, frozen=True, kw_only=True):
    """`path` is a folder or the name of a vault in Obsidian's list. Its scope narrows `[scope]`."""

    path: Text
    read_only: bool = False
    allow: tuple[Text, ...] = ()
    deny: tuple[Text, ...] = ()
    outside_links: bool = False
    review: Review = "off"


class ScopeConfig(_Table, frozen=True, kw_only=True):
    read_only: bool = False
    allow: tuple[Text, ...] = ()
    deny: tuple[Text, ...] = ()


class ToolsConfig(_Table, frozen=True, kw_only=True):
    """A non-empty `enable` leaves only those tools and groups; `disable` removes some."""

    profile: Literal["core", "full", "read-only"] = "full"
    enable: tuple[Text, ...] = ()
    disable: tuple[Text, ...] = ()
    errors: Literal["auto", "protocol", "result"] = "auto"
    review: Review = "off"
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
    review_seconds: Annotated[float, Meta(ge=1, le=600)] = WAIT_SECONDS
    note_bytes: Annotated[int, Meta(ge=1024, le=NOTE_READ_BYTES)] = NOTE_READ_BYTES


class TokensConfig(_Table, frozen=True, kw_only=True):
    required: bool = False


class EmbeddingsConfig(_Table, frozen=True, kw_only=True):
    """With an empty `url`, nothing is sent anywhere. A prompt that is None is the one that the model is known
    to expect."""

    url: str = ""
    model: str = ""
    key_env: str = ""
    private: tuple[Text, ...] = ()
    question_prompt: str | None = None
    passage_prompt: str | None = None
    dimensions: Annotated[int, Meta(ge=0, le=16_384)] = 0
    batch: Annotated[int, Meta(ge=1, le=1024)] = 32
    timeout_seconds: Annotated[float, Meta(ge=1, le=600)] = 60.0
    wait_ms: Annotated[int, Meta(ge=0, le=10_000)] = 200
    allow_http: bool = False


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
    embeddings: EmbeddingsConfig = EmbeddingsConfig()
    log: LogConfig = LogConfig()


EMPTY: Final = Config()

LIVE: Final = frozenset(
    {
        "scope.read_only", "scope.allow", "scope.deny", "vaults.read_only", "vaults.allow", "vaults.deny",
        "tools.enable", "tools.disable", "tools.plugins", "tools.review", "tokens.required", "log.level",
        "privacy.share_selection", "vaults.review", "limits.review_seconds",
    }
)  # fmt: skip
"""Keys that take effect in a running server when the file changes; the others need a restart."""


class ConfigFile(Struct, frozen=True):
    """Where the configuration is. `named_by` is the option or variable that names it, "" for the usual path:
    only there may be no file. One that is named and missing would have had limits, which nobody should
    believe to be in force."""

    path: Path
    named_by: str = ""

    def check(self) -> None:
        """Raises InvalidArgument for a file that is named and missing; says nothing about what is in it."""
        if not self.named_by:
            return
        try:
            self.path.stat()
        except FileNotFoundError:
            raise _make_missing(self.path, self.named_by) from None
        except OSError:
            return  # It cannot be looked at; who reads it, or what is beside it, says why.

    def load(self) -> Config:
        """Raises InvalidArgument as `load_config` does."""
        return load_config(self.path, named_by=self.named_by)


def choose_config(environ: Mapping[str, str] = os.environ, *, named: Path | None = None) -> ConfigFile:
    """Return the file that `--config` names, else the one that `VAULTBRIDGE_CONFIG` names, else the usual
    one."""
    if named is not None:
        return ConfigFile(expand_home(str(named)).absolute(), CONFIG_OPTION)
    return ConfigFile(config_file(environ), CONFIG_VARIABLE if environ.get(CONFIG_VARIABLE) else "")


def config_file(environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> Path:
    """Return the path of the configuration, which may not exist: `VAULTBRIDGE_CONFIG`, or the usual path on
    this system. Tokens and tools are beside it; to read it, use `choose_config`."""
    if chosen := environ.get(CONFIG_VARIABLE):
        return expand_home(chosen).absolute()
    home = find_home(environ, platform=platform)
    if platform == "win32":
        base = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = find_xdg_folder(environ, "XDG_CONFIG_HOME", home / ".config")
    return base / "vaultbridge" / FILE_NAME


def load_config(file: Path, *, named_by: str = "") -> Config:
    """Load the file's configuration; an empty one when there is no file and nothing names it. Raises
    InvalidArgument, which names the key and the line."""
    try:
        with file.open("rb") as opened:
            data = opened.read(CONFIG_BYTES + 1)
    except FileNotFoundError:
        if named_by:
            raise _make_missing(file, named_by) from None
        return EMPTY
    except OSError as error:
        raise InvalidArgument(f"{file.name} cannot be read: {error.strerror}.", argument="config") from None
    if len(data) > CONFIG_BYTES:
        raise InvalidArgument(f"{file.name} has more than {CONFIG_BYTES} bytes.", argument="config")
    # Imported only here: most servers that a client starts have no such file, and should not wait for this.
    from vaultbridge.server.config.check import check_config

    return check_config(data, file.name)


def describe_vaults(described: Iterable[VaultConfig], paths: Iterable[str]) -> tuple[VaultConfig, ...]:
    """Return the vaults with these paths, each with the settings of its description, if there is one."""
    by_path = {resolve_path(known.path): known for known in described}
    chosen = ((path, by_path.get(resolve_path(path))) for path in paths)
    return tuple(
        VaultConfig(path=path) if vault is None else replace(vault, path=path) for path, vault in chosen
    )


def resolve_path(path: str) -> str:
    """Return the same text for all ways to write a folder. Names in Obsidian's list stay distinct."""
    return os.path.realpath(expand_home(path))


def _make_missing(file: Path, named_by: str) -> InvalidArgument:
    return InvalidArgument(
        f"{named_by} names the file {file.name!r}, which does not exist.",
        argument="usage" if named_by == CONFIG_OPTION else named_by,
        hint=f"Name a file that exists, or leave {named_by} out to use the usual one.",
    )
