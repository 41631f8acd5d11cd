"""Draws the vaults and calls of `faults.twins` from a seed: names in every script, links to and from hidden
notes, and the arguments of every tool from its schema."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from typing import Any

from support.scripts import draw_words

HIDDEN_FOLDERS = ("Private/", "Private/Sub/", "A/")
VISIBLE_FOLDERS = ("", "Pub/", "Pub/Sub/", "Z/")
LINK = "Pub/leads.md"
"""A link to a hidden note."""

Json = dict[str, Any]
Call = tuple[str, str, Json]
"""A protocol, what it is asked for, and the arguments."""

_NAME = re.compile(r"[^\\/:*?\"<>|#^\[\].%`$\s'!,{}]{2,}")
_TABLE = b"views:\n  - type: table\n    name: All\n    order: [file.path, kind, file.backlinks]\n"
_TAKES_A_NEW_NAME = re.compile(
    "create|move|batch|edit|add_|daily|template|write|save|PUT|POST", re.IGNORECASE
)
"""Calls that may create a file. In a link's place that is refused, which SECURITY.md explains."""

PAGE_REQUESTS = {
    "GET /files": (),
    "GET /home": ("limit",),
    "GET /search": ("q", "kind", "limit", "offset"),
    "GET /note": ("path", "subpath"),
    "GET /links": ("path",),
    "GET /graph": ("note", "depth", "attachments", "unresolved"),
    "GET /base": ("path", "view", "this"),
    "GET /canvas": ("path",),
    "GET /change": ("change",),
    "PUT /note": ("path", "text", "hash"),
    "POST /note": ("path", "text"),
    "POST /today": (),
    "POST /task": ("path", "line"),
    "POST /move": ("path", "to"),
    "POST /delete": ("path",),
}


