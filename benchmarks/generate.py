"""Generates a deterministic vault of N notes for measurements.

The same seed and count give the same bytes on every machine. The mix follows real vaults: most notes are a
few KB of prose with properties, headings, links, tags and tasks; some contain code, tables, callouts,
Chinese, Japanese, Thai or accented text; there are attachments, canvases, unresolved links, and note names
that occur in several folders. Exactly 250 notes link to `Hub.md`.

    python benchmarks/generate.py FOLDER --notes 10000
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

SEED = 20240501
"""Changing it changes every figure, so publish it with them."""

HUB = "Hub.md"
HUB_BACKLINKS = 250
RARE_WORD = "zyzzyvaphone"
"""Occurs in RARE_NOTES notes of any generated vault."""
RARE_NOTES = 7
COMMON_WORD = "window"
"""Occurs in roughly half of the notes."""

_VOCABULARY = 30_000
_FOLDER_NOTES = 60
_COMMON_WORDS = (
    "the of and to in a is that it was for on are with as be at one have this from or had by not but what "
    "all were when we there can an your which their said if do will each about how up out them then she many "
    "some so these would other into has more her two like him see time could no make than first been its who "
    "now people my made over did down only way find use may water long little very after words called just "
    "where most know get through back much before go good new write our used me man too any day same right "
    "look think also around another came come work three word must because does part even place well such "
    "here take why things help put years different away again off went old number great tell men say small "
    "every found"
)
_COMMON = _COMMON_WORDS.split()
_ONSETS = (
    *"bcdfghjklmnprstvwz", "bl", "br", "ch", "cl", "cr", "dr", "fl", "fr", "gl", "gr", "kl", "pl", "pr", "qu",
    "sc", "sh", "sk", "sl", "sp", "st", "th", "tr",
)  # fmt: skip
_NUCLEI = ("a", "e", "i", "o", "u", "ai", "ea", "ee", "ie", "oa", "oo", "ou")
_CODAS = ["", "", "", "n", "r", "l", "s", "m", "nd", "st", "rk", "lt", "ng"]
_ACCENTED = (
    "résumé",
    "café",
    "naïve",
    "über",
    "façade",
    "jalapeño",
    "Zürich",
    "smörgåsbord",
    "crème",
    "Ångström",
)
_CJK = (
    "我们今天去北京看朋友",
    "知识管理需要每天整理笔记",
    "東京の天気は晴れです",
    "会議の議事録をまとめる",
    "오늘은 도서관에서 책을 읽었다",
    "数据结构与算法的学习计划",
    "ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ",
    "การจดบันทึกช่วยให้จำได้ดีขึ้น",
)
_TAGS = [
    "project", "project/alpha", "project/beta", "idea", "meeting", "reading/book", "reading/paper", "person",
    "area/health", "area/home", "area/work", "todo", "draft", "2024-01", "日记", "status/active",
]  # fmt: skip
_CODE = (
    "```python\ndef total(items):\n    # [[not a link]] #notatag\n    return sum(items)\n```",
    "```sql\nSELECT name, count(*) FROM notes GROUP BY name HAVING count(*) > 1;\n```",
    "    indented = code  # stays code\n    [[neither a link]]",
)
_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301"
    "0100c9fe92ef0000000049454e44ae426082"
)


def _draw_vocabulary(rng: random.Random) -> list[str]:
    words = dict.fromkeys([*_COMMON[:24], COMMON_WORD, *_COMMON[24:]])
    while len(words) < _VOCABULARY:
        syllables = rng.choices((1, 2, 3, 4), (1, 5, 4, 1))[0]
        word = "".join(
            rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_CODAS) for _ in range(syllables)
        )
        words[word] = None
    return list(words)


class Generator:
    """Makes the files of one vault; `files()` yields them one by one, so memory does not grow with N."""

    def __init__(self, notes: int, *, seed: int = SEED) -> None:
        self.count = notes
        self.rng = random.Random(seed)
        self.words = _draw_vocabulary(self.rng)
        self.weights = list(accumulate(1 / (rank + 8) for rank in range(len(self.words))))
        self.names = self._note_paths()
        self.hub_sources = set(self.rng.sample(range(1, notes), min(HUB_BACKLINKS, notes - 1)))
        self.rare_notes = set(self.rng.sample(range(1, notes), min(RARE_NOTES, notes - 1)))

    def _note_paths(self) -> list[str]:
        rng = self.rng
        folders = [""]
        for number in range(max(4, self.count // _FOLDER_NOTES)):
            parent = rng.choice(folders) if number % 3 else ""
            if parent.count("/") > 4:
                parent = ""
            folders.append(f"{parent}{self._title(1)} {number}/")
        seen = {HUB.lower()}
        paths = [HUB]
        while len(paths) < self.count:
            number = len(paths)
            style = number % 50
            if style == 0:
                name = "Index"  # the same name in many folders: links to it are ambiguous
            elif style == 1:
                name = f"2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d} {number}"
            elif style == 2:
                name = f"{rng.choice(_CJK)[:4]} {number}"
            elif style == 3:
                name = f"{rng.choice(_ACCENTED).capitalize()} {self._title(1)} {number}"
            else:
                name = f"{self._title(rng.randint(1, 3))} {number}" if style % 4 else self._title(3)
            folder = rng.choice(folders)
            path = f"{folder}{name}.md"
            if path.lower() in seen:
                path = f"{folder}{name} {number}.md"
            seen.add(path.lower())
            paths.append(path)
        return paths

    def _title(self, words: int) -> str:
        return " ".join(self.rng.choices(self.words, k=words)).capitalize()

    def _prose(self, count: int) -> str:
        return " ".join(self.rng.choices(self.words, cum_weights=self.weights, k=count))

    def _link(self) -> str:
        rng = self.rng
        path = self.names[rng.randrange(1, len(self.names))]
        stem = path[:-3]
        name = stem.rsplit("/", 1)[-1]
        kind = rng.randrange(12)
        if kind == 0:
            return f"[[{self._title(2)}]]"
        if kind == 1:
            return f"[{name}]({path.replace(' ', '%20')})"
        if kind == 2:
            return f"[[{stem}|{name}]]"
        if kind == 3:
            return f"[[{name}#Notes]]"
        if kind == 4:
            return f"![[image-{rng.randrange(max(1, self.count // 50))}.png|200]]"
        return f"[[{name}]]"

    def _paragraph(self) -> str:
        rng = self.rng
        text = (
            f"{self._prose(rng.randint(16, 46)).capitalize()}. {self._prose(rng.randint(8, 30)).capitalize()}"
        )
        if rng.random() < 0.6:
            text += f" {self._link()} {self._prose(5)}"
        if rng.random() < 0.15:
            text += f" #{rng.choice(_TAGS)}"
        if rng.random() < 0.1:
            text += f" {rng.choice(_ACCENTED)} **{self._prose(2)}** `code {self._prose(1)}`"
        return text + "."

    def _block(self) -> str:
        rng = self.rng
        kind = rng.randrange(20)
        if kind == 0:
            return rng.choice(_CODE)
        if kind == 1:
            return f"> [!note] {self._title(2)}\n> {self._prose(20)}\n> {self._link()}"
        if kind == 2:
            head = f"| {self._prose(1)} | {self._prose(1)} |\n| --- | --- |\n"
            return f"{head}| {self._prose(2)} | {self._prose(1)} |"
        if kind == 3:
            return "。".join(rng.choices(_CJK, k=4)) + "。"
        if kind in (4, 5, 6):
            boxes = [
                f"- [{rng.choice('  x')}] {self._prose(rng.randint(3, 9))}" for _ in range(rng.randint(1, 5))
            ]
            boxes[0] += f" 📅 2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
            return "\n".join(boxes)
        if kind in (7, 8):
            return "\n".join(f"- {self._prose(rng.randint(3, 12))} {self._link()}" for _ in range(3))
        return self._paragraph()

    def _note(self, number: int) -> str:
        rng = self.rng
        parts: list[str] = []
        if rng.random() < 0.7:
            tags = ", ".join(rng.sample(_TAGS, rng.randint(1, 3)))
            lines = [
                "---",
                f"tags: [{tags}]",
                f"created: 2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
            ]
            if rng.random() < 0.5:
                lines.append(f"status: {rng.choice(('active', 'done', 'waiting'))}")
            if rng.random() < 0.3:
                lines += [f"rating: {rng.randint(1, 10)}", f'related: "[[{self._title(1)}]]"']
            if rng.random() < 0.2:
                lines += ["aliases:", f"  - {self._title(2)} {number}"]
            parts.append("\n".join([*lines, "---"]))
        parts.append(f"# {self._title(3)}")
        for section in range(rng.choices((1, 2, 3, 4, 6), (2, 4, 4, 2, 1))[0]):
            parts.append(f"## {'Notes' if section == 0 else self._title(2)}")
            parts += [self._block() for _ in range(rng.randint(1, 4))]
        if number in self.hub_sources:
            parts.append(f"Part of [[Hub]], {self._prose(6)}.")
        if number in self.rare_notes:
            parts.append(f"The {RARE_WORD} rang.")
        return "\n\n".join(parts) + "\n"

    def _canvas(self) -> str:
        rng = self.rng
        nodes: list[dict[str, object]] = []
        for place in range(4):
            node: dict[str, object] = {"id": f"{rng.getrandbits(64):016x}", "x": 300 * place, "y": 0}
            node |= {"width": 250, "height": 120}
            if place % 2:
                node |= {"type": "file", "file": rng.choice(self.names)}
            else:
                node |= {"type": "text", "text": f"{self._prose(10)} {self._link()}"}
            nodes.append(node)
        edges = [{"id": f"{rng.getrandbits(64):016x}", "fromNode": nodes[0]["id"], "toNode": nodes[1]["id"]}]
        return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False, indent="\t")

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yields each file as (vault path, bytes)."""
        yield ".obsidian/app.json", b"{}\n"
        for number, path in enumerate(self.names):
            yield path, self._note(number).encode()
        for number in range(max(1, self.count // 50)):
            yield f"Attachments/image-{number}.png", _PIXEL
        for number in range(max(1, self.count // 500)):
            yield f"Canvases/board {number}.canvas", self._canvas().encode()


def generate(folder: Path, notes: int, *, seed: int = SEED) -> int:
    """Writes the vault into `folder` and returns its size in bytes. A finished one is left unchanged."""
    stamp = folder / ".obsidian" / "generated.json"
    wanted = {"notes": notes, "seed": seed}
    if stamp.exists():
        made = json.loads(stamp.read_text())
        if {key: made.get(key) for key in wanted} == wanted:
            return int(made["bytes"])
        raise SystemExit(f"{folder} holds another generated vault: {made}")
    made_folders: set[Path] = set()
    size = 0
    for path, data in Generator(notes, seed=seed).files():
        place = folder / path
        if place.parent not in made_folders:
            place.parent.mkdir(parents=True, exist_ok=True)
            made_folders.add(place.parent)
        place.write_bytes(data)
        size += len(data)
    stamp.write_text(json.dumps({**wanted, "bytes": size}))
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, help="where to write the vault")
    parser.add_argument("--notes", type=int, default=10_000, help="number of notes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the generator (default: %(default)s)")
    options = parser.parse_args()
    size = generate(options.folder, options.notes, seed=options.seed)
    print(f"{options.notes} notes, {size / options.notes:.0f} bytes each on average")


if __name__ == "__main__":
    main()
