"""`vaultbridge properties [NOTE]`: the properties of a note, of the vault, or the values of one."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from vaultbridge.cli.common import OK, Parser, open_vault, refresh, run, say


def main(argv: list[str]) -> int:
    parser = Parser(
        "properties",
        "List a note's properties; without NOTE, those of the vault; with --name, the notes that have one.",
        paged=True,
    )
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", nargs="?", default="", help="a name or path")
    parser.add_argument("--name", default="", help="only this property")
    return run(parser, argv, _properties)


def _properties(args: argparse.Namespace) -> int:
    terminal = args.terminal
    with open_vault(args.vault) as engine:
        if args.note:
            view = engine.view(args.note)
            values = view.note.properties.values if view.note.properties is not None else {}
            for name, value in values.items():
                if not args.name or name.lower() == args.name.lower():
                    _show(
                        args,
                        {"name": name, "value": value},
                        f"{terminal.style(name, 'heading')}: {_render(value)}",
                    )
            return OK
        refresh(engine)
        if args.name:
            for one in engine.queries.property_values(args.name).rows:
                shown = terminal.link_note(terminal.style(one.path, "path"), engine.name, one.path)
                _show(args, {"path": one.path, "value": one.value}, f"{shown}: {_render(one.value)}")
            return OK
        types = engine.settings.property_types
        for summary in engine.queries.properties():
            kind = types.get(summary.name.lower()) or "|".join(summary.types)
            _show(
                args,
                {"name": summary.name, "type": kind, "notes": summary.notes},
                f"{terminal.style(summary.name, 'heading')}  {terminal.style(kind, 'dim')}  {summary.notes}",
            )
    return OK


def _show(args: argparse.Namespace, data: dict[str, Any], text: str) -> None:
    if args.json:
        say(msgspec.json.encode(data, enc_hook=str).decode())
    else:
        say(text)


def _render(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
