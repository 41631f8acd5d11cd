"""The sample vault is sound, shows the whole syntax, and answers the searches that the documents show."""

from __future__ import annotations

import json
import zlib
from datetime import datetime
from pathlib import Path

import pytest

from support.bases import make_row_link
from vaultbridge.bases.parse import Base, extract_base_blocks, parse_base
from vaultbridge.bases.result import ViewResult
from vaultbridge.bases.run import run_view
from vaultbridge.bases.values import ErrorValue, FileRow
from vaultbridge.canvas.outline import render_outline
from vaultbridge.canvas.parse import parse_canvas, read_canvas
from vaultbridge.links.resolve import FileTable, Resolved
from vaultbridge.links.resolve import resolve as resolve_link
from vaultbridge.links.subpath import BlockId, HeadingPath, find_heading, heading_paths, parse_subpath
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import heading_key
from vaultbridge.markdown.text import decode
from vaultbridge.vault.dates import format_moment

ROOT = Path(__file__).parents[1] / "examples" / "sample-vault"
FILES = {
    file.relative_to(ROOT).as_posix(): file.read_bytes()
    for file in sorted(ROOT.rglob("*"))
    if file.is_file() and ".obsidian" not in file.parts
}
TEXTS = {
    path: decode(data).text for path, data in FILES.items() if path.endswith((".md", ".canvas", ".base"))
}
NOTES: dict[str, Note] = {
    path: parse_canvas(text) if path.endswith(".canvas") else parse(text)
    for path, text in TEXTS.items()
    if not path.endswith(".base")
}
TABLE = FileTable(FILES)
NOW = datetime(2026, 3, 15, 20, 0)

MISSING_ON_PURPOSE = {"Comets to come", "Radio meteor station"}


def resolve(target: str, source: str) -> str | None:
    found = resolve_link(target, source, TABLE)
    return found.path if isinstance(found, Resolved) else None


def make_row(path: str) -> FileRow:
    note = NOTES.get(path, Note())
    folder, _, name = path.rpartition("/")
    basename, _, ext = name.rpartition(".")
    links = tuple(make_row_link(link.target, resolve(link.target, path)) for link in note.links)
    return FileRow(
        path,
        name,
        basename,
        folder,
        ext,
        len(FILES[path]),
        NOW,
        NOW,
        tags=tuple(tag.name for tag in note.tags),
        links=links,
        properties=note.properties.values if note.properties else {},
        aliases=note.aliases,
    )


ROWS = {path: make_row(path) for path in FILES}


def run(base: Base, view: str | None = None, this: str = "Home.md") -> ViewResult:
    return run_view(
        base,
        view,
        ROWS.values(),
        now=NOW,
        resolve=resolve,
        format_moment=format_moment,
        this=ROWS[this],
    )


def list_names(result: ViewResult) -> list[str]:
    return [row.path.rpartition("/")[2] for row in result.rows]


def test_it_is_small_and_has_names_of_many_kinds() -> None:
    assert 25 <= len(FILES) <= 40
    assert any(" " in path for path in FILES)
    assert any("é" in path for path in FILES)
    assert any("彗星" in path for path in FILES)
    assert any("🌱" in path for path in FILES)


@pytest.mark.parametrize("path", NOTES)
def test_every_note_is_read_without_a_problem(path: str) -> None:
    assert NOTES[path].problems == ()


def test_every_link_leads_somewhere_except_the_two_that_show_what_is_missing() -> None:
    missing = {
        link.target
        for path, note in NOTES.items()
        for link in note.links
        if resolve(link.target, path) is None
    }
    assert missing == MISSING_ON_PURPOSE


def test_every_heading_and_block_that_a_link_names_is_there() -> None:
    for path, note in NOTES.items():
        for link in note.links:
            target = resolve(link.target, path)
            if target is None or not target.endswith(".md"):
                continue
            there = NOTES[target]
            match parse_subpath(link.subpath):
                case BlockId(wanted):
                    assert wanted.lower() in {block.id.lower() for block in there.blocks}, link.raw
                case HeadingPath(parts):
                    keys = [heading_key(heading.text) for heading in there.headings]
                    assert find_heading(keys, heading_paths(there.headings), parts), link.raw


def test_every_form_of_the_syntax_occurs() -> None:
    links = [link for note in NOTES.values() for link in note.links]
    assert {link.kind for link in links} == {"wiki", "markdown", "property", "canvas"}
    assert {link.embed for link in links if link.kind == "wiki"} == {True, False}
    assert any("\\|" in link.raw for link in links), "a link in a table"
    assert {note.kind for parsed in NOTES.values() for note in parsed.footnotes} == {
        "reference",
        "definition",
        "inline",
    }
    callouts = [callout for note in NOTES.values() for callout in note.callouts]
    assert {callout.fold for callout in callouts} == {"", "+", "-"}
    assert max(callout.depth for callout in callouts) == 2
    tasks = [task for note in NOTES.values() for task in note.tasks]
    assert {task.status for task in tasks} >= {" ", "x", "/", "-", "?"}
    assert {field for task in tasks for field in task.fields} == {
        "priority", "created", "start", "scheduled", "due",
        "done", "cancelled", "recurrence", "id", "depends_on",
    }  # fmt: skip
    assert any(task.depth for task in tasks)
    assert len({block.id for note in NOTES.values() for block in note.blocks}) >= 10
    assert {field.key for note in NOTES.values() for field in note.fields} >= {
        "decision",
        "number-of-eyes",
        "mood",
    }
    tags = {tag.name for note in NOTES.values() for tag in note.tags}
    assert tags >= {"project", "project/sky", "demo/nested", "été", "観測", "✨", "one", "two", "plan/spring"}
    assert not {tag for tag in tags if "not" in tag or "nope" in tag or tag == "1984"}
    values = [
        value for note in NOTES.values() if note.properties for value in note.properties.values.values()
    ]
    assert {type(value) for value in values} >= {str, int, float, bool, list, dict, type(None)}


