"""`vaultbridge related [NOTE]`: shows what is related but not linked yet, and links it on request."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from vaultbridge.cli.common import OK, emit, open_vault, refresh, run, say, show_outcome
from vaultbridge.cli.parser import Parser, parse_integer
from vaultbridge.errors import InvalidArgument

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.engine.related.find import Related
    from vaultbridge.engine.related.vault_wide import MissingLink, VaultLook

EXAMPLES = """\
examples:
  vaultbridge related 'Moth garden'              what it could link to, and why
  vaultbridge related 'Moth garden' --link 1 3   link the first and the third
  vaultbridge related --text 'moths at night'    notes related to a text
  vaultbridge related --vault-wide               links, orphans, duplicates"""


def main(argv: list[str]) -> int:
    parser = Parser(
        "related",
        "Show notes that are related to a note but not linked with it yet, and why.",
        epilog=EXAMPLES,
        paged=True,
    )
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", nargs="?", help="a name or path")
    parser.add_argument("--text", help="find notes for this text instead")
    parser.add_argument("--vault-wide", action="store_true", help="look through the whole vault")
    parser.add_argument("--limit", type=parse_integer, default=10, metavar="N", help="how many (10)")
    parser.add_argument("--offset", type=parse_integer, default=0, metavar="N", help="how many to skip")
    parser.add_argument(
        "--link", type=parse_integer, nargs="+", metavar="N", help="make the links with these numbers"
    )
    parser.add_argument("--dry-run", action="store_true", help="with --link: show the diff, change nothing")
    return run(parser, argv, _show_related)


def _show_related(args: argparse.Namespace) -> int:
    if sum((bool(args.note), args.text is not None, args.vault_wide)) != 1:
        raise InvalidArgument("Give one of these: a note, --text, --vault-wide.", argument="usage")
    if args.limit < 1 or args.offset < 0:
        raise InvalidArgument("--limit must be at least 1, and --offset at least 0.", argument="usage")
    if args.link and args.text is not None:
        raise InvalidArgument("A text cannot be linked; name a note.", argument="usage")
    with open_vault(args.vault, with_model=True) as engine:
        refresh(engine)
        if args.vault_wide:
            return _show_look(args, engine)
        return _show_page(args, engine)


def _show_page(args: argparse.Namespace, engine: Engine) -> int:
    from vaultbridge.engine.related.find import find_related, find_related_to_text

    if args.text is not None:
        page = find_related_to_text(engine, args.text, limit=args.limit, offset=args.offset)
    else:
        page = find_related(engine, engine.find(args.note), limit=args.limit, offset=args.offset)
    if args.link:
        return _link(args, engine, [note.edit for note in page.rows])
    for number, note in enumerate(page.rows, 1):
        _show(args, number, note.path, note)
    if not args.json:
        found = f"{len(page.rows)} of {page.total}" if page.total else "No related notes found."
        sys.stderr.write(f"{found}\n")
    return OK


def _show_look(args: argparse.Namespace, engine: Engine) -> int:
    from vaultbridge.engine.related.vault_wide import look_over_vault

    look = look_over_vault(engine, limit=args.limit, offset=args.offset)
    if args.link:
        return _link(args, engine, [link.edit for link in (*look.links, *look.orphans)])
    if args.json:
        emit(replace(look, links=_convert_links(look.links), orphans=_convert_links(look.orphans)))
        return OK
    _print_look(args, look)
    last = look.offset + look.looked
    rest = f"; continue with --offset {last}" if last < look.total else ""
    sys.stderr.write(f"looked at notes {look.offset + 1}-{last} of {look.total}{rest}\n")
    return OK


def _print_look(args: argparse.Namespace, look: VaultLook) -> None:
    number = 0
    for title, links in (
        ("missing links", look.links),
        ("orphans, with a note that could link to them", look.orphans),
    ):
        if links:
            say(args.terminal.style(title, "heading"))
        for link in links:
            number += 1
            _show(args, number, f"{link.source} -> {link.target}", link)
    if look.homeless:
        say(args.terminal.style("orphans without a suggestion", "heading"))
        for path in look.homeless:
            say(path)
    if look.duplicates:
        say(args.terminal.style("near-duplicates", "heading"))
        for pair in look.duplicates:
            say(f"{pair.path} = {pair.other}  ({pair.alike:.0%} alike)")


def _show(args: argparse.Namespace, number: int, title: str, row: Related | MissingLink) -> None:
    if args.json:
        emit(replace(row, edit=use_engine_names(row.edit)))
        return
    terminal = args.terminal
    say(f"{number:>3}  {terminal.style(terminal.clean(title), 'path')}")
    for reason in row.reasons:
        say(f"     {terminal.clean(reason)}")


def _convert_links(links: tuple[MissingLink, ...]) -> tuple[MissingLink, ...]:
    return tuple(replace(link, edit=use_engine_names(link.edit)) for link in links)


def use_engine_names(edit: dict[str, Any] | None) -> dict[str, Any] | None:
    """An edit as `vaultbridge edit` takes it, which says `note` where the tools say `name`."""
    return edit and {"note" if key == "name" else key: value for key, value in edit.items()}


def _link(args: argparse.Namespace, engine: Engine, edits: list[dict[str, Any] | None]) -> int:
    """Make the links with the given numbers as one change."""
    from vaultbridge.engine.related.edits import convert_edit

    wanted = []
    for number in args.link:
        edit = edits[number - 1] if 1 <= number <= len(edits) else None
        if edit is None:
            raise InvalidArgument(
                f"There is no link with the number {number}.",
                argument="usage",
                hint=f"There are {len(edits)}; those without a safe edit cannot be linked.",
            )
        wanted.append(convert_edit(edit))
    show_outcome(engine.apply(wanted, dry_run=args.dry_run, label="link related notes"), args)
    return OK
