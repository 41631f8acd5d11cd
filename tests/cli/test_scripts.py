"""Names, tags and words of every script through the commands, in every locale and on a narrow terminal."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from support.long_form import mark_long_after
from support.waiting import BOUND

ENVIRONS: list[dict[str, str]] = [
    {"LANG": "C.UTF-8"},
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX", "COLUMNS": "20"},
    {"PYTHONIOENCODING": "latin-1", "COLUMNS": "1"},
    {"LC_ALL": "C", "PYTHONUTF8": "1", "COLUMNS": "20"},
]

ALPHABETS = (
    "абвгдежзий", "αβγδεζηθικ", "אבגדהוזחטי", "ابتثجحخدذر", "कखगघङचछजझञ", "กขคงจฉชซญด", "ქართულიენა",
    "հայերենլեզ", "አማርኛቋንቋ", "日本語漢字仮名", "한국어조선말", "ひらがなカタカナ", "မြန်မာဘာသာ", "தமிழ்மொழி",
    "ὰάᾳῶ", "áéíñöüßøåç", "e\u0301o\u0308n\u0303", "ıİğşǆǅ", "𝔘𝔫𝔦𝔠", "𐌰𐌱𐌲𐌳",
    "🚀🌊👩\u200d👩\u200d👧🏳\ufe0f\u200d🌈",
)  # fmt: skip


def draw_word(alphabets: tuple[str, ...], rng: random.Random) -> str:
    """Letters of each alphabet, perhaps with a mark of direction among them."""
    drawn = "".join("".join(rng.choices(letters, k=rng.randint(3, 5))) for letters in alphabets)
    # Marks alone name nothing: a letter of the first alphabet begins the word.
    return alphabets[0][0] + rng.choice(["", "\u200f", "\u200e"]) + drawn.strip("\u200d\ufe0f")


def run(home: Path, environ: dict[str, str], *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "vaultbridge", *args],
        capture_output=True,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", **environ},
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 0, (args, done.stderr.decode("utf-8", "replace"))
    return done.stdout.decode("utf-8")


@pytest.mark.parametrize("turn", mark_long_after(2, range(len(ENVIRONS))))
def test_a_note_of_any_script_is_found_read_linked_edited_and_renamed(tmp_path: Path, turn: int) -> None:
    """The file is named in one normal form and asked for in either; the text holds the word in the same.
    Every alphabet and every environment has its turn, which costs seven processes."""
    environ, alphabets, rng = ENVIRONS[turn], ALPHABETS[turn :: len(ENVIRONS)], random.Random(turn)
    name, word = draw_word(alphabets[:2], rng), draw_word(alphabets[2:], rng)
    kept, form = turn % 2 == 0, ("NFC", "NFD")[turn // 2 % 2]

    def compose(text: str) -> str:
        return unicodedata.normalize("NFC" if kept else "NFD", text)

    def respell(text: str) -> str:
        return unicodedata.normalize(form, text)

    home = tmp_path
    vault = home / "vault"
    vault.mkdir()
    (vault / f"{compose(name)}.md").write_text(f"---\nmood: {compose(word)}\n---\n{compose(word)}\n", "utf-8")
    (vault / "Index.md").write_text(f"[[{compose(name)}]]\n", "utf-8")
    place = str(vault)
    found = json.loads(run(home, environ, "search", place, f'"{respell(word)}"', "--json"))
    paths = [unicodedata.normalize("NFC", hit["path"]) for hit in found["hits"]]
    assert f"{unicodedata.normalize('NFC', name)}.md" in paths
    assert compose(word) in run(home, environ, "read", place, respell(name))
    assert "Index.md" in run(home, environ, "links", place, respell(name), "--backlinks")
    operation = {"op": "append", "note": respell(name), "content": f"#{respell(word)}"}
    run(home, environ, "edit", place, json.dumps(operation, ensure_ascii=False))
    run(home, environ, "rename", place, respell(name), f"{respell(name)} zwei")
    link = (vault / "Index.md").read_text("utf-8")
    assert f"{unicodedata.normalize('NFC', name)} zwei" in unicodedata.normalize("NFC", link)
    run(home, environ, "export", place)
    assert run(home, environ, "history", place, f"{respell(name)} zwei.md").strip()