def test_exactly_one_note_has_windows_line_ends() -> None:
    windows = [path for path in TEXTS if b"\r\n" in FILES[path]]
    assert windows == ["Reference/Weather lore.md"]
    assert FILES[windows[0]].count(b"\n") == FILES[windows[0]].count(b"\r\n")


def test_the_searches_that_the_documents_show_have_answers() -> None:
    def list_tagged(tag: str) -> list[str]:
        return [
            path
            for path, note in NOTES.items()
            if any(candidate.name == tag or candidate.name.startswith(f"{tag}/") for candidate in note.tags)
        ]

    projects = {path for path in list_tagged("project") if path.startswith("Projects/")}
    assert len(projects) == 5
    active = [path for path in projects if ROWS[path].properties["status"] == "active"]
    assert len(active) == 3
    assert len([path for path, text in TEXTS.items() if "light pollution" in text.lower()]) >= 5
    assert len([task for note in NOTES.values() for task in note.tasks if task.status == " "]) >= 15


def test_the_image_is_a_real_one() -> None:
    data = FILES["Attachments/m81-sketch.png"]
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds, pixels = 8, [], b""
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        assert zlib.crc32(kind + body) == int.from_bytes(data[at + 8 + size : at + 12 + size], "big")
        kinds.append(kind)
        pixels += body if kind == b"IDAT" else b""
        at += size + 12
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]
    assert len(zlib.decompress(pixels)) == 96 * 97


def test_the_settings_are_json_and_name_what_is_there() -> None:
    settings = {file.name: json.loads(file.read_bytes()) for file in (ROOT / ".obsidian").iterdir()}
    assert set(settings) >= {"app.json", "daily-notes.json", "templates.json", "types.json", "bookmarks.json"}
    assert settings["daily-notes.json"]["template"] + ".md" in FILES
    folders = {path.rpartition("/")[0] for path in FILES}
    assert {settings["templates.json"]["folder"], settings["app.json"]["attachmentFolderPath"]} <= folders
    kinds = {"text", "multitext", "number", "checkbox", "date", "datetime", "tags", "aliases"}
    assert set(settings["types.json"]["types"].values()) == kinds
    marked = [item["path"] for item in settings["bookmarks.json"]["items"] if item["type"] == "file"]
    assert set(marked) <= set(FILES)


def test_the_prompts_say_which_arguments_they_take() -> None:
    prompts = [path for path in FILES if path.startswith("Prompts/")]
    assert len(prompts) >= 2
    for path in prompts:
        properties = ROWS[path].properties
        assert properties["description"]
        for argument in properties["arguments"]:
            assert set(argument) == {"name", "description", "required"}
            assert f"{{{{{argument['name']}}}}}" in TEXTS[path]


def test_the_base_s_views_give_what_they_promise() -> None:
    base = parse_base(TEXTS["Observatory.base"])
    assert base.problems == ()
    active = run(base, "Active projects")
    assert list_names(active) == ["Light pollution survey.md", "Spectrograph build.md", "Moth garden.md"]
    assert active.rows[0].cells[3:5] == ("later", "Sky quality meter, All-sky camera")
    assert [summary.value for summary in active.summaries] == [31.0]
    every = run(base, "All projects")
    assert [(group.value, len(group.rows)) for group in every.groups] == [
        ("active", 3),
        ("done", 1),
        ("planned", 1),
    ]
    best = run(base, "Best nights")
    assert list_names(best) == ["2026-03-14 Algol minimum.md", "2026-03-12 M81 and M82.md"]
    assert best.rows[1].cells[2] == "20.94 mag/arcsec²"
    mentioned = run(base, "Mentioned here", this="Targets/Algol.md")
    assert "2026-03-14 Algol minimum.md" in list_names(mentioned)
    for result in (active, every, best, mentioned):
        assert not [cell for row in result.rows for cell in row.cells if isinstance(cell, ErrorValue)]
        assert result.problems == ()


def test_the_base_inside_a_note_runs() -> None:
    (block,) = extract_base_blocks(TEXTS["Reference/Syntax garden.md"])
    result = run(parse_base(block.text, block.line))
    assert list_names(result) == ["Algol.md", "Messier 81.md", "M82.md"]
    assert result.rows[0].cells[3] == "eye"
    assert [round(float(str(summary.value)), 2) for summary in result.summaries] == [5.8]


def test_the_canvas_is_drawn_as_planned() -> None:
    canvas = read_canvas(TEXTS["Spring plan.canvas"])
    assert {type(card).__name__ for card in canvas.cards} == {"GroupCard", "TextCard", "FileCard", "LinkCard"}
    shown = render_outline(canvas)
    assert "Sky quality meter → Light pollution survey#Sites : measures" in shown
    assert "\n- `5f1c0a7e9b3d2468` color 5 group: Sky\n  - " in shown
