"""Vaults of drawn words, for whatever must hold in any vault and in any script."""

from __future__ import annotations

import random


def draw_vault(rng: random.Random, words: list[str]) -> dict[str, str | bytes]:
    """Notes of drawn words with properties, headings, long and short lines, links, and copies."""
    files: dict[str, str | bytes] = {}
    for number in range(rng.randint(1, 12)):
        parts = ["---\ntags: [a]\n---\n"] if rng.random() < 0.3 else []
        for _ in range(rng.randint(0, 8)):
            words_here = [rng.choice(words) for _ in range(rng.choice((1, 5, 40, 200)))]
            line = " ".join(words_here)
            parts.append(
                rng.choice(("# {}", "## {}", "{}", "{}", "- [ ] {}", "{} [[N1]]", "    {}")).format(line)
                + rng.choice(("\n", "\n\n", "\r\n", ". "))
            )
        files[f"{rng.choice(('', 'f/', 'g/'))}N{number}.md"] = "".join(parts)
    if rng.random() < 0.5:
        files["Copy.md"] = next(iter(files.values()))
    return files