class Draw:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        drawn = (unicodedata.normalize("NFC", word) for word in draw_words(seed, 12))
        words = [word for word in drawn if _NAME.fullmatch(word) and word.isprintable()]
        self.words = [*dict.fromkeys(words), "plan", "deep", "diary", "Night sky"]
        self.names = self.rng.sample(self.words, min(8, len(self.words)))
        self.tags = ["tag", "tag/deep", *self.rng.sample(self.words, 2)]

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def word(self) -> str:
        return self.rng.choice(self.words)

    # Files.

    def line(self, said: str) -> str:
        word, other = self.word(), self.word()
        folder = self.rng.choice(VISIBLE_FOLDERS + HIDDEN_FOLDERS)
        line: str = self.pick(
            f"{word} {other} {said}", f"# {word}", f"## {said} {other}", f"[[{word}]]", f"![[{word}]] {said}",
            f"[[{folder}{word}|{other}]]", f"- [ ] {word} {said}", f"- [x] {other} 📅 2024-03-01", "",
            f"#{self.rng.choice(self.tags)} {word}", f"[{word}]({other}.md)", f"{said} {word} ^b1",
            f"[[{word}#{other}]]",
        )  # fmt: skip
        return line

    def text(self, said: str = "ash") -> str:
        lines = [self.line(said) for _ in range(self.rng.randint(0, 7))]
        if self.chance(0.4):
            lines[:0] = ["---", f"aliases: [{self.word()}]", f"kind: {self.pick(1, 2, 'x')}", "---"]
        return "\n".join(lines) + str(self.pick("", "\n"))

    def file(self, folder: str, said: str) -> tuple[str, bytes]:
        path, kind = f"{folder}{self.rng.choice(self.names)}", self.rng.random()
        if kind < 0.06:
            card = {
                "id": "1",
                "type": "text",
                "text": self.line(said),
                "x": 0,
                "y": 0,
                "width": 9,
                "height": 9,
            }
            return f"{path}.canvas", json.dumps({"nodes": [card], "edges": []}).encode()
        if kind < 0.12:
            return f"{path}.base", _TABLE
        if kind < 0.2:
            return f"{path}.png", b"\x89PNG\r\n\x1a\n" + bytes([self.rng.randint(0, 3)])
        return f"{path}.md", self.text(said).encode()

    def visible_files(self) -> dict[str, bytes]:
        files = dict(self.file(self.rng.choice(VISIBLE_FOLDERS), "ash") for _ in range(14))
        files["Templates/T.md"] = b"{{title}} [[plan]]\n"
        files["Prompts/Ask.md"] = b"Tell about {{topic}} and [[deep]].\n"
        files["All.base"] = _TABLE
        links = self.pick("{}", '{"newLinkFormat": "relative"}', '{"useMarkdownLinks": true}')
        files[".obsidian/app.json"] = links.encode()
        daily = self.pick("{}", '{"folder": "Z", "template": "Private/deep"}')
        files[".obsidian/daily-notes.json"] = daily.encode()
        files[".obsidian/templates.json"] = b'{"folder": "Templates"}'
        return files

    def hidden_file(self) -> tuple[str, bytes]:
        return self.file(self.rng.choice(HIDDEN_FOLDERS), f"zebra{self.rng.randint(0, 9)}")

    def hidden_files(self) -> dict[str, bytes]:
        files = dict(self.hidden_file() for _ in range(14))
        return files | {"Mixed/one.secret.md": self.text("zebra1").encode(), "Private/diary.md": b"[[plan]]"}

    # Calls.

    def call(self, protocols: list[str], tools: dict[str, list[Json]], offers: dict[str, list[str]]) -> Call:
        """One call over one of the protocols. `tools` are those that each offers; `offers` are the prompts,
        templates and places of resources of MCP."""
        while True:
            protocol = self.rng.choice(protocols)
            call = self._call(protocol, tools.get(protocol, []), offers)
            named = f"{call[1]} {call[2].get('name', '')}"
            if "leads" not in json.dumps(call[2]) or not _TAKES_A_NEW_NAME.search(named):
                return call

    def _call(self, protocol: str, tools: list[Json], offers: dict[str, list[str]]) -> Call:
        if protocol == "page":
            request = self.rng.choice(list(PAGE_REQUESTS))
            given = [name for name in PAGE_REQUESTS[request] if self.chance(0.85)]
            return protocol, request, {name: self.page_value(name) for name in given}
        if protocol == "bridge" or protocol == "ide" or self.chance(0.75):
            tool = self.rng.choice(tools)
            arguments = self.arguments(tool["inputSchema"])
            if protocol == "bridge":
                return protocol, tool["name"], arguments
            return protocol, "tools/call", {"name": tool["name"], "arguments": arguments}
        method = self.pick(
            "resources/list", "resources/read", "resources/read", "prompts/list", "prompts/get",
            "resources/templates/list", "completion/complete", "completion/complete", "prompts/get",
        )  # fmt: skip
        return protocol, method, self.mcp_params(method, offers)

    def mcp_params(self, method: str, offers: dict[str, list[str]]) -> Json:
        if method == "resources/read":
            return {"uri": self.rng.choice(offers["places"]) + self.note_name()}
        if method == "prompts/get":
            given = self.pick(("note",), ("topic",), ("name", "question"), ())
            return {
                "name": self.rng.choice(offers["prompts"]),
                "arguments": {n: self.note_name() for n in given},
            }
        if method == "completion/complete":
            prompt = {"type": "ref/prompt", "name": self.rng.choice(offers["prompts"])}
            template = {"type": "ref/resource", "uri": self.rng.choice(offers["templates"])}
            name = self.pick("note", "name", "path", "tag", "topic", "question")
            value = self.pick("", "p", "z", "A", "Priv", "d", self.word()[:1])
            return {"ref": self.pick(prompt, template), "argument": {"name": name, "value": value}}
        return {}

    def page_value(self, name: str) -> Any:
        if name in ("limit", "offset", "depth", "change", "line"):
            return self.rng.randint(1, 9) if name != "depth" else self.rng.randint(1, 3)
        fixed = {"kind": ("ranked", "exact", "names"), "attachments": ("0", "1"), "unresolved": ("1",)}
        fixed |= {"view": ("All",), "hash": ("",), "subpath": (f"#{self.word()}",)}
        return self.rng.choice(fixed[name]) if name in fixed else self.words_for(name)

    def arguments(self, schema: Json) -> Json:
        """Arguments for a schema: the required ones nearly always, others now and then."""
        if several := schema.get("oneOf") or schema.get("anyOf"):
            return self.arguments(self.rng.choice(several))
        needed = schema.get("required", [])
        chosen = {}
        for name, part in schema.get("properties", {}).items():
            if self.chance(0.97 if name in needed else 0.25):
                chosen[name] = self.value(name, part)
        return chosen

    def value(self, name: str, schema: Json) -> Any:
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self.value(name, self.rng.choice(schema[several]))
        if "const" in schema or "enum" in schema:
            return schema["const"] if "const" in schema else self.rng.choice(schema["enum"])
        kind = schema.get("type", "string")
        match self.rng.choice(kind) if isinstance(kind, list) else kind:
            case "boolean":
                return self.chance(0.5)
            case "integer" | "number":
                return self.rng.choice((0, 1, 2, 3, 10, 40))
            case "array":
                items = schema.get("items", {})
                return [self.value(name.removesuffix("s"), items) for _ in range(self.rng.randint(1, 2))]
            case "object":
                return self.arguments(schema)
            case "null":
                return None
            case _:
                return self.words_for(name)

    def words_for(self, name: str) -> str:
        """A text for an argument of this name."""
        match name:
            case "query" | "q" | "question":
                return self.query()
            case "content" | "text" | "new" | "body":
                return str(self.pick(self.line("ash"), self.text()))
            case "old" | "find":
                return str(self.pick("ash", self.word(), "[["))
            case "tag":
                return self.rng.choice(self.tags)
            case "heading" | "section" | "alias" | "title":
                return self.word()
            case "property" | "key":
                return str(self.pick("kind", "aliases", "tags", "zebra"))
            case "folder":
                return str(self.pick("", "Pub", "Pub/Sub", "Z", "Private", "A", "Mixed", "Nowhere"))
            case "pattern":
                return str(self.pick("*", "*.md", "Private/*", "P*", "*zebra*"))
            case "date":
                return str(self.pick("today", "2024-01-01", "yesterday"))
            case "base":
                return _TABLE.decode()
            case _:
                return self.note_name()

    def note_name(self) -> str:
        folder = self.rng.choice((*VISIBLE_FOLDERS, *VISIBLE_FOLDERS, *HIDDEN_FOLDERS))
        name = str(self.pick(self.word(), f"{folder}{self.word()}{self.pick('', '.md', '.canvas', '.png')}"))
        odd = self.rng.random()
        if odd < 0.08:
            return str(
                self.pick(LINK, "Pub/leads", "leads", "Mixed/one.secret", "one.secret", "Private", "A/")
            )
        if odd < 0.16:
            return str(
                self.pick(unicodedata.normalize("NFD", name), name.upper(), name[:-1], f"{name}x", "All.base")
            )
        return name

    def query(self) -> str:
        first, second = self.word(), self.word()
        query: str = self.pick(
            first, f'"{first}"', f'"{first}" OR ash', "zebra1", '"zebra"', f"{first} {second}", f"-{first}",
            "/zeb+ra/", f"path:{first}", "path:Private", f"tag:#{self.rng.choice(self.tags)}", "[kind:1]",
            "[aliases]", f"line:({first} ash)", f"section:({first})", "task:ash", "task-todo:zebra2", "zebra",
            "ashe", f"how do I {first} the {second}", "zebra1 OR ash",
        )  # fmt: skip
        return query
