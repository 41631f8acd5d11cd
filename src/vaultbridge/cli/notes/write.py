"""Commands that write into notes: `vaultbridge new`, `append`, `daily` and `set`.

Text comes from the command line or from standard input, a property as NAME=VALUE.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from vaultbridge.cli.common import OK, emit, open_vault, run, say, show_outcome
from vaultbridge.cli.parser import Parser
from vaultbridge.cli.places import find_place
from vaultbridge.errors import JSON_ERRORS, EditRefused, InvalidArgument, NoteNotFound
from vaultbridge.limits import NOTE_READ_BYTES

NEW_EXAMPLES = """\
examples:
  vaultbridge new 'Reading list' '- [ ] one more book'
  vaultbridge new Projects/Balcony --template Project --set status=active
  vaultbridge new Minutes - < minutes.md"""


def main_new(argv: list[str]) -> int:
    parser = Parser("new", "Create a note, and any missing folders.", epilog=NEW_EXAMPLES)
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", help="its name or path, without .md")
    parser.add_argument("text", metavar="TEXT", nargs="*", help="its text; - reads standard input")
    parser.add_argument("--template", default="", metavar="NAME", help="start from this template")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a property (may be repeated)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a note that exists")
    parser.add_argument("--force", action="store_true", help="also replace a note that is not UTF-8")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _create_note)


def _create_note(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import Create

    properties: dict[str, Any] = dict(parse_assignment(text) for text in args.set)
    operation = Create(
        note=args.note,
        content=read_input(args.text, required=False),
        template=args.template,
        properties=properties,
        overwrite=args.overwrite,
        force=args.force,
    )
    with open_vault(args.vault) as engine:
        try:
            show_outcome(engine.apply([operation], dry_run=args.dry_run), args)
        except EditRefused as error:
            error.hint = error.hint.replace("Set overwrite", "Add --overwrite").replace(
                "set force", "add --force"
            )
            raise
    return OK


APPEND_EXAMPLES = """\
examples:
  vaultbridge append Inbox '- [ ] call back'
  vaultbridge append 'Inbox#Today' --create '- [ ] call back'
  date | vaultbridge append Log"""


def main_append(argv: list[str]) -> int:
    parser = Parser(
        "append", "Add text at the end of a note, of a section, or after a block.", epilog=APPEND_EXAMPLES
    )
    parser.add_vault()
    parser.add_argument("place", metavar="PLACE", help="NOTE, NOTE#Heading or NOTE#^block")
    parser.add_argument(
        "text", metavar="TEXT", nargs="*", help="if it is missing or -, standard input is read"
    )
    parser.add_argument("--first", action="store_true", help="add it at the beginning instead")
    parser.add_argument(
        "--create", action="store_true", help="create the heading if the note does not have it"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _append)


def _append(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import Append, Prepend

    text = read_input(args.text)
    with open_vault(args.vault) as engine:
        try:
            place = find_place(engine, args.place)
        except NoteNotFound as error:
            error.hint = f"{error.hint} `vaultbridge new` creates a note.".lstrip()
            raise
        if place.start:
            raise InvalidArgument(
                "Text can be added to a note, a heading or a block, not to lines.",
                argument="usage",
                hint="Use `vaultbridge edit` with the operation insert.",
            )
        kind = Prepend if args.first else Append
        operation = kind(
            note=place.note, content=text, heading=place.heading, block=place.block, create=args.create
        )
        with offering_to_create(args):
            show_outcome(engine.apply([operation], dry_run=args.dry_run), args)
    return OK


@contextmanager
def offering_to_create(args: argparse.Namespace) -> Iterator[None]:
    """Mention --create when the note does not have the heading."""
    try:
        yield
    except EditRefused as error:
        if "No heading" in error.message and not args.create:
            error.hint += " To create it, add --create."
        raise


DAILY_EXAMPLES = """\
examples:
  vaultbridge daily                              read today's note
  vaultbridge daily '- [ ] water the plants'     add to it, or create it
  vaultbridge daily --heading Log --create 'All quiet'
  vaultbridge daily --date yesterday
  vaultbridge daily --period weekly --path"""


def main_daily(argv: list[str]) -> int:
    parser = Parser("daily", "Read today's note, or add to it.", epilog=DAILY_EXAMPLES, paged=True)
    parser.add_vault()
    parser.add_argument("text", metavar="TEXT", nargs="*", help="what to add; - reads standard input")
    parser.add_argument(
        "--period", choices=("daily", "weekly", "monthly", "quarterly", "yearly"), default="daily"
    )
    parser.add_argument(
        "--date",
        default="today",
        metavar="DAY",
        help="YYYY-MM-DD, yesterday, tomorrow, or a number such as -1",
    )
    parser.add_argument("--heading", default="", help="add under this heading")
    parser.add_argument(
        "--create", action="store_true", help="create the heading if the note does not have it"
    )
    parser.add_argument("--first", action="store_true", help="add at the beginning instead of the end")
    parser.add_argument("--path", action="store_true", help="only print the note's path")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _write_daily_note)


def _write_daily_note(args: argparse.Namespace) -> int:
    from vaultbridge.engine.drafting.templates import find_periodic_note, plan_note_addition

    with open_vault(args.vault) as engine:
        note = find_periodic_note(engine, args.period, args.date)
        if args.path:
            emit({"path": note.path, "exists": note.exists}) if args.json else say(note.path)
            return OK
        if not args.text:
            if not note.exists:
                missing = NoteNotFound(note.path, what=f"{note.period} note")
                missing.hint = "It does not exist yet; add text, and it is created."
                raise missing
            view = engine.view(note.path)
            if args.json:
                emit({"path": view.path, "hash": view.hash, "text": view.text})
            else:
                text = args.terminal.clean(view.text)
                sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
            return OK
        operations, notices = plan_note_addition(
            engine,
            note,
            read_input(args.text),
            heading=args.heading,
            create=args.create,
            first=args.first,
        )
        for notice in notices:
            sys.stderr.write(f"note: {notice}\n")
        with offering_to_create(args):
            outcome = engine.apply(operations, dry_run=args.dry_run, label=f"{note.period} note")
        show_outcome(outcome, args)
    return OK


SET_EXAMPLES = """\
examples:
  vaultbridge set Plan status=active rating=4
  vaultbridge set Plan 'tags=["garden","herbs"]'
  vaultbridge set Plan --remove draft"""


def main_set(argv: list[str]) -> int:
    parser = Parser(
        "set",
        "Set or remove a note's properties. Each is written in the type that the vault gives it.",
        epilog=SET_EXAMPLES,
    )
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", help="a name or path")
    parser.add_argument("assignments", metavar="NAME=VALUE", nargs="*", help="text, a number or a JSON list")
    parser.add_argument(
        "--remove", action="append", default=[], metavar="NAME", help="remove this property (may be repeated)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _set)


def _set(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import RemoveProperty, SetProperty
    from vaultbridge.engine.operations.base import Operation

    values = [parse_assignment(text) for text in args.assignments]
    if not values and not args.remove:
        raise InvalidArgument(
            "There is nothing to set.", argument="usage", hint="Give NAME=VALUE, or --remove NAME."
        )
    operations: list[Operation] = [
        SetProperty(note=args.note, name=name, value=value) for name, value in values
    ]
    operations += [RemoveProperty(note=args.note, name=name) for name in args.remove]
    with open_vault(args.vault) as engine:
        show_outcome(engine.apply(operations, dry_run=args.dry_run), args)
    return OK


STDIN: Final = "-"

# A number counts as one only if it is printed exactly as it was typed: 01234 is a postal code and 1e3 a name.
_WHOLE_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,14}")
_DECIMAL_NUMBER: Final = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")


def read_input(words: list[str], *, required: bool = True) -> str:
    """Join the words. Reads standard input instead for `-`, or if there are no words and input is piped in.
    Raises InvalidArgument if there is no text and it is `required`."""
    if words == [STDIN] or (required and not words and not sys.stdin.isatty()):
        data = sys.stdin.buffer.read(NOTE_READ_BYTES + 1)
        if len(data) > NOTE_READ_BYTES:
            raise InvalidArgument(
                f"Standard input has more than {NOTE_READ_BYTES:,} bytes, the most that a note may have.",
                argument="usage",
            )
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise InvalidArgument(
                f"Standard input is not UTF-8 text (byte {error.start}).", argument="usage"
            ) from None
    else:
        text = " ".join(words)
    if required and not text.strip():
        raise InvalidArgument(
            "There is no text to add.", argument="usage", hint="Give it, or - to read standard input."
        )
    return text


def parse_assignment(text: str) -> tuple[str, Any]:
    """`NAME=VALUE` as a property: a number, true, false, null or a JSON list is that value, anything else is
    text. Raises InvalidArgument."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidArgument(
            f"{text!r} has no value to set.",
            argument="usage",
            hint="Write NAME=VALUE, such as status=active.",
        )
    return name.strip(), _parse_value(value.strip())


def _parse_value(text: str) -> Any:
    if text[:1] not in ('"', "[") and text not in ("true", "false", "null"):
        if _WHOLE_NUMBER.fullmatch(text):
            return int(text)
        if _DECIMAL_NUMBER.fullmatch(text) and repr(float(text)) == text:
            return float(text)
        return text
    try:
        return msgspec.json.decode(text)
    except JSON_ERRORS:
        return text
