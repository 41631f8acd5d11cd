"""Vaults in memory with their references, and random ones for property tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from vaultbridge.bases.parse import extract_base_blocks
from vaultbridge.canvas.parse import parse_canvas
from vaultbridge.links.move import Reference
from vaultbridge.links.resolve import FileTable, Resolved, resolve
from vaultbridge.links.syntax import relative_path
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.embedded import Embedded, whole_text
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse


class MemoryVault:
    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    @property
    def table(self) -> FileTable:
        return FileTable(self.texts)

    def note(self, path: str) -> Note:
        if path.endswith(".md"):
            return parse(self.texts[path])
        return parse_canvas(self.texts[path]) if path.endswith(".canvas") else Note()

    def references(self) -> list[Reference]:
        table = self.table
        return [
            Reference(path, link, _find_path(link.target, path, table))
            for path in self.texts
            for link in self.note(path).links
        ]

    @property
    def bases(self) -> dict[str, tuple[Embedded, ...]]:
        files = {path: (whole_text(text),) for path, text in self.texts.items() if path.endswith(".base")}
        blocks = {
            path: tuple(block.inside for block in extract_base_blocks(text))
            for path, text in self.texts.items()
            if path.endswith(".md")
        }
        return {**files, **blocks}

    def read(self, path: str) -> str:
        return self.texts[path]

    def apply(
        self, edits: Mapping[str, Iterable[Change]], moves: Mapping[str, str] | None = None
    ) -> MemoryVault:
        moved = moves or {}
        return MemoryVault(
            {
                moved.get(path, path): apply_changes(text, edits.get(path, ()))
                for path, text in self.texts.items()
            }
        )


def _find_path(target: str, source: str, table: FileTable) -> str | None:
    found = resolve(target, source, table)
    return found.path if isinstance(found, Resolved) else None


def make_card(kind: str, name: str, **more: object) -> dict[str, object]:
    """A card of a canvas, as its JSON."""
    return {"id": name, "type": kind, "x": 0, "y": 0, "width": 9, "height": 9, **more}


FOLDERS = ["", "a", "b", "a/b", "x y", "Ünï", "a/b/c"]
NAMES = ["n.md", "m.md", "é.md", "two words.md", "v1.2.md", "p(1).md", "it's 100%.md", "pic.png", "b&d.md"]


def join_path(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


PATHS = st.builds(join_path, st.sampled_from(FOLDERS), st.sampled_from(NAMES))


def list_forms(path: str, source: str) -> list[str]:
    """Ways in which a person may have written the path; some lead to another file on purpose."""
    full = path.removesuffix(".md")
    name = full.rpartition("/")[2]
    partial = "/".join(full.split("/")[-2:])
    relative = relative_path(full, source)
    return [name, full, f"/{full}", partial, relative, f"./{relative}", path, name.upper(), f"../{name}"]


def escape_target(target: str) -> str:
    return target.replace("%", "%25").replace(" ", "%20")


WRITTEN = [
    "[[{t}]]", "![[{t}]]", "[[{t}#Head one|shown]]", "[[{t}#^b1]] and [[{t}|{t}]]", "- [ ] [[{t}]] #tag",
    "> [!note] [[{t}]]", "[x]({m})", "[n]({m})", "![alt|100]({m})", '[x y](<{a}> "title")',
    "[n.md]({m}#Head)", "`[[{t}]]`", "| c |\n| - |\n| [[{t}\\|x]] |", "[![[{t}]]]({m})",
    "[[nowhere]] [[#here]] {t}", "```\n[[{t}]]\n```",
]  # fmt: skip


@st.composite
def vaults(draw: st.DrawFn) -> dict[str, str]:
    paths = draw(st.lists(PATHS, min_size=2, max_size=8, unique=True))
    texts: dict[str, str] = {}
    for path in paths:
        if not path.endswith(".md"):
            texts[path] = ""
            continue
        line_end = draw(st.sampled_from(["\n", "\r\n"]))
        front = ""
        if draw(st.booleans()):
            shape = draw(
                st.sampled_from(['up: "[[{t}]]"', "up: '[[{q}|x]]' # c", 'l:\n  - "[[{t}#h]]"\n  - b'])
            )
            target = draw(st.sampled_from(list_forms(draw(st.sampled_from(paths)), path)))
            front = "---\n" + shape.format(t=target, q=target.replace("'", "''")) + "\n---\n"
        lines = []
        for _ in range(draw(st.integers(0, 4))):
            target = draw(st.sampled_from(list_forms(draw(st.sampled_from(paths)), path)))
            written = draw(st.sampled_from(WRITTEN))
            lines.append(written.format(t=target, m=escape_target(target), a=target.replace("%", "%25")))
        texts[path] = (front + "\n\n".join(lines)).replace("\n", line_end)
    if draw(st.booleans()):
        where = join_path(draw(st.sampled_from(FOLDERS)), "board.canvas")
        shown = [draw(st.sampled_from(paths)) for _ in range(3)]
        inside = "\n".join(f"[[{form}]]" for form in list_forms(shown[1], where)[:4])
        nodes = [
            make_card("file", "1", file=shown[0]),
            make_card("text", "2", text=inside),
            make_card("file", "3", file=shown[2]),
        ]
        texts[where] = json.dumps({"nodes": nodes}, ensure_ascii=draw(st.booleans()), indent="\t")
    return texts


@st.composite
def renames(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, str]]:
    texts = draw(vaults())
    moved = draw(st.lists(st.sampled_from(sorted(texts)), min_size=1, max_size=3, unique=True))
    moves: dict[str, str] = {}
    for old in moved:
        name = old.rpartition("/")[2]
        if draw(st.booleans()) and name.endswith(".md"):
            name = draw(st.sampled_from([n for n in NAMES if n.endswith(".md")]))
        new = join_path(draw(st.sampled_from(FOLDERS)), name)
        if new not in moves.values() and (new not in texts or new in moved):
            moves[old] = new
    taken = set(texts) - set(moves)
    return texts, {old: new for old, new in moves.items() if new not in taken}
