"""`vaultbridge connect ASSISTANT VAULT --shared`: lets an assistant share a bridge that runs, with a token of
its own."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.errors import EditRefused, InvalidArgument, VaultbridgeError
from vaultbridge.review.policy import Review
from vaultbridge.system import read_private

if TYPE_CHECKING:
    from vaultbridge.assistants.catalog import Assistant
    from vaultbridge.tokens import AccessToken, TokenStore

SHOWN_TOKEN: Final = "vbt_…"
"""What a dry run shows: a token is made only when it is written."""

LIMITS: Final = ("read_only", "allow", "deny", "review")
"""The options of `stdio` that a token can have too, by their names in `StdioOptions`."""


class Limits(Struct, frozen=True):
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    review: Review = "off"

    def __str__(self) -> str:
        words = ["--read-only"] * self.read_only
        words += [word for pattern in self.allow for word in ("--allow", pattern)]
        words += [word for pattern in self.deny for word in ("--deny", pattern)]
        words += ["--review", self.review] if self.review != "off" else []
        return shlex.join(words)


class SharedPlan(Struct, frozen=True):
    """What `connect` writes: the file's text before, and with the server; `None` for the latter if it is
    there already. `token` is the one that was made for it, and `former` the one that it replaces."""

    before: str | None
    after: str | None
    limits: Limits
    token: AccessToken | None = None
    former: AccessToken | None = None


def open_store() -> TokenStore:
    from vaultbridge.server.config.model import choose_config
    from vaultbridge.tokens import TokenStore

    file = choose_config(os.environ)
    file.check()
    return TokenStore(file.path.parent)


def find_address(vault: Path) -> str:
    """The address at which the vault is served for as long as the person wants: that of the service, or of
    the port that the configuration names. Raises EditRefused, which says how to have one."""
    from vaultbridge.server.config.model import choose_config
    from vaultbridge.server.service.definition import HOST
    from vaultbridge.server.service.install import find_service

    quoted = shlex.quote(str(vault))
    service = find_service(os.environ)
    if service is not None:
        if str(vault) in service.vaults:
            return service.url
        raise EditRefused(
            f"The service does not serve {vault.name}.",
            hint=f"Add the vault to it: vaultbridge service install {quoted}",
        )
    file = choose_config(os.environ)
    server = file.load().server
    if server.port and server.host == HOST and not server.tls_certificate:
        return f"http://{HOST}:{server.port}"
    raise EditRefused(
        "No bridge is set up at a fixed address.",
        hint=f"Keep one running: vaultbridge service install {quoted}. If this system runs no services, write"
        f" `port = 3000` below `[server]` in {file.path}, and start `vaultbridge serve` at login.",
    )


def plan_shared(
    assistant: Assistant,
    file: Path,
    vault: Path,
    name: str,
    options: tuple[str, ...],
    *,
    replace: bool,
    dry_run: bool,
) -> SharedPlan:
    """Make the token and the file's new text. An entry of ours for this vault keeps its limits, unless others
    are given, and whatever else its owner added. Whoever does not write the text must `give_up`. Raises
    EditRefused and InvalidArgument."""
    from vaultbridge.assistants.config_file import list_servers, read_text, set_server
    from vaultbridge.assistants.entry import serves_another, starts_vaultbridge
    from vaultbridge.assistants.shared import (
        find_shared_vault,
        find_token,
        keep_owners,
        make_shared_entry,
        read_shared_entry,
    )

    if assistant.base == "here":
        raise EditRefused(
            f"{file.name} belongs to this folder, and may be passed on with it, for example by git: it must"
            " not contain a token.",
            hint=f"Use `vaultbridge connect {assistant.name}-user {shlex.quote(str(vault))} --shared`.",
        )
    url, store = find_address(vault), open_store()
    before = read_text(file)
    former = list_servers(before or "", assistant).get(name)
    shared = read_shared_entry(former)
    token = find_token(shared, store)
    if former is not None and not replace:
        place = find_shared_vault(former, store)
        foreign = shared is None and not starts_vaultbridge(former)
        if foreign or serves_another(former, vault) or place not in (None, vault):
            raise EditRefused(
                f"{assistant.title} has another {'server' if foreign else 'vault'} named {name!r}.",
                hint="Choose another name with --name, or add --replace.",
            )
    limits = _choose_limits(former, token, vault, options, replace=replace)
    current = Limits(token.read_only, token.allow, token.deny, token.review) if token is not None else None
    if token is not None and shared is not None and shared.url == url and current == limits and not replace:
        return SharedPlan(before, None, limits)
    made: AccessToken | None = None
    secret = SHOWN_TOKEN
    if not dry_run:
        made, secret = _make_token(store, f"{assistant.name} {name}", vault, limits)
    try:
        entry = make_shared_entry(assistant, name, url, secret)
        kept = {} if replace else keep_owners(former)
        after = set_server(before or "", assistant, name, {**entry, **kept})
    except VaultbridgeError:
        give_up(made)
        raise
    return SharedPlan(before, after, limits, made, token)


def give_up(token: AccessToken | None) -> None:
    """Revoke a token that is not, or no longer, in any file."""
    if token is not None:
        from vaultbridge.server.config.model import config_file, load_config
        from vaultbridge.server.unused_scopes import delete_unused_scopes

        store = open_store()
        with contextlib.suppress(InvalidArgument):  # somebody has revoked it meanwhile
            store.revoke(token.id)
        delete_unused_scopes(load_config(config_file(os.environ)), store.list_tokens())


def revoke_entry(entry: Any) -> str:
    """Revoke the token of an entry that was removed; returns its name, "" if there was none."""
    from vaultbridge.assistants.shared import find_token, read_shared_entry

    token = find_token(read_shared_entry(entry), open_store())
    give_up(token)
    return "" if token is None else token.name


def warn_if_readable(file: Path) -> None:
    """The file contains a token now, and its mode is its owner's."""
    try:
        mode = file.stat().st_mode
    except OSError:
        return
    if os.name == "posix" and mode & 0o077 and read_private(file) is not None:
        sys.stderr.write(
            f"note: Other users of this machine can read {file}, and the token in it: chmod 600"
            f" {shlex.quote(str(file))}\n"
        )


