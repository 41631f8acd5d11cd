"""Draws the vaults and changes of `faults.sessions` from a seed: names that systems and alphabets compare in
different ways, and texts with every kind of link and line end."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from typing import Any

Json = dict[str, Any]

NAMES = (
    "plan", "Plan", "PLAN", "Straße", "STRASSE", "straẞe", "İstanbul", "istanbul", "ıstanbul", "Ꭰꮳ", "ꭰᏣ",
    "ა", "Ა", "é", "É", "Σίσυφος", "ΣΊΣΥΦΟΣ", "ﬁle", "file", "Å", "K", "ǆ", "ǅ", "שלום\u200f", "\u202bنص",
    "👩\u200d👩\u200d👧\u200d👦", "a.b", "a.b.md", "v1.2", "x (1)", "x) (y", "100%", "a%20b", "a b", "it's",
    "a,b;c", "a&b=c", "{x}", "$m$", "`c`", "_u_", "!bang", "@at", "~t", "日記", "क्षि", "zero\u200bwidth",
    "nbsp\u00a0x", "line\u2028sep", "-dash", "---", "+", "1", "true", "null", "md", "x.png", "=a=", "L1",
    "a - b",
)  # fmt: skip
FOLDERS = ("", "", "Pub/", "pub2/", "Pub/Sub/", "Ünï cödé/", "a.b/", "plan/", "x (1)/", "Ა/", "100%/")
HIDDEN = "Private/"
LINE_ENDS = ("\n", "\n", "\r\n", "\r")
PNG = b"\x89PNG\r\n\x1a\n"

_ESCAPED = re.compile(r"[\s()<>`]")


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


class Draw:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names = self.rng.sample(NAMES, 12)
        self.labels = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    # Files.

    def paths(self, count: int, folders: tuple[str, ...]) -> list[str]:
        """Paths that differ in more than case or Unicode form: the app knows such files as one."""
        found: dict[str, str] = {}
        for _ in range(count):
            name = self.rng.choice(self.names)
            suffix = self.pick(".md", ".md", ".md", ".md", ".md", ".png", ".canvas", ".base", ".MD", ".pdf")
            path = unicodedata.normalize("NFC", f"{self.rng.choice(folders)}{name}{suffix}")
            found.setdefault(path.lower(), path)
        return list(found.values())

    def spell(self, target: str, source: str) -> str:
        """One of the ways to write a path in a link."""
        path = target[:-3] if target.endswith(".md") and self.chance(0.7) else target
        name = path.rpartition("/")[2]
        up = "../" * source.count("/")
        folder = target.rpartition("/")[0]
        near = f"./{name}" if folder == source.rpartition("/")[0] else path
        spelled = self.pick(name, name, name, path, path, f"/{path}", f"{up or './'}{path}", near)
        odd = self.rng.random()
        if odd < 0.06:
            return unicodedata.normalize("NFD", spelled)
        if odd < 0.12:
            return str(spelled.upper())
        return str(spelled)

    def link(self, source: str, paths: list[str]) -> str:
        target = self.rng.choice(paths) if self.chance(0.93) else "nowhere/none"
        spelled, label = self.spell(target, source), self.label()
        sub = self.pick("", "", "", "#One", "#One#Two", "#^b1", "#page=3")
        mark = self.pick("", "", "!")
        if self.chance(0.65) and not set(spelled) & set("[]|#^"):
            size = self.pick("", "", "", "|100") if mark else ""
            return f"{mark}[[{spelled}{sub}|{label}{size}]]"
        escaped = spelled.replace("%", "%25")
        if self.chance(0.3) and not set(spelled) & set("<>"):
            return f"{mark}[{label}](<{escaped}{sub}>)"
        return f"{mark}[{label}]({_ESCAPED.sub(_escape, escaped)}{sub})"

    def line(self, source: str, paths: list[str]) -> str:
        """A line, or a few that belong together."""
        link, other = self.link(source, paths), self.link(source, paths)
        name = self.rng.choice(self.names)
        cell = link.replace("|", r"\|") if "[[" in link else link
        line: str = self.pick(
            link, f"- {link} and {other}", f"> [!note] {link}\n> > [!tip]- {other}", f"| a | {cell} |",
            f"text {name}", "# One", "## Two", f"- [ ] do {link}", f"^[foot {link}]", f"%%{link}%%",
            f"par {link} ^b1", f"#tag {name}", "", f"```\n[[{name}|code]]\n```", f"`[[{name}|code]]`",
            f"**{link}**", f"<span>{link}</span>", f"- {link}\n\t- {other}", "a\x00b", "a\u2028b",
            "\u200f\u202b mix", "tail  ", f"===\n{link}",
        )  # fmt: skip
        return line

    def note(self, source: str, paths: list[str]) -> bytes:
        lines = [self.line(source, paths) for _ in range(self.rng.randint(0, 9))]
        if self.chance(0.4):
            link = self.link(source, paths).removeprefix("!")
            single = self.chance(0.5) and "'" not in link
            quoted = f"'{link}'" if single else json.dumps(link, ensure_ascii=False)
            up = f"list:\n  - {quoted}" if self.chance(0.4) else f"up: {quoted}"
            lines[:0] = [f"---\naliases: [{self.pick('alias', 'plan')}]\n{up}\n---"]
        text = "\n".join(lines) + self.pick("", "\n")
        data: bytes = self.pick(b"", b"", b"", b"\xef\xbb\xbf")
        return data + text.replace("\n", self.rng.choice(LINE_ENDS)).encode()

    def canvas(self, source: str, paths: list[str]) -> bytes:
        nodes = []
        for number in range(self.rng.randint(0, 5)):
            place = {"x": number, "y": 0, "width": 9, "height": 9}
            if self.chance(0.5):
                node: Json = {"id": self.label(), "type": "file", "file": self.rng.choice(paths)}
                if self.chance(0.3):
                    node["subpath"] = "#One"
            else:
                node = {"id": f"t{number}", "type": "text", "text": self.line(source, paths)}
            nodes.append(node | place)
        indent, ascii_only = self.pick(None, "\t"), self.chance(0.3)
        return json.dumps({"nodes": nodes, "edges": []}, indent=indent, ensure_ascii=ascii_only).encode()

    def base(self, paths: list[str]) -> bytes:
        named = json.dumps(self.rng.choice(paths).removesuffix(".md"))
        return f"filters: {json.dumps(f'file.hasLink({named})')}\nviews:\n  - type: table\n".encode()

    def files(self) -> dict[str, bytes]:
        paths = self.paths(26, FOLDERS) + self.paths(5, (HIDDEN,))
        visible = [path for path in paths if not path.startswith(HIDDEN)]
        files = {}
        for path in paths:
            if path.endswith(".canvas"):
                files[path] = self.canvas(path, visible)
            elif path.endswith(".base"):
                files[path] = self.base(visible)
            elif path.lower().endswith(".md"):
                files[path] = self.note(path, visible)
            else:
                files[path] = PNG + bytes([self.rng.randint(0, 255)])
        app = {
            "newLinkFormat": self.pick("shortest", "relative", "absolute"),
            "useMarkdownLinks": self.chance(0.3),
            "trashOption": "local",
        }
        return files | {".obsidian/app.json": json.dumps(app).encode()}

    # Changes.

    def new_path(self, old: str) -> str:
        folder, _, name = old.rpartition("/")
        if self.chance(0.15):
            return f"{folder}/{self.pick(str.upper, str.lower, str.title)(name)}".lstrip("/")
        suffix = old[old.rindex(".") :]
        return f"{self.rng.choice((*FOLDERS, 'New/Deep/'))}{self.rng.choice(self.names)}{suffix}"

    def new_folder(self, old: str, number: int) -> str:
        made = f"{self.rng.choice(FOLDERS)}M{number}"
        return str(self.pick("Moved", made, old.swapcase(), "plan", "New/", ""))

    def edit(self, note: str, paths: list[str], *, only_at_end: bool) -> Json:
        """An edit of one note. With `only_at_end`, text is not inserted into its properties, which that could
        break, nor into code, where a link is none."""
        line, chosen = self.line(note, paths), self.rng.randint(1, 6)
        edit: Json = self.pick(
            {"op": "append", "content": line},
            {"op": "append", "content": line, "heading": "One", "create": True},
            {"op": "prepend", "content": line},
            {"op": "set_property", "property": self.pick("own", "tags"), "value": self.pick(1, "x", ["a"])},
            {"op": "add_tag", "tag": "new"},
            {"op": "remove_tag", "tag": "tag"},
            {"op": "rename_tag", "tag": "tag", "to": "tag2"},
            {"op": "rename_heading", "heading": "One", "to": self.pick("Öne", "On e", "One")},
            {"op": "rename_block", "block": "b1", "to": "b2"},
            {"op": "replace_section", "heading": "Two", "content": line},
            {"op": "insert", "line": 99 if only_at_end else chosen, "content": line},
            {"op": "set_task", "line": chosen, "status": "toggle"},
            {"op": "write", "content": line},
        )
        return edit
