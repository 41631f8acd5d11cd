"""`vaultbridge token make|list|revoke`: access tokens, for other machines, for pages, and for limited
access."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vaultbridge.cli.common import OK, emit, run, say
from vaultbridge.cli.parser import Parser, SuggestingParser
from vaultbridge.errors import VaultbridgeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultbridge.server.config.model import VaultConfig
    from vaultbridge.tokens import AccessToken, TokenStore

_REVIEWED = {"destructive": "destructive changes", "all": "all changes"}


def main(argv: list[str]) -> int:
    parser = Parser("token", "Create, list and revoke access tokens.")
    parser.add_argument("--config", type=Path, metavar="FILE", help="another configuration file")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="make | list | revoke", parser_class=SuggestingParser
    )
    # Options may follow the subcommand too; a default there must not undo what was given before it.
    both = SuggestingParser(add_help=False, argument_default=argparse.SUPPRESS)
    both.add_argument("--json", action="store_true", help="answer as JSON, for programs")
    both.add_argument("--color", choices=("auto", "always", "never"), help=argparse.SUPPRESS)
    both.add_argument("--config", type=Path, metavar="FILE", help="another configuration file")
    make = commands.add_parser("make", parents=[both], help="create a token and show it, once")
    make.add_argument("name", metavar="NAME", help="who or what the token is for")
    make.add_argument("--read-only", action="store_true", help="allow no changes")
    make.add_argument("--allow", action="append", default=[], metavar="GLOB", help="show only these notes")
    make.add_argument("--deny", action="append", default=[], metavar="GLOB", help="hide these notes")
    make.add_argument("--vault", action="append", default=[], metavar="NAME", help="only this vault")
    make.add_argument(
        "--review",
        choices=("off", "destructive", "all"),
        default="off",
        help="which of its changes need a person's review",
    )
    make.add_argument("--expires", metavar="TIME", default="", help="such as 12h, 30d or 4w (default: never)")
    commands.add_parser("list", parents=[both], help="list the tokens")
    revoke = commands.add_parser("revoke", parents=[both], help="revoke a token")
    revoke.add_argument("token", metavar="TOKEN", help="its id or name")
    return run(parser, argv, _run_action)


def _run_action(args: argparse.Namespace) -> int:
    from vaultbridge.server.config.model import choose_config
    from vaultbridge.tokens import TokenStore

    commands = {"make": _make, "list": _list, "revoke": _revoke}
    file = choose_config(os.environ, named=args.config)
    file.check()  # tokens beside a file that no server reads would be refused everywhere
    commands[args.command](args, TokenStore(file.path.parent))
    return OK


def _make(args: argparse.Namespace, store: TokenStore) -> None:
    from vaultbridge.server.config.model import choose_config
    from vaultbridge.tokens import describe_token, parse_lifetime

    token, secret = store.make(
        args.name,
        read_only=args.read_only,
        allow=tuple(args.allow),
        deny=tuple(args.deny),
        vaults=tuple(args.vault),
        seconds=parse_lifetime(args.expires, argument="usage"),
        review=args.review,
    )
    if args.json:
        emit({**describe_token(token), "token": secret})
    else:
        say(secret)
        sys.stderr.write(
            f"Created {token.id}. It is shown only once; send it as `Authorization: Bearer …`.\n"
        )
    sys.stdout.flush()
    with suppress(VaultbridgeError):  # no vault is known yet, or another command reports the fault
        for about in _find_unused_patterns(token, choose_config(os.environ, named=args.config).load().vaults):
            sys.stderr.write(f"note: {args.terminal.clean(about)}\n")


def _find_unused_patterns(token: AccessToken, configured: Sequence[VaultConfig]) -> list[str]:
    """The token's patterns that match nothing in any vault that it may be for. Raises VaultNotFound."""
    from vaultbridge.server.config.model import describe_vaults
    from vaultbridge.server.servers import find_served_vaults
    from vaultbridge.server.unused_patterns import find_unused, list_scope_patterns
    from vaultbridge.server.vault_choice import choose_vaults, find_here
    from vaultbridge.vault.paths import VaultFolder
    from vaultbridge.vault.walk import FileEntry, list_folders, walk

    patterns = list(list_scope_patterns(" of this token", token.allow, token.deny))
    if not patterns:
        return []  # and no vault need be looked for
    chosen = choose_vaults(os.environ, find_here(), configured=lambda: [vault.path for vault in configured])
    wanted = describe_vaults(configured, chosen.vaults)
    roots = [
        VaultFolder(vault.folder)
        for vault in find_served_vaults(wanted)
        if token.covers(vault.name, vault.folder)
    ]
    files = [entry.path for root in roots for entry in walk(root) if isinstance(entry, FileEntry)]

    def read_folders() -> list[str]:
        return [folder for root in roots for folder in list_folders(root)]

    return [str(about) for about in find_unused(patterns, files, read_folders)] if files else []


def _list(args: argparse.Namespace, store: TokenStore) -> None:
    from vaultbridge.tokens import describe_token

    tokens = store.list_tokens()
    for token in tokens:
        if args.json:
            emit(describe_token(token))
        else:
            say(f"{token.id}  {token.name}  {_describe_limits(token)}{_describe_expiry(token)}")
    if not tokens and not args.json:
        say("There are no tokens. `vaultbridge token make NAME` creates one.")


def _revoke(args: argparse.Namespace, store: TokenStore) -> None:
    from vaultbridge.server.config.model import choose_config
    from vaultbridge.server.unused_scopes import delete_unused_scopes
    from vaultbridge.tokens import describe_token

    token = store.revoke(args.token)
    with suppress(VaultbridgeError):  # another command reports the fault; the token is revoked
        delete_unused_scopes(choose_config(os.environ, named=args.config).load(), store.list_tokens())
    if args.json:
        emit({**describe_token(token), "revoked": True})
    else:
        say(f"Revoked {token.id} ({token.name}).")


def _describe_limits(token: AccessToken) -> str:
    words = ["read-only" if token.read_only else "read and write"]
    words += [f"only {pattern}" for pattern in token.allow]
    words += [f"not {pattern}" for pattern in token.deny]
    words += [f"vault {name}" for name in token.vaults]
    words += [f"review of {_REVIEWED[token.review]}"] if token.review != "off" else []
    return ", ".join(words)


def _describe_expiry(token: AccessToken) -> str:
    if not token.expires:
        return ""
    word = "expired" if token.expires <= time.time() else "until"
    return f", {word} {time.strftime('%Y-%m-%d %H:%M', time.localtime(token.expires))}"
