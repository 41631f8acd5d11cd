"""`vaultbridge links VAULT [NOTE]`: backlinks, outgoing links and paths between notes."""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, emit, open_vault, parse_integer, refresh, run, say


def main(argv: list[str]) -> int:
    parser = Parser(
        "links",
        "The links of a note: backlinks and outgoing ones, its neighbourhood, or the path to another note.",
        epilog="Without NOTE, one of --unresolved, --orphans and --dead-ends asks about the whole vault.",
        paged=True,
    )
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", nargs="?", help="a name or path")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--backlinks", action="store_true", help="only links to NOTE")
    which.add_argument("--outgoing", action="store_true", help="only links of NOTE")
    which.add_argument(
        "--depth", type=parse_integer, metavar="N", help="every note at most N links away from NOTE"
    )
    which.add_argument("--to", metavar="OTHER", help="the shortest path from NOTE to OTHER")
    which.add_argument("--unresolved", action="store_true", help="links that lead to no file")
    which.add_argument("--orphans", action="store_true", help="notes that no other note links to")
    which.add_argument("--dead-ends", action="store_true", help="notes that link to nothing")
    return run(parser, argv, _links)


def _links(args: argparse.Namespace) -> int:
    from vaultbridge.errors import InvalidArgument

    whole_vault = args.unresolved or args.orphans or args.dead_ends
    if bool(args.note) == bool(whole_vault):
        raise InvalidArgument(
            "Name a note, or ask for --unresolved, --orphans or --dead-ends.", argument="usage"
        )
    with open_vault(args.vault) as engine:
        refresh(engine)
        if args.unresolved:
            for target in engine.queries.unresolved().rows:
                _row(args, target, f"{target.target}  ({target.count}: {', '.join(target.sources)})")
            return OK
        if whole_vault:
            listed = engine.queries.orphans() if args.orphans else engine.queries.dead_ends()
            for path in listed.rows:
                _row(args, {"path": path}, path)
            return OK
        path = engine.find(args.note)
        if args.depth is not None:
            around = engine.queries.neighbourhood(path, args.depth)
            for other, distance in around.distances.items():
                _row(args, {"path": other, "distance": distance}, f"{distance}  {other}")
            return OK
        if args.to:
            return _way(args, engine.queries.path_between(path, engine.find(args.to)))
        if not args.outgoing:
            for link in engine.queries.backlinks(path):
                _row(args, {"direction": "in", **_fields(link)}, f"<- {link.source}:{link.line}: {link.raw}")
        if not args.backlinks:
            for out in engine.queries.outgoing(path):
                leads = out.resolved or "(unresolved)"
                _row(args, {"direction": "out", **_fields(out)}, f"-> {leads}  {path}:{out.line}: {out.raw}")
    return OK


def _way(args: argparse.Namespace, way: object) -> int:
    from vaultbridge.cli.common import FAILED
    from vaultbridge.links.graph import Path

    if isinstance(way, Path):
        _row(args, {"path": way.notes, "steps": way.steps}, " -> ".join(way.notes))
        return OK
    _row(args, {"path": None}, "No links lead from one to the other.")
    return FAILED


def _row(args: argparse.Namespace, data: object, text: str) -> None:
    if args.json:
        emit(data)
    else:
        say(text)


def _fields(link: object) -> dict[str, object]:
    from msgspec import to_builtins

    fields: dict[str, object] = to_builtins(link)
    return fields
