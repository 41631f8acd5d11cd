"""A small vault of rows, and evaluation of one expression over one of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from vaultbridge.bases.context import EvaluationContext
from vaultbridge.bases.evaluate import Evaluator, check_expression
from vaultbridge.bases.expression import parse_expression
from vaultbridge.bases.values import FileRow, FormulaError, RowLink, Value, default_display
from vaultbridge.links.resolve import FileTable, Resolved
from vaultbridge.links.resolve import resolve as resolve_link
from vaultbridge.vault.dates import format_moment

NOW = datetime(2025, 5, 27, 14, 30, 15, 250_000)


def make_row_link(target: str, path: str | None = None, display: str = "") -> RowLink:
    return RowLink(target, display or default_display(target), path)


def make_file_row(
    path: str,
    *,
    properties: Mapping[str, Any] | None = None,
    tags: tuple[str, ...] = (),
    links: tuple[RowLink, ...] = (),
    embeds: tuple[RowLink, ...] = (),
    backlinks: tuple[str, ...] = (),
    size: int = 100,
    ctime: datetime = datetime(2025, 5, 20, 9, 0),
    mtime: datetime = datetime(2025, 5, 24, 14, 30),
) -> FileRow:
    folder, _, name = path.rpartition("/")
    basename, _, ext = name.rpartition(".")
    return FileRow(
        path,
        name,
        basename,
        folder,
        ext,
        size,
        ctime,
        mtime,
        tags=tags,
        links=(*links, *embeds),
        embeds=embeds,
        backlinks=lambda: backlinks,
        properties=properties or {},
    )


BOOK = make_file_row(
    "Books/Dune.md",
    properties={
        "price": 12.5,
        "age": 4,
        "status": "reading",
        "author": "[[Frank Herbert|Frank]]",
        "authors": ["[[Frank Herbert]]", "[[Nobody]]"],
        "due": "2025-06-01",
        "seen": "2025-05-26T23:30:00",
        "done": False,
        "empty": None,
        "image-property": "cover.png",
        "rating scale": {"max": 5, "Steps": [1, 2]},
        "Case": "kept",
        "site": "https://example.org/",
        "title": "Dune",
    },
    tags=("book", "genre/science-fiction"),
    links=(make_row_link("Frank Herbert", "People/Frank Herbert.md"), make_row_link("Nobody")),
    embeds=(make_row_link("cover.png", "Images/cover.png"),),
    backlinks=("Index.md",),
)
AUTHOR = make_file_row(
    "People/Frank Herbert.md", properties={"born": 1920}, links=(make_row_link("Dune", "Books/Dune.md"),)
)
INDEX = make_file_row(
    "Index.md", properties={"status": "reading"}, links=(make_row_link("Dune", "Books/Dune.md"),)
)
COVER = make_file_row("Images/cover.png")
ROWS = (BOOK, AUTHOR, INDEX, COVER)

TABLE = FileTable(row.path for row in ROWS)


def resolve(target: str, source: str) -> str | None:
    found = resolve_link(target, source, TABLE)
    return found.path if isinstance(found, Resolved) else None


def make_context(
    *, this: FileRow | None = None, types: Mapping[str, str] | None = None, now: datetime = NOW
) -> EvaluationContext:
    rows = {row.path: row for row in ROWS}
    return EvaluationContext(
        now=now,
        resolve=resolve,
        row_of=rows.get,
        format_moment=format_moment,
        random=lambda: 0.25,
        this=this,
        types=types,
    )


def evaluate(source: str, row: FileRow | None = BOOK, context: EvaluationContext | None = None) -> Value:
    """Evaluate the expression for the row, checked first as a base's expressions are."""
    tree = parse_expression(source)
    check_expression(tree, ())

    def refuse_formula(name: str) -> Value:
        raise FormulaError(name)

    return Evaluator(context or make_context(), row, refuse_formula).value(tree)
