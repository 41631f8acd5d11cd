"""Texts as people paste them into a search, and the notes that have their words."""

from __future__ import annotations

import random
from collections.abc import Iterator

from support.scripts import draw_words

WORDS = {
    "English.md": ["the", "password", "of", "a", "user", "is", "kept", "safe", "grep", "prints", "numbers"],
    "Chinese.md": ["密码", "保存", "你好"],
    "Arabic.md": ["كلمة", "المرور", "هنا"],
    "Emoji.md": ["🙂", "🏳️‍🌈"],
    "German.md": ["Schlüssel", "für", "die", "Tür"],
}
ODD = ["user:", "-", "--", "-n", "(", ")", "((", "[", "]", "[[", "]]", "#", '"', "'", "/", "\\", "OR", "or"]
ODD += [
    "?",
    "!",
    "…",
    "。",
    "？",
    "*",
    "**",
    "`",
    "~",
    "|",
    ">",
    "<",
    "=",
    "%%",
    "&",
    "@",
    "^",
    "{",
    "}",
    "$",
]
ODD += ["tag:", "file:", "path:x", "[x:", "]:", "https://x.y/z?a=b#c", "C:\\a", "a.b", "/(/", "«", "\u200b"]


def draw_texts(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Pairs of a text and the note whose words it has, with odd signs before, between and around them."""
    rng = random.Random(seed)
    strange = [word for word in draw_words(seed, 8) if word.isprintable()]
    for _ in range(count):
        note = rng.choice(list(WORDS))
        words = rng.sample(WORDS[note], rng.randint(1, min(4, len(WORDS[note]))))
        pieces: list[str] = []
        for word in words:
            before, after = rng.choice(["", rng.choice(ODD)]), rng.choice(["", rng.choice(ODD)])
            # A letter right before or after a word makes another word.
            before = "" if before.endswith("x") else before
            after = "" if after[:1].isalpha() else after
            pieces += [f"{before}{word}{after}", *rng.choice(([], [], [rng.choice(ODD + strange)]))]
        yield rng.choice((" ", "  ", "\n")).join(pieces), note


FILES = {name: " ".join(words) for name, words in WORDS.items()}
