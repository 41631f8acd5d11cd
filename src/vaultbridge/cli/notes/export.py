"""`vaultbridge export [-o FILE]`: all notes as data, as JSON lines, a GraphML graph or a CSV table.

Rows are sorted by path and yielded one at a time, all from the same state of the index. What the scope hides
is left out, and a link to it counts as unresolved.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from vaultbridge.cli.common import OK, open_vault, refresh, run
from vaultbridge.cli.parser import Parser
from vaultbridge.errors import EngineFailure, InvalidArgument
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.text import replace_surrogates

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine


def main(argv: list[str]) -> int:
    parser = Parser("export", "Write all notes and canvases as data, sorted by path, to standard output.")
    parser.add_vault()
    parser.add_argument(
        "--format", choices=["jsonl", "graphml", "csv"], help="default: from the file's name, otherwise jsonl"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead")
    return run(parser, argv, _export)


def _export(args: argparse.Namespace) -> int:
    ending = Path(args.output or "").suffix.lower()
    if not args.format and ending not in ("", ".ndjson", *(f".{name}" for name in FORMATS)):
        raise InvalidArgument(
            f"There is no format for {ending} files.",
            argument="usage",
            hint=f"Choose one with --format: {', '.join(FORMATS)}.",
        )
    named = ending.removeprefix(".")
    chosen = args.format or (named if named in FORMATS else "jsonl")
    with open_vault(args.vault) as engine:
        refresh(engine)
        rows = FORMATS[chosen](engine)
        if args.output:
            try:
                with open(args.output, "w", encoding="utf-8", newline="") as file:
                    file.writelines(rows)
            except OSError as error:
                raise EngineFailure(f"{args.output} cannot be written: {error.strerror}.") from error
        else:
            for row in rows:
                sys.stdout.buffer.write(row.encode())
            sys.stdout.buffer.flush()
    return OK


def export_jsonl(engine: Engine) -> Iterator[str]:
    for path, note, resolved in _list_rows(engine):
        yield msgspec.json.encode(_make_record(path, note, resolved)).decode() + "\n"


def export_csv(engine: Engine) -> Iterator[str]:
    """Yields one row for each note, with counts. Several tags or problems in a cell are separated by spaces,
    aliases by semicolons."""
    yield _render_csv(
        ["path", "tags", "aliases", "headings", "links", "unresolved", "tasks_open", "tasks_done", "problems"]
    )
    for path, note, resolved in _list_rows(engine):
        done = sum(task.done for task in note.tasks)
        yield _render_csv(
            [
                path,
                " ".join(dict.fromkeys(replace_surrogates(tag.name) for tag in note.tags)),
                "; ".join(map(replace_surrogates, note.aliases)),
                len(note.headings),
                len(note.links),
                resolved.count(None),
                len(note.tasks) - done,
                done,
                " ".join(problem.code for problem in note.problems),
            ]
        )


def export_graphml(engine: Engine) -> Iterator[str]:
    """Yields notes as nodes and resolved links as edges. An edge's weight says how often the link occurs."""
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        '<key id="path" for="node" attr.name="path" attr.type="string"/>\n'
        '<key id="tags" for="node" attr.name="tags" attr.type="string"/>\n'
        '<key id="weight" for="edge" attr.name="weight" attr.type="int"/>\n'
        '<graph id="vault" edgedefault="directed">\n'
    )
    nodes: set[str] = set()
    edges: dict[tuple[str, str], int] = {}
    for path, note, resolved in _list_rows(engine):
        nodes.add(path)
        tags = " ".join(dict.fromkeys(replace_surrogates(tag.name) for tag in note.tags))
        yield _render_node(path, f'<data key="tags">{escape(tags)}</data>')
        for target in resolved:
            if target is not None:
                edges[path, target] = edges.get((path, target), 0) + 1
    for target in sorted({target for _, target in edges} - nodes):
        yield _render_node(target)
    for (source, target), weight in sorted(edges.items()):
        ends = f"source={quoteattr(source)} target={quoteattr(target)}"
        yield f'<edge {ends}><data key="weight">{weight}</data></edge>\n'
    yield "</graph>\n</graphml>\n"


def _render_node(path: str, more: str = "") -> str:
    return f'<node id={quoteattr(path)}><data key="path">{escape(path)}</data>{more}</node>\n'


FORMATS = {"jsonl": export_jsonl, "csv": export_csv, "graphml": export_graphml}


def _list_rows(engine: Engine) -> Iterator[tuple[str, Note, list[str | None]]]:
    """Yields every visible note and canvas with the targets of its links, sorted by path."""
    for indexed in engine.queries.notes():
        yield indexed.file.path, indexed.note, list(indexed.resolved)


def _make_record(path: str, note: Note, resolved: list[str | None]) -> dict[str, Any]:
    return {
        "path": path,
        "properties": note.properties.values if note.properties else {},
        "headings": [
            {"level": h.level, "text": replace_surrogates(h.text), "line": h.line} for h in note.headings
        ],
        "tags": [replace_surrogates(tag.name) for tag in note.tags],
        "aliases": [replace_surrogates(alias) for alias in note.aliases],
        "links": [
            {
                "raw": replace_surrogates(link.raw),
                "target": replace_surrogates(link.target),
                "subpath": replace_surrogates(link.subpath),
                "display": None if link.display is None else replace_surrogates(link.display),
                "embed": link.embed,
                "kind": link.kind,
                "line": link.line,
                "resolved": target,
            }
            for link, target in zip(note.links, resolved, strict=True)
        ],
        "tasks": [
            {"line": t.line, "status": replace_surrogates(t.status), "text": replace_surrogates(t.text)}
            for t in note.tasks
        ],
        "blocks": [block.id for block in note.blocks],
        "problems": [{"code": p.code, "message": p.message, "line": p.line} for p in note.problems],
    }


def _render_csv(cells: list[object]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()