def _choose_limits(
    former: Any, token: AccessToken | None, vault: Path, options: tuple[str, ...], *, replace: bool
) -> Limits:
    from vaultbridge.cli.setup.connect import keep_options

    if options or replace:
        return parse_limits(list(options))
    if token is not None:
        return Limits(token.read_only, token.allow, token.deny, token.review)
    return parse_limits(keep_options(former, vault) if former is not None else [])


def parse_limits(options: list[str]) -> Limits:
    """The limits among options of `stdio`. Raises InvalidArgument for any other option."""
    from vaultbridge.cli.stdio import WrongUsage, parse_arguments

    try:
        given = parse_arguments(options)
    except WrongUsage as error:
        raise InvalidArgument(str(error), argument="usage") from None
    if "vaults" in given:
        raise InvalidArgument(
            "A shared connection is for one vault, and this entry names more.",
            argument="usage",
            hint="Connect each vault under a --name of its own, or add --replace to leave out the others.",
        )
    if others := sorted(given.keys() - set(LIMITS)):
        names = ", ".join(f"--{name.replace('_', '-')}" for name in others)
        raise InvalidArgument(
            f"A shared bridge has one setting for all assistants instead of {names}.",
            argument="usage",
            hint="Write it into the configuration (docs/config.md). Each assistant may have --read-only,"
            " --allow, --deny and --review of its own; --replace drops the others.",
        )
    return Limits(**given)


def _make_token(store: TokenStore, name: str, vault: Path, limits: Limits) -> tuple[AccessToken, str]:
    taken = {token.name for token in store.list_tokens()}
    names = [name, *(f"{name} {number}" for number in range(2, len(taken) + 3))]
    return store.make(
        next(free for free in names if free not in taken),
        read_only=limits.read_only,
        allow=limits.allow,
        deny=limits.deny,
        review=limits.review,
        vaults=(str(vault),),
    )
